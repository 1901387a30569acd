//! Every estimator of a time with its error and its ratio to the reference, for `stats`.

use rayon::prelude::*;
use serde::Serialize;
use stats::endpoint::{self, Estimator, G_STAR_LIMIT};
use stats::propagate::ratio_minus_control;
use stats::{SortedSample, low_end};

use crate::arm_values::{by_arm, sessions};
use crate::clocks::compares_times;
use crate::summary::{ArmSummary, UncertainValue};
use record::plan::Plan;
use record::{Record, Rows};

/// The estimators of one arm's measured wall time, ns. The three at the low end have the error of t0, the others the sd
/// of the estimator in consecutive windows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimators {
    /// Smallest run.
    pub min: UncertainValue,
    /// The clamped endpoint: the value of t0, if the low tail ends.
    pub fan: UncertainValue,
    /// The endpoint of the paper, not clamped.
    pub fan_raw: UncertainValue,
    /// Mean of the lowest fifth.
    pub low20: UncertainValue,
    pub median: UncertainValue,
    pub mean: UncertainValue,
    pub floor: FloorTest,
    /// Ratios to the reference; `None` for the reference itself, for controls, and if either side has no run.
    pub ratios: Option<Ratios>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FloorTest {
    /// Order of the tested endpoint, which t0 uses too.
    pub k: usize,
    /// The statistic; `None` with too few runs or without spread.
    pub g_star: Option<f64>,
    /// A statistic above this limit means that there is no floor.
    pub limit: f64,
    /// Whether there is a floor. `None` if the test is impossible; t0 is then extrapolated.
    pub is_finite: Option<bool>,
}

/// New ÷ reference, with errors by first-order propagation. With a control, the ratios are between net times, and both
/// sides share the control's error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratios {
    /// Ratio of t0; `None` if one of the t0 in it is only a limit, or if no times are compared. Every ratio is `None` if the
    /// reference takes no longer than the control.
    pub t0: Option<UncertainValue>,
    pub median: Option<UncertainValue>,
    pub mean: Option<UncertainValue>,
}

/// The estimators of all arms in the order of the plan; `None` for an arm without a run. `arms` must be the summaries
/// of this record.
pub fn estimators(record: &Record, arms: &[ArmSummary]) -> Vec<Option<Estimators>> {
    let each = sessions(record).into_iter().flat_map(|(first, session)| {
        let n_arms = session.header.plan.arms.len();
        session_estimators(session, &arms[first..first + n_arms])
    });
    each.collect()
}

fn session_estimators(record: &Record, arms: &[ArmSummary]) -> Vec<Option<Estimators>> {
    let plan = &record.header.plan;
    let walls = by_arm(&record.rows, plan.arms.len(), Rows::headline);
    let mut found: Vec<Option<Estimators>> = walls.par_iter().map(|wall| estimate(wall)).collect();
    for arm in plan.compared().into_iter().chain(plan.twin()) {
        let ratios = ratios(plan, arms, [arm, plan.reference_of(arm)]);
        if let Some(estimators) = &mut found[arm] {
            estimators.ratios = ratios;
        }
    }
    found
}

/// The estimators of runs in run order, ns.
fn estimate(wall: &[f64]) -> Option<Estimators> {
    let sorted = SortedSample::new(wall).ok()?;
    let floor = low_end::floor(wall).ok()?;
    let of = |estimator: Estimator| UncertainValue {
        value: estimator.of(&sorted),
        err: endpoint::window_err(wall, |window| estimator.of(window)).ok(),
    };
    let low =
        |estimator: Estimator| UncertainValue { value: estimator.of(&sorted), err: floor.err };
    Some(Estimators {
        min: low(Estimator::Min),
        fan: low(Estimator::Fan),
        fan_raw: low(Estimator::FanRaw),
        low20: of(Estimator::Low20),
        median: of(Estimator::Median),
        mean: of(Estimator::Mean),
        floor: FloorTest {
            k: floor.k,
            g_star: floor.g_star,
            limit: G_STAR_LIMIT,
            is_finite: floor.g_star.map(|_| floor.is_finite()),
        },
        ratios: None,
    })
}

fn ratios(plan: &Plan, arms: &[ArmSummary], [new, old]: [usize; 2]) -> Option<Ratios> {
    let wall = |arm: usize| arms[arm].times.as_ref();
    let (new_wall, old_wall) = (wall(new)?, wall(old)?);
    let control = plan.control.as_ref().and_then(|control| wall(control.arm));
    let mut walls = [new_wall, old_wall].into_iter().chain(control);
    let has_t0 = compares_times(plan) && walls.all(|wall| !wall.is_upper_limit);
    let t0 = || ratio(new_wall.t0, old_wall.t0, control.map(|wall| wall.t0));
    Some(Ratios {
        t0: has_t0.then(t0).flatten(),
        median: ratio(new_wall.median, old_wall.median, control.map(|wall| wall.median)),
        mean: ratio(new_wall.mean, old_wall.mean, control.map(|wall| wall.mean)),
    })
}

/// `(new - control) / (old - control)`. The error is known if all errors are.
fn ratio(
    new: UncertainValue,
    old: UncertainValue,
    control: Option<UncertainValue>,
) -> Option<UncertainValue> {
    let control = control.unwrap_or(UncertainValue { value: 0.0, err: Some(0.0) });
    let [num, den, shared] = [new, old, control].map(UncertainValue::measured_or_zero);
    let ratio = ratio_minus_control(num, den, shared);
    let err = new.err.and(old.err).and(control.err).map(|_| ratio.err);
    let is_ratio = old.value > control.value && new.value > control.value;
    is_ratio.then_some(UncertainValue { value: ratio.value, err })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncertain(value: f64, err: f64) -> UncertainValue {
        UncertainValue { value, err: Some(err) }
    }

    #[test]
    fn the_control_is_the_same_on_both_sides() {
        let (t, shell) = (uncertain(5.0, 0.0), uncertain(1.0, 0.5));
        assert_eq!(ratio(t, t, Some(shell)), Some(uncertain(1.0, 0.0)));
        assert_eq!(
            ratio(uncertain(6.0, 0.3), uncertain(2.0, 0.0), None),
            Some(uncertain(3.0, 0.15))
        );
        let no_err = UncertainValue { value: 3.0, err: None };
        assert_eq!(
            ratio(no_err, uncertain(2.0, 0.1), None),
            Some(UncertainValue { value: 1.5, err: None })
        );
        assert_eq!(ratio(t, shell, Some(t)), None);
        assert_eq!(ratio(shell, t, Some(shell)), None, "nothing is left of the new arm");
        assert_eq!(ratio(shell, t, Some(uncertain(2.0, 0.1))), None, "less than nothing");
    }

    #[test]
    fn a_tail_without_spread_is_not_tested() {
        let found = estimate(&[5.0; 24]).unwrap();
        assert_eq!((found.floor.g_star, found.floor.is_finite), (None, None));
        let found = estimate(&(0..24).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!(found.floor.is_finite, Some(true));
        assert_eq!(estimate(&[]), None);
    }
}
