//! Width of text on a terminal, and ways to fit text into 80 columns.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anstyle::Style;
use formats::csv_cell::is_hidden;

use crate::styles::paint;
use model::words::byte_of;
use model::wrapping::{COLUMNS_MIN, fill, pieces};

/// Names are shortened to this also on a narrower terminal, which breaks their lines: a name that is cut more would say less.
pub(super) use model::wrapping::{COLUMNS, width};

/// Width that text is wrapped to: a property of the terminal, set before anything is printed.
static WRAPPED_COLUMNS: AtomicUsize = AtomicUsize::new(COLUMNS);

/// The width of tables, which use the whole terminal.
static TABLE_COLUMNS: AtomicUsize = AtomicUsize::new(COLUMNS);

/// Sets the width of the terminal.
pub fn fit_into(columns: usize) {
    TABLE_COLUMNS.store(columns.max(COLUMNS_MIN), Ordering::Relaxed);
    WRAPPED_COLUMNS.store(columns.clamp(COLUMNS_MIN, COLUMNS), Ordering::Relaxed);
}

/// Whether names are never cut, because a file or pipe is copied or parsed.
static KEEPS_NAMES: AtomicBool = AtomicBool::new(false);

pub fn keep_names() {
    KEEPS_NAMES.store(true, Ordering::Relaxed);
}

/// Whether lines may have any length, for a file or a pipe.
pub(super) fn keeps_names() -> bool {
    KEEPS_NAMES.load(Ordering::Relaxed)
}

/// A line of a log: whole in a file or a pipe, wrapped on a terminal.
pub(super) fn log_line(text: &str) -> String {
    if keeps_names() {
        return one_line(text) + "\n";
    }
    let mut out = String::new();
    wrap(&mut out, "", 2, text);
    out
}

thread_local! {
    /// Whether no name is cut because a browser wraps.
    static IS_PAGE: Cell<bool> = const { Cell::new(false) };
}

/// Writes a page for a browser, with whole names.
pub(super) fn for_page<T>(write: impl FnOnce() -> T) -> T {
    IS_PAGE.set(true);
    let written = write();
    IS_PAGE.set(false);
    written
}

/// The room for a table's names beside other columns of this total width.
pub(super) fn room_for_names(others: usize, min: usize) -> usize {
    if keeps_names() {
        return usize::MAX;
    }
    wide().saturating_sub(others).max(min)
}

/// A name on one line, at most this wide on a terminal.
pub(super) fn name(text: &str, columns: usize) -> String {
    shorten(text, if keeps_names() { usize::MAX } else { columns })
}

/// The width of the text output.
pub(super) fn columns() -> usize {
    WRAPPED_COLUMNS.load(Ordering::Relaxed)
}

/// The width of a table.
pub(super) fn wide() -> usize {
    TABLE_COLUMNS.load(Ordering::Relaxed)
}

const ELLIPSIS: char = '…';

/// A command or a name on one line. Control characters are escaped, so that the terminal does not obey them.
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for char in text.chars() {
        if let Some(byte) = byte_of(char) {
            line.push_str(&format!("\\x{byte:02x}"));
        } else if is_hidden(char) {
            line.extend(char.escape_default());
        } else {
            line.push(char);
        }
    }
    line
}

/// A text on one line of at most `columns`, or of any length on a page. An ellipsis replaces the middle of a longer
/// text.
pub fn shorten(text: &str, columns: usize) -> String {
    let line = one_line(text);
    if IS_PAGE.get() || width(&line) <= columns {
        return line;
    }
    let chars: Vec<char> = line.chars().collect();
    let columns = columns.saturating_sub(1);
    // The end of a command tells more than the middle, so it gets a third of the room.
    let tail = chars.len() - fitting(chars.iter().rev(), columns / 3);
    let n_head = fitting(chars.iter(), columns - columns / 3);
    chars[..n_head].iter().chain([&ELLIPSIS]).chain(&chars[tail..]).collect()
}

/// Number of leading characters that fit.
fn fitting<'a>(chars: impl Iterator<Item = &'a char>, columns: usize) -> usize {
    let mut buffer = [0; 4];
    let mut used = 0;
    chars
        .take_while(|char| {
            used += width(char.encode_utf8(&mut buffer));
            used <= columns
        })
        .count()
}

/// Appends items two spaces apart, in indented lines of at most [`columns`].
pub(super) fn flow(out: &mut String, indent: usize, items: &[String]) {
    let columns = columns();
    let indent = indent_of(indent, columns);
    let items: Vec<String> = items.iter().map(|item| shorten(item, COLUMNS - indent)).collect();
    out.extend(std::iter::repeat_n(' ', indent));
    fill(out, indent, (columns, indent), "  ", items.iter().map(String::as_str));
}

/// Appends a text in lines of at most [`columns`]. The first line begins with `first`, the others are indented. Paths
/// and what is in backticks stay whole.
pub(super) fn wrap(out: &mut String, first: &str, indent: usize, text: &str) {
    wrap_into(out, columns(), first, indent, text);
}

/// Appends a text in lines that all have this indent.
pub(super) fn wrap_at(out: &mut String, indent: usize, text: &str) {
    wrap(out, &" ".repeat(indent), indent, text);
}

/// Appends a sentence with each line in this style.
pub(super) fn wrap_headline(out: &mut String, style: Style, text: &str) {
    let mut lines = String::new();
    wrap(&mut lines, "", 0, text);
    for line in lines.lines() {
        out.extend([paint(style, line).as_str(), "\n"]);
    }
}

fn wrap_into(out: &mut String, columns: usize, first: &str, indent: usize, text: &str) {
    let first =
        if first.trim().is_empty() { &first[..indent_of(first.len(), columns)] } else { first };
    out.push_str(first);
    let pieces = pieces(one_line(text).split_whitespace());
    let indent = indent_of(indent, columns);
    fill(out, width(first), (columns, indent), " ", pieces.iter().map(String::as_str));
}

/// An indent that leaves three quarters of a narrow terminal for the text.
fn indent_of(indent: usize, columns: usize) -> usize {
    if columns < COLUMNS { indent.min(columns / 4) } else { indent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, columns: usize, expected: &str) {
        let short = shorten(text, columns);
        assert_eq!(short, expected);
        assert!(width(&short) <= columns, "{short}");
    }

    #[test]
    fn the_middle_is_left_out() {
        check("sleep 0.1", 9, "sleep 0.1");
        check("0123456789", 7, "0123…89");
        check("日本語のテキスト", 9, "日本語…ト");
        check("a\nb\u{1b}[2J\tc", 40, "a\\nb\\u{1b}[2J\\tc");
        check("abc", 1, "…");
    }

    #[test]
    fn lines_are_broken_between_items() {
        let mut out = String::new();
        let items: Vec<String> = (0..12).map(|n| format!("item number {n}")).collect();
        flow(&mut out, 3, &items);
        assert!(
            out.lines().all(|line| width(line) <= COLUMNS && line.starts_with("   item")),
            "{out}"
        );
        assert_eq!(out.lines().count(), 3);
    }

    #[test]
    fn a_narrow_terminal_has_shorter_lines_and_all_words() {
        for columns in [20, 37, 60] {
            let mut out = String::new();
            let text = "twelve words of up to nine letters on a very narrow terminal";
            wrap_into(&mut out, columns, &" ".repeat(13), 13, text);
            assert!(out.lines().all(|line| width(line) <= columns), "{columns}: {out}");
            assert_eq!(out.split_whitespace().collect::<Vec<_>>().join(" "), text);
        }
        // A word that is longer than a line gets a line of its own.
        let mut out = String::new();
        wrap_into(&mut out, 20, "note: ", 6, "a target/release/stillwell-launcher b");
        assert_eq!(out, "note: a\n     target/release/stillwell-launcher\n     b\n");
    }

    #[test]
    fn a_number_keeps_its_per_cent_sign() {
        let mut out = String::new();
        wrap(&mut out, "", 0, &format!("{} takes 12.5 % more", "x".repeat(COLUMNS - 11)));
        assert_eq!(out, format!("{} takes\n12.5 % more\n", "x".repeat(COLUMNS - 11)));
    }

    #[test]
    fn text_is_wrapped_behind_its_heading() {
        let mut out = String::new();
        wrap(&mut out, "note: ", 6, &"word ".repeat(20));
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("note: word word") && lines[0].len() <= COLUMNS, "{out}");
        assert!(lines[1].starts_with("      word"), "{out}");
    }
}
