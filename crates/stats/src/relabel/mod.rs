//! The comparison of two arms that ran in pairs, by re-labelling.
//!
//! Each pair is two runs back to back, one of the reference and one of the new arm. A fair coin
//! decides their order. If both arms are the same program, every other outcome of the coins was
//! equally likely, whatever the machine did: drift, bursts and position effects included. So the
//! p-value is the share of re-labellings that are at least as extreme as the observed one. It is
//! exact without any assumption on the noise. The interval holds the ratios that the same test does
//! not reject.
//!
//! Three statistics detect different kinds of change. The test uses the one with the tightest
//! distribution over the re-labellings. That choice does not depend on the labels, so the test
//! stays exact.
//!
//! One evaluation is O(n) for each re-labelling after an O(n log n) sort. An interval costs as much
//! as ten to twenty evaluations. Time grows with pairs times re-labellings, memory with their sum.

mod groups;
mod joint;
mod linear;
mod orbit;
mod pairs;
mod search;
mod statistic;
mod tail;

pub use orbit::{Orbit, draws};
pub use pairs::Pairs;
pub(crate) use search::interval as accepted_interval;
pub use statistic::Statistic;
pub use tail::SlowRuns;

pub(crate) use joint::{Estimate, JointLook, JointTest, invert};
pub(crate) use linear::LabelledSum;
pub(crate) use tail::coin_p;

use crate::interval::Interval;
use crate::invalid::{Invalid, between};

/// Relative difference that sums of the same times in different orders can have.
const ROUNDING: f64 = 1e-12;
/// Absolute difference of the same: the sum of two arms is large beside their difference. No two
/// programs differ by a log ratio as small.
const ROUNDING_LOG: f64 = 1e-13;

/// The size from which on a statistic is as extreme as one of this size.
fn as_extreme(size: f64) -> f64 {
    size * (1.0 - ROUNDING) - ROUNDING_LOG
}

/// Estimand: the part of the distribution that a comparison is about.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Estimand {
    /// Typical time or floor, whichever these pairs resolve better.
    #[default]
    Adaptive,
    /// The typical time.
    Typical,
    /// The floor, local or global, whichever these pairs resolve better.
    Floor,
    /// The mean, which is the total cost with spikes included.
    Mean,
}

impl Estimand {
    /// The statistics from which a test selects.
    pub fn statistics(self) -> &'static [Statistic] {
        match self {
            Self::Adaptive => &[
                Statistic::Typical,
                Statistic::LocalFloor,
                Statistic::Floor,
                Statistic::GeometricMean,
            ],
            Self::Typical => &[Statistic::Typical],
            Self::Floor => &[Statistic::LocalFloor, Statistic::Floor],
            Self::Mean => &[Statistic::Mean],
        }
    }
}

/// The observed value of one statistic, with its distribution over the re-labellings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObservedStatistic {
    /// The statistic.
    pub statistic: Statistic,
    /// Observed value: an estimate of the log ratio new / reference, minus the tested one.
    pub t: f64,
    /// 90 % order quantile of the size over the re-labellings, the `ceil(0.9 R)`-th smallest.
    pub q90: f64,
    /// Share of re-labellings whose size is at least the observed one.
    pub p: f64,
}

/// The test of one log ratio.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioTest {
    /// Exact p-value of the selected statistic.
    pub p: f64,
    /// The statistic with the smallest `q90`. Among equal ones (up to rounding), the first.
    pub selected: ObservedStatistic,
    /// All statistics that could have been selected.
    pub scores: Vec<ObservedStatistic>,
    /// Slot 2 / slot 1 log ratio that was removed from all times. 0 below 24 pairs or if small.
    pub position: f64,
    /// Number of re-labellings, the observed one included.
    pub n_labellings: usize,
}

/// A comparison: test of "no difference", estimate and interval, which always agree.
#[derive(Clone, Debug, PartialEq)]
pub struct PairedComparison {
    /// Test of a log ratio of 0.
    pub test: RatioTest,
    /// Estimated log ratio new / reference.
    pub theta: f64,
    /// The statistic of `theta`. The test of 0 may select another one.
    pub statistic: Statistic,
    /// The log ratios around the estimate that the test does not reject at `alpha`. 0 is inside iff
    /// `test.p > alpha`.
    pub interval: Interval,
    /// One minus the level of `interval`.
    pub alpha: f64,
}

/// Whether the two arms differ by one ratio at all speeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioShape {
    /// Log ratio of the typical times.
    pub typical: f64,
    /// Log ratio of the floors.
    pub floor: f64,
    /// p-value of "typical time and floor changed by the same ratio".
    pub p: f64,
}

impl RatioShape {
    /// Whether to show both ratios and to withhold "same": `p <= 1 %`.
    pub fn is_uneven(&self) -> bool {
        self.p <= 0.01
    }
}

/// The `ceil(p R)`-th smallest of R values. It reorders them.
pub(crate) fn order_quantile(values: &mut [f64], p: f64) -> f64 {
    let at = quantile_rank(values.len(), p);
    *values.select_nth_unstable_by(at, f64::total_cmp).1
}

/// Number of values below their [`order_quantile`], out of `n`.
fn quantile_rank(n: usize, p: f64) -> usize {
    // Rounding may put 0.9 times a whole number above the next whole number.
    let rank = (p * n as f64 - 1e-9).ceil() as usize;
    rank.max(1) - 1
}

/// Index of the smallest 90 % quantile. Among equal ones (up to rounding), the first.
fn closest(q90s: impl Iterator<Item = f64>) -> usize {
    let closer = |(at, q90): (usize, f64), (other, least): (usize, f64)| {
        if q90 < least * (1.0 - ROUNDING) { (at, q90) } else { (other, least) }
    };
    q90s.enumerate().reduce(|least, next| closer(next, least)).map_or(0, |(at, _)| at)
}

fn score(statistic: Statistic, values: &[f64]) -> ObservedStatistic {
    let t = values[0];
    let mut sizes: Vec<f64> = values.iter().map(|v| v.abs()).collect();
    let bound = as_extreme(t.abs());
    let p = sizes.iter().filter(|&&size| size >= bound).count() as f64 / sizes.len() as f64;
    ObservedStatistic { statistic, t, q90: order_quantile(&mut sizes, 0.9), p }
}

impl Pairs {
    /// Exact test of "the log ratio new / reference is `theta`".
    ///
    /// The p-value is the share of re-labellings whose statistic is at least as large in size as
    /// the observed one (Fisher 1935, section 21). The statistic is the one with the smallest 90 %
    /// quantile of its size over the same re-labellings. From 24 pairs on, the test first removes a
    /// clear difference between the two slots. Fails if `orbit` is for another number of pairs, or
    /// `theta` is not finite.
    ///
    /// ```
    /// use stillwell_stats::relabel::{Orbit, Pairs, Statistic};
    /// let pairs = Pairs::new(
    ///     &[1543922., 1550878., 1582494., 1592809., 1846639., 1527248., 1589950., 1548132.],
    ///     &[1606561., 1615766., 1522427., 1550528., 1551028., 1750235., 1511075., 1674472.],
    ///     &[false, false, true, true, true, false, true, false],
    /// ).unwrap();
    /// let orbit = Orbit::new(8, 999, 7).unwrap();
    /// let test = pairs.test(&orbit, &[Statistic::Typical], 0.0).unwrap();
    /// assert_eq!(test.p, 0.03125); // tests/vectors/compare.json: 8 of 256
    /// ```
    pub fn test(
        &self,
        orbit: &Orbit,
        statistics: &[Statistic],
        theta: f64,
    ) -> Result<RatioTest, Invalid> {
        self.check(orbit)?;
        between("theta", theta, f64::NEG_INFINITY, f64::INFINITY)?;
        Ok(self.evaluate(orbit, statistics, theta).0)
    }

    /// Test, estimate and interval at level `1 - alpha` of the log ratio new / reference.
    /// `tolerance`, a log ratio, is the error of the interval ends.
    ///
    /// The estimate starts at the first statistic. Three times, it lowers the new arm by the
    /// estimate and adds the statistic that is selected there. If two statistics then still select
    /// each other, it is the one of all that the test accepts best; if none fits, or not in the
    /// direction in which 0 is rejected, the statistic that tested 0. The interval then inverts the test
    /// of this statistic alone, and its coverage is not proved but at 0. Else the interval inverts
    /// [`Pairs::test`] with the same re-labellings for all ratios. An end that no ratio reaches is infinite, as
    /// with fewer pairs than [`crate::verdict::minimum_pairs`].
    ///
    /// If the selected statistic changes with the ratio, the accepted set can have gaps. An island
    /// beyond a gap is left out, unless it holds 0. In simulations that costs less than half a
    /// percent of coverage, and more only where most times tie. Fails as [`Pairs::test`], and
    /// unless `0 < alpha < 1`.
    ///
    /// ```
    /// use stillwell_stats::relabel::{Estimand, Orbit, Pairs};
    /// let pairs = Pairs::new(
    ///     &[1525960., 1557349., 1976907., 1502080., 1529072., 1646588., 1513433., 1526377.],
    ///     &[1508026., 1504501., 1533869., 1506124., 1539026., 1524676., 1519796., 1585192.],
    ///     &[false, false, true, true, false, false, true, false],
    /// ).unwrap();
    /// let orbit = Orbit::new(8, 999, 7).unwrap();
    /// let found = pairs.compare(&orbit, Estimand::Adaptive.statistics(), 0.05, 1e-7).unwrap();
    /// // tests/vectors/compare.json
    /// assert!((found.interval.lo - -0.019332020320669625).abs() < 1e-6);
    /// assert!((found.interval.hi - 0.012573633600404376).abs() < 1e-6);
    /// ```
    pub fn compare(
        &self,
        orbit: &Orbit,
        statistics: &'static [Statistic],
        alpha: f64,
        tolerance: f64,
    ) -> Result<PairedComparison, Invalid> {
        between("alpha", alpha, 0.0, 1.0)?;
        let (test, estimate) = self.compared(orbit, statistics, alpha)?;
        let look = JointLook::single(self.clone(), orbit.clone());
        let is_zero_inside = test.p > alpha;
        let (interval, _) = invert(&[look], &estimate, is_zero_inside, alpha, tolerance);
        let (theta, statistic) = (estimate.theta, estimate.selected.statistic);
        Ok(PairedComparison { test, theta, statistic, interval, alpha })
    }

    /// Log ratio of the mean times.
    ///
    /// ```
    /// use stillwell_stats::relabel::Pairs;
    /// let pairs = Pairs::new(&[1.0, 1.0], &[1.0, 3.0], &[false, false]).unwrap();
    /// assert!((pairs.mean_ratio() - 2f64.ln()).abs() < 1e-12);
    /// ```
    pub fn mean_ratio(&self) -> f64 {
        Statistic::Mean.walk(&self.slots).value(&self.labels)
    }

    /// Test of "typical time and floor changed by the same ratio": the re-labelling test of
    /// `D = Typical - Floor` after the new arm is lowered by the typical log ratio.
    ///
    /// A slowdown of some runs only, such as a slow path, moves the typical time and not the floor.
    /// Fails as [`Pairs::test`].
    ///
    /// ```
    /// use stillwell_stats::relabel::{Orbit, Pairs};
    /// let half_slow: Vec<f64> = (0..40).map(|j| if j % 2 == 0 { 1.0 } else { 1.2 }).collect();
    /// let coins = stillwell_stats::Stream::new(1).bits(40);
    /// let of = |j: usize, new| if coins[j] == new { half_slow[j] } else { 1.0 };
    /// let slot = |new| (0..40).map(|j| of(j, new)).collect::<Vec<f64>>();
    /// let pairs = Pairs::new(&slot(true), &slot(false), &coins).unwrap();
    /// let shape = pairs.shape(&Orbit::new(40, 999, 7).unwrap()).unwrap();
    /// assert!(shape.is_uneven()); // the floor is the same, the typical time is not
    /// ```
    pub fn shape(&self, orbit: &Orbit) -> Result<RatioShape, Invalid> {
        let typical = self.compared(orbit, &[Statistic::Typical], 0.0)?.1.theta;
        let (slots, _) = self.centered(typical);
        let values = |s: Statistic| s.values(&slots, &self.labels, orbit);
        let (typicals, floors) = (values(Statistic::Typical), values(Statistic::Floor));
        let gaps: Vec<f64> = typicals.iter().zip(&floors).map(|(t, f)| t - f).collect();
        let p = score(Statistic::Typical, &gaps).p;
        Ok(RatioShape { typical, floor: typical + floors[0], p })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(slot1: &[f64], slot2: &[f64], coins: &[bool], alpha: f64) -> PairedComparison {
        let pairs = Pairs::new(slot1, slot2, coins).unwrap();
        let orbit = Orbit::new(coins.len(), 999, 1).unwrap();
        pairs.compare(&orbit, Estimand::Adaptive.statistics(), alpha, 1e-7).unwrap()
    }

    #[test]
    fn too_few_pairs_exclude_nothing() {
        let found = compare(&[1.0, 2.0], &[2.0, 1.0], &[true, false], 0.05);
        assert_eq!(found.interval, Interval::ALL);
        assert_eq!(found.test.p, 0.5);
    }

    /// With a constant added, the statistics differ. The reported name must fit the reported estimate.
    #[test]
    fn the_estimate_is_that_of_the_named_statistic() {
        let mut n_others = 0;
        for seed in 0..20 {
            let mut stream = crate::prng::Stream::new(seed);
            let mut time = |more: f64| 1.0 + more + 0.3 * (stream.unit() + stream.unit());
            let old: Vec<f64> = (0..60).map(|_| time(0.0)).collect();
            let new: Vec<f64> = (0..60).map(|_| time(3.0)).collect();
            let coins = [true; 60];
            let pairs = Pairs::new(&old, &new, &coins).unwrap();
            let orbit = Orbit::new(60, 199, 1).unwrap();
            let adaptive = Estimand::Adaptive.statistics();
            let found = pairs.compare(&orbit, adaptive, 0.01, 1e-3).unwrap();
            let alone: &'static [Statistic] = match found.statistic {
                Statistic::Typical => &[Statistic::Typical],
                Statistic::LocalFloor => &[Statistic::LocalFloor],
                Statistic::Floor => &[Statistic::Floor],
                _ => &[Statistic::GeometricMean],
            };
            let named = pairs.compare(&orbit, alone, 0.01, 1e-3).unwrap();
            assert!((named.theta - found.theta).abs() < 0.02, "{seed}: {named:?} {found:?}");
            n_others += u32::from(found.test.selected.statistic != found.statistic);
        }
        assert!(n_others > 0, "the test of 0 selected the same");
    }

    #[test]
    fn equal_times_have_one_ratio() {
        let found = compare(&[3.0; 10], &[3.0; 10], &[true; 10], 0.05);
        assert_eq!((found.test.p, found.theta), (1.0, 0.0));
        assert!(found.interval.contains(0.0) && found.interval.half_width() < 1e-6);
    }

    #[test]
    fn a_constant_ratio_is_found_exactly() {
        let found = compare(&[3.0; 10], &[6.0; 10], &[false; 10], 0.05);
        assert!((found.theta - 2f64.ln()).abs() < 1e-12);
        assert!(found.interval.half_width() < 1e-6 && found.test.p < 0.05);
    }

    #[test]
    fn an_orbit_of_another_size_is_refused() {
        let pairs = Pairs::new(&[1.0], &[1.0], &[true]).unwrap();
        let other = Orbit::new(2, 9, 1).unwrap();
        let found = pairs.test(&other, Estimand::Adaptive.statistics(), 0.0).unwrap_err();
        assert_eq!(found, Invalid::Lengths { left: 1, right: 2 });
    }
}
