//! Data for the chart on a benchmark's page. Pure.

use serde::Serialize;
use stats::SortedSample;

use crate::history::StoredResult;
use crate::history::series::{Change, Level, Series};
use model::values::Estimate;

/// Quantile of the values at either end of the frame.
const FRAME_SHARE: f64 = 0.01;
/// Room above and below, as a share of the frame.
const FRAME_ROOM: f64 = 0.08;
const SPARK_MAX: usize = 60;

/// A chart: columns with one value for each result, with the levels and changes over them.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryChart<'a> {
    is_by_commit: bool,
    record: Vec<i64>,
    measured_s: Vec<i64>,
    time_s: Vec<i64>,
    revision: Vec<Option<&'a str>>,
    n_runs: Vec<Option<usize>>,
    value: &'a [f64],
    err: Vec<Option<f64>>,
    levels: Vec<Level>,
    changes: &'a [Change],
    /// Initial range of the value axis, with all levels and nearly all results. `None` if all values are equal.
    frame: Option<[f64; 2]>,
}

/// The newest values of a series. `changes`: positions of the first values after a change.
#[derive(Clone, Debug, Serialize)]
pub struct Sparkline {
    values: Vec<f32>,
    changes: Vec<usize>,
}

/// The chart of a series. Only the noise-free time has an error.
pub fn chart(series: &Series, estimate: Estimate) -> HistoryChart<'_> {
    let entries = &series.entries;
    let err = |entry: &StoredResult| entry.result.level().1.filter(|_| estimate == Estimate::T0);
    HistoryChart {
        is_by_commit: series.is_by_commit,
        record: entries.iter().map(|entry| entry.record).collect(),
        measured_s: entries.iter().map(|entry| entry.origin.measured_s).collect(),
        time_s: (0..entries.len()).map(|at| series.time_s(at)).collect(),
        revision: entries.iter().map(|entry| entry.result.revision.as_deref()).collect(),
        n_runs: entries.iter().map(|entry| entry.result.n_runs).collect(),
        value: &series.values,
        err: entries.iter().map(err).collect(),
        levels: series.levels(),
        changes: &series.changes,
        frame: frame(series),
    }
}

pub fn spark(series: &Series) -> Sparkline {
    let first = series.values.len().saturating_sub(SPARK_MAX);
    let places = series.changes.iter().filter_map(|change| change.at.checked_sub(first));
    Sparkline {
        values: series.values[first..].iter().map(|&value| value as f32).collect(),
        changes: places.collect(),
    }
}

/// The initial range. It cuts extreme values off, because one of them would flatten all other points into a line.
fn frame(series: &Series) -> Option<[f64; 2]> {
    let values = SortedSample::new(&series.values).ok()?;
    let levels = series.levels();
    let medians = || levels.iter().map(|level| level.median);
    let lo = medians().fold(values.quantile(FRAME_SHARE), f64::min);
    let hi = medians().fold(values.quantile(1.0 - FRAME_SHARE), f64::max);
    let room = (hi - lo) * FRAME_ROOM;
    (room > 0.0).then_some([lo - room, hi + room])
}
