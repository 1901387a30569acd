//! Texts of the protocol as one word (docs/worker-protocol.md, "Lines").

use std::fmt::Write as _;

/// A text as one word: bytes outside of `!` to `~`, and backslashes, as `\xHH`. `also` is one more byte that is escaped.
pub(crate) fn escape(text: &str, also: Option<u8>) -> String {
    if text.is_empty() {
        return r"\x".into();
    }
    let mut word = String::new();
    for byte in text.bytes() {
        if (b'!'..=b'~').contains(&byte) && byte != b'\\' && Some(byte) != also {
            word.push(byte.into());
        } else {
            write!(word, r"\x{byte:02x}").expect("a String takes everything");
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn words() {
        assert_eq!(escape("", None), r"\x");
        assert_eq!(escape("a~b!", None), "a~b!");
        assert_eq!(escape("a b\\=ß", None), r"a\x20b\x5c=\xc3\x9f");
        assert_eq!(escape("a=b", Some(b'=')), r"a\x3db");
    }
}
