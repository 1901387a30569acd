//! Files, folders of files, and patterns that the user names.

#![expect(clippy::disallowed_methods, reason = "looks into directories, and at the start of files")]

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use formats::{ReadOptions, detect, unpacked};
use regex_lite::Regex;

/// Endings of result files in a folder, perhaps before `.gz`.
const RESULTS: [&str; 3] = [".swell", ".json", ".csv"];
/// Endings of files that are results if their start says so.
const TEXTS: [&str; 4] = [".txt", ".log", ".xml", ".js"];
/// Files of asv, suites and pools that are no results.
const NO_RESULTS: [&str; 4] = ["benchmarks.json", "machine.json", "suite.json", POOL];
/// Files of searches, races and campaigns, and their start; another program's results may have the name too.
const STEP_MANIFESTS: [(&str, &[u8]); 3] = [
    ("bisect.json", b"{\"format\":\"stillwell-bisect\""),
    ("race.json", b"{\"format\":\"stillwell-race\""),
    ("campaign.json", b"{\"format\":\"stillwell-campaign\""),
];
const POOL: &str = "pool.json";
/// Size of a file's start, which tells its format.
const START_BYTES: u64 = 64 << 10;

/// The named file, the matches of a pattern, or all results below a folder. Its files of criterion are one result, with
/// the folder's name. A folder without results, or that cannot be read, stands for itself: opening it gives the reason.
/// Errors: a pattern has no match.
pub fn expanded(named: &Path, options: ReadOptions<'_>) -> Result<Vec<PathBuf>> {
    let text = named.to_string_lossy();
    if text.contains(['*', '?']) && named.symlink_metadata().is_err() {
        let files = matches(named)?;
        ensure!(!files.is_empty(), "no file matches {text}");
        return Ok(files);
    }
    if !named.is_dir() {
        return Ok(vec![named.into()]);
    }
    let is_criterion = formats::criterion_files(named, options)?.is_some();
    let mut inside = formats::below(named)?;
    let unfinished = unfinished_parts(&inside);
    inside.retain(|below| {
        let (name, path) = (below.to_string_lossy(), named.join(below));
        !name.split('/').any(|part| part.starts_with('.'))
            && (is_result(&name) || is_text_of_results(&path) || path.is_dir())
            && !is_step_manifest(&path)
            && !(is_criterion && is_of_criterion(&name))
            && !unfinished.iter().any(|part| below.starts_with(part))
    });
    let mut files: Vec<PathBuf> = inside.iter().map(|name| named.join(name)).collect();
    if is_criterion || files.is_empty() {
        files.push(named.into());
    }
    Ok(files)
}

/// The paths that match a pattern with `*` and `?`, sorted.
fn matches(pattern: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = vec![PathBuf::new()];
    for part in pattern.components() {
        let text = part.as_os_str().to_string_lossy();
        if !matches!(part, Component::Normal(_)) || !text.contains(['*', '?']) {
            paths.iter_mut().for_each(|path| path.push(part));
            paths.retain(|path| path.symlink_metadata().is_ok());
            continue;
        }
        let wanted = expression(&text)?;
        let mut next = Vec::new();
        for directory in paths {
            let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
            let Ok(entries) = listed.read_dir() else { continue };
            for entry in entries {
                let name = entry.with_context(|| listed.display().to_string())?.file_name();
                let shown = name.to_string_lossy();
                // As in a shell, a pattern does not match hidden files.
                if wanted.is_match(&shown) && (text.starts_with('.') || !shown.starts_with('.')) {
                    next.push(directory.join(name));
                }
            }
        }
        next.sort();
        paths = next;
    }
    Ok(paths)
}

/// A pattern as a regular expression: `*` is any text, `?` one character.
fn expression(pattern: &str) -> Result<Regex> {
    let mut text = String::from("^(?s:");
    for char in pattern.chars() {
        match char {
            '*' => text.push_str(".*"),
            '?' => text.push('.'),
            char => text.push_str(&regex_lite::escape(&char.to_string())),
        }
    }
    Regex::new(&(text + ")$")).with_context(|| format!("the pattern {pattern}"))
}

/// The directories of unfinished measurements in pools: the leftovers of a killed job are no results.
fn unfinished_parts(inside: &[PathBuf]) -> Vec<PathBuf> {
    let pools = inside.iter().filter(|path| path.ends_with(POOL));
    pools.map(|path| path.with_file_name("part")).collect()
}

fn is_of_criterion(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    matches!(last, "benchmark.json" | "estimates.json" | "sample.json" | "tukey.json" | "raw.csv")
}

/// Whether a name can be a result.
fn is_result(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    let last = name.rsplit('/').next().unwrap_or(name);
    RESULTS.iter().any(|extension| name.ends_with(extension)) && !NO_RESULTS.contains(&last)
}

fn is_step_manifest(path: &Path) -> bool {
    let is_it = |(name, start): &(&str, &[u8])| {
        let mut found = vec![0; start.len()];
        let mut read = || File::open(path)?.read_exact(&mut found);
        path.ends_with(name) && read().is_ok() && found == *start
    };
    STEP_MANIFESTS.iter().any(is_it)
}

fn is_text_of_results(path: &Path) -> bool {
    let name = path.to_string_lossy();
    let is_text = TEXTS.iter().any(|extension| name.ends_with(extension));
    let mut start = Vec::new();
    let mut read = || File::open(path)?.take(START_BYTES).read_to_end(&mut start);
    is_text && read().is_ok() && unpacked(&start).is_ok_and(|start| detect(&start).is_ok())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn patterns_and_folders_stand_for_files() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b")).unwrap();
        for name in
            ["a/1.json", "a/2.json", "a/b/3.json", "a/.4.json", "a/readme.txt", "a/machine.json"]
        {
            std::fs::write(at(name), "{}").unwrap();
        }
        for name in ["bisect", "race", "campaign"] {
            let text = format!("{{\"format\":\"stillwell-{name}\",\"version\":2}}");
            std::fs::write(at(&format!("a/{name}.json")), text).unwrap();
        }
        for name in ["a/b/race.json", "a/b/s.swell.gz"] {
            std::fs::write(at(name), "{}").unwrap();
        }
        std::fs::write(at("a/go.txt"), "BenchmarkA 1 2 ns/op\n").unwrap();
        let names = |pattern: &str| -> Vec<String> {
            let files = expanded(&at(pattern), ReadOptions::default()).unwrap();
            let below = files.iter().map(|path| path.strip_prefix(folder.path()).unwrap());
            below.map(|path| path.display().to_string()).collect()
        };
        assert_eq!(names("a/?.json"), ["a/1.json", "a/2.json"]);
        assert_eq!(names("*/b/*"), ["a/b/3.json", "a/b/race.json", "a/b/s.swell.gz"]);
        assert_eq!(
            names("a"),
            ["a/1.json", "a/2.json", "a/b/3.json", "a/b/race.json", "a/b/s.swell.gz", "a/go.txt"]
        );
        assert_eq!(names("a/none.json"), ["a/none.json"]);
        let error = expanded(&at("a/*.csv"), ReadOptions::default()).unwrap_err();
        assert!(error.to_string().starts_with("no file matches"), "{error}");
    }

    #[test]
    fn a_name_that_is_no_text_names_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(OsStr::from_bytes(b"b\xff.swell"));
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(expanded(folder.path(), ReadOptions::default()).unwrap(), [file]);
    }

    #[test]
    fn criterion_is_one_result_beside_others() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("x/new")).unwrap();
        let files = || expanded(folder.path(), ReadOptions::default()).unwrap();
        // Without a sample it can be of any program.
        std::fs::write(at("benchmark.json"), "{}").unwrap();
        assert_eq!(files(), [at("benchmark.json")]);
        std::fs::remove_file(at("benchmark.json")).unwrap();
        for name in ["x/new/benchmark.json", "x/new/sample.json", "x/new/tukey.json"] {
            std::fs::write(at(name), "{}").unwrap();
        }
        assert_eq!(files(), [folder.path().to_owned()]);
        std::fs::write(at("jmh.json"), "[]").unwrap();
        assert_eq!(files(), [at("jmh.json"), folder.path().to_owned()]);
    }
}
