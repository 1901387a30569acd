//! A trial: is an attempt's gain shown, or out of reach?

use std::cmp::Ordering;

use stats::Invalid;
use stats::relabel::{Estimand, Pairs};
use stats::sequential::{SequentialDesign, SequentialTest};
use stats::spending::{InterimPoint, Spending};

use record::plan::TrialRule;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialOutcome {
    /// The attempt is faster by more than the rule asks for.
    Faster,
    /// A gain of the size that the rule aims at is refuted.
    OutOfReach,
}

/// The two tests of a trial, on the same pairs.
#[derive(Debug)]
pub struct GainTrial {
    gain: SequentialTest,
    /// Whether it is below `aim`.
    reach: SequentialTest,
}

impl GainTrial {
    /// A trial before any data. `alpha` covers both sides of the first test.
    pub fn new(rule: &TrialRule, alpha: f64, seed: u64, estimand: Estimand) -> Self {
        let test = |gain: f64, alpha: f64| {
            SequentialTest::new(SequentialDesign {
                spending: Spending { alpha, family: 1, n_min: 0 },
                estimand,
                margin: 0.0,
                limit: (-gain).ln_1p(),
                seed,
            })
        };
        // A gain can be missed on one side only.
        Self { gain: test(rule.at_least, alpha), reach: test(rule.aim, 2.0 * rule.miss) }
    }

    /// Takes the looks that are due (see [`SequentialTest::take`]). Errors: the times are unfit for a test.
    pub fn take(&mut self, pairs: &Pairs, points: &[InterimPoint]) -> Result<(), Invalid> {
        self.gain.take(pairs, points)?;
        self.reach.take(pairs, points)?;
        Ok(())
    }

    /// The outcome, if it is known. A shown gain takes precedence over a refuted one.
    pub fn outcome(&self) -> Option<TrialOutcome> {
        let is = |test: &SequentialTest, side| test.side_of_limit(1.0) == Some(side);
        if is(&self.gain, Ordering::Less) {
            return Some(TrialOutcome::Faster);
        }
        is(&self.reach, Ordering::Greater).then_some(TrialOutcome::OutOfReach)
    }
}
