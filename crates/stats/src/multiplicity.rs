//! Adjustment of p-values for the size of their family of tests.

use crate::invalid::{Invalid, finite};

/// Holm (1979) adjusted p-values, in the order given. If those at or below alpha are called
/// different, the probability of any false alarm in the family is at most alpha.
///
/// In ascending order the formula is `max over i <= j of (m - i + 1) p_(i)`, capped at 1. Fails on
/// an empty slice, NaN and infinity.
///
/// ```
/// // 3 * 0.01; 2 * 0.03; at least the one before.
/// assert_eq!(stillwell_stats::multiplicity::holm(&[0.01, 0.04, 0.03]).unwrap(), [0.03, 0.06, 0.06]);
/// ```
pub fn holm(p: &[f64]) -> Result<Vec<f64>, Invalid> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut largest = 0.0_f64;
    for (i, &at) in order.iter().enumerate() {
        largest = largest.max((p.len() - i) as f64 * p[at]).min(1.0);
        adjusted[at] = largest;
    }
    Ok(adjusted)
}

/// Benjamini & Hochberg (1995) adjusted p-values, in the order given. Among those at or below q,
/// the expected share of false alarms is at most q.
///
/// In ascending order the formula is `min over i >= j of m p_(i) / i`, capped at 1. Fails on an
/// empty slice, NaN and infinity.
///
/// ```
/// // 3 * 0.01; 3 * 0.04 / 3; at most the one after.
/// let q = stillwell_stats::multiplicity::benjamini_hochberg(&[0.01, 0.04, 0.03]).unwrap();
/// assert_eq!(q, [0.03, 0.04, 0.04]);
/// ```
pub fn benjamini_hochberg(p: &[f64]) -> Result<Vec<f64>, Invalid> {
    let order = ascending(p)?;
    let mut adjusted = vec![0.0; p.len()];
    let mut smallest = 1.0_f64;
    for (i, &at) in order.iter().enumerate().rev() {
        smallest = smallest.min(p.len() as f64 * p[at] / (i + 1) as f64);
        adjusted[at] = smallest;
    }
    Ok(adjusted)
}

/// The share of alpha at which Holm's procedure tests each hypothesis of a family, in the order
/// given. The smallest p-value is tested at `1 / m`, each next one at `1 / (m - r)` after r
/// rejections.
///
/// `n_total` is the size of the whole family if the slice is a part of it; the slice length is the
/// minimum. `is_rejected(index, share)` says whether a hypothesis is rejected at a share. An
/// interval at level `1 - share alpha` excludes 0 exactly where Holm rejects. Fails on an empty
/// slice, NaN and infinity.
/// ```
/// let p = [0.001, 0.5, 0.02];
/// let shares = stillwell_stats::multiplicity::shares(&p, 0, |at, share| p[at] <= 0.05 * share).unwrap();
/// assert_eq!(shares, [1.0 / 3.0, 1.0, 0.5]);
/// ```
pub fn shares(
    p: &[f64],
    n_total: usize,
    is_rejected: impl Fn(usize, f64) -> bool,
) -> Result<Vec<f64>, Invalid> {
    let mut shares = vec![0.0; p.len()];
    let mut n_left = n_total.max(p.len());
    for at in ascending(p)? {
        shares[at] = 1.0 / n_left as f64;
        if is_rejected(at, shares[at]) && n_left > 1 {
            n_left -= 1;
        }
    }
    Ok(shares)
}

fn ascending(p: &[f64]) -> Result<Vec<usize>, Invalid> {
    finite(p)?;
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    Ok(order)
}
