//! Which files `history add` reads: those that are named, and those in a directory.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use formats::Detail;

use crate::cmd::open;
use model::spec::input::InputOptions;

/// The named files, and all files below the named directories. A directory with nothing but criterion's files is one
/// result.
pub fn files(named: &[PathBuf], input: &InputOptions) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        ensure!(path != Path::new("-"), "a history is made of files; standard input has no name");
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let is_criterion =
            formats::criterion_files(path, open::read_options(input, Detail::Values))?.is_some();
        let mut inside = formats::below(path)?;
        let unfinished = unfinished_parts(&inside);
        inside.retain(|name| {
            is_result(name)
                && !(is_criterion && is_of_criterion(name))
                && !unfinished.iter().any(|part| name.starts_with(part))
        });
        if is_criterion && inside.is_empty() {
            files.push(path.clone());
            continue;
        }
        ensure!(!inside.is_empty(), "{} has no results ({})", path.display(), RESULTS.join(", "));
        files.extend(inside.iter().map(|name| path.join(name)));
    }
    Ok(files)
}

/// The directories of unfinished measurements in pools. The leftovers of a killed job are no results.
fn unfinished_parts(inside: &[String]) -> Vec<String> {
    let folder_of = |name: &String| {
        let folder = name.strip_suffix(POOL)?;
        (folder.is_empty() || folder.ends_with('/')).then(|| format!("{folder}part/"))
    };
    inside.iter().filter_map(folder_of).collect()
}

fn is_of_criterion(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    matches!(last, "benchmark.json" | "estimates.json" | "sample.json" | "tukey.json" | "raw.csv")
}

/// Endings of results in a directory, and the names of other files there: those of asv, of our suites and of our
/// pools.
const RESULTS: [&str; 4] = [".swell", ".json", ".json.gz", ".csv"];
const POOL: &str = "pool.json";
const NO_RESULTS: [&str; 4] = ["benchmarks.json", "machine.json", "suite.json", POOL];

/// Hidden files and directories hold no results.
fn is_result(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    RESULTS.iter().any(|extension| name.ends_with(extension))
        && !NO_RESULTS.contains(&last)
        && !name.split('/').any(|part| part.starts_with('.'))
}
