//! The default places of records.
#![expect(clippy::disallowed_methods, reason = "makes the directory and looks into it")]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow};

use crate::is_suite;
use host::invoking_home;
use host::user_files::make_directories;

const EXTENSION: &str = "swell";

/// `$XDG_STATE_HOME/stillwell`, by default `~/.local/state/stillwell` (XDG Base Directory Specification 0.8).
fn directory() -> Option<PathBuf> {
    user_directory("XDG_STATE_HOME", ".local/state")
}

/// Stillwell's directory: the variable's, or the usual one in the user's home.
fn user_directory(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    // Under sudo, HOME may be root's.
    let home = || invoking_home().or_else(|| absolute("HOME"));
    let directory = absolute(variable).or_else(|| Some(home()?.join(usual)))?;
    Some(directory.join("stillwell"))
}

/// Makes a directory and its missing parents for the user alone (XDG Base Directory Specification 0.8, "Referencing
/// this specification"). Existing directories keep their mode. An error names the variable of the place.
fn make_private(directory: &Path, variable: &str) -> Result<()> {
    make_directories(directory, 0o700).with_context(|| {
        format!("cannot make {}; {variable} can name another directory", directory.display())
    })
}

/// `$XDG_CACHE_HOME/stillwell`, by default `~/.cache/stillwell`.
fn cache() -> Result<PathBuf> {
    let directory = user_directory("XDG_CACHE_HOME", ".cache");
    directory.context("neither XDG_CACHE_HOME nor HOME is set")
}

/// The directory of suites' builds, `$XDG_CACHE_HOME/stillwell/builds`, which is made if necessary. Errors: no
/// directory for it is known, or it cannot be made.
pub fn builds_path() -> Result<PathBuf> {
    cache_path("builds")
}

/// A directory of things that can be made again, `$XDG_CACHE_HOME/stillwell/NAME`, which is made if necessary. Errors:
/// no directory for it is known, or it cannot be made.
pub fn cache_path(name: &str) -> Result<PathBuf> {
    let directory = cache()?.join(name);
    make_private(&directory, "XDG_CACHE_HOME")?;
    Ok(directory)
}

/// The file with the measurements of this machine's cores. Its directory is made if necessary. Errors: no directory for
/// it is known, or it cannot be made.
pub fn cores_path() -> Result<PathBuf> {
    let directory = cache()?;
    make_private(&directory, "XDG_CACHE_HOME")?;
    Ok(directory.join("cores.json"))
}

/// A new path for a record that starts now. Its directory is made if necessary.
pub fn new_path(now: &jiff::Zoned) -> Result<PathBuf> {
    let directory =
        directory().context("neither XDG_STATE_HOME nor HOME is set; say where with -o")?;
    make_directories(&directory, 0o700).with_context(|| {
        format!("cannot make {}; say where to keep the record with -o", directory.display())
    })?;
    let time = now.strftime("%Y-%m-%dT%H-%M-%S");
    let name =
        |more: &str| directory.join(format!("{time}-{}{more}.{EXTENSION}", std::process::id()));
    // A process may start several sessions in a second.
    let further = (2..).map(|n| name(&format!("-{n}")));
    let mut names = std::iter::once(name("")).chain(further);
    names.find(|path| !path.exists()).context("every name of a record is taken")
}

/// The path of the history. Errors: no directory for it is known.
pub fn history_path() -> Result<PathBuf> {
    let directory =
        directory().context("neither XDG_STATE_HOME nor HOME is set; say where with --db")?;
    Ok(directory.join("history.jsonl"))
}

/// The path of the list that maps jobs to pools. Errors: no directory for it is known, or it cannot be made.
pub fn pools_path() -> Result<PathBuf> {
    Ok(make_records_directory()?.join("pools.jsonl"))
}

/// The default place of records, pools and the history, which is made if necessary. Errors: none is known, or it cannot
/// be made.
pub fn make_records_directory() -> Result<PathBuf> {
    let directory = records_directory()?;
    make_private(&directory, "XDG_STATE_HOME")?;
    Ok(directory)
}

/// The directory of records. Errors: no directory is known.
pub fn records_directory() -> Result<PathBuf> {
    directory().context("neither XDG_STATE_HOME nor HOME is set")
}

/// All records and suites in the default place. Errors: no directory is known, or it cannot be read.
pub fn all_records() -> Result<Vec<PathBuf>> {
    let directory = records_directory()?;
    let entries = match std::fs::read_dir(&directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read {}", directory.display()))?,
    };
    let is_record =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == EXTENSION);
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths.filter(|path| is_record(path) || is_suite(path)).collect())
}

/// The newest record or suite in the default place. Errors: there is none.
pub fn newest() -> Result<PathBuf> {
    let directory = directory().context("neither XDG_STATE_HOME nor HOME is set; name a record")?;
    let none = || {
        anyhow!(
            "there is no record in {}; name one, or make one with `stillwell run`",
            directory.display()
        )
    };
    let records = all_records()?.into_iter();
    let modified = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    records.max_by_key(|path| modified(path)).ok_or_else(none)
}
