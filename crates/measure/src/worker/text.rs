//! Words of the protocol: texts with escapes, and integers.

use std::fmt::Write as _;

use model::words::{bytes_of, text_of};

/// A text as one word: every backslash and every byte outside `!` to `~` becomes `\xHH`; the empty text is `\x`.
pub fn escape(text: &str) -> String {
    if text.is_empty() {
        return "\\x".into();
    }
    let mut word = String::with_capacity(text.len());
    for byte in bytes_of(text) {
        if byte.is_ascii_graphic() && byte != b'\\' {
            word.push(byte.into());
        } else {
            write!(word, "\\x{byte:02x}").expect("a String takes everything");
        }
    }
    word
}

/// The text of a word, or `None` if it is malformed. Any character may be escaped, so a name can contain `=`. Bytes that
/// are not UTF-8 stay the same in [`escape`].
pub fn unescape(word: &[u8]) -> Option<String> {
    if word == b"\\x" {
        return Some(String::new());
    }
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => {
                let [b'x', high, low, ..] = *rest.as_slice() else { return None };
                rest.nth(2);
                digit(high)? << 4 | digit(low)?
            }
            _ if byte.is_ascii_graphic() => byte,
            _ => return None,
        });
    }
    (!bytes.is_empty()).then(|| text_of(&bytes))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// A decimal integer without a sign, below 2^63.
pub fn integer(word: &[u8]) -> Option<u64> {
    // 2^63 has 19 digits. `parse` alone would accept a plus sign.
    if word.is_empty() || word.len() > 19 || !word.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(word).ok()?.parse().ok().filter(|&value| value < 1 << 63)
}

/// `NAME=VALUE`, both texts.
pub fn pair(word: &[u8]) -> Option<(String, String)> {
    // The first one: an `=` in the name is escaped.
    let at = word.iter().position(|&byte| byte == b'=')?;
    Some((unescape(&word[..at])?, unescape(&word[at + 1..])?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_comes_back(text: String) {
            let word = escape(&text);
            prop_assert!(!word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert_eq!(unescape(word.as_bytes()), Some(text));
        }

        #[test]
        fn no_word_is_too_strange(word: Vec<u8>) {
            if let Some(text) = unescape(&word) {
                prop_assert!(word.iter().all(u8::is_ascii_graphic));
                prop_assert_eq!(unescape(escape(&text).as_bytes()), Some(text));
            }
        }

        #[test]
        fn every_integer_comes_back(value in 0..1_u64 << 63) {
            prop_assert_eq!(integer(value.to_string().as_bytes()), Some(value));
        }

        #[test]
        fn nothing_else_is_an_integer(word in "[-+ 0-9a-f_.]{0,24}") {
            let expected = word.parse().ok().filter(|&value: &u64| value < 1 << 63);
            let is_plain = word.bytes().all(|byte| byte.is_ascii_digit()) && word.len() <= 19;
            prop_assert_eq!(integer(word.as_bytes()), expected.filter(|_| is_plain));
        }
    }

    #[test]
    fn words_of_the_protocol() {
        let checks: &[(&str, Option<&str>)] = &[
            ("unknown\\x20request", Some("unknown request")),
            ("\\x", Some("")),
            ("\\x5c", Some("\\")),
            ("a\\xc3\\xa9", Some("aé")),
            ("", None),
            ("\\", None),
            ("\\x2", None),
            ("\\x41", Some("A")),
            ("\\xC3\\xA9", None),
            ("a\\xff", Some("a\u{10ffff}")),
            ("a b", None),
        ];
        for &(word, text) in checks {
            assert_eq!(unescape(word.as_bytes()).as_deref(), text, "{word:?}");
        }
        assert_eq!(escape("a\u{10ffff}"), "a\\xff");
    }

    #[test]
    fn two_to_the_63_is_too_large() {
        assert_eq!(integer(b"9223372036854775807"), Some(i64::MAX as u64));
        assert_eq!(integer(b"9223372036854775808"), None);
    }
}
