//! Location, spread and t0 of times.

use crate::low_runs::LowRuns;
use crate::summary::{LimitCause, SLOW_TAIL, TailQuantile, TimeSummary, UncertainValue};
use model::values::metric::Metric;
use model::values::{Clock, DecideOn};
use record::Rows;
use record::plan::Plan;
use stats::SortedSample;
use stats::endpoint::{self, Estimator};

/// Fewest runs for a floor of the runs.
const RUNS_FOR_FLOOR: usize = 3;

/// Times of runs with several slices each. The slices of a run are not independent, so the floor comes from the runs,
/// unless there are fewer than `RUNS_FOR_FLOOR`. Everything else comes from the slices, also the step in `low`.
pub(super) fn sliced_times(runs: &[f64], low: &LowRuns, slices: &[f64]) -> Option<TimeSummary> {
    let mut all = times(slices, &LowRuns::from_values(slices).read_like(low))?;
    if runs.len() >= RUNS_FOR_FLOOR {
        let of_runs = times(runs, low)?;
        (all.t0, all.low20, all.has_floor) = (of_runs.t0, of_runs.low20, of_runs.has_floor);
        (all.is_upper_limit, all.limited_by) = (of_runs.is_upper_limit, of_runs.limited_by);
    }
    // Processes differ by the luck of their layout, and slices are many.
    all.lone_run = None;
    Some(all)
}

/// Statistics of runs with their low end. `None` without any.
pub(super) fn times(wall: &[f64], low: &LowRuns) -> Option<TimeSummary> {
    let estimators = [Estimator::Low20, Estimator::Median, Estimator::Mean];
    // With a million values, each of these takes as long as reading the record.
    let (sorted, errs) = rayon::join(
        || SortedSample::new(wall),
        || endpoint::window_errs(wall, |window| estimators.map(|it| it.of(window))).ok(),
    );
    let (sorted, found) = (sorted.ok()?, low.t0()?);
    let floor = found.floor;
    let [low20, median, mean] = [0, 1, 2].map(|at: usize| UncertainValue {
        value: estimators[at].of(&sorted),
        err: errs.map(|errs| errs[at]),
    });
    // For few values that differ by factors, the extrapolation can be negative. A time cannot.
    let is_impossible = floor.value <= 0.0 && found.most > 0.0;
    let t0 = if is_impossible { found.most } else { floor.value };
    let mut times = TimeSummary {
        t0: UncertainValue { value: t0, err: floor.err },
        is_upper_limit: false,
        limited_by: None,
        lone_run: found.lone,
        has_floor: floor.is_finite() && !is_impossible,
        min: sorted.min(),
        max: sorted.max(),
        low20,
        median,
        mean,
        sd: stats::sample_sd(wall).ok(),
        cv: stats::cv(wall).ok(),
        quantiles: [0.10, 0.25, 0.75, 0.90].map(|p| sorted.quantile(p)),
        slow_tail: SLOW_TAIL.map(|p| TailQuantile::of(&sorted, p)),
    };
    if found.met_quiet == Some(false) {
        times.limit(found.most, LimitCause::Neighbours);
    }
    Some(times)
}

/// Run-queue delay of a run while the clock ran, ns, without waits after preemptions. A lower bound: schedstat counts
/// from the creation of the process, and the wait before the clock starts is at most the launch time.
pub fn queued_ns(rows: &Rows, index: usize) -> Option<f64> {
    let waited_ns = rows.get(index, Metric::RunQueueWaitNs)?;
    let launch_ns = rows.get(index, Metric::SpawnNs).unwrap_or(0);
    let preempted_ns = rows.get(index, Metric::PreemptedNs).unwrap_or(0);
    Some(waited_ns.saturating_sub(launch_ns + preempted_ns) as f64)
}

/// A metric of a run in its base unit, scaled up if its event did not count all the time.
pub fn in_base_unit(rows: &Rows, index: usize, metric: Metric) -> Option<f64> {
    metric.in_base_unit(|metric| rows.get(index, metric))
}

/// User + system time of a run, ns.
pub fn cpu_ns(rows: &Rows, index: usize) -> Option<f64> {
    let user_us = rows.get(index, Metric::UserUs)?;
    Some(user_us.saturating_add(rows.get(index, Metric::SysUs)?) as f64 * 1000.0)
}

/// Copies that end in a second, where a run of all of them takes this time, ns. `None` without several copies, or if what is
/// compared is no wall time.
pub fn throughput(plan: &Plan, time_ns: f64) -> Option<f64> {
    let policy = &plan.policy;
    let is_wall =
        policy.clock == Clock::Wall && policy.decide_on.is_none_or(|it| it == DecideOn::Wall);
    let copies = plan.copies.as_ref().filter(|_| is_wall)?;
    (time_ns > 0.0).then(|| f64::from(copies.n) * 1e9 / time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_below_zero_is_none() {
        let times = |values: &[f64]| times(values, &LowRuns::from_values(values)).unwrap();
        let found = times(&[12.0, 40.0, 90.0, 200.0, 300.0]);
        assert_eq!((found.t0.value, found.has_floor), (12.0, false));
        // A difference may be below zero.
        assert!(times(&[-3.0, -2.0, -1.0, 5.0]).t0.value <= -3.0);
    }
}
