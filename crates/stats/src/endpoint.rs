//! The floor of a program's run time: the time that the program takes without any disturbance.
//!
//! Noise only adds time, so the floor is the left end of the distribution. The estimators of this
//! module extrapolate a little below the smallest run. [`low_end`](crate::low_end) chooses one, and
//! gives it an error. The errors of other estimators come from the spread between consecutive
//! windows. Error formulas assume independent runs and are too small on real machines.

use std::f64::consts::LN_2;
use std::ops::Range;

use crate::invalid::{Invalid, finite};
use crate::propagate::PointEstimate;
use crate::sorted::{SortedSample, mean_of, sample_sd, spread_about_mean};

/// Gumbel 95 % quantile. A larger [`g_star`] rejects a finite floor.
pub const G_STAR_LIMIT: f64 = 2.970;

/// `sum_{i=1}^{k-1} log2(1 + 1/(k + i)) (X_(p + i) - X_(p))`, order statistics counted from 1.
fn spacing_below(xs: &SortedSample, k: usize, pivot: usize) -> f64 {
    let x = |i: usize| xs.as_slice()[i - 1];
    (1..k).map(|i| (1.0 + 1.0 / (k + i) as f64).log2() * (x(pivot + i) - x(pivot))).sum()
}

fn check_k(xs: &SortedSample, k: usize) -> Result<(), Invalid> {
    if k == 0 {
        return Err(Invalid::OutOfRange { name: "k", value: 0.0 });
    }
    if xs.len() / 2 < k {
        return Err(Invalid::TooFew { need: k.saturating_mul(2), got: xs.len() });
    }
    Ok(())
}

/// Left endpoint of the distribution,
/// `X_(1) - sum_{i=0}^{k-1} log2(1 + 1/(k + i)) (X_(k+1+i) - X_(k+1))`, in the unit of the sample.
/// With `k = 1` it is the minimum.
///
/// Fraga Alves & Neves (2014), Statistica Sinica 24:1811, with their right endpoint mirrored. Fails
/// unless `1 <= k <= n / 2`.
///
/// ```
/// let xs = stillwell_stats::SortedSample::new(&[1.0, 2.0, 4.0, 8.0]).unwrap();
/// let floor = stillwell_stats::endpoint::paper(&xs, 2).unwrap();
/// assert!((floor - -0.6601499971153748).abs() < 1e-12); // 1 - 4 log2(4/3)
/// ```
pub fn paper(xs: &SortedSample, k: usize) -> Result<f64, Invalid> {
    check_k(xs, k)?;
    Ok(xs.min() - spacing_below(xs, k, k + 1))
}

/// [`paper`] with a limit: it extrapolates below the minimum by at most `X_(k+1) - X_(1)`.
///
/// Where a few quiet runs are far below the loaded rest, the limit bounds the error of the
/// extrapolation. Unit and failures: see [`paper`].
///
/// ```
/// let xs = stillwell_stats::SortedSample::new(&[1.0, 2.0, 3.0, 8.0]).unwrap();
/// assert_eq!(stillwell_stats::endpoint::clamped(&xs, 2), Ok(-1.0)); // 1 - 2, not 1 - 5 log2(4/3)
/// assert_eq!(stillwell_stats::endpoint::clamped(&xs, 1), Ok(1.0));
/// ```
pub fn clamped(xs: &SortedSample, k: usize) -> Result<f64, Invalid> {
    check_k(xs, k)?;
    let reach = xs.as_slice()[k] - xs.min();
    Ok(xs.min() - spacing_below(xs, k, k + 1).min(reach))
}

/// The endpoint of the `tim` program: [`paper`] with every `X_(k+1+i)` replaced by `X_(k+i)`.
///
/// For comparisons with that program (c-blake/bu, `eve.nim`). Unit and failures: see [`paper`].
///
/// ```
/// let xs = stillwell_stats::SortedSample::new(&[1.0, 2.0, 4.0, 8.0]).unwrap();
/// let floor = stillwell_stats::endpoint::tim(&xs, 2).unwrap();
/// assert!((floor - 0.1699250014423126).abs() < 1e-12); // 1 - 2 log2(4/3)
/// ```
pub fn tim(xs: &SortedSample, k: usize) -> Result<f64, Invalid> {
    check_k(xs, k)?;
    Ok(xs.min() - spacing_below(xs, k, k))
}

/// The output of `tim -n<n> -k<k>` for runs `xs` in run order. The value is [`tim`] with `2 k` over
/// all runs. The error is the population sd of [`tim`] with `k` over consecutive windows of `n`
/// runs.
///
/// Runs after the last whole window are left out, because `tim` makes none. Fails unless
/// `n >= 2 k >= 2` and whole windows hold at least `4 k` runs.
///
/// ```
/// let xs = [10.0, 12.0, 11.0, 14.0, 10.5, 13.0];
/// let floor = stillwell_stats::endpoint::tim_emin(&xs, 3, 1).unwrap();
/// assert_eq!(floor.err, 0.25); // population sd of 10 and 10.5
/// ```
pub fn tim_emin(xs: &[f64], n: usize, k: usize) -> Result<PointEstimate, Invalid> {
    let need = k.saturating_mul(2).max(2);
    if n < need {
        return Err(Invalid::TooFew { need, got: n });
    }
    let whole = xs.len() - xs.len() % n;
    let value = tim(&SortedSample::new(&xs[..whole])?, 2 * k)?;
    let minima: Vec<f64> = xs
        .chunks_exact(n)
        .map(|window| tim(&SortedSample::new(window)?, k))
        .collect::<Result<_, Invalid>>()?;
    let err = spread_about_mean(&minima, minima.len() as f64);
    Ok(PointEstimate { value, err })
}

/// Test statistic for a finite floor, dimensionless:
/// `ln 2 (X_(k+1) - t) / (X_(2k+1) - X_(k+1)) - (ln k + ln 2 / 2)` with `t` = [`paper`].
///
/// Fraga Alves, Neves & Rosário (2017), arXiv:1412.3972, mirrored. It follows the Gumbel
/// distribution if the tail is exponential, so a value above [`G_STAR_LIMIT`] rejects a finite
/// floor at 5 %. Fails unless `1 <= k` and `n >= 2 k + 1`, and if `X_(2k+1) = X_(k+1)`.
///
/// ```
/// let xs = stillwell_stats::SortedSample::new(&[1.0, 2.0, 4.0, 8.0]).unwrap();
/// assert_eq!(stillwell_stats::endpoint::g_star(&xs, 1), Ok(0.0));
/// ```
pub fn g_star(xs: &SortedSample, k: usize) -> Result<f64, Invalid> {
    let floor = paper(xs, k)?;
    if xs.len() < 2 * k + 1 {
        return Err(Invalid::TooFew { need: 2 * k + 1, got: xs.len() });
    }
    let (pivot, far) = (xs.as_slice()[k], xs.as_slice()[2 * k]);
    if far == pivot {
        return Err(Invalid::NoSpread);
    }
    Ok(LN_2 * (pivot - floor) / (far - pivot) - ((k as f64).ln() + LN_2 / 2.0))
}

/// [`clamped`] where [`g_star`] accepts a finite floor, else the minimum. Nothing else justifies a
/// floor below all runs. In the unit of the sample.
///
/// ```
/// let xs = stillwell_stats::SortedSample::new(&[1.0, 2.0, 4.0, 8.0]).unwrap();
/// assert_eq!(stillwell_stats::endpoint::tested(&xs, 2), 1.0);
/// ```
pub fn tested(xs: &SortedSample, k: usize) -> f64 {
    let is_tested = g_star(xs, k).is_ok_and(|g| g <= G_STAR_LIMIT);
    if is_tested { clamped(xs, k).unwrap_or(xs.min()) } else { xs.min() }
}

/// Order of the endpoint for `n` runs. Large orders reach into the loaded runs.
pub(crate) fn default_k(n: usize) -> usize {
    match n {
        ..4 => 1,
        4..60 => 2,
        _ => 3,
    }
}

/// Number of windows for `n` runs: 10 from 120 runs on, 6 from 36, 4 from 16, else 3.
///
/// With six windows, 4.7 % of session pairs on a machine with changing load were more than two
/// combined errors apart; with ten windows, 2.6 % (docs/methodology.md, "t0 and its error"). The
/// reason is that the sd of six values is itself uncertain.
pub(crate) fn window_count(n: usize) -> usize {
    match n {
        ..16 => 3,
        16..36 => 4,
        36..120 => 6,
        _ => 10,
    }
}

/// The places of `n` runs in `count` consecutive windows. The windows have all runs, and their
/// lengths differ by at most one.
pub(crate) fn windows(n: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).map(move |at| at * n / count..(at + 1) * n / count)
}

/// Error of any estimator on runs `xs` in run order, in the unit of the sample. It is the sample sd
/// of the estimates in W consecutive windows, with W = 10 (n >= 120), 6 (n >= 36), 4 (n >= 16) or 3.
/// The windows have all runs, and their lengths differ by at most one.
///
/// The sd is not divided by the root of W: on autocorrelated noise the divided error is too small.
/// Fails below 6 runs and on NaN or infinity.
///
/// ```
/// let xs = [3.0, 1.0, 4.0, 1.5, 5.0, 2.0];
/// assert_eq!(stillwell_stats::endpoint::window_err(&xs, stillwell_stats::SortedSample::median), Ok(0.75)); // 2, 2.75, 3.5
/// ```
pub fn window_err(xs: &[f64], estimate: impl Fn(&SortedSample) -> f64) -> Result<f64, Invalid> {
    Ok(window_errs(xs, |window| [estimate(window)])?[0])
}

/// [`window_err`] of several estimates at once. Each window is sorted once for all of them.
///
/// Failures: see [`window_err`].
pub fn window_errs<const N: usize>(
    xs: &[f64],
    estimates: impl Fn(&SortedSample) -> [f64; N],
) -> Result<[f64; N], Invalid> {
    finite(xs)?;
    if xs.len() < 6 {
        return Err(Invalid::TooFew { need: 6, got: xs.len() });
    }
    let values: Vec<[f64; N]> = windows(xs.len(), window_count(xs.len()))
        .map(|window| Ok(estimates(&SortedSample::new(&xs[window])?)))
        .collect::<Result<_, Invalid>>()?;
    let mut errs = [0.0; N];
    for (at, err) in errs.iter_mut().enumerate() {
        *err = sample_sd(&values.iter().map(|of_window| of_window[at]).collect::<Vec<_>>())?;
    }
    Ok(errs)
}

/// The estimators that summarise a set of runs in one number. [`window_err`] gives the error of
/// each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Estimator {
    /// Smallest run.
    Min,
    /// [`clamped`] endpoint, `k` as in [`LowEnd::floor`](crate::low_end::LowEnd::floor).
    Fan,
    /// [`paper`] endpoint, not clamped.
    FanRaw,
    /// Mean of the lowest 20 %.
    Low20,
    /// Middle run.
    Median,
    /// Arithmetic mean: total cost, spikes included.
    Mean,
}

impl Estimator {
    /// The estimate for one sample, in its unit. Below 2 runs every endpoint is the minimum.
    ///
    /// ```
    /// let xs = stillwell_stats::SortedSample::new(&[3.0, 1.0, 4.0, 1.5, 5.0]).unwrap();
    /// assert_eq!(stillwell_stats::endpoint::Estimator::Low20.of(&xs), 1.0);
    /// ```
    pub fn of(self, xs: &SortedSample) -> f64 {
        let k = default_k(xs.len());
        match self {
            Self::Min => xs.min(),
            Self::Fan => clamped(xs, k).unwrap_or(xs.min()),
            Self::FanRaw => paper(xs, k).unwrap_or(xs.min()),
            Self::Low20 => xs.low_mean(0.2),
            Self::Median => xs.median(),
            Self::Mean => mean_of(xs.as_slice()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_counts_in_an_error() {
        for n in [6, 17, 40, 119, 129] {
            for slow in 0..n {
                let mut xs = vec![1.0; n];
                xs[slow] = 3.0;
                let err = window_err(&xs, |window| Estimator::Mean.of(window)).unwrap();
                assert!(err > 0.0, "run {slow} of {n}");
            }
        }
    }
}
