//! Captured machines for tests: `tests/hosts/NAME.txt`, in the format of [`super::fixture_text`].
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::Host;
use crate::fixture_text::unpack;

/// Unpacks the machine in `tests/hosts/NAME.txt`. It exists as long as the returned directory.
#[cfg(test)]
pub fn fixture(name: &str) -> (TempDir, Host) {
    expand(&fixture_text(name))
}

/// The text of that machine.
#[cfg(test)]
pub fn fixture_text(name: &str) -> String {
    let path = directory().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        text.starts_with("# Captured") || text.starts_with("# Composed"),
        "{} must say in its first line where it is from",
        path.display()
    );
    text
}

/// The sorted names of all machines in `tests/hosts`.
pub fn fixture_names() -> Vec<String> {
    let entries = std::fs::read_dir(directory()).expect("the directory of the machines");
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> =
        names.filter_map(|name| Some(name.strip_suffix(".txt")?.to_owned())).collect();
    names.sort();
    assert!(names.len() >= 12, "{names:?}");
    names
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts")
}

/// Unpacks the machine with the files in `text`.
pub fn expand(text: &str) -> (TempDir, Host) {
    // Prefers a file system in memory: Stillwell syncs a journal to disk for each line.
    let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
    let directory = directory.expect("a directory for the machine");
    unpack(text, directory.path());
    let host = Host::new(directory.path());
    (directory, host)
}
