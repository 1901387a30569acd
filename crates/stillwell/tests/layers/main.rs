//! The structure of the sources: no files import each other in a ring, and a type's name
//! has one meaning.
#![expect(clippy::disallowed_methods, reason = "reads the sources")]

mod opening;
mod plans;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

use sources::{Modules, defining_file};

/// From the ground up: a crate uses only crates that stand before it, as the compiler checks. ARCHITECTURE.md describes each.
const CRATES: [&str; 11] = [
    "stats",
    "formats",
    "bench",
    "model",
    "host",
    "record",
    "analysis",
    "measure",
    "search",
    "render",
    "stillwell",
];
/// The first of them know nothing of the others, and may use their names.
const N_ALONE: usize = 3;

fn modules() -> &'static Modules {
    static MODULES: LazyLock<Modules> = LazyLock::new(sources::read);
    &MODULES
}

/// Tests may use what stands above.
fn is_test(path: &[String]) -> bool {
    path.iter().any(|name| name == "tests" || name == "fixture")
}

/// Returns the imports between files. A file may use items of the modules around it (`super::`); those are not
/// imports here.
fn file_imports(modules: &Modules) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let mut graph: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (path, module) in modules.iter().filter(|(path, _)| !is_test(path)) {
        let around: Vec<&PathBuf> =
            (0..=path.len()).filter_map(|n| Some(&modules.get(&path[..n])?.file)).collect();
        let imported = graph.entry(module.file.clone()).or_default();
        let files = module.paths.iter().filter_map(|path| defining_file(modules, path));
        imported.extend(files.filter(|file| !around.contains(&file)));
    }
    graph
}

/// Files that reach themselves, as rings: every file of a ring reaches every other.
fn rings(graph: &BTreeMap<PathBuf, BTreeSet<PathBuf>>) -> Vec<Vec<PathBuf>> {
    let reach = |start: &PathBuf| {
        let mut reached = BTreeSet::new();
        let mut left: Vec<&PathBuf> = graph[start].iter().collect();
        while let Some(file) = left.pop() {
            if reached.insert(file.clone()) {
                left.extend(graph.get(file).into_iter().flatten());
            }
        }
        reached
    };
    let reached: BTreeMap<&PathBuf, BTreeSet<PathBuf>> =
        graph.keys().map(|file| (file, reach(file))).collect();
    let mut found: BTreeSet<Vec<PathBuf>> = BTreeSet::new();
    for (file, own) in &reached {
        if own.contains(*file) {
            found.insert(own.iter().filter(|it| reached[it].contains(*file)).cloned().collect());
        }
    }
    found.into_iter().collect()
}

fn map() -> String {
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ARCHITECTURE.md");
    std::fs::read_to_string(map).unwrap()
}

/// ARCHITECTURE.md has the way of `run` from `main` to its output: at most 40 functions, and each exists.
#[test]
fn the_map_shows_the_way_of_run() {
    let map = map();
    let (_, way) = map.split_once("\n```\n").unwrap();
    let (way, _) = way.split_once("\n```\n").unwrap();
    let ways = way.lines().map(|line| line.trim_start().split("  ").next().unwrap());
    let names: Vec<&str> = ways.flat_map(|names| names.split(" › ")).collect();
    assert!((30..=40).contains(&names.len()), "{names:?}");
    for name in names {
        let (of, name) = name.split_once("::").unwrap_or(("", name));
        let [plain, generic] = ["(", "<"].map(|after| format!("fn {name}{after}"));
        let has_it = |line: &str| line.contains(&plain) || line.contains(&generic);
        let files = opening::sources_with(has_it);
        let is_type = |line: &str| line.starts_with("impl") && line.contains(of);
        let is_there = of.is_empty() || {
            opening::sources_with(is_type).iter().any(|file| files.contains(file))
        };
        assert!(!files.is_empty() && is_there, "{of}::{name} is gone");
    }
}

/// ARCHITECTURE.md has a table of the crates, one row for each, in this order.
#[test]
fn the_map_shows_the_crates() {
    let map = map();
    let (_, section) = map.split_once("\n## Crates\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), CRATES[N_ALONE..]);
}

#[test]
fn no_files_import_each_other() {
    let modules = modules();
    assert!(modules.len() > 200);
    let found: Vec<String> = rings(&file_imports(modules))
        .iter()
        .map(|ring| {
            ring.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
        })
        .collect();
    assert!(found.is_empty(), "{} rings of files:\n{}", found.len(), found.join("\n"));
}

/// Rings of the parts of a directory, each a file or a directory in it: each part reaches every other, through any file.
fn rings_of_directories(modules: &Modules) -> Vec<String> {
    // Of the modules of a file, the first is the file's own.
    let key_of: BTreeMap<&PathBuf, &Vec<String>> =
        modules.iter().rev().map(|(path, module)| (&module.file, path)).collect();
    let mut imports: BTreeSet<(&[String], &[String])> = BTreeSet::new();
    for (path, module) in modules.iter().filter(|(path, _)| !is_test(path)) {
        let files = module.paths.iter().filter_map(|to| defining_file(modules, to));
        imports.extend(files.map(|file| (&path[..], &key_of[&file][..])));
    }
    let directories: BTreeSet<&[String]> =
        modules.keys().flat_map(|path| (1..path.len()).map(|depth| &path[..depth])).collect();
    let mut found = Vec::new();
    for directory in directories {
        let depth = directory.len();
        let part = |path: &[String]| -> Option<PathBuf> {
            path.starts_with(directory).then(|| path.get(depth)).flatten().map(PathBuf::from)
        };
        let mut graph: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
        for (from, to) in imports.iter().filter_map(|(from, to)| Some((part(from)?, part(to)?))) {
            graph.entry(to.clone()).or_default();
            graph.entry(from.clone()).or_default().extend((from != to).then_some(to));
        }
        let names = |ring: &Vec<PathBuf>| {
            ring.iter().map(|part| part.display().to_string()).collect::<Vec<_>>().join(", ")
        };
        let rings = rings(&graph);
        found.extend(rings.iter().map(|ring| format!("{}: {}", directory.join("/"), names(ring))));
    }
    found
}

#[test]
fn no_directories_import_each_other() {
    let found = rings_of_directories(modules());
    assert!(found.is_empty(), "{} rings of directories:\n{}", found.len(), found.join("\n"));
}

/// Names that one type has in each of several modules: visible ones, so those that a reader meets elsewhere.
#[test]
fn a_type_name_has_one_meaning() {
    let modules = modules();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let is_alone = |path: &&[String]| CRATES[..N_ALONE].contains(&&*path[0]);
    for (_, module) in modules.iter().filter(|(path, _)| !is_alone(&&path[..])) {
        for (name, _) in module.types.iter().filter(|(_, is_visible)| *is_visible) {
            places.entry(name).or_default().push(module.file.display().to_string());
        }
    }
    places.retain(|_, files| files.len() > 1);
    let found: Vec<String> =
        places.iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert!(found.is_empty(), "{} names of several types:\n{}", found.len(), found.join("\n"));
}
