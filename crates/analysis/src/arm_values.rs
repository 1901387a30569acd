//! The values of each arm, from the rows of a record.

use record::{Record, Rows};

/// The sessions of a record, each with the index of its first arm: the benchmarks of a suite, which may compare
/// different quantities, or the record itself.
pub(super) fn sessions(record: &Record) -> Vec<(usize, &Record)> {
    if record.parts.is_empty() {
        return vec![(0, record)];
    }
    let first = |next: &mut usize, part: &Record| {
        let first = *next;
        *next += part.header.plan.arms.len();
        Some(first)
    };
    let firsts = record.parts.iter().scan(0, first);
    firsts.zip(&record.parts).collect()
}

/// Share of an arm's runs that counts as undisturbed.
pub(super) const LOW: f64 = 0.2;

/// The share [`LOW`] of the runs with the lowest values, in any order.
pub(super) fn lowest<T>(mut runs: Vec<T>, value: impl Fn(&T) -> f64) -> Vec<T> {
    let n_low = ((LOW * runs.len() as f64).ceil() as usize).max(1);
    if n_low < runs.len() {
        runs.select_nth_unstable_by(n_low, |a, b| value(a).total_cmp(&value(b)));
        runs.truncate(n_low);
    }
    runs
}

/// The values of each arm's measured runs, in run order.
pub fn by_arm<T>(
    rows: &Rows,
    n_arms: usize,
    value: impl Fn(&Rows, usize) -> Option<T>,
) -> Vec<Vec<T>> {
    let mut series: Vec<Vec<T>> = (0..n_arms).map(|_| Vec::new()).collect();
    for index in rows.measurements() {
        series[rows.arm(index)].extend(value(rows, index));
    }
    series
}
