//! The summary that `run` and `show` print.

mod arms;
mod benchmarks;
mod comparison;
mod doubt;
mod many;
mod ratios;

use std::fmt::Write as _;

use crate::analysis::histogram::Histogram;
use crate::analysis::{Analysis, ArmSummary, Evidence};
use crate::plan::Plan;
use crate::record::Record;
use crate::render::columns::wrap;
use crate::render::units::{DisplayUnit, unit_of_walls};
use crate::render::{Styles, closing, histogram, uncertain};
use crate::verdict::{Judgement, judge};

use comparison::self_check;
pub(super) use comparison::{comparison, margin, no_test, numbers_line, sentences, verdict_word};
pub(super) use ratios::{change, ratio_text};

/// With more arms than this, each arm is one line of a table.
const BLOCKS_MAX: usize = 12;

/// Shared input of all parts of the summary.
struct SummaryContext<'a> {
    plan: &'a Plan,
    analysis: &'a Analysis,
    /// The unit of all wall times.
    unit: DisplayUnit,
    styles: &'a Styles,
}

impl SummaryContext<'_> {
    fn candidates(&self) -> impl Iterator<Item = &ArmSummary> {
        self.analysis.arms.iter().filter(|arm| !arm.is_hidden)
    }
}

/// The summary: arms, comparisons, notes and the path of the record. All lines but the path are at most 80 columns
/// wide. `judgements` belong to the analysis' comparisons, in their order.
pub fn summary(
    record: &Record,
    analysis: &Analysis,
    judgements: &[Judgement],
    histogram: Option<&Histogram>,
    styles: &Styles,
) -> String {
    let plan = &record.header.plan;
    let page = SummaryContext { plan, analysis, unit: wall_unit(plan, analysis), styles };
    let mut out = String::new();
    if plan.has_benchmarks() {
        benchmarks::append(&mut out, &page, judgements);
    } else if page.candidates().count() > BLOCKS_MAX {
        many::append(&mut out, &page, judgements);
    } else {
        blocks(&mut out, &page, judgements, histogram);
    }
    family(&mut out, &page);
    if let Some(found) = &analysis.self_check {
        let judgement = judge(found, &plan.policy);
        out.push_str(&self_check(&found.evidence, &judgement, plan.policy));
        out.push('\n');
    }
    closing::lines(&mut out, record, analysis, styles);
    out
}

/// Appends the meaning of the error rate, if several comparisons share it.
fn family(out: &mut String, page: &SummaryContext<'_>) {
    let family = page.analysis.comparisons.iter().find_map(|found| match &found.evidence {
        Evidence::Paired(paired) if paired.family > 1 => Some(paired.family),
        _ => None,
    });
    let Some(n) = family else { return };
    let alpha = uncertain::trimmed(page.plan.policy.alpha * 100.0, 6);
    let text = format!(
        "{n} comparisons, judged together (Holm): by chance, any of them is called different in at most {alpha} % of \
         sessions"
    );
    wrap(out, "", 0, &text);
    out.push('\n');
}

fn blocks(
    out: &mut String,
    page: &SummaryContext<'_>,
    judgements: &[Judgement],
    histogram: Option<&Histogram>,
) {
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
    for (found, judgement) in page.analysis.comparisons.iter().zip(judgements) {
        let heading = format!("{} vs {}", found.arm + 1, found.reference + 1);
        out.push_str(&comparison(&heading, &found.evidence, judgement, page.plan, page.styles));
        let by_cpu = page.analysis.cpu_comparisons.iter().find(|by_cpu| by_cpu.arm == found.arm);
        if let Some(Evidence::Paired(paired)) = by_cpu.map(|by_cpu| &by_cpu.evidence) {
            out.push_str(&comparison::by_cpu(paired));
        }
        out.push('\n');
    }
}

/// The unit of all wall times, that of the control included.
fn wall_unit(plan: &Plan, analysis: &Analysis) -> DisplayUnit {
    let t0s = analysis.arms.iter().filter_map(|arm| Some(arm.times.as_ref()?.t0));
    unit_of_walls(plan, t0s)
}

#[cfg(test)]
mod tests;
