//! The programs and libraries of a build.
#![expect(clippy::disallowed_methods, reason = "looks for programs")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cmd::programs::is_executable;
use measure::harnesses::is_marked;

/// Depth of the search below a tree.
const DEPTH_MAX: usize = 7;
/// Libtool's directory of shared libraries. Its programs need a script beside the directory.
const LIBTOOL: &str = ".libs";
/// Directories with many files and no benchmark programs.
const SKIPPED: [&str; 1] = ["node_modules"];
/// Directories to skip beside Cargo's `deps`.
const SKIPPED_OF_CARGO: [&str; 3] = ["incremental", "build", "examples"];
/// Digits of the hash in Cargo's names of programs.
const HASH: usize = 16;

#[derive(Default)]
pub(super) struct BuiltFiles {
    /// Possible programs of a framework, by path without hash; the newest of several.
    pub programs: BTreeMap<String, PathBuf>,
    pub libraries: Vec<PathBuf>,
}

impl BuiltFiles {
    pub(super) fn below(root: &Path) -> Self {
        let mut programs: BTreeMap<String, (SystemTime, PathBuf)> = BTreeMap::new();
        let (mut libraries, mut left) = (Vec::new(), vec![(root.to_path_buf(), 0)]);
        while let Some((directory, depth)) = left.pop() {
            let is_of_cargo = directory.join("deps").is_dir();
            let skipped = SKIPPED.iter().chain(SKIPPED_OF_CARGO.iter().filter(|_| is_of_cargo));
            let skipped: Vec<&&str> = skipped.collect();
            let is_of_libtool = directory.ends_with(LIBTOOL);
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let (path, name) = (entry.path(), entry.file_name());
                let Ok(kind) = entry.file_type() else { continue };
                if kind.is_dir() {
                    let is_skipped = skipped.iter().any(|it| name == **it)
                        || name.as_encoded_bytes().starts_with(b".") && name != LIBTOOL;
                    left.extend((!is_skipped && depth < DEPTH_MAX).then(|| (path, depth + 1)));
                } else if !path.is_file() {
                    // Opening a FIFO would wait for its other end.
                } else if name.to_string_lossy().contains(".so") {
                    libraries.push(path);
                } else if !is_of_libtool && may_be_benchmark(&path) {
                    let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy();
                    let made = path.metadata().and_then(|meta| meta.modified());
                    let made = made.unwrap_or(SystemTime::UNIX_EPOCH);
                    let newest = programs
                        .entry(without_hash(&name).into())
                        .or_insert_with(|| (made, path.clone()));
                    if made > newest.0 {
                        *newest = (made, path);
                    }
                }
            }
        }
        let programs = programs.into_iter().map(|(name, (_, path))| (name, path)).collect();
        Self { programs, libraries }
    }
}

fn may_be_benchmark(path: &Path) -> bool {
    let is_library = path.extension().is_some_and(|it| it == "rlib" || it == "d");
    is_executable(path) && !is_library && is_marked(path)
}

/// The file with this name in a build, or the newest with a hash behind the name.
pub(super) fn file_named(root: &Path, name: &str) -> Option<PathBuf> {
    let path = root.join(name);
    if path.is_file() {
        return Some(path);
    }
    let entries = std::fs::read_dir(path.parent()?).ok()?.flatten();
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let is_it = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| name != wanted && without_hash(&name) == wanted)
            && is_executable(path)
    };
    let programs = entries.map(|entry| entry.path()).filter(is_it);
    programs.max_by_key(|path| path.metadata().and_then(|meta| meta.modified()).ok())
}

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
