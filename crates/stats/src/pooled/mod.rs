//! One ratio measured on many machines. Machines differ, so they are a level of their own: the
//! result holds for machines like these, not only for the runs of one of them. [`PooledTest`]
//! decides.

mod stratified;
mod test;

pub use stratified::{StratifiedRelabelling, StratifiedTest};
pub use test::PooledTest;

use statrs::distribution::ContinuousCDF;

use crate::interval::Interval;
use crate::invalid::{Invalid, at_least, between};
use crate::propagate::PointEstimate;
use crate::relabel::coin_p;
use crate::sorted::{SortedSample, mean_of, sample_sd, sample_variance};
use crate::two_sample::{TTest, students_t, t_test};

/// Smallest number of values for which a group's own spread says enough about its error.
const OWN_SPREAD_MIN: usize = 8;

/// The statistic that represents a group of values.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Center {
    /// 25 % trimmed mean.
    #[default]
    Typical,
    /// Mean.
    Mean,
}

/// The center of each group with its standard error.
///
/// The error is the geometric mean of two errors: the group's own, and the shared one, which `n`
/// values with the pooled spread within the groups would have. The spread is the center's: a
/// standard deviation for [`Center::Mean`], `sqrt(n)` times the error of the trimmed mean for
/// [`Center::Typical`], which no single time can make large. A group of fewer than 8 values, or
/// without spread, has the shared error. If the pooled spread has fewer than 8 degrees of freedom,
/// the spread of all values replaces it.
///
/// The errors are the weights of the groups in [`RandomEffects`]. Weights from every group's own
/// small sample make its interval too narrow: for 8 groups of 8 to 14 values it misses in 8.6 %
/// instead of 5 %; with these errors, in 4.5 %. Fails if a group is empty, for NaN and infinity,
/// and if nothing has a spread.
///
/// ```
/// use stillwell_stats::pooled::{Center, centers};
/// let found = centers(&[vec![1.0, 3.0], vec![5.0]], Center::Mean).unwrap();
/// assert_eq!((found[0].value, found[1].value), (2.0, 5.0));
/// assert_eq!((found[0].err, found[1].err), (2.0 / 2f64.sqrt(), 2.0)); // sd of 1, 3, 5 is 2
/// ```
pub fn centers(groups: &[Vec<f64>], center: Center) -> Result<Vec<PointEstimate>, Invalid> {
    let mut centers = Vec::with_capacity(groups.len());
    for group in groups {
        let sorted = SortedSample::new(group)?;
        centers.push(match center {
            Center::Typical => (sorted.trimmed_mean(), sorted.trimmed_mean_se()),
            Center::Mean => (mean_of(group), sample_sd(group).map(|sd| sd / count(group).sqrt())),
        });
    }
    let spread = spread(groups, center)?;
    let with_error = |((value, own), group): ((f64, Result<f64, Invalid>), &Vec<f64>)| {
        let shared = spread / count(group).sqrt();
        let own = own.ok().filter(|own| group.len() >= OWN_SPREAD_MIN && *own > 0.0);
        PointEstimate { value, err: own.map_or(shared, |own| (own * shared).sqrt()) }
    };
    Ok(centers.into_iter().zip(groups).map(with_error).collect())
}

fn count(group: &[f64]) -> f64 {
    group.len() as f64
}

/// Standard deviation within the groups, or of all values if the groups are too small.
fn spread(groups: &[Vec<f64>], center: Center) -> Result<f64, Invalid> {
    let (mut squares, mut df) = (0.0, 0);
    for group in groups.iter().filter(|group| group.len() > 1) {
        let variance = match center {
            Center::Typical => SortedSample::new(group)?.trimmed_mean_se()?.powi(2) * count(group),
            Center::Mean => sample_variance(group)?,
        };
        squares += variance * (group.len() - 1) as f64;
        df += group.len() - 1;
    }
    let within = (squares / df as f64).sqrt();
    if within.is_infinite() {
        return Err(Invalid::OutOfRange { name: "variance", value: within });
    }
    if df >= OWN_SPREAD_MIN && within > 0.0 {
        return Ok(within);
    }
    let all: Vec<f64> = groups.iter().flatten().copied().collect();
    let of_all = sample_sd(&all)?;
    if of_all > 0.0 { Ok(of_all) } else { Err(Invalid::NoSpread) }
}

/// Random-effects mean of groups that differ by more than their errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomEffects {
    /// Mean of the effects, weighted by `1 / (err^2 + between^2)`.
    pub mean: f64,
    /// Standard error of the mean, from the scatter of the groups around it (Hartung & Knapp).
    pub err: f64,
    /// Standard deviation of the true effects between groups. 0 if their errors explain the
    /// scatter.
    pub between: f64,
    /// Cochran's Q: the scatter in units of the errors. About `df` if the groups do not differ.
    pub q: f64,
    /// Degrees of freedom: the number of groups minus 1.
    pub df: f64,
}

impl RandomEffects {
    /// Random-effects mean of DerSimonian & Laird (1986) with the error of Hartung & Knapp (2001).
    ///
    /// With weights `w = 1 / err^2`,
    /// `between^2 = max(0, (Q - (k - 1)) / (sum w - sum w^2 / sum w))`. Then with
    /// `w* = 1 / (err^2 + between^2)`, `mean = sum w* y / sum w*` and
    /// `err^2 = sum w* (y - mean)^2 / ((k - 1) sum w*)`.
    ///
    /// If the groups happen to agree, the error is not raised to the one of the normal theory. With
    /// Student's t that would leave no power at 2 or 3 groups, and the rates of false alarms hold
    /// without it (`tests/calibration/together.rs`). Fails below 2 groups, for NaN and infinity, an
    /// error that is not above 0, and equal values only.
    ///
    /// ```
    /// let of = |value, err| stillwell_stats::PointEstimate { value, err };
    /// let nodes = [of(0.012, 0.003), of(0.018, 0.004), of(0.031, 0.005), of(0.009, 0.002), of(0.022, 0.006)];
    /// let found = stillwell_stats::pooled::RandomEffects::of(&nodes).unwrap();
    /// // statsmodels 0.14.6: combine_effects(effect, err**2, method_re="chi2")
    /// let agrees = |a: f64, b: f64| (a - b).abs() < 1e-12 * b;
    /// assert!(agrees(found.between.powi(2), 5.155962463907605e-05)); // tau2
    /// assert!(agrees(found.q, 20.823833301928275));
    /// assert!(agrees(found.mean, 0.017382366848288602)); // mean_effect_re
    /// assert!(agrees(found.err, 0.0038671295795683408)); // sd_eff_w_re_hksj
    /// ```
    pub fn of(groups: &[PointEstimate]) -> Result<Self, Invalid> {
        let values: Vec<f64> = groups.iter().map(|group| group.value).collect();
        at_least(2, &values)?;
        for group in groups {
            between("err", group.err, 0.0, f64::INFINITY)?;
        }
        let df = count(&values) - 1.0;
        let weights = |between: f64| -> Vec<f64> {
            groups.iter().map(|group| 1.0 / (group.err.powi(2) + between)).collect()
        };
        let fixed = weights(0.0);
        let total: f64 = fixed.iter().sum();
        let squares: f64 = fixed.iter().map(|w| w * w).sum();
        let (_, q) = scatter(&values, &fixed);
        let between = ((q - df) / (total - squares / total)).max(0.0);
        let random = weights(between);
        let (mean, scatter) = scatter(&values, &random);
        let err = (scatter / (df * random.iter().sum::<f64>())).sqrt();
        if [mean, err, between, q].iter().any(|number| !number.is_finite()) {
            // The square of an error is too small or too large for a weight.
            let value = groups.iter().fold(f64::INFINITY, |least, group| least.min(group.err));
            return Err(Invalid::OutOfRange { name: "err", value });
        }
        if err > 0.0 {
            Ok(Self { mean, err, between: between.sqrt(), q, df })
        } else {
            Err(Invalid::NoSpread)
        }
    }

    /// Test of "the mean is 0", by Student's t with `df` degrees of freedom. Errors: the numbers are too large for the
    /// computation.
    pub fn test(&self) -> Result<TTest, Invalid> {
        t_test(self.mean, self.err, self.df)
    }

    /// Interval of the mean at level `1 - alpha`; 0 is outside iff `p < alpha` in [`Self::test`].
    ///
    /// Fails unless `0 < alpha < 1`.
    ///
    /// ```
    /// let of = |value, err| stillwell_stats::PointEstimate { value, err };
    /// let nodes = [of(0.012, 0.003), of(0.018, 0.004), of(0.031, 0.005), of(0.009, 0.002), of(0.022, 0.006)];
    /// let interval = stillwell_stats::pooled::RandomEffects::of(&nodes).unwrap().interval(0.05).unwrap();
    /// // statsmodels 0.14.6: conf_int(alpha=0.05, use_t=True), "random effect wls"
    /// assert!((interval.lo - 0.00664549).abs() < 5e-9 && (interval.hi - 0.02811924).abs() < 5e-9);
    /// ```
    pub fn interval(&self, alpha: f64) -> Result<Interval, Invalid> {
        between("alpha", alpha, 0.0, 1.0)?;
        let half_width = self.err * students_t(self.df)?.inverse_cdf(1.0 - alpha / 2.0);
        Ok(Interval { lo: self.mean - half_width, hi: self.mean + half_width })
    }
}

/// Weighted mean, and weighted sum of squares around it.
fn scatter(values: &[f64], weights: &[f64]) -> (f64, f64) {
    let weighted = values.iter().zip(weights);
    let mean = weighted.clone().map(|(x, w)| x * w).sum::<f64>() / weights.iter().sum::<f64>();
    (mean, weighted.map(|(x, w)| w * (x - mean).powi(2)).sum())
}

/// Outlier test of each group: does it lie where one more group like the others would? The
/// statistic is the studentised deleted residual `(y - mean) / sqrt(err^2 + between^2 + s^2)`. All
/// others give the mean, `between` and the error `s` of the normal theory (Viechtbauer & Cheung
/// 2010). The reference is Student's t with `k - 2` degrees of freedom.
///
/// Each p-value is of a single group. Adjust them with [`crate::multiplicity::holm`] before a group
/// is named. With unequal errors and 10 groups the family's rate is up to 2.6 % at 1 %. Fails below
/// 3 groups and as [`RandomEffects::of`], except for equal values.
///
/// ```
/// let of = |value| stillwell_stats::PointEstimate { value, err: 0.1 };
/// let nodes: Vec<_> = [0.0, 0.1, -0.1, 0.05, -0.05, 3.0].map(of).into();
/// let found = stillwell_stats::pooled::residuals(&nodes).unwrap();
/// assert!(found[5].p < 1e-4 && found[..5].iter().all(|group| group.p > 0.5));
/// ```
pub fn residuals(groups: &[PointEstimate]) -> Result<Vec<TTest>, Invalid> {
    let values: Vec<f64> = groups.iter().map(|group| group.value).collect();
    at_least(3, &values)?;
    let mut residuals = Vec::with_capacity(groups.len());
    for (at, group) in groups.iter().enumerate() {
        let others = [&groups[..at], &groups[at + 1..]].concat();
        let (mean, between) = match RandomEffects::of(&others) {
            Ok(others) => (others.mean, others.between),
            // All others have the same value.
            Err(Invalid::NoSpread) => (others[0].value, 0.0),
            Err(error) => return Err(error),
        };
        let weights = others.iter().map(|other| 1.0 / (other.err.powi(2) + between.powi(2)));
        let of_mean = 1.0 / weights.sum::<f64>();
        let err = (group.err.powi(2) + between.powi(2) + of_mean).sqrt();
        residuals.push(t_test(group.value - mean, err, count(&values) - 2.0)?);
    }
    Ok(residuals)
}

/// Sign test: the two-sided p-value of `n_above` heads in `n` tosses of a fair coin. It is the
/// probability that so many groups agree on a direction if there is none.
///
/// Arbuthnott (1710). It assumes nothing about sizes and errors, and needs at least 6 groups to
/// reject at 5 %. Fails if `n` is 0 or below `n_above`.
///
/// ```
/// // scipy: binomtest(1, 8).pvalue
/// assert!((stillwell_stats::pooled::sign_test(1, 8).unwrap() - 0.0703125).abs() < 1e-12);
/// assert_eq!(stillwell_stats::pooled::sign_test(4, 8), Ok(1.0));
/// ```
pub fn sign_test(n_above: usize, n: usize) -> Result<f64, Invalid> {
    if n == 0 {
        return Err(Invalid::Empty);
    }
    if n_above > n {
        return Err(Invalid::OutOfRange { name: "number above", value: n_above as f64 });
    }
    Ok(coin_p(n_above, n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    fn of(value: f64, err: f64) -> PointEstimate {
        PointEstimate { value, err }
    }

    #[test]
    fn groups_of_one_value_are_weighed_alike() {
        let groups = [vec![0.01], vec![0.03], vec![0.02]];
        let found = RandomEffects::of(&centers(&groups, Center::Typical).unwrap()).unwrap();
        // The t-test of three values.
        let values = [0.01, 0.03, 0.02];
        assert!((found.mean - 0.02).abs() < 1e-15);
        assert!((found.err - sample_sd(&values).unwrap() / 3f64.sqrt()).abs() < 1e-15);
        assert_eq!(found.between, 0.0);
    }

    #[test]
    fn a_group_of_many_values_is_weighed_by_its_own_spread_too() {
        let mut stream = Stream::new(1);
        let mut noisy =
            |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| scale * stream.unit()).collect() };
        let groups = [noisy(40, 1.0), noisy(40, 10.0), noisy(4, 1.0)];
        let found = centers(&groups, Center::Typical).unwrap();
        let own = |at: usize| SortedSample::new(&groups[at]).unwrap().trimmed_mean_se().unwrap();
        // The error of 40 values with the common spread. In logs, the ratio of the errors is half
        // as large.
        let shared = found[2].err * (4.0_f64 / 40.0).sqrt();
        for at in [0, 1] {
            assert!((found[at].err - (own(at) * shared).sqrt()).abs() < 1e-12);
        }
        assert!(found[1].err > 2.0 * found[0].err);
    }

    #[test]
    fn input_without_a_result_is_refused() {
        assert_eq!(centers(&[vec![]], Center::Mean), Err(Invalid::Empty));
        assert_eq!(centers(&[vec![1.0, 1.0], vec![1.0]], Center::Mean), Err(Invalid::NoSpread));
        let refused = |groups: &[PointEstimate]| RandomEffects::of(groups).unwrap_err();
        assert_eq!(refused(&[of(1.0, 1.0)]), Invalid::TooFew { need: 2, got: 1 });
        assert_eq!(refused(&[of(1.0, 1.0); 3]), Invalid::NoSpread);
        assert!(matches!(refused(&[of(1.0, 0.0), of(2.0, 1.0)]), Invalid::OutOfRange { .. }));
        assert_eq!(refused(&[of(f64::NAN, 1.0), of(2.0, 1.0)]), Invalid::NotFinite { index: 0 });
        assert_eq!(residuals(&[of(1.0, 1.0); 2]), Err(Invalid::TooFew { need: 3, got: 2 }));
        assert!(sign_test(3, 2).is_err() && sign_test(0, 0).is_err());
    }
}
