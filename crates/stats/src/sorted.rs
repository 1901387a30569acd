//! Summaries of one sample: order statistics, moments and the coefficient of variation.

use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::function::beta::beta_reg;

use crate::interval::Interval;
use crate::invalid::{Invalid, at_least, finite};

/// A sample in ascending order. It is finite and has at least one value.
///
/// The constructor sorts and checks the values once, so no summary can fail on its input. Each
/// summary takes O(n) or less.
#[derive(Clone, Debug, PartialEq)]
pub struct SortedSample(Vec<f64>);

impl SortedSample {
    /// Sorts `xs` (any order, any unit). Fails on an empty slice, NaN and infinity.
    pub fn new(xs: &[f64]) -> Result<Self, Invalid> {
        finite(xs)?;
        let mut sorted = xs.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Ok(Self(sorted))
    }

    /// The values, ascending.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// Number of values, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a SortedSample is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Smallest value.
    pub fn min(&self) -> f64 {
        self.0[0]
    }

    /// Largest value.
    pub fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// Quantile `p`, in the unit of the sample; `p` is clamped to `[0, 1]`.
    ///
    /// Hyndman & Fan (1996), definition 7 (default of R and numpy): linear interpolation at
    /// position `(n - 1) p`, counted from 0.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 2.0]).unwrap();
    /// assert_eq!(xs.quantile(0.25), 1.5); // tests/vectors/location.json
    /// ```
    pub fn quantile(&self, p: f64) -> f64 {
        let at = (self.len() - 1) as f64 * p.clamp(0.0, 1.0);
        let below = self.0[at as usize];
        let above = self.0[(at.ceil() as usize).min(self.len() - 1)];
        let step = above - below;
        if step.is_finite() {
            return below + step * at.fract();
        }
        below * (1.0 - at.fract()) + above * at.fract()
    }

    /// Interval of quantile `p` of the distribution that the values come from, between two of them. It
    /// misses on each side with probability at most `alpha / 2`, whatever the distribution is.
    ///
    /// The number of values below the quantile is binomial; its quantiles are the ranks of the ends (Conover,
    /// "Practical Nonparametric Statistics", 3rd edition, section 3.2). Valid for
    /// independent values. `None` if the sample does not reach so far: see [`quantile_needs`]. Fails
    /// unless `0 < p < 1` and `0 < alpha < 1`.
    ///
    /// ```
    /// let xs: Vec<f64> = (1..=100).map(f64::from).collect();
    /// let found = stillwell_stats::SortedSample::new(&xs).unwrap().quantile_interval(0.9, 0.05).unwrap();
    /// // R: qbinom(c(0.025, 0.975), 100, 0.9) + c(0, 1)
    /// assert_eq!(found, Some(stillwell_stats::Interval { lo: 84.0, hi: 96.0 }));
    /// ```
    pub fn quantile_interval(&self, p: f64, alpha: f64) -> Result<Option<Interval>, Invalid> {
        let n = self.len();
        if n < quantile_needs(p, alpha)? {
            return Ok(None);
        }
        let out_of_range = |_| Invalid::OutOfRange { name: "quantile", value: p };
        let below = Binomial::new(p, n as u64).map_err(out_of_range)?;
        // X_(l) is above the quantile if fewer than l values are below, X_(u) below it if at least u are.
        let lo = below.inverse_cdf(alpha / 2.0) as usize;
        let hi = below.inverse_cdf(1.0 - alpha / 2.0) as usize + 1;
        let is_inside = lo >= 1 && hi <= n;
        Ok(is_inside.then(|| Interval { lo: self.0[lo - 1], hi: self.0[hi - 1] }))
    }

    /// Quantile 1/2: the middle value, or the mean of the two middle values.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 4.0, 1.5]).unwrap();
    /// assert_eq!(xs.median(), 2.25); // (1.5 + 3) / 2
    /// ```
    pub fn median(&self) -> f64 {
        let n = self.len();
        self.0[(n - 1) / 2].midpoint(self.0[n / 2])
    }

    /// Mean of the `ceil(fraction n)` smallest values (at least one), in the unit of the sample.
    ///
    /// With 0.2 this is "low20", an estimate of the floor that averages more than one run.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 4.0, 1.5, 5.0]).unwrap();
    /// assert_eq!(xs.low_mean(0.2), 1.0);
    /// assert_eq!(xs.low_mean(0.25), 1.25);
    /// ```
    pub fn low_mean(&self, fraction: f64) -> f64 {
        mean_of(&self.0[..low_count(self.len(), fraction)])
    }

    /// 25 % trimmed mean, in the unit of the sample. `floor(n / 4)` values are cut at each end.
    ///
    /// Tukey & McLaughlin (1963). It follows the bulk of the runs and ignores both tails.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 4.0, 1.5, 5.0]).unwrap();
    /// assert_eq!(xs.trimmed_mean(), 2.8333333333333335); // tests/vectors/all-in-one.json
    /// ```
    pub fn trimmed_mean(&self) -> f64 {
        let cut = self.len() / 4;
        mean_of(&self.0[cut..self.len() - cut])
    }

    /// Standard error of [`SortedSample::trimmed_mean`], `s_w sqrt(n) / h`. `s_w` is the sample sd
    /// with each cut value moved to the nearest kept one, and `h` is the number of kept values.
    ///
    /// Tukey & McLaughlin (1963), with the fraction that is really cut. Valid for independent runs.
    /// Fails for `n < 2`.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 2.0]).unwrap();
    /// let se = xs.trimmed_mean_se().unwrap();
    /// assert!((se - 0.5773502691896258).abs() < 1e-12); // 1 / sqrt(3)
    /// ```
    pub fn trimmed_mean_se(&self) -> Result<f64, Invalid> {
        let (n, cut) = (self.len(), self.len() / 4);
        let (lo, hi) = (self.0[cut], self.0[n - 1 - cut]);
        let winsorized: Vec<f64> = self.0.iter().map(|x| x.clamp(lo, hi)).collect();
        Ok(sample_sd(&winsorized)? * (n as f64).sqrt() / (n - 2 * cut) as f64)
    }

    /// Harrell-Davis quantile `p`, in the unit of the sample: `sum w_i x_(i)`. The weight `w_i` is
    /// the mass of Beta((n + 1) p, (n + 1)(1 - p)) on `[(i - 1)/n, i/n]`.
    ///
    /// Harrell & Davis (1982). It is smoother than [`SortedSample::quantile`] at small n. Fails
    /// unless `0 < p < 1`.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 2.0]).unwrap();
    /// let hd10 = xs.harrell_davis(0.1).unwrap();
    /// assert!((hd10 - 1.0796351285805423).abs() < 1e-12); // tests/vectors/location.json
    /// ```
    pub fn harrell_davis(&self, p: f64) -> Result<f64, Invalid> {
        Ok(harrell_davis_weights(self.len(), p)?.iter().zip(&self.0).map(|(w, x)| w * x).sum())
    }
}

/// Smallest number of values with an interval of quantile `p`: the smallest `n` with `p^n` and
/// `(1 - p)^n` at most `alpha / 2`. In fewer, all values may well be on one side of the quantile.
///
/// Fails unless `0 < p < 1` and `0 < alpha < 1`.
///
/// ```
/// use stillwell_stats::quantile_needs;
/// assert_eq!([0.5, 0.9, 0.95, 0.99].map(|p| quantile_needs(p, 0.05).unwrap()), [6, 36, 72, 368]);
/// ```
pub fn quantile_needs(p: f64, alpha: f64) -> Result<usize, Invalid> {
    crate::invalid::between("quantile", p, 0.0, 1.0)?;
    crate::invalid::between("alpha", alpha, 0.0, 1.0)?;
    Ok(((alpha / 2.0).ln() / p.max(1.0 - p).ln()).ceil() as usize)
}

/// The `n` Harrell-Davis weights of quantile `p`. They depend on the sample only through `n`.
pub(crate) fn harrell_davis_weights(n: usize, p: f64) -> Result<Vec<f64>, Invalid> {
    crate::invalid::between("quantile", p, 0.0, 1.0)?;
    let (a, b) = ((n + 1) as f64 * p, (n + 1) as f64 * (1.0 - p));
    let mass: Vec<f64> = (0..=n).map(|i| beta_reg(a, b, i as f64 / n as f64)).collect();
    // The mass up to 1 is 1 by definition; the series for it may have a rounding error.
    Ok((0..n).map(|i| if i + 1 == n { 1.0 - mass[i] } else { mass[i + 1] - mass[i] }).collect())
}

/// `ceil(fraction n)` within `1..=n`.
pub(crate) fn low_count(n: usize, fraction: f64) -> usize {
    // 0.2 * 35 is 7.000000000000001 in binary. The slack keeps that at 7.
    ((fraction * n as f64 - 1e-9).ceil() as usize).clamp(1, n)
}

/// Median of a non-empty slice, which this function reorders. It takes O(n); sorting the n^2 pairs
/// of a series would take longer than all other steps together.
pub(crate) fn median_of(xs: &mut [f64]) -> f64 {
    let is_odd = xs.len() % 2 == 1;
    let (below, &mut middle, _) = xs.select_nth_unstable_by(xs.len() / 2, f64::total_cmp);
    if is_odd {
        return middle;
    }
    below.iter().copied().fold(f64::NEG_INFINITY, f64::max).midpoint(middle)
}

/// Arithmetic mean of a non-empty slice.
pub(crate) fn mean_of(xs: &[f64]) -> f64 {
    let (sum, n) = (xs.iter().sum::<f64>(), xs.len() as f64);
    // The sum of large values can overflow although their mean does not.
    if sum.is_finite() { sum / n } else { xs.iter().map(|x| x / n).sum() }
}

/// Arithmetic mean, in the unit of the sample. Fails on an empty slice, NaN and infinity.
///
/// ```
/// assert_eq!(stillwell_stats::mean(&[3.0, 1.0, 2.0]), Ok(2.0));
/// ```
pub fn mean(xs: &[f64]) -> Result<f64, Invalid> {
    finite(xs)?;
    Ok(mean_of(xs))
}

/// [`SortedSample::median`] of one slice. Fails like [`SortedSample::new`].
pub fn median(xs: &[f64]) -> Result<f64, Invalid> {
    Ok(SortedSample::new(xs)?.median())
}

/// Sum of squared deviations from the mean, the numerator of every variance.
pub(crate) fn squares_about_mean(xs: &[f64]) -> f64 {
    let center = mean_of(xs);
    xs.iter().map(|x| (x - center).powi(2)).sum()
}

/// The power of two below the largest size in `xs`. Dividing by it changes no digit, and the
/// squares of the quotients neither overflow nor vanish.
pub(crate) fn binary_unit(xs: &[f64]) -> f64 {
    let largest = xs.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let exponent = (largest.to_bits() >> 52).clamp(1, 2045);
    f64::from_bits(exponent << 52)
}

/// `sqrt(sum of squared deviations / divisor)`, in the unit of a non-empty finite sample.
pub(crate) fn spread_about_mean(xs: &[f64], divisor: f64) -> f64 {
    let unit = binary_unit(xs);
    let scaled: Vec<f64> = xs.iter().map(|x| x / unit).collect();
    unit * (squares_about_mean(&scaled) / divisor).sqrt()
}

/// Sample variance (divisor `n - 1`). Fails for `n < 2`, and if the square of the standard
/// deviation is too large or too small for a number.
pub(crate) fn sample_variance(xs: &[f64]) -> Result<f64, Invalid> {
    at_least(2, xs)?;
    let variance = squares_about_mean(xs) / (xs.len() - 1) as f64;
    if variance.is_normal() || sample_sd(xs)? == 0.0 {
        return Ok(variance);
    }
    Err(Invalid::OutOfRange { name: "variance", value: variance })
}

/// Sample standard deviation (divisor `n - 1`), in the unit of the sample. Fails for `n < 2`.
///
/// ```
/// // tests/vectors/all-in-one.json
/// assert_eq!(stillwell_stats::sample_sd(&[3.0, 1.0, 4.0, 1.5, 5.0]), Ok(1.6733200530681511));
/// ```
pub fn sample_sd(xs: &[f64]) -> Result<f64, Invalid> {
    at_least(2, xs)?;
    Ok(spread_about_mean(xs, (xs.len() - 1) as f64))
}

/// Coefficient of variation, sample sd / mean, dimensionless. Fails for `n < 2`, and for a mean of
/// zero or one that is lost beside the deviation.
///
/// ```
/// assert_eq!(stillwell_stats::cv(&[3.0, 1.0, 2.0]), Ok(0.5));
/// ```
pub fn cv(xs: &[f64]) -> Result<f64, Invalid> {
    let (sd, center) = (sample_sd(xs)?, mean_of(xs));
    let ratio = sd / center;
    if ratio.is_finite() {
        Ok(ratio)
    } else {
        Err(Invalid::OutOfRange { name: "mean", value: center })
    }
}
