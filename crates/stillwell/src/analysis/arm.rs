//! Rows of one arm → its summary: location statistics, metrics and exits.

use rayon::prelude::*;
use stats::SortedSample;
use stats::endpoint::{self, Estimator};

use crate::analysis::arm_values::{by_arm, walls_by_arm};
use crate::analysis::run_times::cpu_ns;
use crate::analysis::summary::{ArmSummary, MetricSummary, NetTimes, TimeSummary, UncertainValue};
use crate::analysis::{launches, sliced};
use crate::plan::Role;
use crate::record::{Record, Rows};
use crate::values::CPU;
use crate::values::metric::{METRICS, Metric, MetricInfo};

/// Fewest runs for an error; stats::endpoint.
const RUNS_FOR_FLOOR: usize = 3;

/// Summaries of all arms, controls included.
pub fn summarise(record: &Record) -> Vec<ArmSummary> {
    let plan = &record.header.plan;
    let n_arms = plan.arms.len();
    let walls = walls_by_arm(record);
    let n_runs: Vec<usize> = walls.iter().map(Vec::len).collect();
    let slices = record.slices.as_ref().map(|slices| launches::values_by_arm(plan, slices));
    let of_arm = |(arm, runs): (usize, &Vec<f64>)| match &slices {
        Some(slices) => sliced_times(runs, &slices[arm]),
        None => times(runs),
    };
    let times: Vec<Option<TimeSummary>> = walls.par_iter().enumerate().map(of_arm).collect();
    drop((walls, slices));
    let mut sliced = sliced::of_arms(record);
    let mut metrics = metrics_by_arm(&record.rows, n_arms, plan.in_slices);
    let counts = exits_by_arm(&record.rows, n_arms);
    let control = plan.control.and_then(|control| times[control.arm].clone());
    plan.arms
        .iter()
        .enumerate()
        .map(|(arm, planned)| {
            let is_hidden = planned.role != Role::Candidate;
            let wall = times[arm].clone();
            let net = wall.as_ref().zip(control.as_ref()).filter(|_| !planned.role.is_control());
            ArmSummary {
                arm,
                label: planned.label().into(),
                is_hidden,
                n_runs: n_runs[arm],
                n_timed_out: counts[arm].n_timed_out,
                n_failed: counts[arm].n_failed,
                n_nonzero_exits: counts[arm].n_nonzero,
                net: net.map(|(wall, control)| net_of(wall, control)),
                wall,
                metrics: std::mem::take(&mut metrics[arm]),
                sliced: sliced[arm].take(),
            }
        })
        .collect()
}

/// Counts of timed runs that timed out, failed, or had an exit status other than 0.
#[derive(Clone, Copy, Default)]
struct Exits {
    n_timed_out: usize,
    n_failed: usize,
    n_nonzero: usize,
}

fn exits_by_arm(rows: &Rows, n_arms: usize) -> Vec<Exits> {
    let mut by_arm = vec![Exits::default(); n_arms];
    for index in (0..rows.len()).filter(|&index| rows.block(index).is_some()) {
        let of_arm = &mut by_arm[rows.arm(index)];
        if rows.timed_out(index) {
            of_arm.n_timed_out += 1;
        } else if rows.is_rejected(index) {
            of_arm.n_failed += 1;
        } else if rows.exit(index) != 0 {
            of_arm.n_nonzero += 1;
        }
    }
    by_arm
}

/// Times of runs with several slices each. The floor is of the runs, because slices of one run are not independent.
/// Everything else is of the slices. With fewer than `RUNS_FOR_FLOOR` runs the floor is of the slices too.
fn sliced_times(runs: &[f64], slices: &[f64]) -> Option<TimeSummary> {
    let mut all = times(slices)?;
    if runs.len() >= RUNS_FOR_FLOOR {
        let of_runs = times(runs)?;
        (all.t0, all.low20, all.has_floor) = (of_runs.t0, of_runs.low20, of_runs.has_floor);
    }
    Some(all)
}

fn times(wall: &[f64]) -> Option<TimeSummary> {
    let estimators = [Estimator::Low20, Estimator::Median, Estimator::Mean];
    // With a million values, each of these takes as long as reading the record.
    let ((sorted, floor), errs) = rayon::join(
        || (SortedSample::new(wall), endpoint::floor(wall)),
        || endpoint::window_errs(wall, |window| estimators.map(|it| it.of(window))).ok(),
    );
    let (sorted, floor) = (sorted.ok()?, floor.ok()?);
    let [low20, median, mean] = [0, 1, 2].map(|at: usize| UncertainValue {
        value: estimators[at].of(&sorted),
        err: errs.map(|errs| errs[at]),
    });
    // With few values that differ by factors, the extrapolation can be negative. A time cannot.
    let is_impossible = floor.value <= 0.0 && sorted.min() > 0.0;
    let t0 = if is_impossible { sorted.min() } else { floor.value };
    Some(TimeSummary {
        t0: UncertainValue { value: t0, err: floor.err },
        has_floor: floor.is_finite() && !is_impossible,
        min: sorted.min(),
        max: sorted.max(),
        low20,
        median,
        mean,
        sd: stats::sample_sd(wall).ok(),
        cv: stats::cv(wall).ok(),
        quantiles: [0.10, 0.25, 0.75, 0.90].map(|p| sorted.quantile(p)),
    })
}

fn net_of(wall: &TimeSummary, control: &TimeSummary) -> NetTimes {
    NetTimes {
        t0: wall.t0.minus(control.t0),
        median: wall.median.minus(control.median),
        mean: wall.mean.minus(control.mean),
    }
}

fn metrics_by_arm(rows: &Rows, n_arms: usize, in_slices: bool) -> Vec<Vec<MetricSummary>> {
    // A sum over slices has no fixed number of loops. `SliceSummary` has the useful values.
    let is_shown = |info: &&MetricInfo| {
        rows.has(info.metric) && (!in_slices || info.metric == Metric::MaxrssKib)
    };
    let present: Vec<&MetricInfo> = METRICS.iter().filter(is_shown).collect();
    let summaries_of = |name: &str, value: &(dyn Fn(&Rows, usize) -> Option<f64> + Sync)| {
        by_arm(rows, n_arms, value).iter().map(|xs| summary(name, xs)).collect::<Vec<_>>()
    };
    let mut by_metric: Vec<Vec<Option<MetricSummary>>> = present
        .par_iter()
        .map(|info| summaries_of(info.name, &|rows, index| base_value(rows, index, info)))
        .collect();
    if rows.has(Metric::UserUs) && rows.has(Metric::SysUs) {
        by_metric.push(summaries_of(CPU, &cpu_ns));
    }
    (0..n_arms)
        .map(|arm| by_metric.iter().filter_map(|summaries| summaries[arm].clone()).collect())
        .collect()
}

fn base_value(rows: &Rows, index: usize, info: &MetricInfo) -> Option<f64> {
    Some(info.in_base_unit(rows.get(index, info.metric)?, rows.get(index, Metric::RunningPpm)))
}

fn summary(name: &str, xs: &[f64]) -> Option<MetricSummary> {
    let sorted = SortedSample::new(xs).ok()?;
    Some(MetricSummary {
        name: name.into(),
        n: xs.len(),
        mean: stats::mean(xs).ok()?,
        sd: stats::sample_sd(xs).ok(),
        median: sorted.median(),
        min: sorted.min(),
        max: sorted.max(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_below_zero_is_none() {
        let found = times(&[12.0, 40.0, 90.0, 300.0]).unwrap();
        assert_eq!((found.t0.value, found.has_floor), (12.0, false));
        // A difference may be below zero.
        assert!(times(&[-3.0, -2.0, -1.0, 5.0]).unwrap().t0.value <= -3.0);
    }
}
