//! Words of a command line that need not be UTF-8, as text that a record can keep.

use clap::builder::{OsStringValueParser, TypedValueParser};

/// Stands for byte 0: the end of the last private-use plane, which no text uses.
const BASE: u32 = 0x0010_ff00;

/// Bytes as text. A byte that is not UTF-8 becomes a private-use character, and so does each byte of such a character:
/// [`bytes_of`] gives back the same bytes.
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

/// The bytes that a text stands for.
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

/// The byte that a character of [`text_of`] stands for. Bytes below 128 are always UTF-8.
pub fn byte_of(char: char) -> Option<u8> {
    let byte = u32::from(char).checked_sub(BASE)?;
    u8::try_from(byte).ok().filter(|byte| !byte.is_ascii())
}

fn stand_in(byte: u8) -> char {
    char::from_u32(BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Reads a command of the command line.
pub fn command_parser() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|word| text_of(word.as_encoded_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
