//! Wilcoxon's signed-rank test and the estimate that belongs to it.

use crate::invalid::{Invalid, at_least};
use crate::series::ranks;
use crate::sorted::median_of;

/// Most differences for which the exact distribution is built: it takes time `n^3`.
const MOST: usize = 1000;

/// Signed-rank test of differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignedRank {
    /// Sum of the ranks of the positive differences.
    pub w_plus: f64,
    /// Exact two-sided p-value.
    pub p: f64,
}

/// Wilcoxon signed-rank test that the differences `d` are symmetric about 0, exact for ties too:
/// p over all `2^n` signs of the ranks of `|d|`.
///
/// Wilcoxon (1945); zeros are dropped. Fails if no difference is left, for NaN and infinity, and
/// for more than 1000 differences.
///
/// ```
/// let found = stats::signed_rank::signed_rank(&[1.0, 2.0, 3.0, -0.5]).unwrap();
/// assert_eq!((found.w_plus, found.p), (9.0, 0.25)); // 4 of 16 signs
/// ```
pub fn signed_rank(d: &[f64]) -> Result<SignedRank, Invalid> {
    at_least(1, d)?;
    let d: Vec<f64> = d.iter().copied().filter(|&d| d != 0.0).collect();
    if d.is_empty() {
        return Err(Invalid::NoSpread);
    }
    if d.len() > MOST {
        return Err(Invalid::OutOfRange { name: "number of differences", value: d.len() as f64 });
    }
    let sizes: Vec<f64> = d.iter().map(|d| d.abs()).collect();
    let ranks = ranks(&sizes);
    let w_plus: f64 = ranks.iter().zip(&d).filter(|(_, d)| **d > 0.0).map(|(r, _)| r).sum();
    // Twice a midrank is an integer, so the sums are indices.
    let total = d.len() * (d.len() + 1);
    let mut mass = vec![0.0; total + 1];
    mass[0] = 1.0;
    for rank in &ranks {
        let doubled = (2.0 * rank) as usize;
        for sum in (0..=total).rev() {
            let with = if sum >= doubled { mass[sum - doubled] } else { 0.0 };
            mass[sum] = (mass[sum] + with) / 2.0;
        }
    }
    let observed = (2.0 * w_plus) as usize;
    let tail = observed.max(total - observed);
    let p = (2.0 * mass[tail..].iter().sum::<f64>()).min(1.0);
    Ok(SignedRank { w_plus, p })
}

/// Hodges-Lehmann estimate, in the unit of the sample: the median of `(d_i + d_j) / 2` over all
/// `i <= j`.
///
/// Hodges & Lehmann (1963). O(n^2) in time and memory. Fails on an empty slice, NaN and infinity.
///
/// ```
/// assert_eq!(stats::signed_rank::hodges_lehmann(&[1.0, 2.0, 9.0]), Ok(3.5));
/// ```
pub fn hodges_lehmann(d: &[f64]) -> Result<f64, Invalid> {
    at_least(1, d)?;
    let mut averages: Vec<f64> =
        (0..d.len()).flat_map(|i| d[i..].iter().map(move |other| (d[i] + other) / 2.0)).collect();
    Ok(median_of(&mut averages))
}
