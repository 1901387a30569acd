//! False positive rates and power of several tests on this machine, from one long series of runs of a command.
//!
//! Each experiment takes a random stretch of consecutive runs. Coin flips assign the runs of each pair to the two arms,
//! and the times of the new arm are multiplied by a known ratio. So the noise is the machine's own. The usual tests get
//! the first half of the stretch as the reference, the second half as the new arm.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;
use stats::relabel::Pairs;
use stats::sequential::{SequentialDesign, SequentialTest};
use stats::spending::{Spending, by_pairs};
use stats::{Invalid, Stream, two_sample};

use crate::comparison::PairedDecision;
use crate::watch::estimand_of;
use model::values::CALIBRATION_RUNS_MIN;
use record::plan::DecisionRule;

/// Ratios of the new arm to the reference.
pub const RATIOS: [f64; 7] = [1.0, 1.002, 1.005, 1.01, 1.02, 1.05, 1.1];
/// Slow tails of the new arm: the share of slow runs, and the factor on their times.
pub const TAILS: [(f64, f64); 3] = [(0.1, 3.0), (0.05, 10.0), (0.3, 1.05)];
/// Session lengths for the smallest visible slowdown, ns.
const BUDGETS_NS: [f64; 3] = [10e9, 60e9, 600e9];
/// Share of the experiments that must find a slowdown to call it visible.
const POWER: f64 = 0.8;

/// The result of a calibration.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PowerCalibration {
    /// Runs of the series.
    pub n_runs: usize,
    /// Mean time from the start of one run to the start of the next, ns.
    pub pace_ns: f64,
    /// Pairs of one experiment.
    pub n_pairs: usize,
    /// Experiments for each ratio.
    pub n_replays: usize,
    /// Error rate at which all tests are made.
    pub alpha: f64,
    /// Power at each of [`RATIOS`].
    pub powers: Vec<Power>,
    /// Verdicts on each of [`TAILS`].
    pub tails: Vec<TailVerdicts>,
    /// Smallest ratio that our test finds in 80 % of experiments, within the bounds of [`RATIOS`].
    pub visible: VisibleSlowdown,
    /// The smallest visible slowdown for sessions of some lengths.
    pub budgets: Vec<Budget>,
}

/// Power at one ratio: the share of experiments that each test called different.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Power {
    /// Time of the new arm ÷ time of the reference.
    pub ratio: f64,
    /// Our test, with its interim analyses: the share of printed verdicts of "faster" or "slower".
    pub stillwell: f64,
    /// The share of printed verdicts of "the same".
    pub same: f64,
    /// Mean number of pairs until our test ended.
    pub stillwell_pairs: f64,
    /// Welch's t test; all runs of one arm come before the other arm's.
    pub welch: f64,
    /// The Mann-Whitney test; all runs of one arm come before the other arm's.
    pub mann_whitney: f64,
}

/// Printed verdicts on a new arm with a slow tail: shares of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TailVerdicts {
    /// Share of the runs that are slow.
    pub share: f64,
    /// Time of a slow run ÷ another run's.
    pub factor: f64,
    /// "Faster" or "slower".
    pub different: f64,
    /// "The same": the tail was missed.
    pub same: f64,
}

/// A slowdown as a fraction, or a bound if it lies outside of the ratios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "slowdown", rename_all = "snake_case")]
pub enum VisibleSlowdown {
    /// The smallest ratio tried is found in more than 80 %.
    Below(f64),
    /// Interpolated between two ratios.
    At(f64),
    /// The largest ratio tried is found in less than 80 %.
    Above(f64),
}

/// A session of some length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Budget {
    /// Length of the session, ns.
    pub budget_ns: f64,
    /// Number of pairs that fit.
    pub n_pairs: usize,
    /// Slowdown that the test finds in 80 % of experiments. It scales with the square root of the number of pairs.
    pub visible: VisibleSlowdown,
}

#[derive(Clone, Copy, Debug)]
pub struct CalibrationSettings {
    pub policy: DecisionRule,
    /// Experiments for each ratio.
    pub n_replays: usize,
    /// Pairs of one experiment, if the series is long enough.
    pub n_pairs_max: usize,
    /// Seed of stretches and coins.
    pub seed: u64,
}

/// Replays experiments on the times of consecutive runs, ns, that started `pace_ns` apart on average. `after_each` is
/// called after each experiment, from any thread. Errors: fewer than [`CALIBRATION_RUNS_MIN`] runs, or a time is zero.
pub fn calibrate(
    series_ns: &[f64],
    pace_ns: f64,
    settings: &CalibrationSettings,
    after_each: impl Fn() + Sync,
) -> Result<PowerCalibration, Invalid> {
    if series_ns.len() < CALIBRATION_RUNS_MIN {
        return Err(Invalid::TooFew { need: CALIBRATION_RUNS_MIN, got: series_ns.len() });
    }
    stats::logs(series_ns)?;
    let n_pairs = settings.n_pairs_max.min(series_ns.len() / 4);
    let alpha = settings.policy.alpha;
    let mut powers = Vec::new();
    let replays = |change: Change| -> Result<Vec<ReplayVerdicts>, Invalid> {
        let replay = |replay| {
            let found = replayed(series_ns, n_pairs, change, settings, replay);
            after_each();
            found
        };
        (0..settings.n_replays as u64).into_par_iter().map(replay).collect()
    };
    for ratio in RATIOS {
        let found = replays(Change::Ratio(ratio))?;
        powers.push(Power {
            ratio,
            stillwell: share(&found, |found| found.stillwell == Some(PairedDecision::Different)),
            same: share(&found, |found| found.stillwell == Some(PairedDecision::Same)),
            stillwell_pairs: found.iter().map(|found| found.n_pairs as f64).sum::<f64>()
                / found.len() as f64,
            welch: share(&found, |found| found.welch),
            mann_whitney: share(&found, |found| found.mann_whitney),
        });
    }
    let mut tails = Vec::new();
    for (of_runs, factor) in TAILS {
        let found = replays(Change::Tail { share: of_runs, factor })?;
        tails.push(TailVerdicts {
            share: of_runs,
            factor,
            different: share(&found, |found| found.stillwell == Some(PairedDecision::Different)),
            same: share(&found, |found| found.stillwell == Some(PairedDecision::Same)),
        });
    }
    let visible = visible(&powers);
    let budgets = BUDGETS_NS.map(|budget_ns| {
        let n_fit = (budget_ns / (2.0 * pace_ns)) as usize;
        let factor = (n_pairs as f64 / n_fit.max(1) as f64).sqrt();
        Budget { budget_ns, n_pairs: n_fit, visible: visible.times(factor) }
    });
    Ok(PowerCalibration {
        n_runs: series_ns.len(),
        pace_ns,
        n_pairs,
        n_replays: settings.n_replays,
        alpha,
        powers,
        tails,
        visible,
        budgets: budgets.into(),
    })
}

#[derive(Clone, Copy)]
enum Change {
    Ratio(f64),
    Tail { share: f64, factor: f64 },
}

impl Change {
    fn draw(self, stream: &mut Stream) -> f64 {
        match self {
            Self::Ratio(ratio) => ratio,
            Self::Tail { share, factor } if stream.unit() < share => factor,
            Self::Tail { .. } => 1.0,
        }
    }
}

fn share(verdicts: &[ReplayVerdicts], is: fn(&ReplayVerdicts) -> bool) -> f64 {
    verdicts.iter().filter(|verdicts| is(verdicts)).count() as f64 / verdicts.len() as f64
}

struct ReplayVerdicts {
    /// `None` without a look.
    stillwell: Option<PairedDecision>,
    n_pairs: usize,
    welch: bool,
    mann_whitney: bool,
}

fn replayed(
    series_ns: &[f64],
    n_pairs: usize,
    change: Change,
    settings: &CalibrationSettings,
    replay: u64,
) -> Result<ReplayVerdicts, Invalid> {
    // All ratios use the same stretches and coins, so their powers differ by the ratio alone.
    let mut stream = Stream::new(settings.seed.wrapping_add(replay));
    let n_starts = (series_ns.len() - 2 * n_pairs + 1) as u64;
    let start = usize::try_from(stream.below(n_starts)).unwrap_or(0);
    let stretch = &series_ns[start..start + 2 * n_pairs];
    let coins = stream.bits(n_pairs);
    let mut factors = Stream::new(stream.next_u64());
    let mut slot = |second: usize| -> Vec<f64> {
        let time = |j: usize| {
            let is_new = coins[j] == (second == 0);
            stretch[2 * j + second] * if is_new { change.draw(&mut factors) } else { 1.0 }
        };
        (0..n_pairs).map(time).collect()
    };
    let pairs = Pairs::new(&slot(0), &slot(1), &coins)?;
    let (stillwell, n_used) = ours(&pairs, &settings.policy, stream.next_u64())?;
    let (old, new) = stretch.split_at(n_pairs);
    let new: Vec<f64> = new.iter().map(|time| time * change.draw(&mut factors)).collect();
    let alpha = settings.policy.alpha;
    // Equal times allow no test: not different.
    let is_rejected = |p: Result<f64, Invalid>| p.is_ok_and(|p| p <= alpha);
    Ok(ReplayVerdicts {
        stillwell,
        n_pairs: n_used,
        welch: is_rejected(two_sample::welch(old, &new).map(|test| test.p)),
        mann_whitney: is_rejected(
            two_sample::mann_whitney(old, &new).map(|test| test.p_asymptotic),
        ),
    })
}

/// Runs our test. Returns the decision and the number of pairs at its end.
fn ours(
    pairs: &Pairs,
    policy: &DecisionRule,
    seed: u64,
) -> Result<(Option<PairedDecision>, usize), Invalid> {
    let spending = Spending { alpha: policy.alpha, family: 1, n_min: 0 };
    let margin = policy.same_within.ln_1p();
    let estimand = estimand_of(policy.estimand);
    let design = SequentialDesign { spending, estimand, margin, limit: 0.0, seed };
    let mut comparison = SequentialTest::new(design);
    let points = by_pairs(pairs.len());
    for n_points in 1..=points.len() {
        let so_far = pairs.first(points[n_points - 1].n_pairs)?;
        comparison.take(&so_far, &points[..n_points])?;
        if comparison.is_settled(1.0) {
            break;
        }
    }
    let decision = match (comparison.is_different(1.0), comparison.is_same(1.0)) {
        _ if comparison.n_looks() == 0 => None,
        (true, _) => Some(PairedDecision::Different),
        (_, true) => Some(PairedDecision::Same),
        _ => Some(PairedDecision::Undecided),
    };
    Ok((decision, comparison.n_pairs_seen()))
}

/// The slowdown with 80 % power, interpolated linearly between ratios.
fn visible(powers: &[Power]) -> VisibleSlowdown {
    let slowdown = |power: &Power| power.ratio - 1.0;
    let slower = &powers[1..];
    match slower.iter().position(|power| power.stillwell >= POWER) {
        None => VisibleSlowdown::Above(slower.last().map_or(0.0, slowdown)),
        Some(0) => VisibleSlowdown::Below(slowdown(&slower[0])),
        Some(at) => {
            let (low, high) = (&slower[at - 1], &slower[at]);
            let share = (POWER - low.stillwell) / (high.stillwell - low.stillwell);
            VisibleSlowdown::At(slowdown(low) + share * (slowdown(high) - slowdown(low)))
        }
    }
}

impl VisibleSlowdown {
    fn times(self, factor: f64) -> Self {
        match self {
            Self::Below(slowdown) => Self::Below(slowdown * factor),
            Self::At(slowdown) => Self::At(slowdown * factor),
            Self::Above(slowdown) => Self::Above(slowdown * factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(n_replays: usize) -> CalibrationSettings {
        let policy = DecisionRule { alpha: 0.05, ..DecisionRule::default() };
        CalibrationSettings { policy, n_replays, n_pairs_max: 60, seed: 1 }
    }

    fn calibrated(series_ns: &[f64], n_replays: usize) -> PowerCalibration {
        calibrate(series_ns, 2e6, &settings(n_replays), || ()).unwrap()
    }

    /// A machine that is slow for some 40 runs, then fast, and so on.
    fn regimes() -> Vec<f64> {
        let mut stream = Stream::new(3);
        let mut is_slow = false;
        let step = |_| {
            is_slow ^= stream.below(40) == 0;
            1e6 * (1.0 + 0.02 * stream.unit() + if is_slow { 0.03 } else { 0.0 })
        };
        (0..800).map(step).collect()
    }

    #[test]
    fn only_tests_that_assume_a_steady_machine_are_fooled() {
        let found = calibrated(&regimes(), 20);
        let alike = found.powers[0];
        // 20 x 5 % = 1 is expected. More than 4 have a probability of 0.26 %.
        assert!(alike.stillwell <= 4.0 / 20.0, "{alike:?}");
        assert!(alike.welch > 0.5 && alike.mann_whitney > 0.5, "{alike:?}");
        let slower: Vec<f64> = found.powers.iter().map(|power| power.stillwell).collect();
        assert!(slower[5] > 0.95 && slower[1] < 0.9, "{slower:?}");
        assert!(found.powers[5].stillwell_pairs < 40.0);
    }

    #[test]
    fn short_series_are_refused() {
        let found = calibrate(&[1.0; 119], 1.0, &settings(1), || ());
        assert_eq!(found, Err(Invalid::TooFew { need: 120, got: 119 }));
    }

    #[test]
    fn the_visible_slowdown_is_interpolated() {
        let power = |ratio, stillwell| Power {
            ratio,
            stillwell,
            same: 0.0,
            stillwell_pairs: 1.0,
            welch: 0.0,
            mann_whitney: 0.0,
        };
        let at = |shares: [f64; 3]| {
            visible(&[power(1.0, shares[0]), power(1.01, shares[1]), power(1.02, shares[2])])
        };
        let VisibleSlowdown::At(found) = at([0.05, 0.7, 0.9]) else { panic!() };
        assert!((found - 0.015).abs() < 1e-12);
        assert!(matches!(at([0.05, 0.9, 1.0]), VisibleSlowdown::Below(_)));
        assert!(matches!(at([0.05, 0.1, 0.7]), VisibleSlowdown::Above(_)));
    }

    #[test]
    fn longer_sessions_see_less() {
        let found = calibrated(&regimes(), 2);
        assert_eq!(found.budgets[0].n_pairs, 2500);
        assert_eq!(found.tails.len(), TAILS.len());
        let slowdowns = found.budgets.iter().map(|budget| match budget.visible {
            VisibleSlowdown::Below(slowdown)
            | VisibleSlowdown::At(slowdown)
            | VisibleSlowdown::Above(slowdown) => slowdown,
        });
        let slowdowns: Vec<f64> = slowdowns.collect();
        assert!((slowdowns[0] / slowdowns[1] - 6f64.sqrt()).abs() < 1e-3);
    }
}
