//! Re-labelling of the pairs within each group, which asks nothing of the noise.

use super::Center;
use crate::invalid::{Invalid, at_least, between};
use crate::relabel::{LabelledSum, Orbit, order_quantile};

/// Pairs above this number are re-labelled several at a time. That bounds the time of a test.
const UNITS_MAX: usize = 1000;
/// Quantile of the sizes in a group at which [`Center::Typical`] caps them.
const CAP: f64 = 0.75;
/// Rounding error of a sum, relative to the sum of the sizes.
const ROUNDING: f64 = 1e-12;

/// The stratified re-labelling test of pairs from several groups.
#[derive(Clone, Debug)]
pub struct StratifiedRelabelling {
    groups: Vec<Vec<f64>>,
    center: Center,
    /// Largest number of pairs of a group that are re-labelled together.
    unit: usize,
    orbit: Orbit,
}

/// The result of a [`StratifiedRelabelling`] at one log ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StratifiedTest {
    /// Observed sum of the scores. It is positive if the new arm takes longer.
    pub t: f64,
    /// Share of the re-labellings whose sum is at least as large in size.
    pub p: f64,
}

impl StratifiedRelabelling {
    /// The test of `groups`, which hold the log ratio new / reference of each pair.
    ///
    /// To swap the labels of a pair changes the sign of its log ratio. If both arms are the same
    /// program, fair coins made every combination of signs equally likely, on every machine and
    /// whatever the noise did. The test compares the observed sum of scores with the sums under
    /// `draws` random combinations, or under all if there are no more.
    ///
    /// The score of a pair is its log ratio in units of its group's scale, which does not depend on
    /// the labels. With [`Center::Typical`] the scale is the 75 % quantile of the sizes that are
    /// not 0, and a score is capped at 1 (Huber 1964), so that tails do not dilute a difference.
    /// With [`Center::Mean`] the scale is the root of the mean square, without a cap. The scale
    /// weighs a pair half-way between equal weights and the inverse of its variance.
    ///
    /// Above 1000 pairs, consecutive pairs of a group change sign together: a subgroup of all
    /// re-labellings, so the test stays exact. Fails if a group is empty, for NaN and infinity, and
    /// for more than ten million draws.
    ///
    /// ```
    /// use stillwell_stats::pooled::{Center, StratifiedRelabelling};
    /// let groups = [vec![0.02, 0.05, -0.01, 0.04], vec![0.03, 0.01, 0.02, 0.06, 0.02]];
    /// let of = |center| StratifiedRelabelling::new(&groups, center, 1999, 1).unwrap().test(0.0);
    /// // scipy 1.17: permutation_test((x / rms,), np.sum, permutation_type="samples")
    /// assert_eq!(of(Center::Mean).unwrap().p, 4.0 / 512.0);
    /// ```
    pub fn new(
        groups: &[Vec<f64>],
        center: Center,
        draws: usize,
        seed: u64,
    ) -> Result<Self, Invalid> {
        for group in groups {
            at_least(1, group)?;
        }
        let n_pairs: usize = groups.iter().map(Vec::len).sum();
        let unit = n_pairs.div_ceil(UNITS_MAX).max(1);
        let n_units = groups.iter().map(|group| group.len().div_ceil(unit)).sum();
        Ok(Self { groups: groups.into(), center, unit, orbit: Orbit::new(n_units, draws, seed)? })
    }

    /// The test of "every group has the log ratio `theta`". Its p-value is exact for 0. For another ratio it is exact
    /// if that ratio holds in every pair. Errors: `theta` is not finite.
    pub fn test(&self, theta: f64) -> Result<StratifiedTest, Invalid> {
        between("theta", theta, f64::NEG_INFINITY, f64::INFINITY)?;
        let scores = self.unit_scores(theta);
        let sums = LabelledSum::signed(&scores);
        let mut swaps = vec![0; scores.len().div_ceil(64)];
        let observed = vec![0; swaps.len()];
        // A set bit swaps a pair, which changes the sign.
        let t = sums.exchanged(&observed);
        let bound = t.abs() - ROUNDING * scores.iter().map(|score| score.abs()).sum::<f64>();
        let is_extreme = |&row: &usize| {
            self.orbit.labels(row, &observed, &mut swaps);
            sums.exchanged(&swaps).abs() >= bound
        };
        let n_extreme = (0..self.orbit.len()).filter(is_extreme).count();
        Ok(StratifiedTest { t, p: n_extreme as f64 / self.orbit.len() as f64 })
    }

    /// The sum of the scores of all pairs that are re-labelled together.
    fn unit_scores(&self, theta: f64) -> Vec<f64> {
        let mut found = Vec::with_capacity(self.orbit.n_pairs());
        for group in &self.groups {
            let gaps: Vec<f64> = group.iter().map(|log_ratio| log_ratio - theta).collect();
            let scores = scores(&gaps, self.center);
            found.extend(scores.chunks(self.unit).map(|unit| unit.iter().sum::<f64>()));
        }
        found
    }
}

fn scores(gaps: &[f64], center: Center) -> Vec<f64> {
    let mut sizes: Vec<f64> = gaps.iter().map(|gap| gap.abs()).filter(|size| *size > 0.0).collect();
    if sizes.is_empty() {
        return vec![0.0; gaps.len()];
    }
    match center {
        Center::Typical => {
            let scale = order_quantile(&mut sizes, CAP);
            gaps.iter().map(|gap| (gap / scale).clamp(-1.0, 1.0)).collect()
        }
        Center::Mean => {
            let squares: f64 = sizes.iter().map(|size| size * size).sum();
            let scale = (squares / gaps.len() as f64).sqrt();
            gaps.iter().map(|gap| gap / scale).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_keeps_one_tail_from_hiding_a_difference() {
        let groups = vec![vec![0.02, 0.03, 0.02, 0.03, 0.025, 0.03, 0.02, -9.0]; 2];
        let p = |center| {
            StratifiedRelabelling::new(&groups, center, 4095, 1).unwrap().test(0.0).unwrap().p
        };
        assert!(p(Center::Typical) < 0.01 && p(Center::Mean) > 0.2);
    }

    #[test]
    fn many_pairs_are_relabelled_in_units_of_one_group() {
        let groups = [vec![0.01; 1500], vec![0.02; 2], vec![0.0; 700]];
        let test = StratifiedRelabelling::new(&groups, Center::Typical, 1999, 1).unwrap();
        assert_eq!((test.unit, test.orbit.n_pairs()), (3, 500 + 1 + 234));
        assert_eq!(test.test(0.0).unwrap(), StratifiedTest { t: 1502.0, p: 1.0 / 2000.0 });
        assert!(test.test(f64::NAN).is_err());
        assert!(StratifiedRelabelling::new(&[], Center::Typical, 1, 1).is_err());
    }
}
