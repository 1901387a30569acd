//! The decision on a ratio that was measured on many machines.

use super::{Center, RandomEffects, StratifiedRelabelling, centers};
use crate::interval::Interval;
use crate::invalid::{Invalid, between};
use crate::relabel::accepted_interval;

/// Error of an end of an interval, as a fraction of the interval of the random effects.
const END_ERROR: f64 = 1e-6;

/// Test of one log ratio across groups: "different" only if two tests agree on it.
///
/// - The random-effects test ([`RandomEffects`]) protects against groups that differ. A ratio that
///   holds on one machine only, however surely, is no result about machines like these. Its
///   Student's t is an approximation for few groups with unequal and heavy-tailed noise.
/// - The re-labelling test ([`StratifiedRelabelling`]) protects against the noise. If both arms are
///   the same program on every machine, its p-value is exact. It says nothing of other machines.
///
/// So if both arms are the same program everywhere, "different" has a probability of at most alpha,
/// whatever the noise. If the groups differ around a mean ratio of 1, the rate is the
/// random-effects test's. Calibration, with the rates before and after:
/// `tests/calibration/together.rs`.
#[derive(Clone, Debug)]
pub struct PooledTest {
    effects: RandomEffects,
    effects_p: f64,
    relabelling: StratifiedRelabelling,
    relabelling_p: f64,
}

impl PooledTest {
    /// Both tests of `groups`, which hold the log ratio new / reference of each pair. `draws` is
    /// the number of re-labellings; [`crate::relabel::draws`] says how many an alpha needs.
    ///
    /// Fails below 2 groups, and as [`centers`], [`RandomEffects::of`] and
    /// [`StratifiedRelabelling::new`].
    ///
    /// ```
    /// use stillwell_stats::pooled::{Center, PooledTest};
    /// let groups = [vec![0.02, 0.05, -0.01, 0.04], vec![0.03, 0.01, 0.02, 0.06, 0.02]];
    /// let found = PooledTest::new(&groups, Center::Mean, 1999, 1).unwrap();
    /// assert_eq!(found.relabelling_p(), 4.0 / 512.0); // scipy, see StratifiedRelabelling
    /// assert!(found.p() == found.effects_p() && !found.is_different(0.01));
    /// ```
    pub fn new(
        groups: &[Vec<f64>],
        center: Center,
        draws: usize,
        seed: u64,
    ) -> Result<Self, Invalid> {
        let effects = RandomEffects::of(&centers(groups, center)?)?;
        let effects_p = effects.test()?.p;
        let relabelling = StratifiedRelabelling::new(groups, center, draws, seed)?;
        let mut test = Self { effects, effects_p, relabelling, relabelling_p: 1.0 };
        test.relabelling_p = test.relabelling_p_at(0.0)?;
        Ok(test)
    }

    /// The random-effects mean.
    pub fn effects(&self) -> &RandomEffects {
        &self.effects
    }

    /// p-value of the random-effects test.
    pub fn effects_p(&self) -> f64 {
        self.effects_p
    }

    /// p-value of the re-labelling test. It is 1 if the sum of the scores points the other way than
    /// the random-effects mean.
    pub fn relabelling_p(&self) -> f64 {
        self.relabelling_p
    }

    /// p-value of "no difference": the larger one of both tests.
    pub fn p(&self) -> f64 {
        self.effects_p.max(self.relabelling_p)
    }

    /// Whether both tests reject "no difference" in the same direction: `p() <= alpha`.
    pub fn is_different(&self, alpha: f64) -> bool {
        self.p() <= alpha
    }

    /// Interval of the mean at level `1 - alpha`: the log ratios that are not rejected by both
    /// tests. 0 is outside iff [`Self::is_different`].
    ///
    /// So it is at least as wide as [`RandomEffects::interval`], and has its ends if the
    /// re-labelling test rejects them. An end is infinite if there are too few pairs for alpha
    /// ([`crate::verdict::minimum_pairs`]). Fails unless `0 < alpha < 1`.
    ///
    /// ```
    /// use stillwell_stats::pooled::{Center, PooledTest};
    /// let groups = [vec![0.02, 0.05, -0.01, 0.04], vec![0.03, 0.01, 0.02, 0.06, 0.02]];
    /// let found = PooledTest::new(&groups, Center::Mean, 1999, 1).unwrap();
    /// let (wide, narrow) = (found.interval(0.01).unwrap(), found.interval(0.2).unwrap());
    /// assert!(wide.contains(0.0) && !found.is_different(0.01));
    /// assert!(!narrow.contains(0.0) && found.is_different(0.2));
    /// ```
    pub fn interval(&self, alpha: f64) -> Result<Interval, Invalid> {
        between("alpha", alpha, 0.0, 1.0)?;
        let effects = self.effects.interval(alpha)?;
        let accepts = |theta: f64| {
            effects.contains(theta) || self.relabelling_p_at(theta).is_ok_and(|p| p > alpha)
        };
        // The first step ends just outside of the random effects' interval.
        let step = effects.half_width() * (1.0 + END_ERROR);
        let tolerance = effects.half_width() * END_ERROR;
        let zero_inside = !self.is_different(alpha);
        Ok(accepted_interval(self.effects.mean, step, zero_inside, tolerance, accepts))
    }

    /// p-value of the re-labelling test at a log ratio, on the side of the random-effects mean.
    fn relabelling_p_at(&self, theta: f64) -> Result<f64, Invalid> {
        let test = self.relabelling.test(theta)?;
        Ok(if test.t * (self.effects.mean - theta) > 0.0 { test.p } else { 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;
    use crate::relabel::draws;

    /// Groups of noise on a grid, so that many log ratios are tied or 0.
    fn groups(seed: u64) -> Vec<Vec<f64>> {
        let mut stream = Stream::new(seed);
        let (n_groups, shift) = (2 + stream.below(6), 0.01 * stream.below(6) as f64);
        let grid = [1e-9, 0.01, 0.03][stream.below(3) as usize];
        let mut value = || {
            let spike = if stream.below(10) == 0 { stream.unit() - 0.5 } else { 0.0 };
            ((shift + 0.05 * (stream.unit() - 0.5) + spike) / grid).round() * grid
        };
        (0..n_groups).map(|at| (0..2 + 5 * (at % 3)).map(|_| value()).collect()).collect()
    }

    #[test]
    fn p_value_interval_and_decision_agree() {
        let (mut n_different, mut n_widened) = (0, 0);
        for seed in 0..150 {
            let center = [Center::Typical, Center::Mean][seed as usize % 2];
            let Ok(test) = PooledTest::new(&groups(seed), center, draws(0.01), seed) else {
                continue;
            };
            for alpha in [0.05, 0.01, 0.01 / 3.0] {
                let (is_different, interval) =
                    (test.is_different(alpha), test.interval(alpha).unwrap());
                assert_eq!(is_different, !interval.contains(0.0), "{seed}, {alpha}: {interval:?}");
                assert_eq!(is_different, test.p() <= alpha);
                let effects = test.effects().interval(alpha).unwrap();
                let slack = 1e-5 * effects.half_width();
                assert!(interval.lo <= effects.lo + slack && interval.hi >= effects.hi - slack);
                n_different += usize::from(is_different);
                n_widened += usize::from(interval.half_width() > 1.01 * effects.half_width());
            }
        }
        assert!(n_different > 50 && n_widened > 50, "{n_different} {n_widened}");
    }

    #[test]
    fn a_direction_that_few_pairs_show_is_no_difference() {
        // One group has nearly all pairs, and the mean of the groups is on the other side.
        let slower = || vec![0.05, 0.051, 0.049];
        let faster: Vec<f64> = (0..40).map(|at| -0.02 - 0.001 * f64::from(at % 3)).collect();
        let groups = [slower(), slower(), slower(), slower(), slower(), faster];
        let test = PooledTest::new(&groups, Center::Typical, 1999, 1).unwrap();
        assert!(test.effects().mean > 0.0);
        assert_eq!((test.relabelling_p(), test.p()), (1.0, 1.0));
        assert!(test.interval(0.5).unwrap().contains(0.0));
    }

    #[test]
    fn too_few_pairs_leave_the_interval_open() {
        let groups = [vec![0.05, 0.051, 0.049], vec![0.05, 0.0501, 0.0505]];
        let test = PooledTest::new(&groups, Center::Typical, 1999, 1).unwrap();
        assert!(test.effects_p() <= 0.01);
        assert_eq!((test.p(), test.is_different(0.01)), (2.0 / 64.0, false));
        assert_eq!(test.interval(0.01), Ok(Interval::ALL));
    }
}
