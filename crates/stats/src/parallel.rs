//! One function for many numbers: on all threads with the feature `rayon`, else on this one, with equal results.

#[cfg(feature = "rayon")]
use rayon::prelude::*;

/// The results for 0, 1, …, `n - 1`, in this order.
pub(crate) fn map<R: Send>(n: usize, f: impl Fn(usize) -> R + Send + Sync) -> Vec<R> {
    #[cfg(feature = "rayon")]
    let all = (0..n).into_par_iter();
    #[cfg(not(feature = "rayon"))]
    let all = 0..n;
    all.map(f).collect()
}

/// How many numbers of the range have the property.
pub(crate) fn count(
    range: std::ops::Range<usize>,
    has: impl Fn(usize) -> bool + Send + Sync,
) -> usize {
    #[cfg(feature = "rayon")]
    let all = range.into_par_iter();
    #[cfg(not(feature = "rayon"))]
    let all = range;
    all.filter(|&at| has(at)).count()
}
