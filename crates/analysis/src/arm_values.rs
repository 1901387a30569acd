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

/// The values of each arm's measured runs, in run order.
pub(super) fn by_arm<T>(
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
