//! A text in a cell of CSV, for spreadsheets and terminals.

use std::borrow::Cow;

/// Begins a rewritten cell. A spreadsheet takes the rest for a text.
const MARK: char = '\'';

/// Whether a terminal would obey a character, or does not show it.
pub fn is_hidden(char: char) -> bool {
    char.is_control() || is_invisible(char)
}

/// Whether a character is invisible: a change of the text's direction, or a line break.
pub fn is_invisible(char: char) -> bool {
    matches!(char, '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// A text as a cell. A text that begins with =, +, - or @ would be calculated by a spreadsheet (OWASP, "CSV
/// Injection"), and control characters would be obeyed by a terminal. Such a text gets an apostrophe in front, `\u{1b}`
/// for control characters, and doubled backslashes. A number stays. [`text_of_cell`] gives back the text.
pub fn cell_of_text(text: &str) -> Cow<'_, str> {
    let is_number = text.parse::<f64>().is_ok();
    let is_formula = !is_number && text.starts_with(['=', '+', '-', '@', MARK]);
    if !is_formula && !text.contains(is_hidden) {
        return text.into();
    }
    let mut cell = String::from(MARK);
    for char in text.chars() {
        match char {
            '\\' => cell.push_str("\\\\"),
            char if is_hidden(char) => cell.extend(char.escape_unicode()),
            char => cell.push(char),
        }
    }
    cell.into()
}

/// The text of a cell by [`cell_of_text`]. Another cell is its own text.
pub fn text_of_cell(cell: &str) -> Cow<'_, str> {
    cell.strip_prefix(MARK).and_then(unescaped).map_or(Cow::Borrowed(cell), Cow::Owned)
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('\\');
    let mut out = parts.next()?.to_owned();
    while let Some(part) = parts.next() {
        if part.is_empty() {
            // A doubled backslash begins no escape.
            out.push('\\');
            out.push_str(parts.next()?);
        } else {
            let (digits, rest) = part.strip_prefix("u{")?.split_once('}')?;
            out.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
            out.push_str(rest);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_or_has_control_characters() {
        for (text, expected) in [
            ("sleep 1", "sleep 1"),
            ("-0.5", "-0.5"),
            ("a\\b = 'c'", "a\\b = 'c'"),
            ("=1+1", "'=1+1"),
            ("+x", "'+x"),
            ("-x", "'-x"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("'x", "''x"),
            ("\tx", "'\\u{9}x"),
            ("\r=x", "'\\u{d}=x"),
            ("a\\b\u{1b}[2J\n", "'a\\\\b\\u{1b}[2J\\u{a}"),
            ("\\\u{202e}\\", "'\\\\\\u{202e}\\\\"),
            ("=\\u{41}\\\\", "'=\\\\u{41}\\\\\\\\"),
            ("", ""),
        ] {
            assert_eq!(cell_of_text(text), expected, "{text:?}");
            assert_eq!(text_of_cell(expected), text, "{expected:?}");
        }
        // Of other programs.
        for cell in ["'", "'a'", "'\\x", "'\\u{110000}", "'\\u{41"] {
            assert!(text_of_cell(cell).len() >= cell.len() - 1, "{cell}");
        }
    }
}
