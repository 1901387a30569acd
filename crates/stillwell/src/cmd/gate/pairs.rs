//! The programs of both builds in pairs, and what is new, gone or the same.
#![expect(clippy::disallowed_methods, reason = "looks for programs and reads them")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail, ensure};

use crate::host::user_of_commands;
use crate::measure::harnesses::{benchmarks, is_marked, recognise};
use crate::plan::{Arm, Role};
use crate::words::text_of;

use super::trees::Trees;

/// Directories below a tree are searched so deep.
const DEPTH_MAX: usize = 7;
/// Directories that hold no benchmark programs, but many files.
const SKIPPED: [&str; 5] = ["node_modules", "incremental", ".fingerprint", "build", "examples"];
/// Digits of the hash that Cargo appends to the name of a program.
const HASH: usize = 16;

/// A program that both builds have.
pub(super) struct Pair {
    /// Its path without a hash, or a command.
    pub name: String,
    /// The files of the old and the new build; `None` for a command that both execute.
    pub files: Option<[PathBuf; 2]>,
    /// The benchmarks of both.
    pub common: Vec<String>,
}

/// What is measured, and what is not.
#[derive(Default)]
pub(super) struct Changes {
    /// The programs that differ.
    pub pairs: Vec<Pair>,
    /// Programs that are the same in both builds, byte for byte.
    pub same: Vec<String>,
    /// Programs and benchmarks that only the new build has.
    pub new: Vec<String>,
    /// Those that only the old build has.
    pub gone: Vec<String>,
    /// Programs that do not list their benchmarks, with the reason.
    pub failing: Vec<String>,
}

impl Changes {
    /// Finds the programs, or those that the user names.
    ///
    /// # Errors
    /// A named program is in neither build, or there is no program at all.
    pub(super) fn find(trees: &Trees, named: &[String]) -> Result<Self> {
        let mut all = Self::default();
        if named.is_empty() {
            let [old, new] = [0, 1].map(|side| programs_below(&trees.directories[side]));
            let names = old.keys().chain(new.keys().filter(|name| !old.contains_key(*name)));
            for name in names {
                all.take(trees, name, [old.get(name), new.get(name)], false)?;
            }
        }
        for name in named {
            let files = [0, 1].map(|side| file_named(&trees.directories[side], name));
            let is_command = files.iter().all(Option::is_none) && name.contains(' ');
            ensure!(
                is_command || files.iter().any(Option::is_some),
                "there is no program {name:?}, neither in {} nor in {}",
                trees.directories[0].display(),
                trees.directories[1].display()
            );
            all.take(trees, name, [files[0].as_ref(), files[1].as_ref()], true)?;
        }
        [&mut all.same, &mut all.new, &mut all.gone].into_iter().for_each(|names| names.sort());
        let n_found = all.pairs.len() + all.same.len() + all.new.len() + all.gone.len();
        if n_found + all.failing.len() == 0 {
            bail!(
                "there is no benchmark program of a known framework in {} and {}; name the programs, or build them first \
                 (docs/frameworks.md)",
                trees.directories[0].display(),
                trees.directories[1].display()
            );
        }
        Ok(all)
    }

    /// Adds one program. `is_named`: the user wants it, so it has to have benchmarks.
    fn take(
        &mut self,
        trees: &Trees,
        name: &str,
        files: [Option<&PathBuf>; 2],
        is_named: bool,
    ) -> Result<()> {
        let listed = |side: usize| listed(&trees.directories[side], name, files[side]);
        let is_command = files.iter().all(Option::is_none);
        match files {
            [Some(old), Some(new)] if are_equal(old, new)? => {
                // A test program without a benchmark is of no interest.
                if listed(0).is_ok_and(|it| !it.is_empty()) {
                    self.same.push(name.into());
                }
                return Ok(());
            }
            [Some(_), None] => {
                self.gone.extend(listed(0).is_ok_and(|it| !it.is_empty()).then(|| name.into()));
                return Ok(());
            }
            [None, Some(_)] => {
                self.new.extend(listed(1).is_ok_and(|it| !it.is_empty()).then(|| name.into()));
                return Ok(());
            }
            _ => {}
        }
        match (listed(0), listed(1)) {
            (Ok(old), Ok(new)) => {
                let (common, gone): (Vec<_>, Vec<_>) =
                    old.into_iter().partition(|benchmark| new.contains(benchmark));
                let of = |benchmark: &String| format!("{name}: {benchmark}");
                self.gone.extend(gone.iter().map(of));
                self.new.extend(new.iter().filter(|it| !common.contains(it)).map(of));
                let files = [files[0].cloned(), files[1].cloned()];
                let [old, new] = files;
                let files = if is_command { None } else { old.zip(new).map(<[PathBuf; 2]>::from) };
                if !common.is_empty() {
                    self.pairs.push(Pair { name: name.into(), files, common });
                }
            }
            (Err(_), Err(_)) if !is_named => {}
            (Err(why), _) => self.failing.push(format!("{name} (base): {}", joined(&why))),
            (_, Err(why)) => self.failing.push(format!("{name} (head): {}", joined(&why))),
        }
        Ok(())
    }
}

/// A reason with what the program said, on one line.
fn joined(why: &str) -> String {
    let lines = why.lines().map(|line| line.trim_start_matches([' ', '|']).trim());
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The benchmarks of a program in a build.
fn listed(directory: &Path, name: &str, file: Option<&PathBuf>) -> Result<Vec<String>, String> {
    let argv = match file {
        Some(file) => vec![text_of(file.as_os_str().as_encoded_bytes())],
        None => shell_words::split(name).map_err(|error| error.to_string())?,
    };
    let directories = vec![directory.to_string_lossy().into_owned()];
    let arm = Arm { argv, directories, ..Arm::bare(name, Role::Candidate) };
    let user = user_of_commands(false);
    let Some(harness) = recognise(&arm, user.as_ref())? else {
        return Err("it is of no framework that is known".into());
    };
    let found = benchmarks(harness, &arm, user.as_ref())?;
    Ok(found.into_iter().map(|it| it.name).collect())
}

fn are_equal(old: &Path, new: &Path) -> Result<bool> {
    let size = |path: &Path| path.metadata().map(|meta| meta.len());
    let read = |path: &Path| {
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
    };
    Ok(size(old).ok() == size(new).ok() && read(old)? == read(new)?)
}

/// The programs below a directory that may be of a framework, by their path without a hash; of several the newest.
fn programs_below(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut found: BTreeMap<String, (SystemTime, PathBuf)> = BTreeMap::new();
    let mut left = vec![(root.to_path_buf(), 0)];
    while let Some((directory, depth)) = left.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() {
                let is_skipped = SKIPPED.iter().any(|it| name == *it) || is_hidden(&name);
                left.extend((!is_skipped && depth < DEPTH_MAX).then(|| (path, depth + 1)));
            } else if kind.is_file() && may_be_benchmark(&path) {
                let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
                let made = path.metadata().and_then(|meta| meta.modified());
                let made = made.unwrap_or(SystemTime::UNIX_EPOCH);
                let newest =
                    found.entry(without_hash(&name).into()).or_insert((made, path.clone()));
                if made > newest.0 {
                    *newest = (made, path);
                }
            }
        }
    }
    found.into_iter().map(|(name, (_, path))| (name, path)).collect()
}

fn is_hidden(name: &std::ffi::OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

fn may_be_benchmark(path: &Path) -> bool {
    let is_executable = path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0);
    let is_library = path.extension().is_some_and(|it| it == "so" || it == "rlib" || it == "d");
    is_executable && !is_library && is_marked(path)
}

/// The file of a name in a build: itself, or the newest with a hash behind it.
fn file_named(root: &Path, name: &str) -> Option<PathBuf> {
    let path = root.join(name);
    if path.is_file() {
        return Some(path);
    }
    let entries = std::fs::read_dir(path.parent()?).ok()?.flatten();
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name != wanted && without_hash(&name) == wanted)
            && path.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
    };
    let found = entries.map(|entry| entry.path()).filter(is_it);
    found.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

/// A name without the hash that Cargo appends.
fn without_hash(name: &str) -> &str {
    let Some((before, hash)) = name.rsplit_once('-') else { return name };
    let is_hash = hash.len() == HASH && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hash { before } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_cargo_is_no_part_of_a_name() {
        assert_eq!(without_hash("deps/sort-0123456789abcdef"), "deps/sort");
        assert_eq!(without_hash("deps/sort-0123456789abcdeg"), "deps/sort-0123456789abcdeg");
        assert_eq!(without_hash("old-test"), "old-test");
    }
}
