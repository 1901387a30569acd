//! The limits of a comparison of files, in words.

use std::collections::BTreeSet;

use formats::ResultUnit;

use super::singular;
use crate::columns::wrap;
use analysis::files::{EstimateKind, FilesComparison, RatioBound};
use model::values::FileStatistic;

/// A note on benchmarks that differ only in the number of processors, and the option that pairs them.
pub fn other_processors(comparison: &FilesComparison) -> Option<String> {
    let [first, others @ ..] = &comparison.other_processors[..] else { return None };
    let more =
        if others.is_empty() { String::new() } else { format!(", and {} more", others.len()) };
    Some(format!(
        "differ in the number of processors only: {} in 1 and {} in {}{more}; --ignore-procs compares them",
        first.reference,
        first.other,
        first.file + 1
    ))
}

/// Appends what the ratios and their errors are of. Not every benchmark has the statistic that most have.
pub(super) fn caption(out: &mut String, comparison: &FilesComparison) {
    let lines = &comparison.lines;
    let plural = |by: FileStatistic| match by {
        FileStatistic::T0 => "t0".to_owned(),
        by => format!("{}s", singular(by)),
    };
    let all = [FileStatistic::T0, FileStatistic::Mean, FileStatistic::Median];
    let is_used = |by: &FileStatistic| lines.iter().any(|line| line.by == *by);
    let others = all.into_iter().filter(is_used).filter(|by| *by != comparison.by);
    let others: Vec<String> = others.map(plural).collect();
    let mut of = plural(comparison.by);
    if !others.is_empty() {
        of += &format!(" (of {} where a value says so)", others.join(" or "));
    }
    let error = |by: FileStatistic| match by {
        FileStatistic::T0 => "t0",
        FileStatistic::Mean => "the scatter between processes",
        FileStatistic::Median => "the scatter between parts of a session",
    };
    let errors: Vec<&str> = all.into_iter().filter(is_used).map(error).collect();
    let error = errors.join(", or of ");
    let has_times = lines.iter().any(|line| line.unit == ResultUnit::Time);
    let slower = if has_times { "slower, or more" } else { "more" };
    let text = format!(
        "ratios of {of}, new ÷ reference: above 1 is {slower}. They are estimates; the error is that of {error}"
    );
    wrap(out, "", 0, &text);
}

pub(super) fn limits(out: &mut String, comparison: &FilesComparison) {
    let rates = comparison.lines.iter().filter(|line| line.more_is_better);
    let rates: BTreeSet<&str> = rates.map(|line| line.unit.name()).collect();
    if !rates.is_empty() {
        let rates: Vec<&str> = rates.into_iter().collect();
        let mut text = format!("more is better: {}", rates.join(", "));
        if comparison.lines.iter().any(|line| !line.more_is_better) {
            text += "; the geometric mean is without them";
        }
        wrap(out, "", 0, &text);
    }
    let cells = || comparison.lines.iter().flat_map(|line| &line.cells).flatten();
    if cells().any(|cell| cell.difference.is_some()) {
        let text = "a value that is not above 0 has no ratio: its difference, new − reference, is there instead";
        wrap(out, "", 0, text);
    }
    for file in 0..comparison.alone.len() {
        let kinds = comparison.lines.iter().filter_map(|line| line.cell(file)?.estimate);
        let kinds: BTreeSet<EstimateKind> = kinds.collect();
        if !kinds.is_empty() {
            let of: Vec<&str> = kinds.into_iter().map(estimate).collect();
            let text = format!(
                "{} has summaries: compared as estimates are its {}",
                file + 1,
                of.join(" and ")
            );
            wrap(out, "", 0, &text);
        }
    }
}

fn estimate(kind: EstimateKind) -> &'static str {
    match kind {
        EstimateKind::Mean => "means",
        EstimateKind::Median => "medians",
        EstimateKind::Unknown => "numbers of an unknown kind (mean, median or minimum)",
    }
}

pub(super) fn without_error(out: &mut String, comparison: &FilesComparison) {
    let bounds = comparison.lines.iter().flat_map(|line| {
        let cells = line.cells.iter().enumerate();
        let ratios = cells.filter_map(|(file, cell)| Some((file, cell.as_ref()?.ratio?)));
        ratios.filter(|(_, ratio)| ratio.err.is_none()).map(|(file, _)| line.bound(file))
    });
    let (exact, limits): (Vec<_>, Vec<_>) = bounds.partition(|&it| it == RatioBound::Exact);
    if !limits.is_empty() {
        let text = "\"at most\": something disturbed nearly all runs, so the t0 is an upper limit; its \
                    ratio has no error";
        wrap(out, "", 0, text);
    }
    if !exact.is_empty() {
        let text = "a ratio without an error is of too few processes to tell it, or of a summary";
        wrap(out, "", 0, text);
    }
}

/// The word before a ratio of limits.
pub(crate) fn bound_word(bound: RatioBound) -> &'static str {
    match bound {
        RatioBound::Exact => "",
        RatioBound::AtMost => "at most ",
        RatioBound::AtLeast => "at least ",
        RatioBound::About => "about ",
    }
}
