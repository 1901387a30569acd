//! Which charts a group has, and what is said of them.

use serde::Serialize;

use crate::analysis::report::{ReportGroup, Timeline};

/// A chart; the scripts draw it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReportChart {
    kind: &'static str,
    title: &'static str,
    caption: &'static str,
    is_wide: bool,
}

/// The charts for which the group has something, in the order in which they are read.
pub(super) fn charts(group: &ReportGroup) -> Vec<ReportChart> {
    let mut charts = Vec::new();
    let mut add = |kind, title, caption, is_wide, is_there: bool| {
        if is_there {
            charts.push(ReportChart { kind, title, caption, is_wide });
        }
    };
    let has_values = group.histogram.is_some();
    let has_pairs = group.comparisons.iter().any(|found| found.pairs.is_some());
    let has_deciles = group.comparisons.iter().any(|found| found.deciles.is_some());
    let (of_time, time) = match (&group.timeline, group.in_slices) {
        (Timeline::All { .. }, false) => {
            ("Every run in the order of time", "With what happened to it.")
        }
        (Timeline::All { .. }, true) => {
            ("Every slice in the order of time", "With what it waited for.")
        }
        (Timeline::Sliced { .. }, _) => {
            ("The session in the order of time", "All rows, in slices.")
        }
    };
    add(
        "scan",
        "Along the parameter",
        "t0, the noise-free time, with its error.",
        true,
        group.scan.is_some(),
    );
    add(
        "histogram",
        "Distribution",
        if group.in_slices {
            "Slices of processes. The line is t0, the noise-free time; the shade its error."
        } else {
            "Runs. The line is t0, the noise-free time; the shade its error."
        },
        false,
        has_values,
    );
    add("ecdf", "Distribution function", "The share that is not above a value.", false, has_values);
    add("time", of_time, time, true, has_values);
    add(
        "pairs",
        "Block by block",
        "New against reference in each block; shaded: what counts as the same, and the interval of the ratio.",
        false,
        has_pairs,
    );
    add(
        "shift",
        "Where they differ",
        "New against reference at each decile: all alike, or only the tail?",
        false,
        has_deciles,
    );
    add(
        "ledger",
        "Where the time above t0 went",
        "The parts add up to all time above t0.",
        true,
        !group.ledgers.is_empty(),
    );
    charts
}
