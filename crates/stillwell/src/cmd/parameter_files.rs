//! `-L VAR @FILE`: the lines of a file as the values of a parameter. `-L VAR,VAR @FILE` and `@FILE.csv`: the columns of
//! a table, row by row.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use csv::{ReaderBuilder, StringRecord, Trim};

use host::user_files::read_text;
use model::spec::Verb;
use model::spec::run::ArmOptions;

/// Replaces each `@FILE` by the values in the file. Errors: a file has no value.
pub fn read(verb: &mut Verb) -> Result<()> {
    match verb {
        Verb::Run(verb) => fill_in(&mut verb.spec.arms),
        Verb::Race(verb) => fill_in(&mut verb.arms),
        _ => Ok(()),
    }
}

fn fill_in(options: &mut ArmOptions) -> Result<()> {
    for list in options.parameter_lists.chunks_mut(2) {
        let [name, values] = list else { continue };
        if let Some(path) = values.strip_prefix('@') {
            let text = read_text(Path::new(path)).with_context(|| {
                format!("-L {name} @{path} (a value that begins with @ is written \\@): cannot read {path}")
            })?;
            // Editors of other systems begin a file with a byte order mark.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let is_table = name.contains(',') || path.ends_with(".csv");
            *values =
                if is_table { table_as_list(path, text, name) } else { lines_as_list(path, text) }?;
        } else if name.contains(',') {
            bail!(
                "-L {name}: the values of several parameters are in a table: -L {name} @FILE.csv"
            );
        } else if let Some(literal) = values.strip_prefix("\\@") {
            *values = format!("@{literal}");
        }
    }
    Ok(())
}

/// The list that the command line would have. Empty lines do not count.
fn lines_as_list(path: &str, text: &str) -> Result<String> {
    let lines = (1..).zip(text.lines()).map(|(number, line)| (number, line.trim()));
    let values = lines.filter(|(_, value)| !value.is_empty());
    let values = values.map(|(number, value)| element(value, &format!("{path}:{number}")));
    joined(path, values.collect::<Result<_>>()?)
}

/// The values in some columns, row by row.
fn table_as_list(path: &str, text: &str, names: &str) -> Result<String> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let table = lines.map(|(number, line)| {
        fields(line).map(|fields| (number, fields)).map_err(|why| anyhow!("{path}:{number}: {why}"))
    });
    let table: Vec<(usize, StringRecord)> = table.collect::<Result<_>>()?;
    let Some((header, rows)) = table.split_first() else {
        bail!("{path} is empty; its first line names the columns");
    };
    let columns = names.split(',').map(|name| column(path, header, name));
    let columns = columns.collect::<Result<Vec<usize>>>()?;
    let mut values = Vec::new();
    for (line, fields) in rows {
        let (n, n_columns) = (fields.len(), header.1.len());
        ensure!(
            n == n_columns,
            "{path}:{line}: {n} field{}, but the first line has {n_columns}; a value with a comma is in quotes",
            if n == 1 { "" } else { "s" }
        );
        for &column in &columns {
            let place = format!("{path}:{line}: field {} ({})", column + 1, &header.1[column]);
            values.push(element(&fields[column], &place)?);
        }
    }
    joined(path, values)
}

/// The fields of a CSV line. Values have no line breaks, so an open quote at the end is a mistake.
fn fields(line: &str) -> Result<StringRecord> {
    ensure!(
        line.matches('"').count().is_multiple_of(2),
        "a quote is not closed; write \"\" for a quote in a quoted field"
    );
    let mut reader = ReaderBuilder::new();
    let mut reader = reader.has_headers(false).trim(Trim::All).from_reader(line.as_bytes());
    Ok(reader.records().next().transpose()?.unwrap_or_default())
}

fn column(path: &str, (line, header): &(usize, StringRecord), name: &str) -> Result<usize> {
    let mut places = (0..header.len()).filter(|&at| &header[at] == name.trim());
    let (first, second) = (places.next(), places.next());
    ensure!(second.is_none(), "{path}:{line}: two columns are called {name:?}");
    first.with_context(|| {
        let columns: Vec<String> = header.iter().map(|name| format!("{name:?}")).collect();
        let columns = columns.join(", ");
        format!(
            "{path}:{line}: no column is called {name:?}; the first line has, between commas, {columns}"
        )
    })
}

/// A value as an element of a list.
fn element(value: &str, place: &str) -> Result<String> {
    ensure!(
        !value.ends_with('\\'),
        "{place}: a value cannot end with a backslash, because `\\,` is a comma"
    );
    Ok(value.replace(',', "\\,"))
}

fn joined(path: &str, values: Vec<String>) -> Result<String> {
    ensure!(!values.is_empty(), "there is no value in {path}");
    Ok(values.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_a_list() {
        assert_eq!(lines_as_list("f", "1\r\n\n a,b \nc\n").unwrap(), "1,a\\,b,c");
        let error = lines_as_list("f", "a\nb\\\n").unwrap_err().to_string();
        assert_eq!(error, "f:2: a value cannot end with a backslash, because `\\,` is a comma");
        assert_eq!(lines_as_list("f", "\n \n").unwrap_err().to_string(), "there is no value in f");
    }

    #[track_caller]
    fn check(text: &str, names: &str, expected: Result<&str, &str>) {
        let list = table_as_list("f", text, names).map_err(|error| error.to_string());
        assert_eq!(list.as_deref().map_err(String::as_str), expected, "{text:?}");
    }

    #[test]
    fn columns_of_a_table() {
        let table = "size,note,file\r\n1M,\"a, b\",x.txt\r\n\r\n16M,,\"y,z.txt\"\r\n";
        check(table, "file,size", Ok("x.txt,1M,y\\,z.txt,16M"));
        check(table, "note", Ok("a\\, b,"));
        check(
            table,
            "size,level",
            Err(
                "f:1: no column is called \"level\"; the first line has, between commas, \"size\", \"note\", \"file\"",
            ),
        );
        check("a,a,b\n1,2,3", "b", Ok("3"));
        check("a,a,b\n1,2,3", "a", Err("f:1: two columns are called \"a\""));
        check(
            "a,b\n1,2\n1,2,3",
            "a,b",
            Err("f:3: 3 fields, but the first line has 2; a value with a comma is in quotes"),
        );
        check(
            "a,b\n1,c:\\",
            "b",
            Err("f:2: field 2 (b): a value cannot end with a backslash, because `\\,` is a comma"),
        );
        check("a,b\n", "a,b", Err("there is no value in f"));
        check("", "a,b", Err("f is empty; its first line names the columns"));
        check(
            "a\n\"",
            "a",
            Err("f:2: a quote is not closed; write \"\" for a quote in a quoted field"),
        );
    }
}
