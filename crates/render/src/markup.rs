//! Tables in Markdown, AsciiDoc or org-mode.

use std::fmt::Write as _;

use crate::columns::one_line;
use crate::exported::results;
use crate::t0;
use crate::text::{location, rate, ratio_and_word};
use crate::uncertain::signs;
use crate::units::{
    DisplayUnit, has_several_value_units, unit_in_record, unit_of_arms, unit_of_metric,
};
use analysis::convert::of_record;
use analysis::suite::is_mixed;
use analysis::verdict::Judged;
use analysis::{Analysis, ArmSummary, ComparedTime, ComparedTimes, Ranking, UncertainValue};
use formats::ResultUnit;
use model::spec::run::TableOrder;
use model::values::{MetricChoice, VALUE};
use record::Record;
use record::plan::{Plan, default_metrics};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    Markdown,
    Asciidoc,
    Org,
}

struct MarkupTable {
    /// Headings of the numbers. The first column has the commands.
    headings: Vec<String>,
    /// Each command without markup, and its numbers.
    rows: Vec<(String, Vec<String>)>,
}

/// A table of the candidates, like the terminal's: time, means of the named metrics, ratio to the reference, verdict.
/// Times are net of the control's t0.
pub fn table(markup: Markup, judged: Judged<'_>) -> String {
    let table = build(judged);
    match markup {
        Markup::Markdown => piped(&table, [":---", "|---:"], markdown_code),
        Markup::Asciidoc => asciidoc(&table),
        Markup::Org => piped(&table, ["---", "+---"], org_code),
    }
}

fn build(judged: Judged<'_>) -> MarkupTable {
    let Judged { record, analysis, judgements } = judged;
    let plan = &record.header.plan;
    let times = ComparedTimes::of(analysis, judgements);
    let shown = results(analysis).filter_map(|arm| times.get(arm.arm));
    let shown = shown.map(|it| UncertainValue { value: it.value, err: it.err });
    let unit = unit_of_arms(record, plan.reference, shown);
    let are_units_in_cells = is_mixed(record) || has_several_units(record, analysis);
    let metrics = metrics(record, analysis);
    let has_ratios = !analysis.comparisons.is_empty();
    let row = |arm: &ArmSummary| {
        let in_cell = |it: ComparedTime| match rate(record, arm) {
            Some(text) => format!("median {}", signs(&text)),
            None => {
                let own = unit_in_record(record, arm.arm, it.value);
                own.label(&signs(&t0::beside_ratio(own, it)))
            }
        };
        let time = match times.get(arm.arm) {
            None if arm.times.is_none() => "no finished run".into(),
            None => "too short".into(),
            Some(it) if are_units_in_cells => in_cell(it),
            Some(it) => signs(&t0::beside_ratio(unit, it)),
        };
        let means = metrics.iter().map(|it| it.mean(plan, arm).unwrap_or_default());
        let pair = judged.pairs().rfind(|(comparison, _)| comparison.arm == arm.arm);
        let (ratio, verdict) = pair.map_or_else(Default::default, |(comparison, judgement)| {
            ratio_and_word(&comparison.evidence, judgement, plan)
        });
        let is_reference = judged.pairs().any(|(found, _)| found.reference == arm.arm);
        let has_ratio = is_reference && times.has_ratios() && arm.times.is_some();
        let ratio = if has_ratio { "1".into() } else { ratio };
        let compared = [ratio, verdict].into_iter().filter(|_| has_ratios);
        let numbers: Vec<String> = std::iter::once(time).chain(means).chain(compared).collect();
        (plan.full_label(arm.arm), numbers)
    };
    let time = t0::heading(&location(record), &times);
    let time = if are_units_in_cells { time } else { unit.heading(&time) };
    let means = metrics.iter().map(|metric| {
        metric.unit.unwrap_or(DisplayUnit::ONE).heading(&format!("{} mean", metric.name))
    });
    let compared = ["Ratio", "Verdict"].map(String::from).into_iter().filter(|_| has_ratios);
    MarkupTable {
        headings: std::iter::once(time).chain(means).chain(compared).collect(),
        rows: ordered(record, analysis).map(row).collect(),
    }
}

/// The candidates in the requested order. Those of an import may have a summary and no runs.
fn ordered<'a>(record: &Record, analysis: &'a Analysis) -> impl Iterator<Item = &'a ArmSummary> {
    let plan = &record.header.plan;
    let is_ours = record.header.imported.is_none();
    let shown = |arm: &&ArmSummary| !arm.is_hidden && (is_ours || arm.times.is_some());
    let mut all: Vec<&ArmSummary> = analysis.arms.iter().filter(shown).collect();
    let is_by_time = TableOrder::of(&record.header.command_line) == TableOrder::MeanTime;
    if is_by_time && !plan.has_benchmarks() {
        let order = Ranking::of(analysis, plan).order;
        all.sort_by_key(|arm| order.iter().position(|other| *other == arm.arm));
    }
    all.into_iter()
}

/// Whether the arms' values have several units, or one that only the other program's file names.
fn has_several_units(record: &Record, analysis: &Analysis) -> bool {
    let mut units = results(analysis).map(|arm| of_record::unit(record, arm.arm));
    let first = units.next();
    let is_named = record.header.imported.is_some() && matches!(first, Some(ResultUnit::Other(_)));
    is_named || units.any(|unit| Some(unit) != first)
}

/// A metric beside the time.
struct MetricColumn<'a> {
    name: &'a str,
    /// The unit for all arms; `None` if each cell has its own.
    unit: Option<DisplayUnit>,
}

impl MetricColumn<'_> {
    fn mean(&self, plan: &Plan, arm: &ArmSummary) -> Option<String> {
        let mean = arm.metric(self.name)?.mean;
        if let Some(unit) = self.unit {
            return Some(unit.number(mean, None));
        }
        let own = unit_of_metric(plan, self.name, &[arm]);
        Some(own.label(&own.number(mean, None)))
    }
}

/// The metrics that the user named.
fn metrics<'a>(record: &'a Record, analysis: &Analysis) -> Vec<MetricColumn<'a>> {
    let plan = &record.header.plan;
    let (chosen, default) = (&plan.metrics, default_metrics());
    let is_default = chosen.iter().map(|it| &it.name).eq(default.iter().map(|it| &it.name));
    // An import's only metric is its values, and `timeit` and `bench` of workers have no --metrics.
    if is_default || plan.workers.is_some() || record.header.imported.is_some() {
        return Vec::new();
    }
    let column = |choice: &'a MetricChoice| {
        let has_own_units = choice.name == VALUE && has_several_value_units(plan);
        let arms: Vec<&ArmSummary> = results(analysis).collect();
        let unit = (!has_own_units).then(|| unit_of_metric(plan, &choice.name, &arms));
        MetricColumn { name: &choice.name, unit }
    };
    chosen.iter().map(column).collect()
}

/// A table between pipes. `rule`: what is below the heading of the first column and of each other one.
fn piped(table: &MarkupTable, rule: [&str; 2], code: fn(&str) -> String) -> String {
    let rule = rule[0].to_owned() + &rule[1].repeat(table.headings.len());
    let mut out = format!("| Command | {} |\n|{rule}|\n", table.headings.join(" | "));
    for (command, numbers) in &table.rows {
        writeln!(out, "| {} | {} |", code(command), numbers.join(" | ")).ok();
    }
    out
}

/// A command as a code span. A pipe ends the cell even there. The fence is longer than any run of backticks inside.
pub(super) fn markdown_code(command: &str) -> String {
    let line = one_line(command).replace('|', "\\|");
    let longest = line.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // Markdown strips one space on both sides unless the rest is all spaces.
    let needs_space = line.starts_with('`')
        || line.ends_with('`')
        || (line.starts_with(' ') && line.ends_with(' '));
    let space = if needs_space { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

fn asciidoc(table: &MarkupTable) -> String {
    let columns = ",>".repeat(table.headings.len());
    let mut out = format!("[cols=\"<{columns}\", options=\"header\"]\n|===\n");
    writeln!(out, "| Command | {}", table.headings.join(" | ")).ok();
    for (command, numbers) in &table.rows {
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

/// A command as verbatim text between pipes. A pipe ends the cell even there, and its entity `\vert{}` works only
/// outside.
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
    use crate::fixture::{
        analysis, compare, judgements, metric, of_times, paired, single, times, too_few,
    };
    use analysis::Evidence;
    use model::spec::run::ValueOptions;
    use model::values::ValueUnit;
    use record::fixture::record;
    use record::plan::ValueRule;
    use record::plan::workers::Workers;

    fn three(markup: Markup) -> String {
        let record = record(&["sleep 1", "a  `b` | c", "d"]);
        let mut analysis = analysis(&record, &[1.2e6, 12.345e6, 3e6, 0.5e6]);
        compare(&mut analysis, 1, Evidence::Paired(paired(1.0183, 1.0129, 1.0238)));
        compare(&mut analysis, 2, too_few());
        let judgements = &judgements(&record, &analysis);
        table(markup, Judged { record: &record, analysis: &analysis, judgements })
    }

    /// The table of a session without comparisons.
    fn markdown(record: &Record, analysis: &Analysis) -> String {
        table(Markup::Markdown, Judged { record, analysis, judgements: &[] })
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
    fn metrics_that_the_user_named_are_columns() {
        let mut record = record(&["a"]);
        let names = [("wall", None), ("maxrss", Some("KiB".to_owned())), ("cycles", None)];
        record.header.plan.metrics =
            names.map(|(name, unit)| MetricChoice { name: name.into(), unit }).to_vec();
        let mut analysis = analysis(&record, &[1e6]);
        let metrics = &mut analysis.arms[0].metrics;
        metrics.retain(|metric| metric.name == "wall");
        metrics.push(metric("maxrss", 60, 2_097_152.0 / 1.02));
        let text = markdown(&record, &analysis);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].ends_with("| wall mean [ms] | maxrss mean [KiB] | cycles mean |"),
            "{text}"
        );
        assert!(lines[2].ends_with("| 1.030 | 2048 |  |"), "{text}");
    }

    /// Workers have metrics of their own, of which slices lack the wall time.
    #[test]
    fn a_session_of_workers_has_no_metrics_that_the_user_named() {
        let mut record = record(&["a"]);
        let names = ["wall", "maxrss"].map(|name| MetricChoice { name: name.into(), unit: None });
        record.header.plan.metrics = names.to_vec();
        record.header.plan.workers = Some(Workers::default());
        let mut analysis = analysis(&record, &[2e6]);
        analysis.arms[0].metrics.retain(|metric| metric.name == "maxrss");
        let text = markdown(&record, &analysis);
        assert!(text.starts_with("| Command | t0 [ms] |\n|:---|---:|\n| `a` | "), "{text}");
    }

    #[test]
    fn values_of_several_units_have_them_in_the_cells() {
        let mut record = record(&["a", "b"]);
        record.header.plan.arms[1].unit = ValueUnit::Bytes;
        let options = |unit: &str| ValueOptions {
            value: Some("x".into()),
            value_unit: Some(unit.into()),
            ..ValueOptions::default()
        };
        for (arm, unit) in record.header.plan.arms.iter_mut().zip(["ms", "KiB"]) {
            arm.value = ValueRule::of(&options(unit)).unwrap();
        }
        let names = ["wall", VALUE].map(|name| MetricChoice { name: name.into(), unit: None });
        record.header.plan.metrics = names.to_vec();
        let values = vec![Some(single(5e6)), Some(single(2048.0))];
        let mut analysis = of_times(&record, values, 1);
        for (arm, value) in analysis.arms.iter_mut().zip([5e6, 2048.0]) {
            arm.metrics = vec![metric("wall", 1, 7e6), metric(VALUE, 1, value / 1.02)];
        }
        let text = markdown(&record, &analysis);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with(" | wall mean [ms] | value mean |"), "{text}");
        assert!(lines[2].starts_with("| `a` | 5.000 ms |"), "{text}");
        assert!(lines[2].ends_with("| 7.140 | 5.000 ms |"), "{text}");
        assert!(lines[3].starts_with("| `b` | 2.000 KiB |"), "{text}");
        assert!(lines[3].ends_with("| 7.140 | 2.000 KiB |"), "{text}");
    }

    #[test]
    fn arms_without_errors_or_runs() {
        let record = record(&["a", "b", "c"]);
        let analysis = of_times(&record, vec![Some(single(5.0)), None, Some(times(7.0))], 1);
        let text = markdown(&record, &analysis);
        let rows: Vec<&str> = text.lines().skip(2).collect();
        assert_eq!(rows[..2], ["| `a` | 5 |", "| `b` | no finished run |"]);
        assert_eq!(rows.len(), 3, "{text}");
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
