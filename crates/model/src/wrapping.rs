//! Text in lines of a terminal's width.

use unicode_width::UnicodeWidthStr as _;

/// Largest width of text: longer lines are harder to read.
pub const COLUMNS: usize = 80;
/// Smallest width that text is wrapped to.
pub const COLUMNS_MIN: usize = 20;

/// Terminal columns of a text.
pub fn width(text: &str) -> usize {
    text.width()
}

/// What a number is not separated from.
const UNITS: [&str; 11] = ["%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB"];

/// Whether a word is the unit of the number before it.
fn is_unit(number: &str, word: &str) -> bool {
    let unit = word.trim_end_matches(|it: char| it.is_ascii_punctuation() && it != '%');
    word.starts_with('%')
        || (UNITS.contains(&unit) && number.ends_with(|it: char| it.is_ascii_digit()))
}

/// The pieces of a text that stay on one line: words, numbers with their unit, and all between backticks (to be copied).
pub fn pieces<'a>(words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    // The piece in which a backtick was opened.
    let mut opened = None;
    let is_odd = |word: &str| word.matches('`').count() % 2 == 1;
    for word in words {
        match pieces.last_mut().filter(|number| is_unit(number, word)) {
            Some(number) => number.extend([" ", word]),
            None => pieces.push(word.to_owned()),
        }
        opened = match opened {
            Some(at) if is_odd(word) => {
                let command = pieces.drain(at..).collect::<Vec<_>>().join(" ");
                pieces.push(command);
                None
            }
            None if is_odd(word) => Some(pieces.len() - 1),
            still => still,
        };
    }
    pieces
}

/// Fills lines of at most `columns`; the first one already holds `n_columns`. An item that is wider than a line has one for
/// itself.
pub fn fill<'a>(
    out: &mut String,
    n_columns: usize,
    (columns, indent): (usize, usize),
    between: &str,
    items: impl Iterator<Item = &'a str>,
) {
    let mut used = n_columns.saturating_sub(indent);
    let mut is_first = true;
    for item in items {
        let wide = width(item);
        if is_first {
            is_first = false;
        } else if used + between.len() + wide > columns - indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = 0;
        } else {
            out.push_str(between);
            used += between.len();
        }
        out.push_str(item);
        used += wide;
    }
    out.push('\n');
}

/// A line in lines of at most so many columns; those that follow are indented.
pub fn wrapped(line: &str, columns: usize) -> String {
    /// Columns that later lines are indented by.
    const INDENT: usize = 2;
    let mut out = String::with_capacity(line.len() + 8);
    let pieces = pieces(line.split(' '));
    fill(&mut out, 0, (columns, INDENT), " ", pieces.iter().map(String::as_str));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_paths_and_numbers_stay_whole() {
        let line = "stillwell: cannot read /a/path/that/is/longer/than/the/line: run `stillwell show -v a b`, 5 % less";
        let expected = "stillwell: cannot read\n  /a/path/that/is/longer/than/the/line:\n  run\n  `stillwell show -v a b`,\n  \
                        5 % less\n";
        assert_eq!(wrapped(line, 24), expected);
        assert_eq!(wrapped("it takes 12.5 ms, or 3 s", 13), "it takes\n  12.5 ms, or\n  3 s\n");
        assert_eq!(wrapped("two  blanks, one ` of two", 40), "two  blanks, one ` of two\n");
    }
}
