//! The charts of a group, with their titles and captions.

use serde::Serialize;

use analysis::report::{ReportGroup, Timeline};

#[derive(Clone, Debug, Serialize)]
pub(super) struct ReportChart {
    kind: &'static str,
    title: &'static str,
    caption: &'static str,
    /// How to read the chart.
    reading: &'static str,
    is_wide: bool,
}

/// `has_t0`: whether the values are times, which noise adds to.
fn reading(kind: &str, in_slices: bool, has_t0: bool) -> &'static str {
    match kind {
        "scan" if !has_t0 => {
            "Each dot is the median for one value of the parameter, its line the error. A straight curve grows in \
             proportion; a bend is where something else begins to count."
        }
        "histogram" if !has_t0 => {
            "A higher bar means more runs with this value. Two hills are two ways in which the program runs."
        }
        "scan" => {
            "Each dot is the noise-free time for one value of the parameter, its line the error, up to \
             the fastest run. A straight curve grows in proportion; a bend is where something else begins to cost."
        }
        "histogram" if in_slices => {
            "A higher bar means more slices that took this long. What lies right of the line t0 was slowed down; two \
             hills are two ways in which the program runs."
        }
        "histogram" => {
            "A higher bar means more runs that took this long. What lies right of the line t0 was slowed down; two hills \
             are two ways in which the program runs."
        }
        "ecdf" => {
            "The height of a curve is the share that is not above the value below it. The curve farther left has the \
             lower values. A curve that approaches 1 slowly has a tail of high ones."
        }
        "time" => {
            "Each dot is a measurement, from the first on the left to the last on the right. A steady machine gives level \
             bands. A step or a slope is a change of the machine; marks above the frame say what happened."
        }
        "pairs" => {
            "Each dot compares the two commands within one block, in which both met the same machine. Above the line the \
             value of the new command is the higher one. A cloud that stays on one side is a difference that lasts."
        }
        "shift" => {
            "From the lowest values of both commands on the left to the highest on the right: their ratio. A level \
             line means all runs differ alike; a line that bends at the right end means only the tail does."
        }
        _ => {
            "A bar is the time above t0, as a share of all time. The largest part is worth removing first; point at a \
             part to see what removes it."
        }
    }
}

const SCAN_OF_T0: &str = "Each command's own t0, the noise-free time, with its error: two sessions of one program differ by more than twice \
     their combined errors in some 2 of 100 pairs.";

/// The charts for the group's data, in the order of the page.
pub(super) fn charts(group: &ReportGroup, has_t0: bool) -> Vec<ReportChart> {
    let mut charts = Vec::new();
    let mut add = |kind, title, caption, is_wide, is_there: bool| {
        if is_there {
            let reading = reading(kind, group.in_slices, has_t0);
            charts.push(ReportChart { kind, title, caption, reading, is_wide });
        }
    };
    let has_values = group.histogram.is_some();
    let has_pairs = group.comparisons.iter().any(|comparison| comparison.pairs.is_some());
    let has_deciles = group.comparisons.iter().any(|comparison| comparison.deciles.is_some());
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
        if has_t0 { SCAN_OF_T0 } else { "Each command's own median, with its error." },
        true,
        group.scan.is_some(),
    );
    add(
        "histogram",
        "Distribution",
        match (group.in_slices, has_t0) {
            (true, true) => {
                "Slices of processes. The line is t0, the noise-free time; the shade its error."
            }
            (false, true) => "Runs. The line is t0, the noise-free time; the shade its error.",
            (_, false) => "The line is the median; the shade its error.",
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
