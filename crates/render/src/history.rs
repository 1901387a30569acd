//! Output of the verb `history`.

mod changes;

use std::fmt::Write as _;

use jiff::Timestamp;

use crate::columns::one_line;
use crate::histogram::block_of_eighths;
use crate::names::cut_names;
use crate::quantity::QuantityWords;
use crate::styles::paint;
use crate::units::{DisplayUnit, counted, signed_percent};
use crate::{Styles, table};
use model::values::{Estimate, ValueUnit};
use search::history::BenchmarkResult;
use search::history::series::{Change, ChangeKind, Series};

pub use changes::{ChangesBody, SeriesChange, changes, conclusion};
pub(super) use changes::{culprit, duration, no_change, numbers, remark, together};

/// Most results in a sparkline.
const LINE_MAX: usize = 24;
/// The column of t0 in the table of a series. What is no time has none.
const T0_COLUMN: usize = 3;
/// Characters of a commit's id.
const REVISION_MAX: usize = 12;

/// Number of files for each outcome of adding.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddCounts {
    pub added: usize,
    /// Files with a later state of a stored session.
    pub later: usize,
    pub known: usize,
    pub failed: usize,
}

pub fn added(n: AddCounts) -> String {
    let mut out = format!("{} added", counted(n.added, "file"));
    for (n, what) in
        [(n.later, "brought up to date"), (n.known, "known already"), (n.failed, "could not be")]
    {
        if n > 0 {
            write!(out, ", {n} {what}").ok();
        }
    }
    out + "\n"
}

/// One line for each series. Its level is the median of the results since the last change.
pub fn list(all: &[Series], estimate: Estimate) -> String {
    let day = dates(all);
    let level = format!("{} level", estimate_name(all, estimate));
    let heading = table::cells(&["benchmark", "results", &level, "", "last change", "when"]);
    let mut rows = Vec::with_capacity(all.len() + 1);
    for series in all {
        let is_level = |change: &&Change| change.kind == ChangeKind::Level;
        let last = series.changes.iter().rfind(is_level);
        let (ratio, when) = match last {
            Some(change) => (signed_percent(change.ratio.ratio), day(series.time_s(change.at))),
            None => (String::new(), String::new()),
        };
        rows.push(vec![
            one_line(&series.label()),
            series.values.len().to_string(),
            value(series, series.level(), None),
            line(&series.values),
            ratio,
            when,
        ]);
    }
    cut_names(&heading, &mut rows);
    rows.insert(0, heading);
    let mut out = table::plain(rows, &[1, 2]);
    machines(&mut out, all);
    out
}

/// The name of the estimate of these series. The t0 of what is no time is its median.
pub(super) fn estimate_name(all: &[Series], estimate: Estimate) -> String {
    let is_time = |series: &Series| QuantityWords::of_series(series).is_time();
    match all.iter().filter(|series| is_time(series)).count() {
        n if n == all.len() || estimate != Estimate::T0 => estimate.name(),
        0 => Estimate::Median.name(),
        _ => "t0 or median".into(),
    }
}

/// The newest results of each series, and its levels.
pub fn series(all: &[Series], last: usize, styles: &Styles) -> String {
    let mut out = String::new();
    for (index, series) in all.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let label = paint(styles.headline, &one_line(&series.label()));
        let machine = one_line(&series.machine);
        writeln!(out, "{label} on {machine}: {}", line(&series.values)).ok();
        let mut rows =
            vec![table::cells(&["record", "measured", "revision", "t0", "median", "runs", ""])];
        let first = series.entries.len().saturating_sub(last);
        let day = date_format(series.entries[first..].iter().map(|it| it.origin.measured_s));
        rows.extend((first..series.entries.len()).map(|at| row(series, at, day)));
        let is_time = QuantityWords::of_series(series).is_time();
        if !is_time {
            rows.iter_mut().for_each(|row| drop(row.remove(T0_COLUMN)));
        }
        let right: &[usize] = if is_time { &[0, 3, 4, 5] } else { &[0, 3, 4] };
        out += &table::plain(rows, right);
        if first > 0 {
            writeln!(
                out,
                "{first} older ones are not shown; --last {} shows all",
                series.entries.len()
            )
            .ok();
        }
    }
    out
}

fn row(series: &Series, at: usize, day: fn(i64) -> String) -> Vec<String> {
    let change = series.changes.iter().find(|change| change.at == at);
    let entry = &series.entries[at];
    let result = &entry.result;
    vec![
        entry.record.to_string(),
        day(entry.origin.measured_s),
        revision(&entry.result),
        format!(
            "{}{}",
            if result.t0_is_limit { "at most " } else { "" },
            value(series, result.t0, result.t0_err)
        ),
        value(series, result.median, None),
        result.n_runs.map_or_else(|| "-".into(), |n| n.to_string()),
        change.map_or(String::new(), |change| signed_percent(change.ratio.ratio)),
    ]
}

/// How the times of these results are written.
fn dates(all: &[Series]) -> fn(i64) -> String {
    date_format(all.iter().flat_map(|it| (0..it.values.len()).map(|at| it.time_s(at))))
}

/// How such times are written: the day, and the time of day if all are of one day.
fn date_format(times_s: impl Iterator<Item = i64>) -> fn(i64) -> String {
    let (mut first, mut is_one_day) = (None, true);
    for day in times_s.map(day) {
        is_one_day = is_one_day && first.get_or_insert_with(|| day.clone()) == &day;
    }
    if is_one_day { time_of_day } else { day }
}

fn day(time_s: i64) -> String {
    formatted(time_s, "%Y-%m-%d")
}

fn time_of_day(time_s: i64) -> String {
    formatted(time_s, "%Y-%m-%d %H:%M:%S")
}

fn formatted(time_s: i64, format: &str) -> String {
    let time = Timestamp::from_second(time_s).unwrap_or_default();
    host::local_time::at(time).strftime(format).to_string()
}

pub(super) fn revision(result: &BenchmarkResult) -> String {
    short_id(result.revision.as_deref().unwrap_or("-"))
}

pub(super) fn short_id(revision: &str) -> String {
    one_line(revision).chars().take(REVISION_MAX).collect()
}

/// A value in the unit of its series.
pub(super) fn value(series: &Series, value: f64, err: Option<f64>) -> String {
    let (unit, name) = unit(series);
    format!("{} {name}", unit.uncertain(value, err)).trim_end().to_owned()
}

/// The unit that fits all values of the series, and its name. An unknown unit keeps its name in the file.
pub(super) fn unit(series: &Series) -> (DisplayUnit, String) {
    let (kind, own) = match series.unit.as_str() {
        "ns" => (ValueUnit::Time, None),
        "byte" => (ValueUnit::Bytes, None),
        "count" => (ValueUnit::Count, None),
        own => (ValueUnit::Count, Some(own)),
    };
    let largest = series.values.iter().copied().map(f64::abs).fold(0.0, f64::max);
    let fitting = DisplayUnit::for_largest(kind, largest);
    (fitting, own.map_or(fitting.name.into(), |own| fitting.label(&one_line(own))))
}

/// A sparkline of the newest values, scaled from the lowest to the highest.
fn line(values: &[f64]) -> String {
    let newest = &values[values.len().saturating_sub(LINE_MAX)..];
    let lo = newest.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = newest.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let eighths = |value: &f64| if hi > lo { 1.0 + 7.0 * (value - lo) / (hi - lo) } else { 4.0 };
    newest.iter().map(|value| block_of_eighths(eighths(value).round() as u64)).collect()
}

fn machines(out: &mut String, all: &[Series]) {
    let mut machines: Vec<String> = all.iter().map(|it| one_line(&it.machine)).collect();
    machines.sort_unstable();
    machines.dedup();
    if machines.len() == 1 {
        writeln!(out, "all on {}", machines[0]).ok();
    } else {
        writeln!(out, "on {} machines: {}", machines.len(), machines.join("; ")).ok();
    }
}
