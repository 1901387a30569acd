//! Tests of independence and of a step. They work on ranks, so spikes have no leverage.

use crate::invalid::{Invalid, at_least};
use crate::sorted::squares_about_mean;

/// Ranks from 1. Equal values get the mean of their ranks. NaN ranks by its sign at either end.
///
/// ```
/// assert_eq!(stillwell_stats::series::ranks(&[7.0, 5.0, 7.0]), [2.5, 1.0, 2.5]);
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

/// Result of the rank version of von Neumann's test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VonNeumann {
    /// `sum (R_i - R_{i+1})^2 / sum (R_i - mean R)^2`; about 2 for independent runs.
    pub ratio: f64,
    /// Normal score, far below 0 if neighbours are alike.
    pub z: f64,
    /// Lag-one correlation of the ranks, `1 - ratio / 2` within `[0, 0.99]`.
    pub rho: f64,
    /// Number of independent runs with the same information: `n (1 - rho) / (1 + rho)`, at least 1.
    pub n_eff: f64,
}

/// Rank von Neumann test of independence:
/// `z = (ratio - 2) / sqrt(4 (n-2) (5n^2 - 2n - 9) / (5n (n+1) (n-1)^2))`.
///
/// Bartels (1982), JASA 77:40. Fails for `n < 4`, NaN, infinity and equal values only.
///
/// ```
/// let found = stillwell_stats::series::von_neumann(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
/// assert_eq!(found.ratio, 2.0 / 7.0); // 5 / 17.5
/// assert_eq!(found.n_eff, 1.0); // 6 / 13 by the formula
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
    let n_eff = (n * (1.0 - rho) / (1.0 + rho)).max(1.0);
    Ok(VonNeumann { ratio, z: (ratio - 2.0) / variance.sqrt(), rho, n_eff })
}

/// The best split of a series in two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankScan {
    /// Number of runs before the split.
    pub at: usize,
    /// Largest standardised rank sum over all splits. It is a maximum, so it is not normal.
    pub z: f64,
}

/// Rank CUSUM scan for one step. It finds the largest
/// `|sum_{i<=k} (R_i - (n+1)/2)| / sqrt(k (n - k) (n + 1) / 12)` over `k`.
///
/// Pettitt (1979), with each split standardised as a rank-sum test. Fails for `n < 2`, NaN and
/// infinity.
///
/// ```
/// let found = stillwell_stats::series::rank_scan(&[1.0, 2.0, 3.0, 7.0, 8.0, 9.0]).unwrap();
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
