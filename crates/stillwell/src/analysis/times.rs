//! Times → location, spread and t0.

use stats::SortedSample;
use stats::endpoint::{self, Estimator};

use crate::analysis::summary::{TimeSummary, UncertainValue};

/// Fewest runs for an error; stats::endpoint.
const RUNS_FOR_FLOOR: usize = 3;

/// Times of runs with several slices each. The floor is of the runs, because slices of one run are not independent.
/// Everything else is of the slices. With fewer than `RUNS_FOR_FLOOR` runs the floor is of the slices too.
pub(super) fn sliced_times(runs: &[f64], slices: &[f64]) -> Option<TimeSummary> {
    let mut all = times(slices)?;
    if runs.len() >= RUNS_FOR_FLOOR {
        let of_runs = times(runs)?;
        (all.t0, all.low20, all.has_floor) = (of_runs.t0, of_runs.low20, of_runs.has_floor);
    }
    Some(all)
}

/// Times of runs. `None` without any.
pub(super) fn times(wall: &[f64]) -> Option<TimeSummary> {
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
        is_upper_limit: false,
        limited_by: None,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_floor_below_zero_is_none() {
        let found = times(&[12.0, 40.0, 90.0, 200.0, 300.0]).unwrap();
        assert_eq!((found.t0.value, found.has_floor), (12.0, false));
        // A difference may be below zero.
        assert!(times(&[-3.0, -2.0, -1.0, 5.0]).unwrap().t0.value <= -3.0);
    }
}
