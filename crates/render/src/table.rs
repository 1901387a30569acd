//! Small tables as plain text, reStructuredText or Markdown.

use comfy_table::{CellAlignment, Table, presets};

use crate::columns::width;
use model::spec::convert::TableStyle;

/// A table without rules. `right`: the right-aligned columns.
pub fn plain(rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A row of these texts.
pub fn cells(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A table with a heading, in a style. All columns but the first hold numbers.
pub fn styled(style: TableStyle, heading: Vec<String>, rows: Vec<Vec<String>>) -> String {
    match style {
        TableStyle::Text => {
            let right: Vec<usize> = (1..heading.len()).collect();
            plain(std::iter::once(heading).chain(rows).collect(), &right)
        }
        TableStyle::Rst => grid(&heading, &rows),
        TableStyle::Md => markdown(&heading, &rows),
    }
}

fn widths(heading: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).chain(heading.get(column));
        cells.map(|cell| width(cell)).max().unwrap_or(0).max(3)
    };
    (0..heading.len()).map(widest).collect()
}

fn line(cells: &[String], widths: &[usize]) -> String {
    let cell = |(cell, columns): (&String, &usize)| {
        format!(" {cell}{} |", " ".repeat(columns - width(cell).min(*columns)))
    };
    let cells: String = cells.iter().zip(widths).map(cell).collect();
    format!("|{cells}\n")
}

fn grid(heading: &[String], rows: &[Vec<String>]) -> String {
    let widths = widths(heading, rows);
    let rule = |with: &str| {
        let cells: String = widths.iter().map(|columns| with.repeat(columns + 2) + "+").collect();
        format!("+{cells}\n")
    };
    let mut out = rule("-") + &line(heading, &widths) + &rule("=");
    for row in rows {
        out += &line(row, &widths);
        out += &rule("-");
    }
    out
}

fn markdown(heading: &[String], rows: &[Vec<String>]) -> String {
    let escaped = |row: &[String]| -> Vec<String> {
        row.iter().map(|cell| cell.replace('|', "\\|")).collect()
    };
    let heading = escaped(heading);
    let rows: Vec<Vec<String>> = rows.iter().map(|row| escaped(row)).collect();
    let widths = widths(&heading, &rows);
    let rule = |(index, columns): (usize, &usize)| match index {
        0 => "-".repeat(columns + 2) + "|",
        _ => format!("-{}:|", "-".repeat(*columns)),
    };
    let rule: String = widths.iter().enumerate().map(rule).collect();
    let rows: String = rows.iter().map(|row| line(row, &widths)).collect();
    format!("{}|{rule}\n{rows}", line(&heading, &widths))
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
