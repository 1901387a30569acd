//! What the launches of a benchmark say beside its values, as far as the source says it.

use serde::Serialize;
use stats::SortedSample;

use crate::results::{Benchmark, LaunchView, MetaValue, ResultUnit, Results};

/// The smallest and the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ValueRange<T> {
    pub min: T,
    pub max: T,
}

/// A benchmark, counted.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueSeries {
    /// Launches that found out loops or warm-ups, and have no values.
    pub n_calibrations: usize,
    /// Launches with values.
    pub n_launches: usize,
    /// Values.
    pub n_values: usize,
    /// Values of a launch.
    pub values_per_launch: ValueRange<usize>,
    /// Warm-ups of a launch.
    pub warmups_per_launch: ValueRange<usize>,
    /// Outer loops of a value.
    pub loops: ValueRange<u64>,
    /// Inner loops in an outer one.
    pub inner_loops: ValueRange<u64>,
    /// Time of all loops of a value, ns; none of what is no time.
    pub raw_ns: Option<ValueRange<f64>>,
    /// How long all launches took by their own account, ns.
    pub duration_ns: Option<f64>,
    /// Time of all values and warm-ups, ns.
    pub measured_ns: Option<f64>,
    /// Of the first launch and of the last, as the source writes them.
    pub dates: Option<ValueRange<String>>,
    /// Median distance from the median, unscaled, in the base unit.
    pub mad: Option<f64>,
    /// 5 % and 95 % quantiles (type 7).
    pub tails: Option<[f64; 2]>,
    /// Values outside of 1.5 times the interquartile range from the quartiles.
    pub n_outliers: Option<usize>,
}

/// Of Tukey's fences.
const FENCES: f64 = 1.5;

/// Counts a benchmark of these results.
pub fn series(results: &Results, benchmark: &Benchmark) -> ValueSeries {
    let with_values = || benchmark.launches().filter(|launch| !launch.values.is_empty());
    let n_launches = with_values().count();
    let sorted = SortedSample::new(&benchmark.values).ok();
    ValueSeries {
        n_calibrations: benchmark.n_launches() - n_launches,
        n_launches,
        n_values: benchmark.values.len(),
        values_per_launch: range(with_values().map(|launch| launch.values.len())),
        warmups_per_launch: range(with_values().map(|launch| launch.warmups.len())),
        loops: range(raw(benchmark).map(|(loops, ..)| loops)),
        inner_loops: range(with_values().map(|launch| launch.inner_loops())),
        raw_ns: raw_range(benchmark),
        duration_ns: duration_ns(results, benchmark),
        measured_ns: measured_ns(benchmark),
        dates: dates(results, benchmark),
        mad: sorted.as_ref().and_then(|sorted| mad(&benchmark.values, sorted.median())),
        tails: sorted.as_ref().map(|sorted| [0.05, 0.95].map(|p| sorted.quantile(p))),
        n_outliers: sorted.as_ref().map(|sorted| n_outliers(&benchmark.values, sorted)),
    }
}

fn range<T: Copy + Ord + Default>(values: impl Iterator<Item = T>) -> ValueRange<T> {
    let (mut min, mut max) = (None, None);
    for value in values {
        min = Some(min.map_or(value, |min: T| min.min(value)));
        max = Some(max.map_or(value, |max: T| max.max(value)));
    }
    ValueRange { min: min.unwrap_or_default(), max: max.unwrap_or_default() }
}

/// Outer loops, inner loops and value of each.
fn raw(benchmark: &Benchmark) -> impl Iterator<Item = (u64, u64, f64)> {
    let of = move |launch: LaunchView<'_>| {
        let (first, loops, inner) = (launch.first_value, launch.loops(), launch.inner_loops());
        let values = launch.values.to_vec();
        values.into_iter().enumerate().map(move |(at, value)| {
            (benchmark.loops.get(first + at).copied().unwrap_or(loops), inner, value)
        })
    };
    benchmark.launches().flat_map(of)
}

fn raw_range(benchmark: &Benchmark) -> Option<ValueRange<f64>> {
    if benchmark.unit != ResultUnit::Time {
        return None;
    }
    let times = raw(benchmark).map(|(loops, inner, value)| loops as f64 * inner as f64 * value);
    times.fold(None, |range: Option<ValueRange<f64>>, ns| {
        let ValueRange { min, max } = range.unwrap_or(ValueRange { min: ns, max: ns });
        Some(ValueRange { min: min.min(ns), max: max.max(ns) })
    })
}

/// Time of all values and warm-ups, ns; none of what is no time.
pub fn measured_ns(benchmark: &Benchmark) -> Option<f64> {
    if benchmark.unit != ResultUnit::Time {
        return None;
    }
    let values: f64 =
        raw(benchmark).map(|(loops, inner, value)| loops as f64 * inner as f64 * value).sum();
    let of_warmups = |launch: LaunchView<'_>| {
        let inner = launch.inner_loops() as f64;
        launch.warmups.iter().map(|&(loops, value)| loops as f64 * inner * value).sum::<f64>()
    };
    let total = values + benchmark.launches().map(of_warmups).sum::<f64>();
    (total > 0.0).then_some(total)
}

/// Sum of what the launches say under pyperf's key.
pub fn duration_ns(results: &Results, benchmark: &Benchmark) -> Option<f64> {
    let mut total_ns = 0.0;
    for launch in benchmark.launches() {
        let seconds = match said(results, benchmark, &launch, "duration")? {
            MetaValue::Int(seconds) => *seconds as f64,
            MetaValue::Float(seconds) => *seconds,
            _ => return None,
        };
        total_ns += seconds * 1e9;
    }
    (benchmark.n_launches() > 0).then_some(total_ns)
}

fn said<'a>(
    results: &'a Results,
    benchmark: &'a Benchmark,
    launch: &LaunchView<'a>,
    key: &str,
) -> Option<&'a MetaValue> {
    let inner = launch.about.metadata.as_ref().and_then(|metadata| metadata.get(key));
    inner.or_else(|| benchmark.metadata.get(key)).or_else(|| results.metadata.get(key))
}

/// Dates are texts that sort as they follow one another.
fn dates(results: &Results, benchmark: &Benchmark) -> Option<ValueRange<String>> {
    let mut found: Option<(&str, &str)> = None;
    for launch in benchmark.launches() {
        let Some(MetaValue::Text(date)) = said(results, benchmark, &launch, "date") else {
            continue;
        };
        let (min, max) = found.unwrap_or((date, date));
        found = Some((min.min(date), max.max(date)));
    }
    found.map(|(min, max)| ValueRange { min: min.into(), max: max.into() })
}

fn mad(values: &[f64], median: f64) -> Option<f64> {
    let mut distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let half = distances.len() / 2;
    // Half of the work of sorting, and more.
    let (below, middle, _) = distances.select_nth_unstable_by(half, f64::total_cmp);
    let middle = *middle;
    if values.len() % 2 == 1 {
        return Some(middle);
    }
    let before = below.iter().copied().reduce(f64::max)?;
    Some(f64::midpoint(before, middle))
}

fn n_outliers(values: &[f64], sorted: &SortedSample) -> usize {
    let (q1, q3) = (sorted.quantile(0.25), sorted.quantile(0.75));
    let reach = FENCES * (q3 - q1);
    values.iter().filter(|&&value| value < q1 - reach || value > q3 + reach).count()
}
