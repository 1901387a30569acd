//! The table of the commands: one row each, the fastest first. A scan keeps the order of its values.

use std::fmt::Write as _;

use analysis::{ArmSummary, BestChoice, ComparedStatistic, Evidence, NoTest, SameDoubt};
use model::spec::run::TableOrder;
use record::plan::{Arm, Plan};

use crate::columns::{one_line, room_for_names, shorten, width, wrap};
use crate::names::distinct;
use crate::quantity::{QuantityWords, is_within_limit};
use crate::ratios::tested_ratio;
use crate::styles::paint;
use crate::table::GAP;
use crate::text::SummaryContext;
use crate::text::comparison::margin;
use crate::{t0, uncertain};
use analysis::verdict::{Judgement, Verdict};

/// Columns of a name in a sentence.
const NAME_MAX: usize = 40;
/// Least width of a name in the table, columns.
const NAME_MIN: usize = 16;
const N_COLUMNS: usize = 4;
/// Most names of values that may be the best, and most choices.
const BEST_MAX: usize = 3;
const CHOICES_MAX: usize = 16;
/// Name, time, ratio, and the verdict in colour.
type TableRow = ([String; N_COLUMNS], anstyle::Style);

/// Appends the table of the candidates.
pub(super) fn append(out: &mut String, page: &SummaryContext<'_>) {
    let is_scan = scan_heading(page.plan).is_some();
    let is_listed = match TableOrder::of(&page.judged.record.header.command_line) {
        TableOrder::Auto => is_scan,
        TableOrder::Command => true,
        TableOrder::MeanTime => false,
    };
    let order: Vec<usize> = if is_listed {
        page.candidates().map(|arm| arm.arm).collect()
    } else {
        page.ranking.order.clone()
    };
    let rows: Vec<TableRow> = order.iter().map(|&arm| row(page, arm, is_scan)).collect();
    let heading = scan_heading(page.plan).unwrap_or_else(|| "command".into());
    let times = t0::heading(
        QuantityWords::location(page.judged.record, page.plan.reference),
        &page.compared,
    );
    draw(out, [&heading, &times, "ratio", "verdict"].map(String::from), rows);
    if page.compared.statistic() == ComparedStatistic::WholeT0 {
        wrap(out, "", 0, "the overhead is not subtracted: what is left without it is not known");
    }
    best_choices(out, page);
}

/// Appends the best value for each choice of the other parameters.
fn best_choices(out: &mut String, page: &SummaryContext<'_>) {
    for found in &page.analysis.best {
        let choice = |it: &BestChoice| {
            let best = match &it.values[..] {
                best if best.len() == it.among => "cannot tell".to_owned(),
                best if best.len() > BEST_MAX => format!("one of {} of {}", best.len(), it.among),
                best => best.join(" or "),
            };
            format!("{best} at {}", it.at)
        };
        let choices: Vec<String> = found.choices.iter().take(CHOICES_MAX).map(choice).collect();
        let more = match found.choices.len().saturating_sub(CHOICES_MAX) {
            0 => String::new(),
            n => format!("; and {n} more (--json has them)"),
        };
        wrap(out, "", 3, &format!("best {}: {}{more}", found.of, choices.join("; ")));
    }
}

/// The ratio with its interval and the verdict of a comparison, in a few words.
pub(crate) fn ratio_and_word(
    evidence: &Evidence,
    judgement: &Judgement,
    plan: &Plan,
) -> (String, String) {
    let word = QuantityWords::of(plan).judged(judgement, plan).to_lowercase();
    match evidence {
        Evidence::Paired(paired) => {
            let shown = judgement.shown(paired);
            let has_interval = !shown.ends().contains(&None);
            let ratio = if has_interval || judgement.verdict != Verdict::Undecided {
                tested_ratio(paired, shown)
            } else {
                "not known yet".into()
            };
            let is_same_so_far = paired.doubt.is_some_and(|it| it != SameDoubt::CoarseSteps)
                && !is_within_limit(judgement, plan);
            let small = if judgement.within_margin || is_same_so_far {
                format!(", < {}", margin(plan.policy))
            } else {
                String::new()
            };
            (ratio, word + &small)
        }
        Evidence::Unpaired { ratio, .. } => {
            let ratio = ratio.of_values(judgement.better);
            (format!("about {}", uncertain::significant(ratio.value, 3)), "no verdict".into())
        }
        Evidence::None { because: NoTest::UnfitNumbers } => (String::new(), "no ratio".into()),
        Evidence::None { .. } => (String::new(), "no verdict".into()),
    }
}

fn row(page: &SummaryContext<'_>, arm: usize, is_scan: bool) -> TableRow {
    let summary = &page.analysis.arms[arm];
    let time = time_cell(page, arm);
    let pair = page.judged.pairs().rfind(|(found, _)| found.arm == arm);
    let (ratio, style, mut word) = match pair {
        Some((found, judgement)) => {
            let (mut ratio, word) = ratio_and_word(&found.evidence, judgement, page.plan);
            if found.evidence.test().is_ok() && page.compared.get(arm).is_none() {
                // Nothing is left of the arm, so its ratio is the only one with what is subtracted.
                ratio += " as measured";
            }
            (ratio, page.styles.verdict(judgement.verdict), word)
        }
        None if arm == page.plan.reference => {
            ("reference".into(), anstyle::Style::new(), String::new())
        }
        None => (String::new(), anstyle::Style::new(), String::new()),
    };
    let is_best = page.ranking.is_clear() && page.ranking.order.first() == Some(&arm);
    if is_scan && is_best && summary.times.is_some() {
        let best = if page.quantity.is_time() { "fastest" } else { "best" };
        word = if word.is_empty() { best.into() } else { format!("{word}, {best}") };
    }
    ([page.row_names[arm].clone(), time, ratio, word], style)
}

fn time_cell(page: &SummaryContext<'_>, arm: usize) -> String {
    match page.compared.get(arm) {
        Some(time) => page.unit.label(&t0::beside_ratio(page.unit, time)),
        None if page.analysis.arms[arm].times.is_some() => "too short".into(),
        None => "no finished run".into(),
    }
}

/// Appends the rows, each at most as wide as the terminal; names are cut.
pub(super) fn draw<const N: usize>(
    out: &mut String,
    heading: [String; N],
    mut rows: Vec<([String; N], anstyle::Style)>,
) {
    rows.insert(0, (heading, anstyle::Style::new()));
    // Names in a suite are in their author's words.
    rows.iter_mut().flat_map(|(row, _)| row).for_each(|cell| *cell = one_line(cell));
    let widest = |column: usize| rows.iter().map(|(row, _)| width(&row[column])).max().unwrap_or(0);
    let mut widths: [usize; N] = std::array::from_fn(widest);
    let others: usize = widths[1..].iter().map(|width| width + GAP.len()).sum();
    let room = room_for_names(others, NAME_MIN);
    if widths[0] > room {
        let labels: Vec<&str> = rows[1..].iter().map(|(row, _)| &*row[0]).collect();
        let short = distinct(&labels, room);
        for ((row, _), name) in rows[1..].iter_mut().zip(short) {
            row[0] = name;
        }
        rows[0].0[0] = shorten(&rows[0].0[0], room);
        widths[0] = room;
    }
    for (row, style) in rows {
        let last = row.iter().rposition(|cell| !cell.is_empty()).unwrap_or(0);
        for (column, cell) in row.iter().enumerate().take(last + 1) {
            let is_verdict = column + 1 == N && style != anstyle::Style::new();
            let text = if is_verdict { paint(style, cell) } else { cell.clone() };
            let fill = if column == last { 0 } else { widths[column] - width(cell) + GAP.len() };
            write!(out, "{text}{}", " ".repeat(fill)).ok();
        }
        out.push('\n');
    }
}

/// The names of the parameters, if every command is one combination of their values.
fn scan_heading(plan: &Plan) -> Option<String> {
    let arms: Vec<_> = plan.candidates().map(|(_, arm)| arm).collect();
    let (first, others) = arms.split_first()?;
    let names = |arm: &Arm| -> Vec<String> {
        arm.parameters.iter().map(|(name, _)| name.clone()).collect()
    };
    let of_first = names(first);
    let are_alike = others.iter().all(|arm| names(arm) == of_first && arm.name.is_none());
    let mut values: Vec<_> = arms.iter().map(|arm| &arm.parameters).collect();
    values.sort_unstable();
    values.dedup();
    let is_scan = !of_first.is_empty()
        && !others.is_empty()
        && first.name.is_none()
        && are_alike
        && values.len() == arms.len();
    is_scan.then(|| of_first.join(", "))
}

/// The names of each arm in the table and in a sentence: `2` and `n=2` in a scan, else the label.
pub(super) fn names<'a>(plan: &'a Plan, arms: &'a [ArmSummary]) -> Vec<(String, String)> {
    if scan_heading(plan).is_some() {
        let joined = |arm: &Arm, each: fn(&(String, String)) -> String| {
            let words: Vec<String> = arm.parameters.iter().map(each).collect();
            one_line(&words.join(", "))
        };
        let value = |arm| joined(arm, |(_, value)| value.clone());
        let named = |arm| joined(arm, |(name, value)| format!("{name}={value}"));
        return plan.arms.iter().map(|arm| (value(arm), named(arm))).collect();
    }
    // Beside others, the label says which program it is. Alone, it does not say which of its benchmarks.
    let mut candidates = plan.candidates();
    let alone = match (candidates.next(), candidates.next()) {
        (Some((only, _)), None) => Some(plan.full_label(only)),
        _ => None,
    };
    let label = |arm: &'a ArmSummary| alone.as_deref().unwrap_or(&arm.label);
    // The copy of the reference for the self-check has its label.
    let labels: Vec<&str> = arms.iter().filter(|arm| !arm.is_hidden).map(label).collect();
    let room = room_for_names(0, NAME_MIN);
    let mut rows = distinct(&labels, room).into_iter().zip(distinct(&labels, NAME_MAX));
    let hidden = |arm: &ArmSummary| (shorten(&arm.label, room), shorten(&arm.label, NAME_MAX));
    let name = |arm: &ArmSummary| {
        let shown = if arm.is_hidden { None } else { rows.next() };
        shown.unwrap_or_else(|| hidden(arm))
    };
    arms.iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_line_and_as_wide_as_it_is_shown() {
        let row = |name: &str| ([name, "1 ms"].map(String::from), anstyle::Style::new());
        let mut out = String::new();
        draw(&mut out, ["benchmark", "t0"].map(String::from), vec![row("a\nb\u{1b}"), row("c")]);
        assert_eq!(out, "benchmark   t0\na\\nb\\u{1b}  1 ms\nc           1 ms\n");
    }
}
