//! Command-line words that are not UTF-8, as text for a record; and errors in one line.

use std::fmt::Display;
use std::path::Path;

use clap::builder::{OsStringValueParser, TypedValueParser};

use crate::prose::{Prose, prose};

/// Edit distance: letters to insert, delete or replace.
pub use strsim::levenshtein as n_edits;

/// Stands for byte 0. These are the last private-use characters, which no text uses.
const BASE: u32 = 0x0010_ff00;

/// Encodes bytes as text. A byte that is not UTF-8 becomes a private-use character, and so does each byte of such a
/// character. [`bytes_of`] restores the bytes.
pub fn text_of(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match byte_of(char) {
                None => out.push(char),
                Some(_) => out.extend(char.encode_utf8(&mut [0; 4]).bytes().map(stand_in)),
            }
        }
        out.extend(chunk.invalid().iter().copied().map(stand_in));
    }
    out
}

pub fn path_text(path: &Path) -> String {
    text_of(path.as_os_str().as_encoded_bytes())
}

/// Restores the bytes behind a text.
pub fn bytes_of(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match byte_of(char) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The byte behind a character of [`text_of`]. Bytes below 128 are always UTF-8.
pub fn byte_of(char: char) -> Option<u8> {
    let byte = u32::from(char).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

fn stand_in(byte: u8) -> char {
    char::from_u32(BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A parser for commands on the command line.
pub fn command_parser() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|word| text_of(word.as_encoded_bytes()))
}

/// The words of a command line as one command. A single word has its arguments already.
pub fn one_command(words: &[String]) -> String {
    match words {
        [only] => only.clone(),
        words => shell_words::join(words),
    }
}

/// The text of [`in_prose`] for a user of `run`.
pub fn in_words(error: &anyhow::Error) -> String {
    in_prose(error).to_string()
}

/// An error and its causes in one line, without causes that repeat an earlier text.
pub fn in_prose(error: &anyhow::Error) -> Prose {
    let mut out = Prose::default();
    for cause in error.chain() {
        let prose = cause.downcast_ref().cloned();
        let next: Prose = prose.unwrap_or_else(|| reason(cause).into());
        let (before, text) = (out.to_string(), next.to_string());
        if text.starts_with(&before) {
            out = next;
        } else if !before.ends_with(&text) {
            out = prose![(out) ": " (next)];
        }
    }
    out
}

/// An error without Rust's "(os error 2)".
pub fn reason(error: impl Display) -> String {
    const BEFORE: &str = " (os error ";
    let text = error.to_string();
    let mut parts = text.split(BEFORE);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|char: char| char.is_ascii_digit());
        match rest.strip_prefix(')') {
            Some(rest) if part.len() > rest.len() + 1 => out.push_str(rest),
            _ => out.extend([BEFORE, part]),
        }
    }
    out
}

/// A JSON error without its line number, for files of which each line is a document of its own.
pub fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("character {}: {what}", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn nothing_is_said_twice() {
        let error = anyhow!("damaged").context("a.json").context("cannot add a.json");
        assert_eq!(in_words(&error), "cannot add a.json: damaged");
        let error = anyhow!("damaged").context("a.json, line 3").context("a.json");
        assert_eq!(in_words(&error), "a.json, line 3: damaged");
    }

    #[test]
    fn an_error_keeps_the_options_that_it_names() {
        let n = 3;
        let error = anyhow!(prose!["CPU {n}: check " Affinity]).context("cannot start");
        let spelled = in_prose(&error).spelled(|option| format!("<{}>", option.words()));
        assert_eq!(spelled, "cannot start: CPU 3: check <affinity>");
        assert_eq!(in_prose(&error).to_string(), "cannot start: CPU 3: check --affinity");
    }

    #[test]
    fn errors_of_the_kernel_have_no_number() {
        let missing = || std::io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(reason(missing()), "No such file or directory");
        let inside = anyhow!("a.json: {}; see b", missing()).context("cannot add a.json");
        assert_eq!(
            in_words(&inside),
            "cannot add a.json: a.json: No such file or directory; see b"
        );
        let strange = std::io::Error::from_raw_os_error(5000);
        assert_eq!(reason(strange), "Unknown error 5000");
        for others in ["an (os error of mine)", "x (os error )", " (os error 2"] {
            assert_eq!(reason(others), others);
        }
    }

    #[test]
    fn bytes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        let private = "é\u{10ff80}\u{10ffff}\u{10ff00}".as_bytes();
        for bytes in [all.as_slice(), private, b"", b"\xff\xfe a \xe6\xbc"] {
            assert_eq!(bytes_of(&text_of(bytes)), bytes);
        }
        assert_eq!(text_of("echo é".as_bytes()), "echo é");
    }
}
