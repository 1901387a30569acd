//! Differences that equal typical times can hide.

use statrs::distribution::{DiscreteCDF, Hypergeometric};

use super::theta_tests::warmup_pairs;
use super::{SequentialTest, is_uneven};
use crate::invalid::Invalid;
use crate::relabel::{Estimand, JointTest, Pairs};

/// Share of slow runs that must not be hidden behind "the same".
pub const SAME_TAIL: f64 = 0.05;
/// Share of slow runs that must not be hidden behind an interval of the mean.
pub const GATE_TAIL: f64 = 0.1;

/// Reason why a comparison is not "the same" although the typical times are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SameDoubt {
    /// A slow tail of a twentieth of the runs could be hidden. [`hidden_tail_pairs`] are needed,
    /// times the [`clustering`] of the slow runs.
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

/// Significance level at which slow blocks count as clustered. It is the share of the looks at
/// independent runs that want more pairs for nothing.
const CLUSTERED: f64 = 0.01;

/// Number of pairs of which at least one shows a slow tail of this share of the runs, except with
/// probability `alpha`: the smallest n with `(1 - share)^n <= alpha`.
///
/// For slow runs that come independently. If they come in bursts, see [`clustering`].
///
/// ```
/// use stillwell_stats::sequential::{GATE_TAIL, SAME_TAIL, hidden_tail_pairs};
/// assert_eq!(hidden_tail_pairs(0.01, SAME_TAIL), 90);
/// assert_eq!(hidden_tail_pairs(0.01, GATE_TAIL), 44);
/// ```
pub fn hidden_tail_pairs(alpha: f64, share: f64) -> usize {
    (alpha.ln() / (1.0 - share).ln()).ceil().max(0.0) as usize
}

/// How many times as long the bursts of slow blocks are as in independent blocks: 1 if there is
/// nothing that chance does not explain at 1 %.
///
/// `n` blocks of which `m` are slow have `m (n - m + 1) / n` bursts on average if all orders are
/// equally likely. Their number is then hypergeometric: `m` draws out of `n`, of which `n - m + 1`
/// count (Wald & Wolfowitz 1940). A tail of a given share in bursts of `L` blocks begins `L` times
/// as rarely, so about `L` times as many pairs are needed until one of its bursts shows.
///
/// ```
/// use stillwell_stats::sequential::clustering;
/// let apart: Vec<bool> = (0..100).map(|block| block % 20 == 0).collect();
/// assert_eq!(clustering(&apart), 1.0);
/// let together: Vec<bool> = (0..100).map(|block| (40..45).contains(&block)).collect();
/// assert!((clustering(&together) - 4.8).abs() < 1e-12); // 5 × 96 / 100 bursts expected, 1 seen
/// ```
pub fn clustering(is_slow: &[bool]) -> f64 {
    let (n, m) = (is_slow.len(), is_slow.iter().filter(|&&slow| slow).count());
    let n_bursts = is_slow.chunk_by(|a, b| a == b).filter(|blocks| blocks[0]).count();
    let by_chance = Hypergeometric::new(n as u64, (n - m + usize::from(m > 0)) as u64, m as u64);
    match by_chance {
        Ok(bursts) if m > 0 && bursts.cdf(n_bursts as u64) <= CLUSTERED => {
            m as f64 * (n - m + 1) as f64 / n as f64 / n_bursts as f64
        }
        _ => 1.0,
    }
}

impl SequentialTest {
    /// The [`clustering`] of blocks in which one run is so much slower than the other that a
    /// twentieth of such runs would move the mean by the margin. Runs that both take longer, as in
    /// a slow hour, leave the ratio alone. The labels play no part.
    pub(super) fn slow_clustering(&self, pairs: &Pairs) -> f64 {
        let limit = (self.design.margin.exp_m1() / SAME_TAIL).ln_1p();
        let is_slow: Vec<bool> = pairs.gaps().map(|gap| gap > limit).collect();
        clustering(&is_slow)
    }

    /// Whether the looks reject this log ratio of the mean times, or a larger one. Looks that would
    /// not show a slow tail of a tenth of the runs do not count.
    pub(super) fn is_mean_below(&mut self, theta: f64, pairs: &Pairs) -> Result<bool, Invalid> {
        if !self.is_tail_of_interest() {
            return Ok(true);
        }
        let level = self.level(1.0);
        let test = self.mean_tests.at(theta, &self.design, &self.looks, pairs)?;
        Ok(is_rejected_and_still_beyond(test, level, -1.0))
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
        let pairs = pairs.first(self.n_pairs_seen())?;
        let seen = pairs.skip(warmup_pairs(&pairs, 1))?;
        let (level, margin) = (self.level(1.0), self.design.margin);
        if self.is_tail_of_interest() {
            let at_zero = self.mean_tests.at(0.0, &self.design, &self.looks, &pairs)?;
            let is_different = at_zero.crossing(level).is_some();
            if is_different && at_zero.last().is_some_and(|mean| mean.t.abs() > margin) {
                return Ok(Some(SameDoubt::MeanDiffers));
            }
        }
        if is_uneven(&shape, margin) {
            return Ok(Some(SameDoubt::Uneven));
        }
        if matches!(self.design.estimand, Estimand::Typical | Estimand::Floor) {
            return Ok(None);
        }
        // Beside two modes, the typical ratio alone can be off by more than a mode is wide, and put all
        // slow runs of one arm below those of the other.
        let ratios = [0.0, shape.floor, shape.typical];
        if self.is_tail_of_interest() && ratios.iter().all(|&at| seen.tail(at) <= level) {
            return Ok(Some(SameDoubt::TailDiffers));
        }
        let independent = hidden_tail_pairs(self.design.spending.alpha, SAME_TAIL);
        if self.n_pairs_seen() < independent {
            return Ok(Some(SameDoubt::HiddenTail));
        }
        if self.is_tail_of_interest() && !self.is_mean_inside(margin, &pairs)? {
            return Ok(Some(SameDoubt::MeanUnknown));
        }
        let needed = independent as f64 * self.slow_clustering(&seen);
        Ok(((self.n_pairs_seen() as f64) < needed).then_some(SameDoubt::HiddenTail))
    }

    fn is_mean_inside(&mut self, margin: f64, pairs: &Pairs) -> Result<bool, Invalid> {
        let level = self.level(1.0);
        for theta in [margin, -margin] {
            let test = self.same_tests.at(theta, &self.design, &self.looks, pairs)?;
            if !is_rejected_and_still_beyond(test, level, -theta) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a look rejects the tested ratio towards `side`, and the ratio of the last look still is
/// on that side. After an early rejection, a burst of slow runs can move it back.
fn is_rejected_and_still_beyond(test: &JointTest, level: f64, side: f64) -> bool {
    let is_beyond = |t: f64| t * side > 0.0;
    test.crossing(level).is_some_and(is_beyond) && test.last().is_some_and(|it| is_beyond(it.t))
}
