//! The value of a run, which its program prints or writes to a file.
#![expect(clippy::disallowed_methods, reason = "reads and removes the file of a run")]

use std::ffi::OsStr;
use std::fs::{DirEntry, FileType};
use std::io::{self, ErrorKind, Read as _};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use regex_lite::Regex;
use serde::{Deserialize, Serialize};

use host::open_regular;
use host::sys::{User, with_files_of};
use model::words::reason;
use record::plan::{ValueReader, ValueRule};

/// A longer text is no result. The launcher's memory is a lower limit for the memory it measures of its children.
const BYTES_MAX: u64 = 64 << 20;
/// Sizes of values, in the base unit, whose ratios and squares no double overflows.
const SIZES: Range<f64> = 1e-150..1e150;
/// Characters of a text that a message quotes.
const QUOTED_MAX: usize = 40;

/// The place where the launcher finds the value of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValueTask {
    pub rule: ValueRule,
    pub path: Vec<u8>,
    /// A directory, and the name of a file somewhere in it whose text follows, if it exists.
    pub folder: Option<(Vec<u8>, String)>,
}

impl ValueTask {
    /// Removes the file of the last run, so its value is not taken for the next one's. The file of standard output is
    /// emptied when it is opened.
    pub fn clear(&self, user: Option<&User>) {
        if !self.rule.is_in_stdout() {
            as_user(user, || std::fs::remove_file(self.path())).ok();
        }
        if let Some((folder, _)) = &self.folder {
            as_user(user, || std::fs::remove_dir_all(OsStr::from_bytes(folder))).ok();
        }
    }

    /// The value in its base unit. Errors: the file or the value is missing, is no number, or has an absurd size.
    pub fn read(&self, user: Option<&User>) -> Result<f64, String> {
        let shown = self.path().display();
        let text = as_user(user, || self.text()).map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("it did not write {shown}"),
            _ => format!("{shown} cannot be read: {}", reason(error)),
        })?;
        let of = if self.rule.is_in_stdout() { "its output".into() } else { format!("{shown}") };
        let value = find(&self.rule.reader, &text, &of)? * self.rule.scale;
        match value == 0.0 || SIZES.contains(&value.abs()) {
            true => Ok(value),
            false => Err(format!("{of} has a value that is too large or too small to be compared")),
        }
    }

    fn text(&self) -> io::Result<String> {
        let mut found = text(self.path())?;
        if let Some((folder, name)) = &self.folder
            && let Some(file) = file_below(Path::new(OsStr::from_bytes(folder)), name)
        {
            found.push('\n');
            found += &text(&file)?;
        }
        Ok(found)
    }

    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

/// Opens files as the user of the runs.
pub fn as_user<T>(user: Option<&User>, act: impl FnOnce() -> T) -> T {
    if let Some(user) = user { with_files_of(user, act) } else { act() }
}

/// The file of this name in a directory or below it.
fn file_below(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<DirEntry> = std::fs::read_dir(folder).ok()?.flatten().collect();
    let is = |entry: &&DirEntry, what: fn(&FileType) -> bool| {
        entry.file_type().is_ok_and(|kind| what(&kind))
    };
    let entry = entries.iter().find(|it| it.file_name() == name && is(it, FileType::is_file));
    let folders = || entries.iter().filter(|it| is(it, FileType::is_dir));
    entry
        .map(DirEntry::path)
        .or_else(|| folders().find_map(|folder| file_below(&folder.path(), name)))
}

fn text(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let n_bytes = open_regular(path)?.take(BYTES_MAX + 1).read_to_end(&mut bytes)? as u64;
    if n_bytes > BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {} MiB", BYTES_MAX >> 20)));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number in a text; `of` names the text.
fn find(reader: &ValueReader, text: &str, of: &str) -> Result<f64, String> {
    match reader {
        ValueReader::Regex(regex) => {
            let compiled = Regex::new(regex).map_err(|error| format!("{regex:?}: {error}"))?;
            let found = compiled.captures_iter(text).last();
            let found = found.and_then(|found| found.get(1).or_else(|| found.get(0)));
            let found = found.ok_or_else(|| format!("nothing in {of} matches {regex:?}"))?;
            number(found.as_str(), of)
        }
        ValueReader::Pointer(pointer) => {
            let document: serde_json::Value = serde_json::from_str(text)
                .map_err(|error| format!("{of} is no JSON document: {error}"))?;
            match document.pointer(pointer) {
                Some(serde_json::Value::Number(it)) => {
                    it.as_f64().ok_or_else(|| format!("{it} is no number of 64 bits"))
                }
                Some(serde_json::Value::String(text)) => number(text, of),
                Some(other) => Err(format!("{pointer:?} of {of} is {}", kind(other))),
                None => Err(format!("{of} has nothing at {pointer:?}")),
            }
        }
        ValueReader::Harness { kind, benchmark, value } => {
            kind.value_ns(benchmark, text, *value).ok_or_else(|| {
                format!("{of} has no time above zero of {benchmark:?} as {} prints it", kind.name())
            })
        }
    }
}

fn number(text: &str, of: &str) -> Result<f64, String> {
    let found = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    let quoted: String = text.chars().take(QUOTED_MAX).collect();
    found.ok_or_else(|| format!("{of} has {quoted:?} where a number is expected"))
}

fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "a boolean",
        serde_json::Value::Array(_) => "an array",
        serde_json::Value::Object(_) => "an object",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(reader: ValueReader, text: &str, expected: Result<f64, &str>) {
        match (find(&reader, text, "its output"), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn the_last_match_counts() {
        let regex = |text: &str| ValueReader::Regex(text.into());
        check(regex(r"rps: ([0-9.]+)"), "rps: 1\nrps: 2.5 \n", Ok(2.5));
        check(regex(r"[0-9]+"), "a 7 b", Ok(7.0));
        check(regex(r"(?m)^p99 (\S+)$"), "p99 1e3\nmax 9\n", Ok(1000.0));
        check(regex(r"rps: (\w+)"), "rps: many", Err("has \"many\" where a number"));
        check(regex(r"rps: (\w+)"), "rps: inf", Err("where a number is expected"));
        check(regex("rps"), "nothing", Err("nothing in its output matches \"rps\""));
    }

    #[test]
    fn a_pointer_leads_to_a_number() {
        let pointer = |text: &str| ValueReader::Pointer(text.into());
        let text = r#"{"a/b": [{"p99": 3}], "s": "4.5", "n": null}"#;
        check(pointer("/a~1b/0/p99"), text, Ok(3.0));
        check(pointer("/s"), text, Ok(4.5));
        check(pointer("/n"), text, Err("\"/n\" of its output is null"));
        check(pointer("/x"), text, Err("its output has nothing at \"/x\""));
        check(pointer("/x"), "log\n{}", Err("its output is no JSON document"));
    }

    /// Reads twice the number in a file with this text.
    fn task_in(folder: &Path, text: &str) -> ValueTask {
        let path = folder.join("result");
        std::fs::write(&path, text).unwrap();
        let rule = ValueRule {
            reader: ValueReader::Pointer(String::new()),
            source: record::plan::ValueSource::File("result".into()),
            unit: None,
            scale: 2.0,
            better: model::values::Better::Lower,
        };
        ValueTask { rule, path: path.as_os_str().as_bytes().to_vec(), folder: None }
    }

    #[test]
    fn no_ratio_of_values_overflows() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["1e308", "-1e308", "1e300", "1e-308"] {
            let why = task_in(folder.path(), text).read(None).unwrap_err();
            assert!(why.contains("too large or too small"), "{text}: {why}");
        }
        assert_eq!(task_in(folder.path(), "0").read(None), Ok(0.0));
    }

    #[test]
    fn a_file_of_the_run_before_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let task = task_in(folder.path(), "8");
        assert_eq!(task.read(None), Ok(16.0));
        task.clear(None);
        assert!(task.read(None).unwrap_err().starts_with("it did not write"));
    }
}
