//! Several comparisons with one reference.

use super::SequentialTest;
use crate::multiplicity::shares;

/// The share of alpha at which each comparison of a family is judged, in the order given (Holm
/// 1979). The procedure goes up from the smallest p-value as long as each comparison is different
/// at `1 / (m - i)`.
///
/// `n_total` is the size of the family; the comparisons that are not given count as not different.
/// The first comparison that is not different, and all after it, are judged at the share that was
/// reached. Each step is a test over all looks at a share of alpha (Bonferroni over the family).
/// By the closure principle (Marcus, Peritz & Gabriel 1976) the chance of any false "different" in
/// the family is therefore at most alpha.
///
/// ```
/// assert!(stillwell_stats::sequential::holm_shares(&[], 0).is_empty());
/// ```
pub fn holm_shares(family: &[&SequentialTest], n_total: usize) -> Vec<f64> {
    let p: Vec<f64> = family.iter().map(|one| one.p()).collect();
    // An empty family has no shares.
    shares(&p, n_total, |at, share| family[at].is_different(share)).unwrap_or_default()
}
