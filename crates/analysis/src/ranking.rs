//! Ranks the arms of one benchmark, and finds those that cannot be told apart from the fastest.

use crate::comparison::{Comparison, Evidence, RatioInterval};
use crate::summary::ArmSummary;
use record::plan::Plan;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking {
    /// The candidates, the fastest first. Arms without a run come last, in the order of the plan.
    pub order: Vec<usize>,
    /// The arms of `order` that are not slower than the fastest beyond doubt.
    pub close: Vec<usize>,
    /// Least and largest time of the remaining arms ÷ the fastest time.
    pub factors: Option<(f64, f64)>,
}

impl Ranking {
    /// Whether the first arm is faster than all others beyond doubt.
    pub fn is_clear(&self) -> bool {
        self.close.is_empty() && self.factors.is_some()
    }

    /// Ranks some of the arms, by their comparisons with the plan's reference, which need not be one of them.
    pub(crate) fn among(
        arms: &[ArmSummary],
        comparisons: &[Comparison],
        plan: &Plan,
        candidates: &[usize],
    ) -> Self {
        let (mut timed, mut without): (Vec<(usize, RatioInterval)>, Vec<usize>) =
            Default::default();
        let found = by_arm(comparisons, arms.len());
        for &arm in candidates {
            match relative_time(arms, found[arm], arm, plan) {
                Some(relative) => timed.push((arm, relative)),
                None => without.push(arm),
            }
        }
        timed.sort_by(|(_, one), (_, other)| one.ratio.total_cmp(&other.ratio));
        let order = timed.iter().map(|(arm, _)| *arm).chain(without).collect();
        let Some(((_, fastest), others)) = timed.split_first() else {
            return Self { order, ..Self::default() };
        };
        // Both intervals are relative to the reference. If they do not overlap, the two arms differ all the more
        // surely: both errors would have to point towards each other.
        let (close, apart): (Vec<_>, Vec<_>) =
            others.iter().partition(|(_, other)| other.lo <= fastest.hi);
        let factors = apart.iter().map(|(_, other)| other.ratio / fastest.ratio);
        let factors = factors.fold(None, |range: Option<(f64, f64)>, factor| {
            Some(range.map_or((factor, factor), |(lo, hi)| (lo.min(factor), hi.max(factor))))
        });
        Self { order, close: close.into_iter().map(|(arm, _)| arm).collect(), factors }
    }
}

fn by_arm(comparisons: &[Comparison], n_arms: usize) -> Vec<Option<&Comparison>> {
    let mut by_arm = vec![None; n_arms];
    for comparison in comparisons {
        if let Some(slot) = by_arm.get_mut(comparison.arm) {
            *slot = Some(comparison);
        }
    }
    by_arm
}

/// The time of an arm ÷ the reference's, as a cost. The interval is infinite without a test.
fn relative_time(
    arms: &[ArmSummary],
    comparison: Option<&Comparison>,
    arm: usize,
    plan: &Plan,
) -> Option<RatioInterval> {
    let reference = plan.reference;
    let t0 = |arm: usize| Some(arms[arm].ratio_t0()?.value);
    arms[arm].times.as_ref()?;
    if arm == reference {
        return Some(RatioInterval { ratio: 1.0, lo: 1.0, hi: 1.0 });
    }
    let untested = |ratio| RatioInterval { ratio, lo: 0.0, hi: f64::INFINITY };
    Some(match comparison.map(|comparison| &comparison.evidence) {
        Some(Evidence::Paired(paired)) => paired.net_ratio.unwrap_or(paired.ratio),
        Some(Evidence::Unpaired { ratio, .. }) => untested(ratio.value),
        // A time not above 0 has no ratio, and is as short as can be.
        _ => {
            let ratio =
                t0(arm).map_or(0.0, |own| t0(reference).map_or(f64::INFINITY, |it| own / it));
            untested(plan.policy.better.turned(ratio))
        }
    })
}

/// The geometric mean of the comparisons' ratios, and their number. `None` without a ratio.
pub fn geometric_mean(comparisons: &[Comparison]) -> Option<(f64, usize)> {
    let ratios = comparisons.iter().filter_map(|found| match &found.evidence {
        Evidence::Paired(paired) => Some(paired.net_ratio.unwrap_or(paired.ratio).ratio),
        Evidence::Unpaired { ratio, .. } => Some(ratio.value),
        Evidence::None { .. } => None,
    });
    let logs: Vec<f64> = ratios.map(f64::ln).filter(|log| log.is_finite()).collect();
    let mean = stats::mean(&logs).ok()?;
    Some((mean.exp(), logs.len()))
}
