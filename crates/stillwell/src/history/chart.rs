//! What the page of a benchmark draws of a series. Pure.

use serde::Serialize;
use stats::SortedSample;

use crate::history::series::{Change, Level, Series};
use crate::values::Estimate;

/// Shares of the values that the frame leaves out at either end, beside those it has room for.
const FRAME_SHARE: f64 = 0.01;
/// Room above and below, as a share of the frame.
const FRAME_ROOM: f64 = 0.08;
/// Results in the small picture of a series.
const SPARK_MAX: usize = 60;

/// A chart: columns with one value for each result, in order, and what is drawn over them.
#[derive(Clone, Debug, Serialize)]
pub struct Chart<'a> {
    is_by_commit: bool,
    record: Vec<i64>,
    measured_s: Vec<i64>,
    /// Where it is drawn.
    time_s: Vec<i64>,
    revision: Vec<Option<&'a str>>,
    n_runs: Vec<usize>,
    value: &'a [f64],
    err: Vec<Option<f64>>,
    levels: Vec<Level>,
    changes: &'a [Change],
    /// The values that are looked at first: all levels and nearly all results. `None` where all are the same.
    frame: Option<[f64; 2]>,
}

/// The small picture of a series: its newest values, and which of them are the first after a change.
#[derive(Clone, Debug, Serialize)]
pub struct Spark {
    values: Vec<f32>,
    changes: Vec<usize>,
}

/// What is drawn of a series; only the noise-free time has an error.
pub fn chart(series: &Series, estimate: Estimate) -> Chart<'_> {
    let entries = &series.entries;
    let err =
        |entry: &crate::history::Entry| entry.taken.t0_err.filter(|_| estimate == Estimate::T0);
    Chart {
        is_by_commit: series.is_by_commit,
        record: entries.iter().map(|entry| entry.record).collect(),
        measured_s: entries.iter().map(|entry| entry.origin.measured_s).collect(),
        time_s: (0..entries.len()).map(|at| series.time_s(at)).collect(),
        revision: entries.iter().map(|entry| entry.taken.revision.as_deref()).collect(),
        n_runs: entries.iter().map(|entry| entry.taken.n_runs).collect(),
        value: &series.values,
        err: entries.iter().map(err).collect(),
        levels: series.levels(),
        changes: &series.changes,
        frame: frame(series),
    }
}

/// The newest results of a series.
pub fn spark(series: &Series) -> Spark {
    let first = series.values.len().saturating_sub(SPARK_MAX);
    let places = series.changes.iter().filter_map(|change| change.at.checked_sub(first));
    Spark {
        values: series.values[first..].iter().map(|&value| value as f32).collect(),
        changes: places.collect(),
    }
}

/// One wild session must not make a line of all others.
fn frame(series: &Series) -> Option<[f64; 2]> {
    let values = SortedSample::new(&series.values).ok()?;
    let levels = series.levels();
    let medians = || levels.iter().map(|level| level.median);
    let lo = medians().fold(values.quantile(FRAME_SHARE), f64::min);
    let hi = medians().fold(values.quantile(1.0 - FRAME_SHARE), f64::max);
    let room = (hi - lo) * FRAME_ROOM;
    (room > 0.0).then_some([lo - room, hi + room])
}
