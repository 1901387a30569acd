//! Warm-up: the runs at the start that are slower because they come first.

use crate::changepoint::pelt;
use crate::invalid::Invalid;
use crate::series::ranks;
use crate::sorted::SortedSample;

/// Penalty of [`pelt`] in units of `ln n` (docs/methodology.md).
const STEADY_PENALTY: f64 = 15.0;
/// Two levels count as one if they differ by less than this, in logarithms.
const STEADY_WITHIN: f64 = 0.05;

/// Length of the longest prefix, at most `floor(n / 5)`, in which every value exceeds the 90 %
/// quantile of all later values. 0 if there is none.
///
/// `xs` has log times in run order, or the mean log time of each pair: the rule must not depend on
/// the labels. In one stationary series of ten a prefix of 1 happens by chance, so report 2 or
/// more. Fails on an empty slice, NaN and infinity.
///
/// ```
/// let xs = [9.0, 8.0, 5.0, 5.1, 5.2, 5.0, 5.3, 5.1, 5.0, 5.2];
/// assert_eq!(stillwell_stats::warmup::prefix(&xs), Ok(2));
/// ```
pub fn prefix(xs: &[f64]) -> Result<usize, Invalid> {
    crate::invalid::finite(xs)?;
    for len in (1..=longest_possible(xs)).rev() {
        let (early, late) = xs.split_at(len);
        let bound = SortedSample::new(late)?.quantile(0.9);
        if early.iter().all(|&x| x > bound) {
            return Ok(len);
        }
    }
    Ok(0)
}

/// Index at which a series of slices reaches its last level for good: the start of the earliest
/// segment from which no later segment is more than 5 % above the last one. 0 if there was no
/// warm-up. `None` if the last segment is shorter than a fifth of the series, because then nothing
/// shows that its level lasts.
///
/// `xs` has natural logarithms of times in the order of one process.
/// [`pelt`] on ranks gives the segments, so spikes do not become segments
/// (Barrett et al. 2017, "Virtual machine warmup blows hot and cold", section 4). The level of a
/// segment is its median. Fails for fewer than 2 values, NaN and infinity.
///
/// ```
/// let noise = |i| 0.001 * f64::from(i * 7 % 10);
/// let mut xs: Vec<f64> = (0..40).map(|i| 2.0 + noise(i)).collect();
/// xs.extend((0..80).map(|i| 1.0 + noise(i)));
/// assert_eq!(stillwell_stats::warmup::steady_from(&xs), Ok(Some(40)));
/// ```
pub fn steady_from(xs: &[f64]) -> Result<Option<usize>, Invalid> {
    crate::invalid::at_least(2, xs)?;
    let n = xs.len();
    let starts = match pelt(&ranks(xs), STEADY_PENALTY * (n as f64).ln()) {
        Ok(starts) => starts,
        Err(Invalid::NoSpread) => vec![0],
        Err(other) => return Err(other),
    };
    let ends = starts.iter().copied().skip(1).chain([n]);
    let levels: Vec<(usize, f64)> = starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| Ok((start, SortedSample::new(&xs[start..end])?.median())))
        .collect::<Result<_, Invalid>>()?;
    let (last_start, last_level) = levels[levels.len() - 1];
    if n - last_start < n / 5 {
        return Ok(None);
    }
    let steady = levels.iter().rev().take_while(|(_, level)| *level <= last_level + STEADY_WITHIN);
    Ok(steady.last().map(|(start, _)| *start))
}

/// Upper limit of the prefix length, so that [`prefix`] sorts for only a few prefixes of a long
/// series. Every prefix leaves at least the last four fifths. The bound of any prefix is therefore
/// at least the value that has its rank there, even if all other runs were below.
fn longest_possible(xs: &[f64]) -> usize {
    let (n, longest) = (xs.len(), xs.len() / 5);
    let Ok(tail) = SortedSample::new(&xs[longest..]) else { return longest };
    // Rank (from 0) of the 90 % quantile of n - 1 values. Of these, n - 1 - len(tail) may be below
    // the tail.
    let rank = (9 * n.saturating_sub(2) / 10).saturating_sub(n.saturating_sub(1 + tail.len()));
    let bound = tail.as_slice()[rank];
    xs[..longest].iter().take_while(|&&x| x > bound).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    /// `n` values around a level.
    fn around(level: f64, n: usize, stream: &mut Stream) -> Vec<f64> {
        (0..n).map(|_| level + 0.02 * stream.unit()).collect()
    }

    #[test]
    fn a_process_is_steady_where_it_has_come_down() {
        let mut stream = Stream::new(5);
        let mut xs = around(3.0, 7, &mut stream);
        xs.extend(around(2.0, 30, &mut stream));
        xs.extend(around(1.0, 60, &mut stream));
        assert_eq!(steady_from(&xs), Ok(Some(37)));
        let flat = around(1.0, 97, &mut stream);
        assert_eq!(steady_from(&flat), Ok(Some(0)));
        // The process became slower and stays slower, so there is no warm-up to leave out.
        xs.reverse();
        assert_eq!(steady_from(&xs), Ok(Some(0)));
        let mut late = around(2.0, 170, &mut stream);
        late.extend(around(1.0, 35, &mut stream));
        assert_eq!(steady_from(&late), Ok(None));
        assert_eq!(steady_from(&[1.0; 30]), Ok(Some(0)));
    }

    fn every_prefix(xs: &[f64]) -> usize {
        let qualifies = |len: &usize| {
            let (early, late) = xs.split_at(*len);
            let bound = SortedSample::new(late).unwrap().quantile(0.9);
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
