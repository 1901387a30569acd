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
    for len in (1..=longest_possible(xs)).rev() {
        let (early, late) = xs.split_at(len);
        let bound = Sorted::new(late)?.quantile(0.9);
        if early.iter().all(|&x| x > bound) {
            return Ok(len);
        }
    }
    Ok(0)
}

/// No longer prefix can qualify. Every prefix leaves at least the last four fifths, so its bound is at least the value
/// in them that is the bound's rank even if all the other runs were below: with long series only a few prefixes are
/// left to look at, each of which takes a sort.
fn longest_possible(xs: &[f64]) -> usize {
    let (n, longest) = (xs.len(), xs.len() / 5);
    let Ok(tail) = Sorted::new(&xs[longest..]) else { return longest };
    // Rank (from 0) of the 90 % quantile of n - 1 values, of which n - 1 - len(tail) may be below the tail.
    let rank = (9 * n.saturating_sub(2) / 10).saturating_sub(n.saturating_sub(1 + tail.len()));
    let bound = tail.as_slice()[rank];
    xs[..longest].iter().take_while(|&&x| x > bound).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    fn every_prefix(xs: &[f64]) -> usize {
        let qualifies = |len: &usize| {
            let (early, late) = xs.split_at(*len);
            let bound = Sorted::new(late).unwrap().quantile(0.9);
            early.iter().all(|&x| x > bound)
        };
        (1..=xs.len() / 5).rev().find(qualifies).unwrap_or(0)
    }

    #[test]
    fn looking_at_few_prefixes_misses_none() {
        let mut stream = Stream::new(11);
        for n in 1..120 {
            for decay in [0.0, 0.5, 2.0] {
                let xs: Vec<f64> =
                    (0..n).map(|i| stream.unit() + decay * (-f64::from(i) / 6.0).exp()).collect();
                assert_eq!(prefix(&xs).unwrap(), every_prefix(&xs), "n = {n}, decay {decay}");
            }
        }
    }
}
