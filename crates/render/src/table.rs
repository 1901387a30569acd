//! Small tables as plain text, reStructuredText or Markdown.

use crate::columns::width;
use model::spec::convert::TableStyle;

/// Between two columns.
pub const GAP: &str = "  ";

/// A table without rules. `right`: the right-aligned columns.
pub fn plain(rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let widths = widths(&rows);
    let line = |row: Vec<String>| {
        let cells = row.into_iter().zip(&widths).enumerate().map(|(index, (cell, columns))| {
            let pad = " ".repeat(columns - width(&cell));
            if right.contains(&index) { pad + &cell } else { cell + &pad }
        });
        cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned() + "\n"
    };
    rows.into_iter().map(line).collect()
}

fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(row.len().max(widths.len()), 0);
        for (columns, cell) in widths.iter_mut().zip(row) {
            *columns = width(cell).max(*columns);
        }
    }
    widths
}

pub fn cells(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A table with a heading in a style. All columns but the first hold numbers.
pub fn styled(style: TableStyle, heading: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let right: Vec<usize> = (1..heading.len()).collect();
    let rows = std::iter::once(heading).chain(rows).collect();
    match style {
        TableStyle::Text => plain(rows, &right),
        TableStyle::Rst => grid(rows),
        TableStyle::Md => markdown(rows),
    }
}

/// The widths of columns with rules.
fn ruled_widths(rows: &[Vec<String>]) -> Vec<usize> {
    widths(rows).into_iter().map(|columns| columns.max(3)).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cell = |(cell, columns): (&String, &usize)| {
        format!(" {cell}{} |", " ".repeat(columns - width(cell)))
    };
    let cells: String = cells.iter().zip(widths).map(cell).collect();
    format!("|{cells}\n")
}

/// A table in reStructuredText. The first row is the heading.
fn grid(rows: Vec<Vec<String>>) -> String {
    let widths = ruled_widths(&rows);
    let rule = |with: &str| {
        let cells: String = widths.iter().map(|columns| with.repeat(columns + 2) + "+").collect();
        format!("+{cells}\n")
    };
    let below = std::iter::once("=").chain(std::iter::repeat("-"));
    let lines = rows.iter().zip(below).map(|(row, with)| line(row, &widths) + &rule(with));
    rule("-") + &lines.collect::<String>()
}

/// A table in Markdown. The first row is the heading.
fn markdown(mut rows: Vec<Vec<String>>) -> String {
    rows.iter_mut().flatten().for_each(|cell| *cell = cell.replace('|', "\\|"));
    let widths = ruled_widths(&rows);
    let rule = |(index, columns): (usize, &usize)| match index {
        0 => "-".repeat(columns + 2) + "|",
        _ => format!("-{}:|", "-".repeat(*columns)),
    };
    let rule: String = widths.iter().enumerate().map(rule).collect();
    let mut lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    lines.insert(1, format!("|{rule}\n"));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_styles() {
        let heading = || ["benchmark", "1", "2"].map(String::from).to_vec();
        let rows = || vec![["a|b", "15.2 µs", "3"].map(String::from).to_vec()];
        insta::assert_snapshot!(
            [TableStyle::Text, TableStyle::Rst, TableStyle::Md]
                .map(|style| styled(style, heading(), rows()))
                .join("\n")
        );
    }
}
