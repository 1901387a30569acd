//! How many runs at the start were slower because they came first.

use crate::invalid::Invalid;
use crate::sorted::Sorted;

/// Length of the longest prefix, at most `floor(n / 5)`, whose every value exceeds the 90 %
/// quantile of all later values; 0 if there is none.
///
/// `xs`: log times, or means of the log times of a pair, in run order: the rule must not see
/// labels. A prefix of 1 happens by chance in one stationary series of ten; report 2 or more.
/// Fails on an empty slice, NaN and infinity.
///
/// ```
/// let xs = [9.0, 8.0, 5.0, 5.1, 5.2, 5.0, 5.3, 5.1, 5.0, 5.2];
/// assert_eq!(stats::warmup::prefix(&xs), Ok(2));
/// ```
pub fn prefix(xs: &[f64]) -> Result<usize, Invalid> {
    crate::invalid::finite(xs)?;
    for len in (1..=xs.len() / 5).rev() {
        let (early, late) = xs.split_at(len);
        let bound = Sorted::new(late)?.quantile(0.9);
        if early.iter().all(|&x| x > bound) {
            return Ok(len);
        }
    }
    Ok(0)
}
