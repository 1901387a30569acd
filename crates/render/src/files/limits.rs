//! The limits of a comparison of files, in words.

use crate::columns::wrap;
use analysis::files::{EstimateKind, FilesComparison};

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

/// Appends the limits of the ratios.
pub(super) fn limits(out: &mut String, comparison: &FilesComparison) {
    let mut rates: Vec<&str> = comparison
        .lines
        .iter()
        .filter(|line| line.more_is_better)
        .map(|line| line.unit.name())
        .collect();
    rates.sort_unstable();
    rates.dedup();
    if !rates.is_empty() {
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
        let kinds =
            comparison.lines.iter().filter_map(|line| line.cells.get(file)?.as_ref()?.estimate);
        let mut kinds: Vec<EstimateKind> = kinds.collect();
        kinds.sort_unstable();
        kinds.dedup();
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

pub(super) fn has_unknown(comparison: &FilesComparison) -> bool {
    let mut ratios = comparison
        .lines
        .iter()
        .flat_map(|line| &line.cells)
        .flatten()
        .filter_map(|cell| cell.ratio);
    ratios.any(|ratio| ratio.err.is_none())
}
