//! A table of values for several parameters: CSV (RFC 4180) whose first line names the columns. Strict: what could be meant
//! in two ways is an error with its line and field.

use std::iter::Peekable;
use std::str::Chars;

/// A line of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct TableRow {
    /// The line of the file in which it begins, from 1.
    pub line: usize,
    /// Its fields, without the blanks and the quotes around them.
    pub fields: Vec<String>,
}

/// The lines of a table that are not empty. An error begins with the line.
pub fn rows(text: &str) -> Result<Vec<TableRow>, String> {
    let (mut rows, mut line) = (Vec::new(), 1);
    let mut rest = text.chars().peekable();
    while rest.peek().is_some() {
        let mut row = TableRow { line, fields: Vec::new() };
        let mut is_quoted = false;
        loop {
            let place = format!("{line}: field {}", row.fields.len() + 1);
            skip_blanks(&mut rest);
            if rest.peek() == Some(&'"') {
                is_quoted = true;
                row.fields.push(quoted(&mut rest, &mut line).map_err(|why| place.clone() + why)?);
                skip_blanks(&mut rest);
            } else {
                row.fields.push(unquoted(&mut rest).map_err(|why| place.clone() + why)?);
            }
            match rest.next() {
                Some(',') => {}
                Some('\n') | None => break,
                Some(_) => return Err(place + " goes on after its closing quote"),
            }
        }
        line += 1;
        if is_quoted || row.fields != [""] {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Skips blanks, and the CR before the end of a line.
fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|&char| char.is_whitespace() && char != '\n').is_some() {}
}

fn unquoted(rest: &mut Peekable<Chars<'_>>) -> Result<String, &'static str> {
    let mut field = String::new();
    while let Some(char) = rest.next_if(|char| !matches!(char, ',' | '\n')) {
        if char == '"' {
            return Err(" has a quote inside; put all of it in quotes, and write \"\" for a quote");
        }
        field.push(char);
    }
    Ok(field.trim_end().to_owned())
}

fn quoted(rest: &mut Peekable<Chars<'_>>, line: &mut usize) -> Result<String, &'static str> {
    rest.next();
    let mut field = String::new();
    loop {
        match rest.next() {
            Some('"') if rest.next_if_eq(&'"').is_none() => return Ok(field),
            Some(char) => {
                *line += usize::from(char == '\n');
                field.push(char);
            }
            None => return Err(" has a quote that nothing closes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[(usize, &[&str])], &str>) {
        let row = |(line, fields): &(usize, &[&str])| TableRow {
            line: *line,
            fields: fields.iter().map(ToString::to_string).collect(),
        };
        let expected = expected.map(|rows| rows.iter().map(row).collect::<Vec<_>>());
        assert_eq!(rows(text), expected.map_err(str::to_owned), "{text:?}");
    }

    #[test]
    fn fields_lines_and_quotes() {
        check(
            "a,b\r\n\r\n1 , x y \r\n2,",
            Ok(&[(1, &["a", "b"]), (3, &["1", "x y"]), (4, &["2", ""])]),
        );
        check(
            "\"a\"\"b\", \" c,\n\" \n\"\"\nd\n",
            Ok(&[(1, &["a\"b", " c,\n"]), (3, &[""]), (4, &["d"])]),
        );
        check(" \n", Ok(&[]));
        check("", Ok(&[]));
    }

    #[test]
    fn what_has_two_meanings_is_refused() {
        check("a,b\n1,\"x", Err("2: field 2 has a quote that nothing closes"));
        check("a\n\"x\"y", Err("2: field 1 goes on after its closing quote"));
        check(
            "a\n\n5\" disk",
            Err(
                "3: field 1 has a quote inside; put all of it in quotes, and write \"\" for a quote",
            ),
        );
    }
}
