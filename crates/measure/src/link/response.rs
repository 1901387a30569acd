//! The text of an `@file`: the arguments of a command that is too long for a command line. The syntax is libiberty's
//! `buildargv` and LLVM's `TokenizeGNUCommandLine`: words between white space, both kinds of quotes, and a backslash
//! before a literal byte.

use std::ops::Range;

#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    pub bytes: Vec<u8>,
    place: Range<usize>,
}

pub fn words(text: &[u8]) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(skipped) = text[at..].iter().position(|&byte| !is_space(byte)) {
        let word = word(text, at + skipped);
        at = word.place.end;
        words.push(word);
    }
    words
}

fn word(text: &[u8], start: usize) -> Word {
    let mut bytes = Vec::new();
    let mut quote = None;
    let mut at = start;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'\\' => {
                bytes.extend(text.get(at));
                at = (at + 1).min(text.len());
            }
            _ if quote == Some(byte) => quote = None,
            b'"' | b'\'' if quote.is_none() => quote = Some(byte),
            _ if quote.is_none() && is_space(byte) => {
                at -= 1;
                break;
            }
            _ => bytes.push(byte),
        }
    }
    Word { bytes, place: start..at }
}

/// The text with `others` at the places of `words`. Unchanged words stay as written.
pub fn replaced(text: &[u8], words: &[Word], others: &[&[u8]]) -> Vec<u8> {
    let mut result = Vec::with_capacity(text.len());
    let mut done = 0;
    for (word, other) in words.iter().zip(others).filter(|(word, other)| word.bytes != **other) {
        result.extend_from_slice(&text[done..word.place.start]);
        result.extend(quoted(other));
        done = word.place.end;
    }
    result.extend_from_slice(&text[done..]);
    result
}

fn quoted(word: &[u8]) -> Vec<u8> {
    let is_special = |byte| is_space(byte) || matches!(byte, b'\\' | b'"' | b'\'');
    let escaped = |&byte| is_special(byte).then_some(b'\\').into_iter().chain([byte]);
    word.iter().flat_map(escaped).collect()
}

/// C's isspace().
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = words(text.as_bytes());
        let found: Vec<_> = found.iter().map(|word| String::from_utf8_lossy(&word.bytes)).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn words_are_found() {
        check("", &[]);
        check(" a.o\n\tb.o\r\n", &["a.o", "b.o"]);
        check("'my file.o' \"the \\\"x\\\".o\" a\\ b.o", &["my file.o", "the \"x\".o", "a b.o"]);
        check("-DX='\"1 2\"' ''", &["-DX=\"1 2\"", ""]);
        check("open 'quote", &["open", "quote"]);
        check("end\\", &["end"]);
    }

    #[test]
    fn unchanged_words_keep_their_quotes() {
        let text = b"-DX='\"1 2\"'\n'a b'.o  c.o\n";
        let found = words(text);
        let others: [&[u8]; 3] = [&found[0].bytes, &found[2].bytes, &found[1].bytes];
        let replaced = replaced(text, &found, &others);
        assert_eq!(String::from_utf8_lossy(&replaced), "-DX='\"1 2\"'\nc.o  a\\ b.o\n");
        check(&String::from_utf8(replaced).unwrap(), &["-DX=\"1 2\"", "c.o", "a b.o"]);
    }
}
