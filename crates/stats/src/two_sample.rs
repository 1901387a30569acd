//! Tests of two independent samples, as other tools use them, for side-by-side display.
//!
//! These tests assume that the runs of both samples are independent, which is wrong on a shared
//! machine. No verdict rests on them. Each test is of `y` against `x`, in any common unit.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::invalid::{Invalid, at_least};
use crate::series::ranks;
use crate::sorted::{SortedSample, binary_unit, mean_of, squares_about_mean};

/// Result of a t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// Difference over its standard error; positive if `y` is larger.
    pub t: f64,
    /// Degrees of freedom.
    pub df: f64,
    /// Two-sided p-value.
    pub p: f64,
}

/// The t-test of a difference with its standard error and degrees of freedom.
pub(crate) fn t_test(difference: f64, err: f64, df: f64) -> Result<TTest, Invalid> {
    if err == 0.0 {
        return Err(Invalid::NoSpread);
    }
    let t = difference / err;
    Ok(TTest { t, df, p: 2.0 * students_t(df)?.cdf(-t.abs()) })
}

/// Student's t distribution with `df` degrees of freedom.
pub(crate) fn students_t(df: f64) -> Result<StudentsT, Invalid> {
    StudentsT::new(0.0, 1.0, df).map_err(|_| Invalid::OutOfRange { name: "df", value: df })
}

/// Welch's t-test for unequal variances. The degrees of freedom follow Welch and Satterthwaite.
///
/// Welch (1947). Fails below 2 values a sample, for NaN, infinity, and without any spread.
///
/// ```
/// let found = stillwell_stats::two_sample::welch(&[1.0, 2.0, 3.0], &[2.0, 4.0, 6.0]).unwrap();
/// assert!((found.t - 1.5491933384829668).abs() < 1e-12); // 2 / sqrt(5/3)
/// ```
pub fn welch(x: &[f64], y: &[f64]) -> Result<TTest, Invalid> {
    at_least(2, x)?;
    at_least(2, y)?;
    // In a common unit, because variances of large or small numbers overflow or vanish.
    let unit = binary_unit(x).max(binary_unit(y));
    let [x, y] = [x, y].map(|xs| xs.iter().map(|x| x / unit).collect::<Vec<f64>>());
    let part = |xs: &[f64]| squares_about_mean(xs) / (xs.len() - 1) as f64 / xs.len() as f64;
    let (a, b) = (part(&x), part(&y));
    let scatter = a * a / (x.len() - 1) as f64 + b * b / (y.len() - 1) as f64;
    t_test(mean_of(&y) - mean_of(&x), (a + b).sqrt(), (a + b) * (a + b) / scatter)
}

/// Result of a Mann-Whitney test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Number of pairs with `y > x`, half a pair for each tie.
    pub u: f64,
    /// Two-sided p-value from the normal limit, with ties and continuity corrected.
    pub p_asymptotic: f64,
}

/// Mann-Whitney U test of "values of `y` tend to be larger or smaller than values of `x`".
///
/// Mann & Whitney (1947). Fails on an empty sample, NaN, infinity, and equal values only.
///
/// ```
/// let found = stillwell_stats::two_sample::mann_whitney(&[1.0, 2.0], &[3.0, 4.0]).unwrap();
/// assert_eq!(found.u, 4.0); // all four pairs
/// ```
pub fn mann_whitney(x: &[f64], y: &[f64]) -> Result<MannWhitney, Invalid> {
    at_least(1, x)?;
    at_least(1, y)?;
    let (n, m) = (x.len() as f64, y.len() as f64);
    let pooled = [x, y].concat();
    let rank_sum: f64 = ranks(&pooled)[x.len()..].iter().sum();
    let u = rank_sum - m * (m + 1.0) / 2.0;
    let larger = u.max(n * m - u);
    let total = n + m;
    let sorted = SortedSample::new(&pooled)?;
    let groups = sorted.as_slice().chunk_by(|a, b| a == b).map(|group| group.len() as f64);
    let ties: f64 = groups.map(|t| t * t * t - t).sum();
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return Err(Invalid::NoSpread);
    }
    let z = (larger - n * m / 2.0 - 0.5) / variance.sqrt();
    let p_asymptotic = (2.0 * Normal::standard().sf(z)).min(1.0);
    Ok(MannWhitney { u, p_asymptotic })
}

/// Kolmogorov-Smirnov distance of two samples, `max |F_x - F_y|`, in `[0, 1]`.
///
/// Smirnov (1939). O(n + m).
///
/// ```
/// let sorted = |xs| stillwell_stats::SortedSample::new(xs).unwrap();
/// let distance = stillwell_stats::two_sample::kolmogorov_smirnov;
/// assert_eq!(distance(&sorted(&[1.0, 2.0]), &sorted(&[3.0, 4.0])), 1.0);
/// ```
pub fn kolmogorov_smirnov(x: &SortedSample, y: &SortedSample) -> f64 {
    let (xs, ys) = (x.as_slice(), y.as_slice());
    let (mut i, mut j, mut widest) = (0, 0, 0);
    while i < xs.len() && j < ys.len() {
        let at = xs[i].min(ys[j]);
        i += xs[i..].iter().take_while(|&&v| v == at).count();
        j += ys[j..].iter().take_while(|&&v| v == at).count();
        widest = widest.max((i * ys.len()).abs_diff(j * xs.len()));
    }
    widest as f64 / (xs.len() * ys.len()) as f64
}

/// Anderson-Darling distance of two samples: `A^2` for two samples with midranks, minus its mean 1,
/// divided by its standard deviation under equality.
///
/// Scholz & Stephens (1987), JASA 82:918, equation 7; scipy's `anderson_ksamp` gives the same
/// value. Fails below 4 values in all, and for equal values only.
///
/// ```
/// let sorted = |xs| stillwell_stats::SortedSample::new(xs).unwrap();
/// let (x, y) = (sorted(&[1.0, 2.0, 3.0]), sorted(&[1.0, 2.0, 3.0]));
/// assert!(stillwell_stats::two_sample::anderson_darling(&x, &y).unwrap() < 0.0);
/// ```
pub fn anderson_darling(x: &SortedSample, y: &SortedSample) -> Result<f64, Invalid> {
    let (n, m) = (x.len() as f64, y.len() as f64);
    let total = n + m;
    if total < 4.0 {
        return Err(Invalid::TooFew { need: 4, got: x.len() + y.len() });
    }
    let pooled = SortedSample::new(&[x.as_slice(), y.as_slice()].concat())?;
    if pooled.min() == pooled.max() {
        return Err(Invalid::NoSpread);
    }
    let (mut below, mut below_x, mut sum) = (0.0, 0.0, 0.0);
    let mut rest = x.as_slice();
    for group in pooled.as_slice().chunk_by(|a, b| a == b) {
        let of_x = rest.iter().take_while(|&&v| v == group[0]).count();
        rest = &rest[of_x..];
        let (ties, of_x) = (group.len() as f64, of_x as f64);
        let (rank, rank_x) = (below + ties / 2.0, below_x + of_x / 2.0);
        // Both samples deviate from their share by the same amount, with opposite signs.
        let deviation = total * rank_x - rank * n;
        sum += ties / total * deviation * deviation / (rank * (total - rank) - total * ties / 4.0);
        below += ties;
        below_x += of_x;
    }
    let squared = sum * (1.0 / n + 1.0 / m) * (total - 1.0) / total;
    Ok((squared - 1.0) / anderson_darling_variance(n, m).sqrt())
}

/// Variance of `A^2` for two samples under equality (Scholz & Stephens 1987).
fn anderson_darling_variance(n: f64, m: f64) -> f64 {
    let (total, k) = (n + m, 2.0);
    let inverse = 1.0 / n + 1.0 / m;
    // h = sum_{i<N} 1/i and g = sum_{i<j<N} 1 / ((N - i) j). The loop keeps a running tail of h for
    // g.
    let (mut h, mut g) = (0.0, 0.0);
    for j in (1..total as usize).rev() {
        g += h / (total - j as f64);
        h += 1.0 / j as f64;
    }
    let a = (4.0 * g - 6.0) * (k - 1.0) + (10.0 - 6.0 * g) * inverse;
    let b = (2.0 * g - 4.0) * k * k + 8.0 * h * k + (2.0 * g - 14.0 * h - 4.0) * inverse - 8.0 * h
        + 4.0 * g
        - 6.0;
    let c = (6.0 * h + 2.0 * g - 2.0) * k * k
        + (4.0 * h - 4.0 * g + 6.0) * k
        + (2.0 * h - 6.0) * inverse
        + 4.0 * h;
    let d = (2.0 * h + 6.0) * k * k - 4.0 * h * k;
    (((a * total + b) * total + c) * total + d) / ((total - 1.0) * (total - 2.0) * (total - 3.0))
}
