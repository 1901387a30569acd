//! The text format of a machine, `tests/hosts/NAME.txt`: one file or several equal ones a line. The unit tests and
//! the tests of the program share this module, so it uses nothing of the crate.
//!
//! - `path = content`: a file. The path is relative to the root of the machine. In the content, these escapes stand
//!   for a newline, a tab, a NUL, a byte and a backslash: `\n`, `\t`, `\0`, `\xNN` and `\\`.
//! - `sys/devices/system/cpu/cpu{0-3,6}/online = 1`: the same file for each of these numbers.
//! - `path !`: the file exists, but even root cannot read it.
//! - `path/`: an empty directory.
//!
//! Empty lines and lines that start with `#` are ignored. The first line tells if the machine was captured or
//! composed.

use std::path::Path;

/// Creates the files of a machine below `root`.
pub fn unpack(text: &str, root: &Path) {
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (paths, entry) = parse(line);
        for path in expand_numbers(paths) {
            assert!(Path::new(&path).is_relative(), "{path} must be relative");
            let path = root.join(&path);
            std::fs::create_dir_all(path.parent().expect("below the root")).expect("a directory");
            match &entry {
                FixtureEntry::File(content) => std::fs::write(&path, content).expect("a file"),
                // Root ignores permissions. A directory in place of a file makes the read fail for every user.
                FixtureEntry::Directory => std::fs::create_dir_all(&path).expect("a directory"),
            }
        }
    }
}

enum FixtureEntry {
    File(Vec<u8>),
    Directory,
}

fn parse(line: &str) -> (&str, FixtureEntry) {
    if let Some((path, content)) = line.split_once('=') {
        let mut content = unescape(content.trim());
        // The kernel ends its files with a newline.
        content.push(b'\n');
        return (path.trim(), FixtureEntry::File(content));
    }
    let path = line.trim();
    let path = path.strip_suffix(" !").or_else(|| path.strip_suffix('/'));
    (path.unwrap_or_else(|| panic!("{line:?} has no =, ! or /")).trim(), FixtureEntry::Directory)
}

/// Expands `a{0-2,5}b` to a0b, a1b, a2b and a5b.
fn expand_numbers(paths: &str) -> Vec<String> {
    let Some((start, rest)) = paths.split_once('{') else { return vec![paths.to_owned()] };
    let (list, end) = rest.split_once('}').unwrap_or_else(|| panic!("{paths:?} has no }}"));
    let ranges = list.split(',').map(|item| item.split_once('-').unwrap_or((item, item)));
    let number = |text: &str| -> usize {
        text.parse().unwrap_or_else(|_| panic!("{text:?} in {paths:?} is no number"))
    };
    let numbers = ranges.flat_map(|(first, last)| number(first)..=number(last));
    numbers.map(|number| format!("{start}{number}{end}")).collect()
}

fn unescape(text: &str) -> Vec<u8> {
    let mut content = Vec::new();
    let mut chars = text.chars();
    while let Some(character) = chars.next() {
        if character != '\\' {
            content.extend(character.encode_utf8(&mut [0; 4]).bytes());
            continue;
        }
        content.push(match chars.next() {
            Some('n') => b'\n',
            Some('t') => b'\t',
            Some('0') => b'\0',
            Some('\\') => b'\\',
            Some('x') => {
                let digits: String = chars.by_ref().take(2).collect();
                u8::from_str_radix(&digits, 16)
                    .unwrap_or_else(|_| panic!("\\x{digits} in {text:?}"))
            }
            other => panic!("\\{other:?} in {text:?} is no escape"),
        });
    }
    content
}
