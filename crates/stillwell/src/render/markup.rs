//! Tables for documents, in Markdown, AsciiDoc or org-mode.

use std::fmt::Write as _;

use crate::analysis::{Analysis, ArmSummary, UncertainValue};
use crate::record::Record;
use crate::render::columns::one_line;
use crate::render::exported::{self, SECOND_NS, net_t0, results};
use crate::render::uncertain;
use crate::render::units::{DisplayUnit, unit_of_walls};
use crate::verdict::Judgement;

/// A markup language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    /// GitHub's Markdown.
    Markdown,
    /// AsciiDoc.
    Asciidoc,
    /// Emacs org-mode.
    Org,
}

const N_COLUMNS: usize = 6;

struct MarkupTable {
    headings: [String; N_COLUMNS],
    /// The first cell is a command without markup, the others are numbers.
    rows: Vec<[String; N_COLUMNS]>,
}

/// A table of the candidates: t0, mean, smallest and largest time, and the ratio to the reference. Times are net of the
/// control's t0.
pub fn table(
    markup: Markup,
    record: &Record,
    analysis: &Analysis,
    judgements: &[Judgement],
) -> String {
    let table = build(record, analysis, judgements);
    match markup {
        Markup::Markdown => markdown(&table),
        Markup::Asciidoc => asciidoc(&table),
        Markup::Org => org(&table),
    }
}

fn build(record: &Record, analysis: &Analysis, judgements: &[Judgement]) -> MarkupTable {
    let plan = &record.header.plan;
    let wall = exported::wall(record, analysis);
    let t0s = results(analysis).filter_map(net_t0);
    let unit = unit_of_walls(plan, t0s);
    let ratios = ratios(analysis, judgements);
    let row = |arm: &ArmSummary| {
        let t0 = net_t0(arm)?;
        let summary = wall.summary(arm)?;
        let decimals = unit.decimals(t0.value, t0.err);
        let number = |seconds: f64| unit.number(seconds * SECOND_NS, decimals);
        let is_reference = arm.arm == plan.reference;
        let ratio = if is_reference {
            Some("1.00".into())
        } else {
            ratios[arm.arm].map(|ratio| with_err(DisplayUnit::ONE, ratio))
        };
        Some([
            plan.full_label(arm.arm),
            with_err(unit, t0),
            number(summary.mean),
            number(summary.min),
            number(summary.max),
            ratio.unwrap_or_default(),
        ])
    };
    MarkupTable {
        headings: [
            "Command".into(),
            unit.heading("t0"),
            unit.heading("Mean"),
            unit.heading("Min"),
            unit.heading("Max"),
            "Ratio".into(),
        ],
        rows: results(analysis).filter_map(row).collect(),
    }
}

fn with_err(unit: DisplayUnit, value: UncertainValue) -> String {
    match value.err.filter(|err| err.is_finite() && *err != 0.0) {
        Some(err) => {
            let (value, err) = (value.value / unit.size, err / unit.size);
            uncertain::format_with(value, Some(err), uncertain::PLUS_MINUS_SIGN)
        }
        None => unit.number(value.value, None),
    }
}

/// Ratio of each arm, by the arm's index.
fn ratios(analysis: &Analysis, judgements: &[Judgement]) -> Vec<Option<UncertainValue>> {
    let mut found = vec![None; analysis.arms.len()];
    for (comparison, judgement) in analysis.comparisons.iter().zip(judgements) {
        if let Some(slot) = found.get_mut(comparison.arm) {
            *slot = exported::ratio(&comparison.evidence, judgement);
        }
    }
    found
}

fn markdown(table: &MarkupTable) -> String {
    let mut out = format!("| {} |\n|:---|---:|---:|---:|---:|---:|\n", table.headings.join(" | "));
    for [command, numbers @ ..] in &table.rows {
        writeln!(out, "| {} | {} |", markdown_code(command), numbers.join(" | ")).ok();
    }
    out
}

/// A command as a code span. A pipe ends the cell even there. The fence is longer than any run of backticks inside.
pub(super) fn markdown_code(command: &str) -> String {
    let line = one_line(command).replace('|', "\\|");
    let longest = line.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Markdown strips one space on both sides, if both are there and the rest is not all spaces.
    let needs_space = line.starts_with('`')
        || line.ends_with('`')
        || (line.starts_with(' ') && line.ends_with(' '));
    let space = if needs_space { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

fn asciidoc(table: &MarkupTable) -> String {
    let mut out = String::from("[cols=\"<,>,>,>,>,>\", options=\"header\"]\n|===\n");
    writeln!(out, "| {}", table.headings.join(" | ")).ok();
    for [command, numbers @ ..] in &table.rows {
        writeln!(out, "\n| {}\n| {}", asciidoc_code(command), numbers.join("\n| ")).ok();
    }
    out.push_str("|===\n");
    out
}

/// A command as literal monospace. A bare pipe would begin the next cell.
fn asciidoc_code(command: &str) -> String {
    let line = one_line(command).replace('|', "\\|");
    let is_plain =
        !line.contains('`') && !line.starts_with([' ', '+']) && !line.ends_with([' ', '+']);
    if is_plain { format!("`+{line}+`") } else { format!("`pass:c[{}]`", line.replace(']', "\\]")) }
}

fn org(table: &MarkupTable) -> String {
    let mut out = format!("| {} |\n|---+---+---+---+---+---|\n", table.headings.join(" | "));
    for [command, numbers @ ..] in &table.rows {
        writeln!(out, "| {} | {} |", org_code(command), numbers.join(" | ")).ok();
    }
    out
}

/// A command as verbatim text between pipes. A pipe ends the cell even in verbatim text, and its entity `\vert{}` only
/// works outside.
fn org_code(command: &str) -> String {
    let line = one_line(command);
    let mut out = String::new();
    for (index, piece) in line.split('|').enumerate() {
        if index > 0 {
            out.push_str("\\vert{}");
        }
        let piece = piece.trim();
        if !piece.is_empty() {
            let mark = if piece.contains('=') && !piece.contains('~') { '~' } else { '=' };
            let before = if index > 0 { " " } else { "" };
            write!(out, "{before}{mark}{piece}{mark} ").ok();
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Evidence;
    use crate::record::fixture::record;
    use crate::render::fixture::{
        analysis, compare, judgements, of_times, paired, single, times, too_few,
    };

    fn three(markup: Markup) -> String {
        let record = record(&["sleep 1", "a  `b` | c", "d"]);
        let mut analysis = analysis(&record, &[1.2e6, 12.345e6, 3e6, 0.5e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(1.0183, 1.0129, 1.0238)));
        compare(&mut analysis, 2, too_few());
        table(markup, &record, &analysis, &judgements(&record, &analysis))
    }

    #[test]
    fn markdown_table() {
        insta::assert_snapshot!(three(Markup::Markdown));
    }

    #[test]
    fn asciidoc_table() {
        insta::assert_snapshot!(three(Markup::Asciidoc));
    }

    #[test]
    fn org_table() {
        insta::assert_snapshot!(three(Markup::Org));
    }

    #[test]
    fn arms_without_errors_or_runs() {
        let record = record(&["a", "b", "c"]);
        let analysis = of_times(&record, vec![Some(single(5.0)), None, Some(times(7.0))], 1);
        let text = table(Markup::Markdown, &record, &analysis, &[]);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(rows[0], "| `a` | 5 | 5.100 | 4.900 | 7.500 | 1.00 |");
        assert_eq!(rows.len(), 2, "{text}");
    }

    #[track_caller]
    fn check(code: fn(&str) -> String, cases: &[(&str, &str)]) {
        for (command, expected) in cases {
            assert_eq!(code(command), *expected, "{command:?}");
        }
    }

    #[test]
    fn commands_in_markdown() {
        check(
            markdown_code,
            &[
                ("a|b", "`a\\|b`"),
                ("a `b`", "`` a `b` ``"),
                ("a ``b c", "```a ``b c```"),
                (" a ", "`  a  `"),
                ("a\nb", "`a\\nb`"),
                ("*_<b>\\", "`*_<b>\\`"),
            ],
        );
    }

    #[test]
    fn commands_in_asciidoc() {
        check(
            asciidoc_code,
            &[
                ("a|b *c*", "`+a\\|b *c*+`"),
                ("a+`b]", "`pass:c[a+`b\\]]`"),
                ("g++", "`pass:c[g++]`"),
            ],
        );
    }

    #[test]
    fn commands_in_org() {
        check(
            org_code,
            &[
                ("a *b*", "=a *b*="),
                ("a | b", "=a= \\vert{} =b="),
                ("a||b", "=a= \\vert{}\\vert{} =b="),
                ("X= y", "~X= y~"),
                ("|a", "\\vert{} =a="),
            ],
        );
    }
}
