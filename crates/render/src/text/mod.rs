//! The summary of `run` and `show`: the answer in a sentence, a table, and advice. The verbose form has the statistics.

mod answer;
mod arms;
mod benchmarks;
mod comparison;
mod doubt;
mod ranked;

use std::fmt::Write as _;

use crate::columns::{flow, one_line, wrap, wrap_headline};
use crate::depth::Depth;
use crate::quantity::QuantityWords;
use crate::units::{DisplayUnit, imported_unit, percent, unit_in_record, unit_of_arms};
use crate::{Styles, closing, histogram, uncertain};
use analysis::convert::of_record::better;
use analysis::histogram::Histogram;
use analysis::verdict::{Judged, Judgement, Verdict, judge};
use analysis::{Analysis, ArmSummary, ComparedTimes, Ranking};
use model::values::Order;
use record::Record;
use record::plan::Plan;

pub(super) use answer::pair;
pub(super) use benchmarks::location;
use comparison::self_check;
pub(super) use comparison::{comparison, margin, no_test, no_tests, numbers_line, sentences};
pub(super) use ranked::ratio_and_word;

/// With more arms, none has a block of its own.
const BLOCKS_MAX: usize = 12;

/// Shared input of all parts of the summary.
struct SummaryContext<'a> {
    judged: Judged<'a>,
    plan: &'a Plan,
    analysis: &'a Analysis,
    /// The times beside the ratios.
    compared: ComparedTimes,
    ranking: Ranking,
    /// The names of each arm in the table and in a sentence.
    row_names: Vec<String>,
    names: Vec<String>,
    /// The unit of all wall times.
    unit: DisplayUnit,
    quantity: QuantityWords,
    styles: &'a Styles,
}

impl<'a> SummaryContext<'a> {
    fn new(judged: Judged<'a>, styles: &'a Styles) -> Self {
        let Judged { record, analysis, judgements } = judged;
        let plan = &record.header.plan;
        let (row_names, names) = ranked::names(plan, &analysis.arms).into_iter().unzip();
        let ranking =
            if plan.has_benchmarks() { Ranking::default() } else { Ranking::of(analysis, plan) };
        // The control's times have this unit, too.
        let t0s = analysis.arms.iter().filter_map(|arm| Some(arm.times.as_ref()?.t0));
        let unit = unit_of_arms(record, plan.reference, t0s);
        let quantity = match record.header.imported {
            Some(_) => QuantityWords::of_arm(record, plan.reference),
            None => QuantityWords::of(plan),
        };
        let compared = ComparedTimes::of(analysis, judgements);
        Self { judged, plan, analysis, compared, ranking, row_names, names, unit, quantity, styles }
    }

    fn has_failed(&self) -> bool {
        closing::is_failure(self.analysis.end)
    }

    /// The answer in a sentence; `None` if there is nothing to tell.
    fn sentence(&self) -> Option<String> {
        if self.plan.has_benchmarks() {
            return benchmarks::sentence(self);
        }
        let comparisons = &self.analysis.comparisons;
        let has_verdict = || comparisons.iter().any(|it| it.evidence.test().is_ok());
        let is_told = !self.has_failed() || self.candidates().count() == 1 || has_verdict();
        let mut text = answer::sentence(self).filter(|_| is_told)?;
        if let Some(gate) = self.plan.suite.as_ref().filter(|suite| suite.is_gate) {
            // Sums may have answered for its other benchmarks.
            text = format!("{}: {text}", one_line(&gate.benchmark));
        }
        if self.plan.order == Order::Listed && has_verdict() {
            text.push_str("; the order was fixed, not random");
        }
        Some(text)
    }

    fn candidates(&self) -> impl Iterator<Item = &'a ArmSummary> {
        self.analysis.arms.iter().filter(|arm| !arm.is_hidden)
    }
}

/// The median of values of which more is better, with the other program's unit.
pub(super) fn rate(record: &Record, arm: &ArmSummary) -> Option<String> {
    imported_unit(record, arm.arm).filter(|_| !better(record, arm.arm).is_lower())?;
    let median = arm.times.as_ref()?.median;
    let unit = unit_in_record(record, arm.arm, median.value);
    Some(unit.label(&unit.uncertain(median.value, median.err)))
}

/// The summary: the answer, the statistics on request, notes and the path of the record. All lines but the path fit
/// the terminal.
pub fn summary(
    judged: Judged<'_>,
    histogram: Option<&Histogram>,
    detail: Depth,
    styles: &Styles,
) -> String {
    let plan = &judged.record.header.plan;
    let page = SummaryContext::new(judged, styles);
    let mut out = String::new();
    append_answer(&mut out, &page);
    if detail == Depth::Brief {
        metrics_asked_for(&mut out, &page);
    }
    if detail == Depth::Verbose {
        if plan.has_benchmarks() {
            benchmarks::details(&mut out, &page);
        } else if page.candidates().count() <= BLOCKS_MAX {
            blocks(&mut out, &page, histogram);
        } else {
            visible(&mut out, &page);
        }
        family(&mut out, &page);
    }
    if let Some(found) = &judged.analysis.self_check {
        let judgement = judge(found, &plan.policy);
        out.push_str(&self_check(&found.evidence, &judgement, plan.policy, detail));
        out.push('\n');
    }
    closing::lines(&mut out, judged, detail, styles);
    out
}

/// Only the sentence of [`summary`].
pub(super) fn sentence(judged: Judged<'_>) -> Option<String> {
    SummaryContext::new(judged, &Styles::default()).sentence()
}

pub(super) fn sentence_on(judged: Judged<'_>, arm: &ArmSummary, unit: DisplayUnit) -> String {
    let styles = Styles::default();
    let page = SummaryContext::new(Judged { judgements: &[], ..judged }, &styles);
    answer::alone(&SummaryContext { unit, ..page }, &one_line(&arm.label), arm)
}

/// Only the answer: a failure, the sentence and the table.
pub(super) fn answer(judged: Judged<'_>, styles: &Styles) -> String {
    let mut out = String::new();
    append_answer(&mut out, &SummaryContext::new(judged, styles));
    out
}

fn append_answer(out: &mut String, page: &SummaryContext<'_>) {
    if page.has_failed() {
        closing::failures(out, page.judged.record, page.analysis.end, page.styles);
    }
    if let Some(text) = page.sentence() {
        let style = match page.judged.judgements {
            [only] => page.styles.verdict(only.verdict),
            _ => page.styles.headline,
        };
        wrap_headline(out, style, &text);
    }
    if page.plan.has_benchmarks() {
        if !page.analysis.comparisons.is_empty() {
            out.push('\n');
        }
        benchmarks::append(out, page);
        return;
    }
    let is_alone = page.candidates().count() == 1;
    match page.candidates().next().filter(|_| is_alone) {
        Some(arm) => {
            if let Some(text) = answer::disturbance(page, arm) {
                wrap(out, "", 0, &text);
            }
        }
        None => {
            out.push('\n');
            ranked::append(out, page);
        }
    }
    arms::append_copies(out, page);
    out.push('\n');
}

/// Appends the means of the metrics, if the user named some.
fn metrics_asked_for(out: &mut String, page: &SummaryContext<'_>) {
    let mut words = page.judged.record.header.command_line.iter();
    let is_asked_for = words.any(|word| word == "--metrics" || word.starts_with("--metrics="));
    if !is_asked_for || page.candidates().count() > BLOCKS_MAX {
        return;
    }
    let units = arms::MetricUnits::new(page);
    let found = page.candidates().map(|arm| (&page.names[arm.arm], units.items(arm)));
    let found: Vec<_> = found.filter(|(_, items)| !items.is_empty()).collect();
    for (name, items) in &found {
        writeln!(out, "means of {name}:").ok();
        flow(out, 3, items);
    }
    if !found.is_empty() {
        out.push('\n');
    }
}

/// Appends the range of the smallest differences that the comparisons without one could detect.
fn visible(out: &mut String, page: &SummaryContext<'_>) {
    let is_open =
        |judgement: &Judgement| !matches!(judgement.verdict, Verdict::Slower | Verdict::Faster);
    let open = page.judged.pairs().filter(|(_, judgement)| is_open(judgement));
    let tests = open.filter_map(|(found, _)| found.evidence.test().ok());
    let visible = tests.map(|paired| paired.smallest_visible);
    let visible: Vec<f64> =
        visible.filter(|visible| visible.is_finite() && *visible > 0.0).collect();
    let Some(least) = visible.iter().copied().reduce(f64::min) else { return };
    let most = visible.iter().copied().fold(least, f64::max);
    let (least, most) = (percent(least), percent(most));
    let range = if least == most { least } else { format!("{least} to {most}") };
    let text = format!("a difference of {range} is found in 80 of 100 such sessions");
    wrap(out, "", 0, &text);
    out.push('\n');
}

/// Appends the meaning of the error rate if several comparisons share it.
fn family(out: &mut String, page: &SummaryContext<'_>) {
    let mut tests = page.analysis.comparisons.iter().filter_map(|it| it.evidence.test().ok());
    let Some(n) = tests.find_map(|it| Some(it.family).filter(|n| *n > 1)) else { return };
    let alpha = uncertain::trimmed(page.plan.policy.alpha * 100.0, 6);
    let text = format!(
        "{n} comparisons, judged together (Holm): by chance, any of them is called different in at most {alpha} % of \
         sessions"
    );
    wrap(out, "", 0, &text);
    out.push('\n');
}

fn blocks(out: &mut String, page: &SummaryContext<'_>, histogram: Option<&Histogram>) {
    let lines = histogram.map(histogram::lines).unwrap_or_default();
    let metrics = arms::MetricUnits::new(page);
    for arm in page.candidates() {
        arms::block(out, page, &metrics, arm, lines.get(arm.arm).map(String::as_str));
    }
    if let Some(axis) = histogram.and_then(|histogram| histogram::axis(histogram, page.unit)) {
        let beyond =
            if lines.iter().any(|line| line.contains('+')) { "; + runs beyond it" } else { "" };
        writeln!(out, "   histogram: {axis}{beyond}\n").ok();
    }
    for (found, judgement) in page.judged.pairs() {
        let [new, old] = [found.arm, found.reference].map(|arm| &page.names[arm]);
        let heading = format!("{new} against {old}");
        out.push_str(&comparison(&heading, found, judgement, page.judged.record, page.styles));
        let by_cpu = page.analysis.cpu_comparisons.iter().find(|by_cpu| by_cpu.arm == found.arm);
        if let Some(paired) = by_cpu.and_then(|by_cpu| by_cpu.evidence.test().ok()) {
            out.push_str(&comparison::by_cpu(paired));
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests;
