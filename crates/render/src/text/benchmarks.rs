//! The summary of several benchmarks: one line for each.

use std::collections::HashSet;

use crate::columns::wrap;
use crate::names::{cut_names, distinct, each_once};
use crate::quantity::{QuantityWords, is_within_limit};
use crate::text::comparison::{no_tests, numbers_line};
use crate::text::doubt::doubt_text;
use crate::text::{SummaryContext, arms, ranked, rate};
use crate::units::{DisplayUnit, counted, counts_in_words, unit_in_record};
use crate::{t0, table, uncertain};
use analysis::convert::of_record::imported;
use analysis::suite::{is_mixed, plan_of_arm};
use analysis::verdict::{Judgement, Verdict};
use analysis::{ArmSummary, Comparison, NoTest, geometric_mean};
use model::spec::convert::TableStyle;
use record::Record;

/// Widest name, columns.
const NAME_MAX: usize = 30;

pub(super) fn append(out: &mut String, page: &SummaryContext<'_>) {
    let (programs, location) = (programs(page), location(page.judged.record));
    if page.analysis.comparisons.is_empty() {
        let rows = page.candidates().map(|arm| {
            let [name, t0] = [name(page, arm.arm).to_owned(), t0(page, arm)];
            ([name, t0], anstyle::Style::new())
        });
        ranked::draw(out, ["benchmark", &location].map(String::from), rows.collect());
        if page.judged.record.header.imported.is_none() && programs.len() > 1 {
            append_not_compared(out, page);
        }
        out.push('\n');
        return;
    }
    let rows =
        page.judged.pairs().map(|(found, judgement)| compared(page, found, judgement, &programs));
    let heading = match &programs[..] {
        [_, _] => format!("{location} of {}", distinct(&programs, 12)[0]),
        _ => format!("{location} of the reference"),
    };
    ranked::draw(
        out,
        ["benchmark", &heading, "ratio", "verdict"].map(String::from),
        rows.collect(),
    );
    append_not_compared(out, page);
    let comparisons = page.analysis.comparisons.iter();
    let reasons: Vec<NoTest> = comparisons.filter_map(|it| it.evidence.test().err()).collect();
    if !reasons.is_empty() {
        wrap(out, "no verdict: ", 12, &no_tests(&reasons, page.plan));
    }
    out.push('\n');
}

/// The name of the main numbers: `t0`, or `t0 or median` where the benchmarks compare different quantities.
pub(crate) fn location(record: &Record) -> String {
    let arms = record.header.plan.candidates();
    each_once(arms.map(|(arm, _)| QuantityWords::location(record, arm))).join(" or ")
}

/// The number of benchmarks with each verdict, and the geometric mean of their ratios if all compare one quantity. `None`
/// if nothing is compared.
pub(super) fn sentence(page: &SummaryContext<'_>) -> Option<String> {
    if page.analysis.comparisons.is_empty() {
        return None;
    }
    let programs = programs(page);
    let tested = || page.judged.pairs().filter(|(found, _)| found.evidence.test().is_ok());
    let n_of = |verdict| tested().filter(|(_, it)| it.verdict == verdict).count();
    let n_within = tested().filter(|(_, it)| is_within_limit(it, page.plan)).count();
    let n = page.judged.judgements.len();
    let [slower, faster, not_slower] = page.quantity.judged_in_lists();
    let all = [
        (n_of(Verdict::Slower), slower),
        (n_of(Verdict::Faster), faster),
        (n_of(Verdict::Same), "the same"),
        (n_within, not_slower),
        (n_of(Verdict::Undecided) - n_within, "undecided"),
        (n - tested().count(), "without a verdict"),
    ];
    let said = counts_in_words(&all);
    let text = match &distinct(&programs, NAME_MAX)[..] {
        [old, new] => {
            let what = together(page).unwrap_or_else(|| counted(n, "benchmark"));
            let noun = match is_mixed(page.judged.record) {
                true => Some("several quantities"),
                false => page.quantity.noun(),
            };
            let by = noun.map_or_else(String::new, |noun| format!(" by {noun}"));
            format!("{new} against {old} in {what}{by}: {said}")
        }
        _ => {
            let programs = counted(programs.len(), "program");
            format!("{} of {programs}: {said}", counted(n, "comparison"))
        }
    };
    let has_mean = programs.len() == 2 && !is_mixed(page.judged.record);
    let mean = geometric_mean(&page.analysis.comparisons).filter(|(_, n)| *n > 1);
    let mean = mean.filter(|_| has_mean).map_or_else(String::new, |(mean, _)| {
        format!(
            "; geometric mean of the ratios {}",
            uncertain::significant(page.plan.policy.better.turned(mean), 4)
        )
    });
    Some(text + &mean)
}

fn compared(
    page: &SummaryContext<'_>,
    comparison: &Comparison,
    judgement: &Judgement,
    programs: &[&str],
) -> ([String; 4], anstyle::Style) {
    let old = &page.analysis.arms[comparison.reference];
    let (ratio, word) = ranked::ratio_and_word(&comparison.evidence, judgement, page.plan);
    let benchmark = compared_name(page, comparison);
    let row = if programs.len() > 2 {
        format!("{benchmark}: {}", page.analysis.arms[comparison.arm].label)
    } else {
        benchmark
    };
    let old = if page.plan.by_geometric_mean { String::new() } else { t0(page, old) };
    ([row, old, ratio, word], page.styles.verdict(judgement.verdict))
}

/// Appends t0, median, mean and scatter of each program in each benchmark, and the numbers of each comparison.
pub(super) fn details(out: &mut String, page: &SummaryContext<'_>) {
    let has_programs = page.plan.has_programs();
    let rows = page.candidates().map(|arm| alone(page, arm, has_programs));
    let mut rows: Vec<Vec<String>> = rows.collect();
    let location = location(page.judged.record);
    let heading = table::cells(&["benchmark", &location, "median", "mean", "CV", "n"]);
    cut_names(&heading, &mut rows);
    out.push_str(&table::styled(TableStyle::Text, heading, rows));
    out.push('\n');
    for arm in page.candidates() {
        let counters = arm.sliced.iter().flat_map(|found| &found.counters);
        let counted: Vec<String> = counters.map(arms::counted).collect();
        if !counted.is_empty() {
            let of = if has_programs { format!(" of {}", arm.label) } else { String::new() };
            let text = format!("{}{of}: {}", name(page, arm.arm), counted.join(", "));
            wrap(out, "counters: ", 6, &text);
        }
    }
    for (found, judgement) in page.judged.pairs() {
        if let Some(numbers) = numbers_line(&found.evidence, judgement) {
            let label = &page.analysis.arms[found.arm].label;
            let plan = plan_of_arm(page.judged.record, found.arm);
            let test = found.evidence.test().ok();
            let doubt = test.and_then(|it| Some(doubt_text(it.doubt?, it, plan)));
            let doubt = doubt.map_or_else(String::new, |it| format!("; {it}"));
            let text = format!("{}: {label}: {numbers}{doubt}", compared_name(page, found));
            wrap(out, "", 6, &text);
        }
    }
    if !page.analysis.comparisons.is_empty() {
        out.push('\n');
    }
}

/// Distinct labels of the variants, in the order of the plan.
fn programs<'a>(page: &SummaryContext<'a>) -> Vec<&'a str> {
    each_once(page.candidates().map(|arm| arm.label.as_str()))
}

/// The quantity that is compared if all benchmarks of a program are compared together.
fn together(page: &SummaryContext<'_>) -> Option<String> {
    let names: HashSet<_> = page.candidates().map(|arm| name(page, arm.arm)).collect();
    let is_together = page.plan.by_geometric_mean && names.len() > 1;
    is_together.then(|| format!("the geometric mean of {} benchmarks", names.len()))
}

/// The benchmark of a comparison, or all of them.
fn compared_name(page: &SummaryContext<'_>, comparison: &Comparison) -> String {
    together(page).unwrap_or_else(|| name(page, comparison.arm).to_owned())
}

fn name<'a>(page: &'a SummaryContext<'_>, arm: usize) -> &'a str {
    page.plan.arms[arm].benchmark.as_deref().unwrap_or_default()
}

fn t0(page: &SummaryContext<'_>, arm: &ArmSummary) -> String {
    let Some(wall) = &arm.times else {
        return center(page, arm).unwrap_or_else(|| "no run".into());
    };
    if let Some(text) = rate(page.judged.record, arm) {
        return format!("median {text}, more is better");
    }
    let unit = unit(page, arm, wall.t0.value);
    unit.label(&t0::text(unit, wall))
}

fn unit(page: &SummaryContext<'_>, arm: &ArmSummary, largest: f64) -> DisplayUnit {
    unit_in_record(page.judged.record, arm.arm, largest)
}

/// The main number of an arm's summary by another program.
fn center(page: &SummaryContext<'_>, arm: &ArmSummary) -> Option<String> {
    let summary = imported(page.judged.record, arm.arm)?.summary?;
    let value = summary.center()?;
    let kind = match (summary.median, summary.mean) {
        (Some(_), _) => "median",
        (None, Some(_)) => "mean",
        (None, None) => "estimate",
    };
    let unit = unit(page, arm, value);
    Some(format!("{kind} {}, a summary", unit.label(&unit.number(value, None))))
}

fn alone(page: &SummaryContext<'_>, arm: &ArmSummary, has_programs: bool) -> Vec<String> {
    let benchmark = name(page, arm.arm);
    let of = if has_programs { page.plan.full_label(arm.arm) } else { benchmark.into() };
    let mut row = vec![of, t0(page, arm)];
    if let Some(wall) = &arm.times {
        let unit = unit(page, arm, wall.t0.value);
        let decimals = unit.decimals(wall.t0.value, wall.t0.err);
        for middle in [wall.median, wall.mean] {
            row.push(unit.label(&unit.number(middle.value, decimals)));
        }
        row.push(wall.cv.map_or_else(String::new, crate::units::percent));
    } else {
        row.extend([String::new(), String::new(), String::new()]);
    }
    row.push(arm.n_values().to_string());
    row
}

fn append_not_compared(out: &mut String, page: &SummaryContext<'_>) {
    if page.plan.by_geometric_mean {
        return;
    }
    let is_in = |arm: &ArmSummary| {
        page.analysis
            .comparisons
            .iter()
            .any(|found| found.arm == arm.arm || found.reference == arm.arm)
    };
    let alone = page.candidates().filter(|arm| !is_in(arm));
    let names: Vec<&str> = alone.map(|arm| name(page, arm.arm)).collect();
    if !names.is_empty() {
        wrap(out, "in one program only: ", 6, &names.join(", "));
    }
}
