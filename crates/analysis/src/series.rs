//! Counts and dates of a benchmark's launches, as far as the source has them.

use formats::{BenchmarkValues, LaunchView, MetaValue, ResultUnit, Results};
use serde::Serialize;
use stats::SortedSample;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ValueRange<T> {
    pub min: T,
    pub max: T,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueSeries {
    /// Launches without values, which calibrated loops or warm-ups.
    pub n_calibrations: usize,
    pub n_launches: usize,
    pub n_values: usize,
    pub values_per_launch: ValueRange<usize>,
    pub warmups_per_launch: ValueRange<usize>,
    /// Outer loops of each value.
    pub loops: ValueRange<u64>,
    pub inner_loops: ValueRange<u64>,
    /// Time of all loops of a value, ns; `None` if the values are no times.
    pub raw_ns: Option<ValueRange<f64>>,
    /// Duration of all launches, as the source reports it, ns.
    pub duration_ns: Option<f64>,
    /// Time of all values and warm-ups, ns.
    pub measured_ns: Option<f64>,
    /// Dates of the first and the last launch, as the source writes them.
    pub dates: Option<ValueRange<String>>,
    /// Median absolute deviation, unscaled, in the base unit.
    pub mad: Option<f64>,
    /// 5 % and 95 % quantiles (type 7).
    pub tails: Option<[f64; 2]>,
    /// Values more than 1.5 interquartile ranges outside the quartiles.
    pub n_outliers: Option<usize>,
}

/// Distance of Tukey's fences from the quartiles, in interquartile ranges.
const FENCES: f64 = 1.5;

pub fn series(results: &Results, benchmark: &BenchmarkValues) -> ValueSeries {
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

/// Outer loops, inner loops and value of each measurement.
fn raw(benchmark: &BenchmarkValues) -> impl Iterator<Item = (u64, u64, f64)> {
    let of = move |launch: LaunchView<'_>| {
        let (first, loops, inner) = (launch.first_value, launch.loops(), launch.inner_loops());
        let values = launch.values.to_vec();
        values.into_iter().enumerate().map(move |(at, value)| {
            (benchmark.loops.get(first + at).copied().unwrap_or(loops), inner, value)
        })
    };
    benchmark.launches().flat_map(of)
}

fn raw_range(benchmark: &BenchmarkValues) -> Option<ValueRange<f64>> {
    if benchmark.unit != ResultUnit::Time {
        return None;
    }
    let (min, max) = (raw_ns(benchmark).reduce(f64::min)?, raw_ns(benchmark).reduce(f64::max)?);
    Some(ValueRange { min, max })
}

/// Time of all loops of each measurement.
fn raw_ns(benchmark: &BenchmarkValues) -> impl Iterator<Item = f64> {
    raw(benchmark).map(|(loops, inner, value)| loops as f64 * inner as f64 * value)
}

/// Time of all values and warm-ups, ns; `None` if the values are no times.
pub fn measured_ns(benchmark: &BenchmarkValues) -> Option<f64> {
    if benchmark.unit != ResultUnit::Time {
        return None;
    }
    let of_warmups = |launch: LaunchView<'_>| {
        let inner = launch.inner_loops() as f64;
        launch.warmups.iter().map(|&(loops, value)| loops as f64 * inner * value).sum::<f64>()
    };
    let total = raw_ns(benchmark).sum::<f64>() + benchmark.launches().map(of_warmups).sum::<f64>();
    (total > 0.0).then_some(total)
}

/// Sum of the durations under pyperf's key.
pub fn duration_ns(results: &Results, benchmark: &BenchmarkValues) -> Option<f64> {
    let mut total_ns = 0.0;
    for launch in benchmark.launches() {
        total_ns += said(results, benchmark, &launch, "duration")?.number()? * 1e9;
    }
    (benchmark.n_launches() > 0).then_some(total_ns)
}

fn said<'a>(
    results: &'a Results,
    benchmark: &'a BenchmarkValues,
    launch: &LaunchView<'a>,
    key: &str,
) -> Option<&'a MetaValue> {
    let inner = launch.info.metadata.as_ref().and_then(|metadata| metadata.get(key));
    inner.or_else(|| benchmark.metadata.get(key)).or_else(|| results.metadata.get(key))
}

/// Texts of dates sort in the order of time.
fn dates(results: &Results, benchmark: &BenchmarkValues) -> Option<ValueRange<String>> {
    let date = |launch| said(results, benchmark, &launch, "date")?.text();
    let dates = || benchmark.launches().filter_map(date);
    Some(ValueRange { min: dates().min()?.to_owned(), max: dates().max()?.to_owned() })
}

fn mad(values: &[f64], median: f64) -> Option<f64> {
    let mut distances: Vec<f64> = values.iter().map(|value| (value - median).abs()).collect();
    let half = distances.len() / 2;
    // Selection is much less work than sorting.
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

#[cfg(test)]
mod tests {
    use formats::{FileFormat, ReadOptions, SourceFile};

    use super::*;

    /// Numbers from `python3 -m pyperf stats` (2.10.0) for this file.
    #[test]
    fn the_numbers_of_pyperf() {
        let bytes = include_bytes!("../../formats/samples/results/pyperf_timeit.json");
        let files = [SourceFile { path: "pyperf_timeit.json", bytes }];
        let results = FileFormat::Pyperf.read(&files, ReadOptions::default()).unwrap();
        let found = series(&results, &results.benchmarks[0]);
        assert_eq!((found.n_calibrations, found.n_launches, found.n_values), (1, 20, 60));
        assert_eq!(found.values_per_launch, ValueRange { min: 3, max: 3 });
        assert_eq!(found.warmups_per_launch, ValueRange { min: 1, max: 1 });
        assert_eq!(found.loops, ValueRange { min: 1 << 14, max: 1 << 14 });
        let raw = found.raw_ns.unwrap();
        assert_eq!(((raw.min / 1e5).round(), (raw.max / 1e6).round()), (823.0, 129.0));
        assert_eq!((found.mad.unwrap() / 10.0).round(), 45.0);
        assert_eq!((found.duration_ns.unwrap() / 1e8).round(), 86.0);
        assert_eq!(
            found.tails.map(|tails| tails.map(|ns| (ns / 10.0).round())),
            Some([517.0, 729.0])
        );
        assert_eq!(found.n_outliers, Some(0));
        let dates = found.dates.unwrap();
        assert_eq!(
            (&dates.min[..19], &dates.max[..19]),
            ("2026-11-21 18:46:48", "2026-11-21 18:46:59")
        );
    }
}
