//! Rare long slices of the program's own making, usually a garbage collection. The mean includes them, the floor does
//! not.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::launches::{LaunchSlice, SliceRule};
use crate::neighbours::began_on_shared_core;
use model::values::metric::Metric;
use record::{Record, Rows};

/// A long slice takes at least this many times the median of its process. Sharing a core costs at most a factor of 1.8.
const LONG: f64 = 2.0;
/// Fewer long slices may be chance.
const SLICES_MIN: usize = 3;
/// Smallest share of the time for a note.
const SHARE_MIN: f64 = 0.02;

/// How much of an arm's time is in its long slices, above the time of the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LongSlices {
    /// Share of the time.
    pub of_time: f64,
    /// Share of the slices.
    pub of_slices: f64,
}

/// The long slices of an arm; `None` if they take hardly any time. Slices on a shared core, and slices that may have
/// lost the CPU, do not count: the machine may have caused their length.
pub(super) fn long_slices(record: &Record, slices: &Rows, arm: usize) -> Option<LongSlices> {
    let rule = SliceRule::of(&record.header.plan, None);
    if rule.is_low() {
        return None;
    }
    let mut processes = HashMap::<_, Vec<f64>>::new();
    let is_own = |index: usize| {
        let is_loud =
            |at: usize| at < slices.len() && began_on_shared_core(slices, at) == Some(true);
        let is_clear = slices.get(index, Metric::UnclearNs).unwrap_or(0) == 0;
        is_clear && !is_loud(index) && !is_loud(index + 1)
    };
    for index in slices.measurements() {
        if slices.arm(index) == arm
            && is_own(index)
            && let Some(LaunchSlice { value, .. }) = rule.slice(&slices.row(index))
        {
            processes.entry(slices.block(index)).or_default().push(value);
        }
    }
    let (mut all, mut above, mut n, mut n_long) = (0.0, 0.0, 0, 0);
    for values in processes.values() {
        let median = stats::median(values).ok()?;
        let long = || values.iter().filter(|&&value| value > LONG * median);
        all += values.iter().sum::<f64>();
        above += long().map(|value| value - median).sum::<f64>();
        n += values.len();
        n_long += long().count();
    }
    let long = LongSlices { of_time: above / all, of_slices: n_long as f64 / n as f64 };
    (n_long >= SLICES_MIN && long.of_time >= SHARE_MIN).then_some(long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launches::gather;
    use model::values::Estimand;
    use record::Row;
    use record::fixture::record;

    /// Ten processes of 20 slices; every 20th slice takes 11 times as long.
    fn collecting(change: impl Fn(&mut Row)) -> Record {
        let mut record = record(&["a"]);
        record.header.plan.in_slices = true;
        for step in 0..200 {
            let mut row = Row::new(step, 0, Some(step / 20), 10_000 * u64::from(step));
            row.set(Metric::Loops, Some(10));
            row.set(Metric::WallNs, Some(if step % 20 == 7 { 11_000 } else { 1000 }));
            change(&mut row);
            record.rows.push(&row);
        }
        gather(record)
    }

    fn found(record: &Record) -> Option<LongSlices> {
        long_slices(record, record.slices.as_ref().unwrap(), 0)
    }

    #[test]
    fn a_third_of_the_time_is_in_a_twentieth_of_the_slices() {
        let seen = found(&collecting(|_| ())).unwrap();
        assert_eq!((seen.of_time, seen.of_slices), (10.0 / 30.0, 0.05));
    }

    #[test]
    fn what_the_machine_does_is_not_the_programs() {
        let shared = collecting(|row| {
            row.set(Metric::OneChainNs, Some(4000));
            row.set(Metric::FourChainsNs, Some(if row.step % 20 == 7 { 6000 } else { 4000 }));
        });
        assert_eq!(found(&shared), None);
        let unclear =
            collecting(|row| row.set(Metric::UnclearNs, Some(u64::from(row.step % 20 == 7))));
        assert_eq!(found(&unclear), None);
    }

    #[test]
    fn the_floor_has_none() {
        let mut record = collecting(|_| ());
        record.header.plan.policy.estimand = Estimand::Floor;
        assert_eq!(found(&record), None);
    }
}
