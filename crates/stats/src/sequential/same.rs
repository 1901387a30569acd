//! Differences that equal typical times can hide.

use super::theta_tests::warmup_pairs;
use super::{SequentialTest, is_uneven};
use crate::invalid::Invalid;
use crate::relabel::{Estimand, Pairs};

/// Share of slow runs that must not be hidden behind "the same".
pub const SAME_TAIL: f64 = 0.05;
/// Share of slow runs that must not be hidden behind an interval of the mean.
pub const GATE_TAIL: f64 = 0.1;

/// Reason why a comparison is not "the same" although the typical times are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SameDoubt {
    /// A slow tail of a twentieth of the runs could be hidden. [`hidden_tail_pairs`] are needed.
    HiddenTail,
    /// Floor and typical time differ by different ratios.
    Uneven,
    /// The mean times differ, by more than the margin.
    MeanDiffers,
    /// The new arm has more or fewer of the slowest runs.
    TailDiffers,
    /// The mean times may differ by more than the margin.
    MeanUnknown,
}

/// Number of pairs of which at least one shows a slow tail of this share of the runs, except with
/// probability `alpha`: the smallest n with `(1 - share)^n <= alpha`.
///
/// ```
/// use stillwell_stats::sequential::{GATE_TAIL, SAME_TAIL, hidden_tail_pairs};
/// assert_eq!(hidden_tail_pairs(0.01, SAME_TAIL), 90);
/// assert_eq!(hidden_tail_pairs(0.01, GATE_TAIL), 44);
/// ```
pub fn hidden_tail_pairs(alpha: f64, share: f64) -> usize {
    (alpha.ln() / (1.0 - share).ln()).ceil().max(0.0) as usize
}

impl SequentialTest {
    /// Whether the looks reject this log ratio of the mean times, or a larger one. Looks that would
    /// not show a slow tail of a tenth of the runs do not count.
    pub(super) fn is_mean_below(&mut self, theta: f64, pairs: &Pairs) -> Result<bool, Invalid> {
        if !self.is_tail_of_interest() {
            return Ok(true);
        }
        let level = self.level(1.0);
        let test = self.mean_tests.at(theta, &self.design, &self.looks, pairs)?;
        Ok(test.crossing(level).is_some_and(|t| t < 0.0))
    }

    /// Whether the question is about more than one part of the distribution. Someone who asks for
    /// the floor or the typical time leaves out the tail on purpose; the mean contains it.
    fn is_tail_of_interest(&self) -> bool {
        self.design.estimand == Estimand::Adaptive
    }

    /// The reason against "the same" at the last look.
    pub(super) fn doubt(&mut self, pairs: &Pairs) -> Result<Option<SameDoubt>, Invalid> {
        let view = self.last_view(pairs)?;
        let shape = view.pairs.shape(&view.orbit)?;
        if is_uneven(&shape, self.design.margin) {
            return Ok(Some(SameDoubt::Uneven));
        }
        if matches!(self.design.estimand, Estimand::Typical | Estimand::Floor) {
            return Ok(None);
        }
        let pairs = pairs.first(self.n_pairs_seen())?;
        let seen = pairs.skip(warmup_pairs(&pairs, 1))?;
        let (level, margin) = (self.level(1.0), self.design.margin);
        if self.is_tail_of_interest() {
            let at_zero = self.mean_tests.at(0.0, &self.design, &self.looks, &pairs)?;
            let is_different = at_zero.crossing(level).is_some();
            if is_different && at_zero.last().is_some_and(|mean| mean.t.abs() > margin) {
                return Ok(Some(SameDoubt::MeanDiffers));
            }
            if seen.tail(shape.typical).p <= level {
                return Ok(Some(SameDoubt::TailDiffers));
            }
        }
        if self.n_pairs_seen() < hidden_tail_pairs(self.design.spending.alpha, SAME_TAIL) {
            return Ok(Some(SameDoubt::HiddenTail));
        }
        let is_bounded = !self.is_tail_of_interest() || self.is_mean_inside(margin, &pairs)?;
        Ok((!is_bounded).then_some(SameDoubt::MeanUnknown))
    }

    fn is_mean_inside(&mut self, margin: f64, pairs: &Pairs) -> Result<bool, Invalid> {
        let level = self.level(1.0);
        for theta in [margin, -margin] {
            let test = self.same_tests.at(theta, &self.design, &self.looks, pairs)?;
            if test.crossing(level).is_none_or(|t| t * theta > 0.0) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
