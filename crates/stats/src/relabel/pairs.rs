//! The data of a comparison: slots, coins, and corrections that do not depend on the labels.

use std::ops::Range;

use super::Orbit;
use crate::invalid::{Invalid, logs};
use crate::sorted::SortedSample;

/// Runs in pairs, with the coin of each pair. Times are stored as natural logarithms.
#[derive(Clone, Debug)]
pub struct Pairs {
    pub(super) slots: Vec<[f64; 2]>,
    /// Packed coins: bit `j` set means that slot 1 of pair `j` ran the new arm.
    pub(super) labels: Vec<u64>,
}

/// Slot 2 / slot 1 log ratio if it stands out, else 0. It is the midhinge of the slot differences,
/// if that exceeds 2.5 of its standard errors and the middles of other quantiles confirm it.
///
/// The mean would not do: the differences form two clusters around the midhinge, one for each
/// label, and the coins need not be balanced. The other quantiles are needed if half of one arm's
/// runs take a slow path. Then there are three clusters with the quartiles in the gaps, and the
/// midhinge is arbitrary: in 60 pairs with such an arm, two in three sessions had a false slot
/// effect.
fn position_effect(slots: &[[f64; 2]]) -> f64 {
    let n = slots.len();
    if n < 24 {
        return 0.0;
    }
    let differences: Vec<f64> = slots.iter().map(|x| x[1] - x[0]).collect();
    let Ok(sorted) = SortedSample::new(&differences) else { return 0.0 };
    let middle = |p: f64| (sorted.quantile(p) + sorted.quantile(1.0 - p)) / 2.0;
    let midhinge = middle(0.25);
    let spread = sorted.quantile(0.75) - sorted.quantile(0.25);
    let limit = 2.5 * 0.825 * spread / (n as f64).sqrt();
    let confirms = |p: f64| middle(p) * midhinge.signum() > midhinge.abs() / 2.0;
    if midhinge.abs() > limit && confirms(0.15) && confirms(0.35) { midhinge } else { 0.0 }
}

/// The label of a pair: 1 if slot 1 ran the new arm.
pub(super) fn bit(labels: &[u64], pair: usize) -> usize {
    (labels[pair / 64] >> (pair % 64)) as usize & 1
}

fn packed(bits: impl ExactSizeIterator<Item = bool>) -> Vec<u64> {
    let mut words = vec![0; bits.len().div_ceil(64)];
    for (i, bit) in bits.enumerate() {
        words[i / 64] |= u64::from(bit) << (i % 64);
    }
    words
}

impl Pairs {
    /// Pairs from times in any common unit. All slices have the same length and are in run order.
    ///
    /// Fails on no pairs, different lengths, and times that are not finite or not above zero.
    ///
    /// ```
    /// let pairs = stillwell_stats::relabel::Pairs::new(&[1.0, 4.0], &[1.0, 1.0], &[true, false]).unwrap();
    /// assert_eq!(pairs.means(), [0.0, 2f64.ln()]);
    /// ```
    pub fn new(slot1: &[f64], slot2: &[f64], slot1_is_new: &[bool]) -> Result<Self, Invalid> {
        for right in [slot2.len(), slot1_is_new.len()] {
            if right != slot1.len() {
                return Err(Invalid::Lengths { left: slot1.len(), right });
            }
        }
        let slots = logs(slot1)?.into_iter().zip(logs(slot2)?).map(|(a, b)| [a, b]).collect();
        Ok(Self { slots, labels: packed(slot1_is_new.iter().copied()) })
    }

    /// Pairs from log times.
    pub(super) fn from_logs(slots: Vec<[f64; 2]>, slot1_is_new: &[bool]) -> Self {
        Self { slots, labels: packed(slot1_is_new.iter().copied()) }
    }

    /// Number of pairs.
    #[expect(clippy::len_without_is_empty, reason = "there is always a pair")]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn label(&self, pair: usize) -> usize {
        bit(&self.labels, pair)
    }

    /// Mean log time of each pair, which does not depend on the labels: for
    /// [`crate::warmup::prefix`].
    pub fn means(&self) -> Vec<f64> {
        self.slots.iter().map(|x| (x[0] + x[1]) / 2.0).collect()
    }

    /// Distance of the two log times of each pair, which does not depend on the labels.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = f64> {
        self.slots.iter().map(|x| (x[0] - x[1]).abs())
    }

    /// The first `n` pairs, or all, as an earlier look had them. Fails for `n` = 0.
    pub fn first(&self, n: usize) -> Result<Self, Invalid> {
        self.range(0..n.min(self.len()))
    }

    /// The pairs after the first `n`, without the warm-up. Fails if none are left.
    pub fn skip(&self, n: usize) -> Result<Self, Invalid> {
        self.range(n.min(self.len())..self.len())
    }

    fn range(&self, pairs: Range<usize>) -> Result<Self, Invalid> {
        if pairs.is_empty() {
            return Err(Invalid::Empty);
        }
        let slots = self.slots[pairs.clone()].to_vec();
        Ok(Self { slots, labels: packed(pairs.map(|pair| self.label(pair) == 1)) })
    }

    /// The slot times with the new arm's logs lowered by `theta` and the position effect removed,
    /// and that effect. If one arm came first in all pairs, the effect cannot be told from the
    /// difference of the arms, so nothing is removed.
    pub(super) fn centered(&self, theta: f64) -> (Vec<[f64; 2]>, f64) {
        let mut slots = self.slots.clone();
        for (pair, x) in slots.iter_mut().enumerate() {
            x[1 - self.label(pair)] -= theta;
        }
        let is_mixed = (1..slots.len()).any(|pair| self.label(pair) != self.label(0));
        let position = if is_mixed { position_effect(&slots) } else { 0.0 };
        for x in &mut slots {
            x[0] += position / 2.0;
            x[1] -= position / 2.0;
        }
        (slots, position)
    }

    pub(super) fn check(&self, orbit: &Orbit) -> Result<(), Invalid> {
        if orbit.n_pairs() != self.len() {
            return Err(Invalid::Lengths { left: self.len(), right: orbit.n_pairs() });
        }
        Ok(())
    }

    /// Calls `visit` with the sorted log times of the reference and of the new arm under each
    /// labelling of `orbit`, the observed one first. The new arm is lowered by `theta`. A position
    /// effect is not removed: it is the same for both arms, and its estimate changes with `theta`.
    pub(crate) fn for_each_labelling(
        &self,
        orbit: &Orbit,
        theta: f64,
        mut visit: impl FnMut(&SortedSample, &SortedSample),
    ) -> Result<(), Invalid> {
        self.check(orbit)?;
        let mut slots = self.slots.clone();
        for (pair, x) in slots.iter_mut().enumerate() {
            x[1 - self.label(pair)] -= theta;
        }
        let mut labels = self.labels.clone();
        for row in 0..orbit.len() {
            orbit.labels(row, &self.labels, &mut labels);
            let arm = |new: usize| {
                let of_pair = |(j, x): (usize, &[f64; 2])| x[bit(&labels, j) ^ new];
                SortedSample::new(&slots.iter().enumerate().map(of_pair).collect::<Vec<_>>())
            };
            visit(&arm(0)?, &arm(1)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_path_is_no_effect_of_the_slot() {
        let n_false = (0..200)
            .filter(|&seed| {
                let mut stream = crate::Stream::new(seed);
                let coins = stream.bits(60);
                let time = |stream: &mut crate::Stream, new: bool| {
                    let is_slow = new && stream.below(2) == 0;
                    (0.01 * stream.unit() + if is_slow { 0.1 } else { 0.0 }).exp()
                };
                let slot1: Vec<f64> = coins.iter().map(|&new| time(&mut stream, new)).collect();
                let slot2: Vec<f64> = coins.iter().map(|&new| time(&mut stream, !new)).collect();
                Pairs::new(&slot1, &slot2, &coins).unwrap().centered(0.0).1 != 0.0
            })
            .count();
        // Without the other quantiles there are some 130 false effects.
        assert!(n_false <= 8, "{n_false} of 200");
    }

    #[test]
    fn an_effect_of_the_slot_is_removed_beside_one_of_the_arm() {
        let mut stream = crate::Stream::new(4);
        let coins = stream.bits(60);
        let time = |stream: &mut crate::Stream, new: bool, second: f64| {
            (0.01 * stream.unit() + if new { 0.05 } else { 0.0 } + 0.02 * second).exp()
        };
        let slot1: Vec<f64> = coins.iter().map(|&new| time(&mut stream, new, 0.0)).collect();
        let slot2: Vec<f64> = coins.iter().map(|&new| time(&mut stream, !new, 1.0)).collect();
        let found = Pairs::new(&slot1, &slot2, &coins).unwrap().centered(0.05).1;
        assert!((found - 0.02).abs() < 0.004, "{found}");
    }

    #[test]
    fn a_fixed_order_leaves_the_difference_to_the_arms() {
        let mut stream = crate::Stream::new(4);
        let mut times = |more: f64| -> Vec<f64> {
            (0..60).map(|_| (0.01 * stream.unit() + more).exp()).collect()
        };
        let (old, new) = (times(0.0), times(0.05));
        for (slot1, slot2, is_new_first) in [(&old, &new, false), (&new, &old, true)] {
            let pairs = Pairs::new(slot1, slot2, &[is_new_first; 60]).unwrap();
            let (slots, position) = pairs.centered(0.0);
            assert_eq!((slots, position), (pairs.slots.clone(), 0.0));
        }
    }

    #[test]
    fn bad_input_is_refused() {
        let bad = |a: &[f64], b: &[f64], coins: &[bool]| Pairs::new(a, b, coins).unwrap_err();
        assert_eq!(bad(&[], &[], &[]), Invalid::Empty);
        assert_eq!(bad(&[1.0], &[], &[true]), Invalid::Lengths { left: 1, right: 0 });
        assert_eq!(bad(&[1.0], &[0.0], &[true]), Invalid::NotPositive { index: 0 });
        assert_eq!(bad(&[f64::NAN], &[1.0], &[true]), Invalid::NotFinite { index: 0 });
    }

    #[test]
    fn parts_keep_their_labels() {
        let times: Vec<f64> = (1..=140).map(f64::from).collect();
        let coins: Vec<bool> = (0..140).map(|j| j % 3 == 0).collect();
        let all = Pairs::new(&times, &times, &coins).unwrap();
        let part = all.skip(5).unwrap().first(100).unwrap();
        for pair in 0..100 {
            assert_eq!(part.label(pair) == 1, coins[pair + 5]);
        }
    }
}
