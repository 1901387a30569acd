//! Other series of the same machine that changed at the same time. If most of them did, they share the cause. Pure.

use crate::history::series::{Change, ConcurrentChanges, LEVEL_MIN, Series};

/// Tolerance in results: noise moves the detected place of a change a little.
const NEAR: usize = 2;
/// Fewest other series with a shared cause.
const TOGETHER_MIN: usize = 2;

/// Sets `together` of every change.
pub fn mark(all: &mut [Series]) {
    let found: Vec<Vec<ConcurrentChanges>> = all
        .iter()
        .enumerate()
        .map(|(index, series)| {
            let others = |change| {
                let others = all.iter().enumerate().filter(|(other, _)| *other != index);
                around(series, change, others.map(|(_, other)| other))
            };
            series.changes.iter().map(others).collect()
        })
        .collect();
    for (series, found) in all.iter_mut().zip(found) {
        for (change, together) in series.changes.iter_mut().zip(found) {
            change.together = together;
        }
    }
}

fn around<'a>(
    series: &Series,
    change: &Change,
    others: impl Iterator<Item = &'a Series>,
) -> ConcurrentChanges {
    // The change happened at some time between two results.
    let (before_s, after_s) = (series.time_s(change.at - 1), series.time_s(change.at));
    let middle_s = before_s.midpoint(after_s);
    let mut together = ConcurrentChanges::default();
    let is_worse = series.cost(change.ratio).ratio > 1.0;
    let is_alike = |other: &&Series| {
        other.machine == series.machine && other.is_by_commit == series.is_by_commit
    };
    for other in others.filter(is_alike) {
        let n = other.entries.len();
        let is_spanned = n >= 2 * LEVEL_MIN
            && other.time_s(LEVEL_MIN - 1) <= middle_s
            && other.time_s(n - LEVEL_MIN) >= middle_s;
        let is_here = |it: &Change| {
            let first = it.at.saturating_sub(1 + NEAR);
            let last = (it.at + NEAR).min(n - 1);
            (other.cost(it.ratio).ratio > 1.0) == is_worse
                && (other.time_s(first)..=other.time_s(last)).contains(&middle_s)
        };
        together.of += usize::from(is_spanned);
        together.n += usize::from(is_spanned && other.changes.iter().any(is_here));
    }
    let ConcurrentChanges { n, of, .. } = together;
    ConcurrentChanges { is_common: n >= TOGETHER_MIN && 2 * n >= of, ..together }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::history::series::ChangeKind;
    use crate::history::{RecordOrigin, StoredResult, fixture};
    use analysis::RatioInterval;
    use model::values::Better;

    /// One result a day; changes as (day, ratio).
    fn series(machine: &str, days: std::ops::Range<i64>, changes: &[(i64, f64)]) -> Series {
        let entry = |day: i64| StoredResult {
            record: day,
            origin: Arc::new(RecordOrigin {
                machine: machine.into(),
                measured_s: day * 86_400,
                ..RecordOrigin::default()
            }),
            result: fixture::result("b", 1.0, None),
        };
        let change = |&(day, ratio): &(i64, f64)| Change {
            kind: ChangeKind::Level,
            until: None,
            at: (day - days.start) as usize,
            p: 0.001,
            ratio: RatioInterval { ratio, lo: ratio, hi: ratio },
            also_changed: Vec::new(),
            together: ConcurrentChanges::default(),
        };
        Series {
            benchmark: "b".into(),
            arm: String::new(),
            unit: "ns".into(),
            better: Better::Lower,
            machine: machine.into(),
            is_by_commit: false,
            values: days.clone().map(|_| 1.0).collect(),
            entries: days.clone().map(entry).collect(),
            q: Some(0.01),
            changes: changes.iter().map(change).collect(),
            nearest: None,
        }
    }

    #[track_caller]
    fn check(others: Vec<Series>, expected: (usize, usize), is_common: bool) {
        let mut all = others;
        all.push(series("m", 0..40, &[(20, 1.05)]));
        mark(&mut all);
        let found = all.last().unwrap().changes[0].together;
        assert_eq!((found.n, found.of), expected);
        assert_eq!(found.is_common, is_common);
    }

    #[test]
    fn others_count_if_they_changed_there_in_the_same_direction() {
        check(vec![], (0, 0), false);
        let here = || series("m", 0..40, &[(21, 1.02)]);
        check(vec![here()], (1, 1), false);
        check(vec![here(), here()], (2, 2), true);
        check(vec![here(), here(), series("m", 0..40, &[(20, 0.9)])], (2, 3), true);
        let still = || series("m", 0..40, &[]);
        check(vec![here(), here(), still(), still(), still()], (2, 5), false);
        // Another machine, another week, a series that starts too late, and one that ends too early.
        let elsewhere = vec![
            series("n", 0..40, &[(20, 1.05)]),
            series("m", 0..40, &[(30, 1.05)]),
            series("m", 19..40, &[]),
            series("m", 0..22, &[]),
        ];
        check(elsewhere, (0, 1), false);
    }
}
