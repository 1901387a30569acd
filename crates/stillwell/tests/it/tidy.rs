//! Rules of the source tree: lengths of files, and documents that agree with the source.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn rust_files(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_file_is_too_long() {
    let mut files = Vec::new();
    rust_files(&root(), &mut files);
    assert!(files.len() > 50);
    for file in files {
        let n_lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(n_lines <= 800, "{} has {n_lines} lines", file.display());
    }
}

#[test]
fn the_changelog_has_this_version() {
    let heading = format!("## [{}]", env!("CARGO_PKG_VERSION"));
    assert!(read("CHANGELOG.md").contains(&heading), "{heading} is not in CHANGELOG.md");
}

/// The text between `start` and the end of its line, wherever it is in the file.
fn after<'a>(text: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| Some(line.split_once(start)?.1.trim()))
}

/// rust-toolchain.toml is for developers; the workflows say which Rust they take.
#[test]
fn workflows_have_the_oldest_rust_that_is_promised() {
    let cargo = read("Cargo.toml");
    let promised = after(&cargo, "rust-version = ").next().unwrap().trim_matches('"');
    let [test, nightly, release] =
        ["test", "nightly", "release"].map(|name| read(&format!(".github/workflows/{name}.yml")));
    for workflow in [&test, &nightly, &release] {
        let images: Vec<_> = after(workflow, "image: rust:").collect();
        assert!(!images.is_empty());
        assert!(images.iter().all(|&image| image == format!("{promised}-bookworm")), "{images:?}");
        let toolchains: Vec<_> = after(workflow, "RUSTUP_TOOLCHAIN: ").collect();
        assert_eq!(toolchains, vec![format!("{promised}.0"); images.len()]);
    }
    assert!(test.contains(&format!("rustup toolchain install {promised}.0 ")));
}

/// A line of the metric table.
#[derive(Debug)]
pub struct MetricLine {
    pub column: String,
    pub name: String,
    pub is_hardware: bool,
    what: String,
}

/// The metric table, from its source.
pub fn metrics() -> Vec<MetricLine> {
    let source = read("crates/model/src/values/metric.rs");
    let (_, table) = source.split_once("\nmetrics! {\n").unwrap();
    let (table, _) = table.split_once(";\n}\n").unwrap();
    let metrics: Vec<_> = table
        .split(";\n")
        .map(|entry| {
            let strings: Vec<&str> = entry.split('"').skip(1).step_by(2).collect();
            let [column, name, _hyperfine, what] = &strings[..] else {
                panic!("an entry of the metric table is not understood: {entry}")
            };
            let is_hardware = entry.contains("Hardware");
            let [column, name, what] = [column, name, what].map(ToString::to_string);
            MetricLine { column, name, is_hardware, what }
        })
        .collect();
    assert!(metrics.len() >= 20, "{metrics:?}");
    metrics
}

#[test]
fn every_metric_is_described() {
    let format = read("docs/format.md");
    for metric in metrics() {
        let row = format.lines().find(|line| line.starts_with(&format!("| `{}` |", metric.column)));
        let row = row.unwrap_or_else(|| panic!("{} is not in docs/format.md", metric.column));
        assert!(row.contains(&metric.what), "{row:?} does not say {:?}", metric.what);
    }
}

/// Names of the public fields of a struct.
fn fields(source: &str, name: &str) -> Vec<String> {
    let (_, body) = source.split_once(&format!("pub struct {name} {{")).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let fields = body.lines().filter_map(|line| line.trim().strip_prefix("pub "));
    fields.filter_map(|field| Some(field.split_once(':')?.0.into())).collect()
}

#[track_caller]
fn check_described(what: &str, names: &[String]) {
    assert!(!names.is_empty(), "{what}");
    let format = read("docs/format.md");
    let missing: Vec<_> =
        names.iter().filter(|name| !format.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{what}: {missing:?} are not in docs/format.md");
}

#[test]
fn every_field_of_the_header_is_described() {
    let record = read("crates/record/src/lib.rs");
    for name in ["Header", "ImportedFile", "ImportedBenchmark"] {
        check_described(name, &fields(&record, name));
    }
    let plan = read("crates/record/src/plan/mod.rs") + &read("crates/record/src/plan/arm.rs");
    for name in ["Plan", "Arm", "Control", "Precision", "ProcessPlan", "DecisionRule"] {
        let named: Vec<_> = fields(&plan, name);
        let format = read("docs/format.md");
        let missing: Vec<_> = named.iter().filter(|field| !format.contains(*field)).collect();
        assert!(missing.is_empty(), "{name}: {missing:?} are not in docs/format.md");
    }
    let row = read("crates/record/src/row.rs");
    let (_, fixed) = row.split_once("FIXED_COLUMNS: [&str; 7] =").unwrap();
    let (fixed, _) = fixed.split_once(';').unwrap();
    let fixed: Vec<String> = fixed.split('"').skip(1).step_by(2).map(String::from).collect();
    check_described("fixed columns", &fixed);
}

#[test]
fn every_fact_is_described() {
    let facts = read("crates/host/src/facts.rs");
    for name in ["Facts", "Topology", "Cgroup", "Git"] {
        check_described(name, &fields(&facts, name));
    }
}

#[test]
fn every_event_is_described() {
    let record = read("crates/record/src/lib.rs");
    for name in ["Event", "EndReason"] {
        let (_, body) = record.split_once(&format!("pub enum {name} {{")).unwrap();
        let (body, _) = body.split_once("\n}").unwrap();
        let code = body
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with("//") && !line.starts_with("#["));
        let names: Vec<String> = code
            .filter_map(|line| line.split([' ', ':', ',', '{']).next())
            .filter(|word| !word.is_empty() && *word != "}")
            .map(snake_case)
            .collect();
        check_described(name, &names);
    }
}

fn snake_case(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.push(character.to_ascii_lowercase());
    }
    text
}

/// Files below `crates` that may have options in their texts, and why.
const OPTIONS_ALLOWED: &[(&str, &str)] = &[
    ("analysis/src/convert/to_record.rs", "these options of `convert` are checked there"),
    ("host/src/sys/threads.rs", "an option of `run`, before the command line is read"),
    ("measure/src/link/command.rs", "options of compilers and linkers"),
    ("measure/src/link/wrappers.rs", "the arguments of our own compiler"),
    ("measure/src/load/mod.rs", "an option of `load` is checked there"),
    ("record/src/fair_play/audit.rs", "what an audit says of the options of `campaign`"),
    ("record/src/fair_play/outputs.rs", "what an audit says of the options of `campaign`"),
    ("host/src/report.rs", "a command line to copy, a field of its own in the JSON"),
    ("host/src/shield/explain.rs", "an option of docker"),
    ("host/src/shield/systemd.rs", "options of systemd-run and systemctl"),
    ("host/src/services/systemd.rs", "options of systemctl"),
    ("host/src/guardian/front_end.rs", "the options of the guardian"),
    ("host/src/gaps.rs", "an option of docker"),
    ("host/src/knobs/kernel.rs", "an option of `run`, in a text of `system` alone"),
    ("measure/src/slices/mod.rs", "an option that only the Python package gives"),
    ("measure/src/valgrind.rs", "options of valgrind"),
    ("measure/src/worker/mod.rs", "the argument of a worker"),
    ("record/src/plan/arms.rs", "these options of `run` are checked there"),
    ("record/src/plan/decide.rs", "these options of `run` are checked there"),
    ("record/src/plan/defaults.rs", "`--alpha` of all verbs that have it is checked there"),
    ("record/src/plan/parameters.rs", "these options of `run` are checked there"),
    ("record/src/plan/programs.rs", "these options of `bench` are checked there"),
    ("record/src/plan/programs/statements.rs", "these options of `timeit` are checked there"),
    ("record/src/plan/revisions.rs", "these options of `run` are checked there"),
    ("record/src/plan/suite/mod.rs", "these options of `bench` are checked there"),
];

/// Options with one name, whoever reads it.
const SAME_EVERYWHERE: &str =
    "as-root cold-cache db for host-root no-smt only output quiet resume subtract";

/// The layers below `render` use an `OptionName` where a message names an option; `render/remedies.rs` spells it. With a
/// suite file, the message names the file's key instead.
#[test]
fn no_option_is_named_where_its_name_is_not_known() {
    let source = root().join("crates");
    let mut files = Vec::new();
    for layer in ["host", "record", "analysis", "measure"] {
        rust_files(&source.join(layer).join("src"), &mut files);
    }
    let mut n_allowed = 0;
    for file in files.iter().filter(|file| !file.to_string_lossy().contains("/tests")) {
        let name = file.strip_prefix(&source).unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_allowed = OPTIONS_ALLOWED.iter().any(|(allowed, _)| *allowed == name);
        let is_option = |rest: &str| {
            let is_name = rest.starts_with(|first: char| first.is_ascii_lowercase());
            let has_one_name = || SAME_EVERYWHERE.split(' ').any(|name| rest.starts_with(name));
            is_name && (is_allowed || !has_one_name())
        };
        let mut named = lines.filter(|line| line.split("--").skip(1).any(is_option)).peekable();
        if is_allowed {
            assert!(named.peek().is_some(), "{name} names no option; take it off the list");
            n_allowed += 1;
        } else {
            assert_eq!(named.next(), None, "{name}");
        }
    }
    assert_eq!(n_allowed, OPTIONS_ALLOWED.len(), "a file of the list is not there");
}
