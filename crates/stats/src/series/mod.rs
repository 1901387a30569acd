//! Tests of one series in run order: is it a steady process?
//!
//! Every function takes n runs in the order in which they happened, in any unit. A function that
//! reports a size in percent expects natural logarithms of times.

mod dip;
mod floor;
mod rank;
mod resolution;
mod stability;

pub use dip::dip;
pub use floor::{FloorShift, floor_shift, floor_windows};
pub use rank::{RankScan, VonNeumann, rank_scan, ranks, von_neumann};
pub use resolution::Resolution;
pub use stability::{
    Drift, LevelShift, Modes, Stability, StabilityCheck, StabilityFlag, StabilityLimits, limits,
    stability,
};

use crate::invalid::{Invalid, at_least};
use crate::sorted::{SortedSample, median_of};

/// Result of a Mann-Kendall test of a monotone trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannKendall {
    /// Number of pairs that rise minus the number of pairs that fall.
    pub s: i64,
    /// Kendall's tau a, `s / (n (n - 1) / 2)`.
    pub tau: f64,
    /// Normal score of `s`, corrected for ties and continuity; 0 if all values are equal.
    pub z: f64,
}

/// Mann-Kendall trend test: `z = (S - sgn S) / sqrt((n (n-1) (2n+5) - sum t (t-1) (2t+5)) / 18)`
/// over groups of `t` ties.
///
/// Mann (1945), Kendall (1975). O(n^2). Fails for `n < 2`, NaN and infinity.
///
/// ```
/// let xs = [1.0, 3.0, 2.0, 4.0, 5.0];
/// assert_eq!(stillwell_stats::series::mann_kendall(&xs).unwrap().s, 8);
/// ```
pub fn mann_kendall(xs: &[f64]) -> Result<MannKendall, Invalid> {
    at_least(2, xs)?;
    let n = xs.len() as f64;
    let s: i64 = (1..xs.len())
        .flat_map(|j| {
            xs[..j].iter().map(move |early| i64::from(xs[j] > *early) - i64::from(xs[j] < *early))
        })
        .sum();
    let weight = |t: f64| t * (t - 1.0) * (2.0 * t + 5.0);
    let sorted = SortedSample::new(xs)?;
    let ties: f64 = sorted.as_slice().chunk_by(|a, b| a == b).map(|g| weight(g.len() as f64)).sum();
    let sd = ((weight(n) - ties) / 18.0).sqrt();
    let z = if sd > 0.0 { (s - s.signum()) as f64 / sd } else { 0.0 };
    Ok(MannKendall { s, tau: s as f64 / (n * (n - 1.0) / 2.0), z })
}

/// Theil-Sen slope, the median of `(x_j - x_i) / (j - i)` over all pairs, in the unit of the sample
/// per run.
///
/// Theil (1950), Sen (1968). O(n^2) in time and memory. Fails for `n < 2`, NaN and infinity.
///
/// ```
/// assert_eq!(stillwell_stats::series::theil_sen(&[1.0, 2.0, 9.0, 4.0]), Ok(1.0));
/// ```
pub fn theil_sen(xs: &[f64]) -> Result<f64, Invalid> {
    let at: Vec<f64> = (0..xs.len()).map(|i| i as f64).collect();
    theil_sen_at(&at, xs)
}

/// Theil-Sen slope of `ys` against `at`, the median over all pairs with different `at`.
///
/// For times against loop counts, the slope is the cost of one loop. Fails as [`theil_sen`], for
/// different lengths, and if all `at` are equal.
///
/// ```
/// assert_eq!(stillwell_stats::series::theil_sen_at(&[1.0, 2.0, 4.0], &[5.0, 7.0, 11.0]), Ok(2.0));
/// ```
pub fn theil_sen_at(at: &[f64], ys: &[f64]) -> Result<f64, Invalid> {
    at_least(2, ys)?;
    if at.len() != ys.len() {
        return Err(Invalid::Lengths { left: at.len(), right: ys.len() });
    }
    crate::invalid::finite(at)?;
    let mut slopes = Vec::with_capacity(ys.len() * (ys.len() - 1) / 2);
    for j in 1..ys.len() {
        let before = (0..j).filter(|&i| at[i] != at[j]);
        slopes.extend(before.map(|i| (ys[j] - ys[i]) / (at[j] - at[i])));
    }
    if slopes.is_empty() {
        return Err(Invalid::NoSpread);
    }
    Ok(median_of(&mut slopes))
}
