//! The counts of `perf stat`, per run and as rates, from the runs themselves.

use serde::Serialize;
use stats::endpoint::{Estimator, window_err};
use stats::ratio::sum_ratio;

use crate::arm_values::by_arm;
use crate::summary::UncertainValue;
use crate::times::{cpu_ns, in_base_unit};
use model::values::metric::Metric;
use record::{Record, Rows};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    pub n_runs: usize,
    /// The counts in the order of `perf stat`, without those that no run has.
    pub counts: Vec<RunCount>,
    /// Share of the time in which the least scheduled hardware event counted; `None` if all counted all the time.
    pub counting_share: Option<UncertainValue>,
}

/// A count of the runs of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunCount {
    pub what: CountKind,
    /// Mean of the runs, in ns or pieces. The error of the mean comes from windows of consecutive runs.
    pub per_run: UncertainValue,
    /// Sum of the runs ÷ sum of the `rate_of` quantity; the error is from the same windows.
    pub rate: Option<UncertainValue>,
}

/// The counts of `perf stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountKind {
    /// CPU time by the kernel's task clock, from execve on, ns; the rate is the number of CPUs in use.
    TaskClock,
    /// User and system time of the whole process, ns, of runs without a task clock; the same rate.
    CpuTime,
    /// Switches to another program or to idleness. The rate is per second of CPU time, as for every count without a
    /// note.
    Switches,
    Migrations,
    /// Page faults, with and without reading from a device.
    Faults,
    /// CPU cycles; the rate is the clock in cycles per second.
    Cycles,
    /// Instructions; the rate is per cycle.
    Instructions,
    Branches,
    /// Mispredicted branches; the rate is the share of all branches.
    BranchMisses,
    /// Accesses to the last level of cache.
    CacheReferences,
    /// Misses in the last level of cache; the rate is the share of the accesses.
    CacheMisses,
}

const ALL: [CountKind; 11] = [
    CountKind::TaskClock,
    CountKind::CpuTime,
    CountKind::Switches,
    CountKind::Migrations,
    CountKind::Faults,
    CountKind::Cycles,
    CountKind::Instructions,
    CountKind::Branches,
    CountKind::BranchMisses,
    CountKind::CacheReferences,
    CountKind::CacheMisses,
];

/// The counts of each arm of the plan. `None` for an arm without runs, or of counted iterations, whose count decides. All
/// are `None` if the runs are slices of processes or another program measured them.
pub fn activities(record: &Record) -> Vec<Option<Activity>> {
    let (rows, plan) = (&record.rows, &record.header.plan);
    let has_counts = !plan.in_slices && record.header.imported.is_none();
    let runs = by_arm(rows, plan.arms.len(), |rows, index| {
        (has_counts && plan.arms[rows.arm(index)].counted.is_none()).then_some(index)
    });
    runs.iter().map(|runs| (!runs.is_empty()).then(|| activity(rows, runs))).collect()
}

fn activity(rows: &Rows, runs: &[usize]) -> Activity {
    let count = |what: &CountKind| {
        let of_run = |&index: &usize| Some((index, what.value(rows, index)?));
        let (with, values): (Vec<usize>, Vec<f64>) = runs.iter().filter_map(of_run).unzip();
        let per_run = mean(&values)?;
        let by: Option<Vec<f64>> = with.iter().map(|&index| what.rate_of(rows, index)).collect();
        let rate = by.and_then(|by| sum_ratio(&values, &by).ok());
        let rate = rate.map(|rate| UncertainValue { value: rate.value, err: rate.err });
        Some(RunCount { what: *what, per_run, rate })
    };
    let shares: Vec<f64> = runs
        .iter()
        .filter_map(|&index| Some(rows.get(index, Metric::RunningPpm)? as f64 / 1e6))
        .collect();
    // A run has no value if all events counted all the time.
    let n_full = runs.len() - shares.len();
    let all: Vec<f64> = shares.iter().copied().chain(std::iter::repeat_n(1.0, n_full)).collect();
    let has_clock = |&index: &usize| rows.get(index, Metric::TaskClockNs).is_some();
    let unused = if runs.iter().all(has_clock) { CountKind::CpuTime } else { CountKind::TaskClock };
    Activity {
        n_runs: runs.len(),
        counts: ALL.iter().filter(|what| **what != unused).filter_map(count).collect(),
        counting_share: if shares.is_empty() { None } else { mean(&all) },
    }
}

/// The mean with its window error, or with the standard error where all windows agree by chance.
fn mean(values: &[f64]) -> Option<UncertainValue> {
    let err = window_err(values, |window| Estimator::Mean.of(window)).ok();
    let standard = || Some(stats::sample_sd(values).ok()? / (values.len() as f64).sqrt());
    let err = err.filter(|&err| err > 0.0).or_else(standard);
    Some(UncertainValue { value: stats::mean(values).ok()?, err })
}

impl CountKind {
    fn value(self, rows: &Rows, index: usize) -> Option<f64> {
        let metric = |metric: Metric| in_base_unit(rows, index, metric);
        match self {
            Self::TaskClock => metric(Metric::TaskClockNs),
            Self::CpuTime => cpu_ns(rows, index),
            Self::Switches => {
                Some(metric(Metric::VoluntarySwitches)? + metric(Metric::InvoluntarySwitches)?)
            }
            Self::Migrations => metric(Metric::Migrations),
            Self::Faults => Some(metric(Metric::MinorFaults)? + metric(Metric::MajorFaults)?),
            Self::Cycles => metric(Metric::Cycles),
            Self::Instructions => metric(Metric::Instructions),
            Self::Branches => metric(Metric::Branches),
            Self::BranchMisses => metric(Metric::BranchMisses),
            Self::CacheReferences => metric(Metric::CacheReferences),
            Self::CacheMisses => metric(Metric::CacheMisses),
        }
    }

    /// The denominator of the rate.
    fn rate_of(self, rows: &Rows, index: usize) -> Option<f64> {
        match self {
            Self::TaskClock | Self::CpuTime => in_base_unit(rows, index, Metric::WallNs),
            Self::Instructions => Self::Cycles.value(rows, index),
            Self::BranchMisses => Self::Branches.value(rows, index),
            Self::CacheMisses => Self::CacheReferences.value(rows, index),
            _ => {
                let cpu_ns = Self::TaskClock.value(rows, index);
                cpu_ns.or_else(|| Self::CpuTime.value(rows, index)).map(|cpu_ns| cpu_ns / 1e9)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::fixture;

    fn record(with_counters: bool) -> Record {
        let mut record = fixture::record(&["a", "b"]);
        for step in 0..12_u32 {
            let mut row = fixture::row(step, 0, Some(step), 2_000_000);
            row.exit = 0;
            let odd = u64::from(step % 2);
            row.set(Metric::TaskClockNs, Some(1_000_000 + 200_000 * odd));
            row.set(Metric::VoluntarySwitches, Some(2));
            row.set(Metric::InvoluntarySwitches, Some(odd));
            row.set(Metric::MinorFaults, Some(100));
            row.set(Metric::MajorFaults, Some(10));
            if with_counters {
                // Half of the time: the counts are scaled up.
                row.set(Metric::RunningPpm, Some(500_000));
                row.set(Metric::Cycles, Some(1_500_000));
                row.set(Metric::Instructions, Some(3_000_000));
                row.set(Metric::Branches, Some(1000));
                row.set(Metric::BranchMisses, Some(20));
            }
            record.rows.push(&row);
        }
        record
    }

    fn values(record: &Record) -> Vec<(CountKind, f64, f64)> {
        let found = activities(record).swap_remove(0).unwrap();
        let of = |count: &RunCount| (count.what, count.per_run.value, count.rate.unwrap().value);
        found.counts.iter().map(of).collect()
    }

    #[test]
    fn one_odd_run_leaves_no_mean_without_an_error() {
        for at in 0..13 {
            let values: Vec<f64> = (0..13).map(|run| f64::from(run == at)).collect();
            assert!(mean(&values).unwrap().err.unwrap() > 0.0, "{at}");
        }
        assert_eq!(mean(&[5.0; 13]), Some(UncertainValue { value: 5.0, err: Some(0.0) }));
    }

    #[test]
    fn rates_are_of_sums() {
        let found = values(&record(false));
        let cpu_s = 1.1e-3;
        let expected = [
            (CountKind::TaskClock, 1.1e6, 1.1 / 2.0),
            (CountKind::Switches, 2.5, 2.5 / cpu_s),
            (CountKind::Faults, 110.0, 110.0 / cpu_s),
        ];
        for (found, expected) in found.iter().zip(expected) {
            assert_eq!(found.0, expected.0);
            let is_near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
            assert!(is_near(found.1, expected.1) && is_near(found.2, expected.2), "{found:?}");
        }
        assert_eq!(found.len(), expected.len());
    }

    /// What the task clock and the process's own times count differs, so one row never mixes them.
    #[test]
    fn cpu_time_is_one_clock_for_all_runs() {
        let mut record = record(false);
        let kinds = |record: &Record| values(record).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert!(!kinds(&record).contains(&CountKind::CpuTime));
        let mut row = fixture::row(12, 0, Some(12), 2_000_000);
        row.exit = 0;
        row.set(Metric::TaskClockNs, None);
        record.rows.push(&row);
        assert!(!kinds(&record).contains(&CountKind::TaskClock));
    }

    #[test]
    fn counters_give_clock_and_shares() {
        let record = record(true);
        let found = values(&record);
        let rate = |what| found.iter().find(|it| it.0 == what).unwrap().2;
        assert!((rate(CountKind::Cycles) - 3e6 / 1.1e-3).abs() < 1.0);
        assert_eq!(rate(CountKind::Instructions), 2.0);
        assert_eq!(rate(CountKind::BranchMisses), 0.02);
        let all = activities(&record);
        let share = all[0].as_ref().unwrap().counting_share.unwrap();
        assert_eq!((share.value, share.err), (0.5, Some(0.0)));
        assert_eq!(all[1], None, "it has no run");
    }
}
