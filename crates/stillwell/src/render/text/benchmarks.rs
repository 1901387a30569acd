//! The summary of several benchmarks: one line for each, one column for each program.

use std::fmt::Write as _;

use crate::analysis::{ArmSummary, Comparison, Evidence};
use crate::render::columns::{COLUMNS, shorten, wrap};
use crate::render::exported::ratio;
use crate::render::text::comparison::{no_test, verdict_word};
use crate::render::text::ratios::ratio_text;
use crate::render::text::{SummaryContext, arms};
use crate::render::units::{DisplayUnit, kind_of_unit};
use crate::render::{t0, table};
use crate::verdict::Judgement;

/// Widest name, columns.
const NAME_MAX: usize = 30;

/// Appends the programs, if there are several, and the table.
pub(super) fn append(out: &mut String, page: &SummaryContext<'_>, judgements: &[Judgement]) {
    let programs = programs(page);
    let is_compared = !page.analysis.comparisons.is_empty();
    if is_compared {
        for (index, program) in programs.iter().enumerate() {
            let mark = if index == 0 { "  (reference)" } else { "" };
            let label = shorten(program, COLUMNS - 3 - mark.len());
            writeln!(out, "{:<3}{label}{mark}", index + 1).ok();
        }
        out.push('\n');
    }
    let rows = if is_compared {
        page.analysis
            .comparisons
            .iter()
            .zip(judgements)
            .map(|(found, judgement)| compared(page, found, judgement, &programs))
            .collect()
    } else {
        page.candidates().map(|arm| alone(page, arm)).collect()
    };
    let headings: &[&str] = match (is_compared, programs.len() > 2) {
        (true, true) => &["benchmark", "", "t0 of 1", "t0", "ratio", ""],
        (true, false) => &["benchmark", "t0 of 1", "t0 of 2", "ratio", ""],
        (false, _) => &["benchmark", "t0", "median", "mean", "CV", "n"],
    };
    let unpaired: Vec<Vec<String>> = if is_compared { not_compared(page) } else { Vec::new() };
    draw(out, headings, rows);
    if !unpaired.is_empty() {
        let names: Vec<String> = unpaired.into_iter().flatten().collect();
        wrap(out, "in one program only: ", 6, &names.join(", "));
    }
    for arm in page.candidates() {
        let counters = arm.sliced.iter().flat_map(|found| &found.counters);
        let counted: Vec<String> = counters.map(arms::counted).collect();
        if !counted.is_empty() {
            let of = if programs.len() > 1 { format!(" of {}", arm.label) } else { String::new() };
            let text = format!("{}{of}: {}", name(page, arm.arm), counted.join(", "));
            wrap(out, "counters: ", 6, &text);
        }
    }
    let mut reasons = page.analysis.comparisons.iter().filter_map(|found| match found.evidence {
        Evidence::Unpaired { because, .. } | Evidence::None { because } => Some(because),
        Evidence::Paired(_) => None,
    });
    if let Some(because) = reasons.next() {
        wrap(out, "no verdict: ", 12, &no_test(because, page.plan.policy));
    }
    out.push('\n');
}

/// Distinct labels of the variants, in the order of the plan.
fn programs(page: &SummaryContext<'_>) -> Vec<String> {
    let mut programs: Vec<String> = Vec::new();
    for arm in page.candidates() {
        if !programs.contains(&arm.label) {
            programs.push(arm.label.clone());
        }
    }
    programs
}

fn name<'a>(page: &'a SummaryContext<'_>, arm: usize) -> &'a str {
    page.plan.arms[arm].benchmark.as_deref().unwrap_or_default()
}

fn t0(page: &SummaryContext<'_>, arm: &ArmSummary) -> String {
    let Some(wall) = &arm.times else { return "no run".into() };
    let unit = DisplayUnit::for_largest(kind_of_unit(page.plan.arms[arm.arm].unit), wall.t0.value);
    unit.label(&t0::text(unit, wall))
}

fn compared(
    page: &SummaryContext<'_>,
    found: &Comparison,
    judgement: &Judgement,
    programs: &[String],
) -> Vec<String> {
    let (old, new) = (&page.analysis.arms[found.reference], &page.analysis.arms[found.arm]);
    let ratio = ratio(&found.evidence, judgement)
        .map_or_else(String::new, |ratio| ratio_text(ratio.value, ratio.err));
    let verdict = match &found.evidence {
        Evidence::Paired(_) => verdict_word(judgement.verdict).to_lowercase(),
        Evidence::Unpaired { .. } | Evidence::None { .. } => "no verdict".into(),
    };
    let mut row = vec![shorten(name(page, found.arm), NAME_MAX)];
    if programs.len() > 2 {
        let number = programs.iter().position(|program| *program == new.label).unwrap_or(0) + 1;
        row.push(format!("{number} vs 1"));
    }
    row.extend([t0(page, old), t0(page, new), ratio, verdict]);
    row
}

fn alone(page: &SummaryContext<'_>, arm: &ArmSummary) -> Vec<String> {
    let mut row = vec![shorten(name(page, arm.arm), NAME_MAX), t0(page, arm)];
    if let Some(wall) = &arm.times {
        let unit =
            DisplayUnit::for_largest(kind_of_unit(page.plan.arms[arm.arm].unit), wall.t0.value);
        let decimals = unit.decimals(wall.t0.value, wall.t0.err);
        for middle in [wall.median, wall.mean] {
            row.push(unit.label(&unit.number(middle.value, decimals)));
        }
        row.push(wall.cv.map_or_else(String::new, crate::render::units::percent));
    } else {
        row.extend([String::new(), String::new(), String::new()]);
    }
    row.push(arm.n_runs.to_string());
    row
}

/// Benchmarks that only one program has.
fn not_compared(page: &SummaryContext<'_>) -> Vec<Vec<String>> {
    let is_in = |arm: &ArmSummary| {
        page.analysis
            .comparisons
            .iter()
            .any(|found| found.arm == arm.arm || found.reference == arm.arm)
    };
    let alone = page.candidates().filter(|arm| !is_in(arm));
    alone.map(|arm| vec![name(page, arm.arm).to_owned()]).collect()
}

fn draw(out: &mut String, headings: &[&str], mut rows: Vec<Vec<String>>) {
    let last = headings.len() - 1;
    let is_right = |column: &usize| *column < last || headings[last] == "n";
    let right: Vec<usize> = (1..=last).filter(is_right).collect();
    rows.insert(0, headings.iter().map(ToString::to_string).collect());
    out.push_str(&table::plain(rows, &right));
}
