//! Captured machines for tests: `tests/hosts/NAME.txt`, one file a line.
//!
//! A line is `path = content`, the path relative to the root of the machine. In the content `\n`, `\t`, `\0` and `\\`
//! stand for a newline, a tab, a NUL and a backslash. Empty lines and lines that start with `#` are ignored; the first
//! line says whether the machine was captured or composed.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::path::Path;

use tempfile::TempDir;

use crate::host::Host;

/// The machine in `tests/hosts/NAME.txt`. It exists as long as the directory that comes with it.
pub(crate) fn fixture(name: &str) -> (TempDir, Host) {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts").join(name).with_extension("txt");
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        text.starts_with("# Captured") || text.starts_with("# Composed"),
        "{} must say in its first line where it is from",
        path.display()
    );
    expand(&text)
}

/// The machine with the files in `text`.
pub(crate) fn expand(text: &str) -> (TempDir, Host) {
    // In memory where there is such a place: journals are synced to disk for each line.
    let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
    let directory = directory.expect("a directory for the machine");
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (path, content) = line.split_once('=').unwrap_or_else(|| panic!("{line:?} has no ="));
        let path = Path::new(path.trim());
        assert!(path.is_relative(), "{} must be relative", path.display());
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
        // The kernel ends its files with a newline.
        std::fs::write(&path, unescape(content.trim()) + "\n").expect("a file");
    }
    let host = Host::new(directory.path());
    (directory, host)
}

fn unescape(text: &str) -> String {
    let mut content = String::new();
    let mut chars = text.chars();
    while let Some(character) = chars.next() {
        content.push(match character {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some('\\') => '\\',
                other => panic!("\\{other:?} in {text:?} is no escape"),
            },
            character => character,
        });
    }
    content
}
