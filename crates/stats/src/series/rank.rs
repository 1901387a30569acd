//! Tests of independence and of a step, on ranks, so that spikes have no leverage.

use crate::invalid::{Invalid, at_least};
use crate::sorted::{Sorted, mean_of, squares_about_mean};

/// Ranks from 1, equal values sharing the mean of theirs. NaN ranks by its sign at either end.
///
/// ```
/// assert_eq!(stats::series::ranks(&[7.0, 5.0, 7.0]), [2.5, 1.0, 2.5]);
/// ```
pub fn ranks(xs: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..xs.len()).collect();
    order.sort_by(|&i, &j| xs[i].total_cmp(&xs[j]));
    let mut ranks = vec![0.0; xs.len()];
    let mut before = 0;
    for group in order.chunk_by(|&i, &j| xs[i] == xs[j]) {
        for &at in group {
            ranks[at] = before as f64 + (group.len() + 1) as f64 / 2.0;
        }
        before += group.len();
    }
    ranks
}

/// Rank version of von Neumann's ratio, with what follows from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VonNeumann {
    /// `sum (R_i - R_{i+1})^2 / sum (R_i - mean R)^2`; about 2 for independent runs.
    pub ratio: f64,
    /// Normal score; far below 0 if neighbours are alike.
    pub z: f64,
    /// Lag-one correlation of the ranks, `1 - ratio / 2` within `[0, 0.99]`.
    pub rho: f64,
    /// Number of independent runs worth as much: `n (1 - rho) / (1 + rho)`.
    pub n_eff: f64,
}

/// Rank von Neumann test of independence:
/// `z = (ratio - 2) / sqrt(4 (n-2) (5n^2 - 2n - 9) / (5n (n+1) (n-1)^2))`.
///
/// Bartels (1982), JASA 77:40. Fails for `n < 4`, NaN, infinity and equal values only.
///
/// ```
/// let found = stats::series::von_neumann(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
/// assert_eq!(found.ratio, 2.0 / 7.0); // 5 / 17.5
/// ```
pub fn von_neumann(xs: &[f64]) -> Result<VonNeumann, Invalid> {
    at_least(4, xs)?;
    let ranks = ranks(xs);
    let spread = squares_about_mean(&ranks);
    if spread == 0.0 {
        return Err(Invalid::NoSpread);
    }
    let steps: f64 = ranks.windows(2).map(|r| (r[0] - r[1]).powi(2)).sum();
    let (ratio, n) = (steps / spread, xs.len() as f64);
    let variance =
        4.0 * (n - 2.0) * (5.0 * n * n - 2.0 * n - 9.0) / (5.0 * n * (n + 1.0) * (n - 1.0).powi(2));
    let rho = (1.0 - ratio / 2.0).clamp(0.0, 0.99);
    let n_eff = n * (1.0 - rho) / (1.0 + rho);
    Ok(VonNeumann { ratio, z: (ratio - 2.0) / variance.sqrt(), rho, n_eff })
}

/// Number of runs of values on one side of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunsTest {
    /// Maximal stretches on one side; values equal to the median are left out.
    pub runs: usize,
    /// Normal score; far below 0 if neighbours are alike.
    pub z: f64,
}

/// Runs test about the median: `z = (runs - 2ab/n - 1) / sqrt(2ab (2ab - n) / (n^2 (n - 1)))` with
/// `a` values above and `b` below, `n = a + b`.
///
/// Wald & Wolfowitz (1940). Fails for `n < 2`, NaN, infinity, and if no value is on one side.
///
/// ```
/// let found = stats::series::runs_test(&[1.0, 5.0, 2.0, 6.0, 7.0, 0.0]).unwrap();
/// assert_eq!(found.runs, 5);
/// ```
pub fn runs_test(xs: &[f64]) -> Result<RunsTest, Invalid> {
    at_least(2, xs)?;
    let median = Sorted::new(xs)?.median();
    let sides: Vec<bool> = xs.iter().filter(|&&x| x != median).map(|&x| x > median).collect();
    let above = sides.iter().filter(|&&side| side).count();
    let (n, product) = (sides.len() as f64, 2.0 * above as f64 * (sides.len() - above) as f64);
    if product == 0.0 {
        return Err(Invalid::NoSpread);
    }
    let runs = sides.chunk_by(|a, b| a == b).count();
    let variance = product * (product - n) / (n * n * (n - 1.0));
    if variance <= 0.0 {
        return Err(Invalid::TooFew { need: 3, got: sides.len() });
    }
    Ok(RunsTest { runs, z: (runs as f64 - product / n - 1.0) / variance.sqrt() })
}

/// Ljung-Box statistic, `n (n + 2) sum_{k=1}^{lags} r_k^2 / (n - k)` with the autocorrelations r:
/// about chi-squared with `lags` degrees of freedom for independent runs.
///
/// Ljung & Box (1978). For display: on timings it rejects too often to decide anything, on their
/// [`ranks`] a little less. Fails unless `1 <= lags < n`, and for NaN, infinity and equal values
/// only.
///
/// ```
/// let q = stats::series::ljung_box(&[1.0, 2.0, 3.0, 4.0], 1).unwrap();
/// assert!((q - 0.5).abs() < 1e-12); // r_1 = 1/4
/// ```
pub fn ljung_box(xs: &[f64], lags: usize) -> Result<f64, Invalid> {
    at_least(lags.saturating_add(1), xs)?;
    if lags == 0 {
        return Err(Invalid::OutOfRange { name: "lags", value: 0.0 });
    }
    let (n, center, spread) = (xs.len() as f64, mean_of(xs), squares_about_mean(xs));
    if spread == 0.0 {
        return Err(Invalid::NoSpread);
    }
    let term = |lag: usize| {
        let pairs = xs.iter().zip(&xs[lag..]);
        let r = pairs.map(|(a, b)| (a - center) * (b - center)).sum::<f64>() / spread;
        r * r / (n - lag as f64)
    };
    Ok(n * (n + 2.0) * (1..=lags).map(term).sum::<f64>())
}

/// Best split of a series in two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankScan {
    /// Number of runs before the split.
    pub at: usize,
    /// Largest standardised rank sum over all splits; not normal, because it is a maximum.
    pub z: f64,
}

/// Rank CUSUM scan for one step: the largest over `k` of
/// `|sum_{i<=k} (R_i - (n+1)/2)| / sqrt(k (n - k) (n + 1) / 12)`.
///
/// Pettitt (1979) with each split standardised as a rank-sum test. Fails for `n < 2`, NaN and
/// infinity.
///
/// ```
/// let found = stats::series::rank_scan(&[1.0, 2.0, 3.0, 7.0, 8.0, 9.0]).unwrap();
/// assert_eq!(found.at, 3);
/// ```
pub fn rank_scan(xs: &[f64]) -> Result<RankScan, Invalid> {
    at_least(2, xs)?;
    let n = xs.len() as f64;
    let mut best = RankScan { at: 0, z: 0.0 };
    let mut sum = 0.0;
    for (i, rank) in ranks(xs)[..xs.len() - 1].iter().enumerate() {
        sum += rank - (n + 1.0) / 2.0;
        let k = (i + 1) as f64;
        let z = sum.abs() / (k * (n - k) * (n + 1.0) / 12.0).sqrt();
        if z > best.z {
            best = RankScan { at: i + 1, z };
        }
    }
    Ok(best)
}
