//! Change points of a history of results: E-divisive (Matteson & James 2014, JASA 109:334) with a
//! permutation test.
//!
//! The distance between the values before and after a split is the energy distance (Székely & Rizzo
//! 2005) `E = 2 mean|x - y| - mean|x - x'| - mean|y - y'|`, weighted by `a b / (a + b)` for a
//! values before and b after. It detects any difference of the distributions and needs no variance.
//! One wild session counts by its distance, not by the square of it.
//!
//! The test compares the largest weighted distance of all splits with the largest one of the same
//! values in random order. In a history without a change every order is equally likely, so the
//! probability of a false change is at most alpha, whatever the distribution. The test assumes
//! independent sessions: a machine with good and bad months does change.

use rayon::prelude::*;

use crate::invalid::{Invalid, between, finite};
use crate::prng::Stream;

/// Longest interval in which splits are compared. The last 256 sessions of a longer level suffice
/// to find its end, and the time stays proportional to the length of the history.
const INTERVAL_MAX: usize = 512;

/// Options of [`divide`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DivisionOptions {
    /// Probability of a change in a history without any change.
    pub alpha: f64,
    /// Smallest number of values on either side of a change, at least 2.
    pub side_min: usize,
    /// Number of random orders in the permutation test.
    pub n_orders: usize,
    /// Seed of the random orders.
    pub seed: u64,
}

/// A history divided into levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Segmentation {
    /// p-value of "there is no change at all"; 1 for a history that is too short to have one.
    pub p: f64,
    /// Changes in the order of the history. Empty if `p` is above alpha.
    pub changes: Vec<LevelChange>,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelChange {
    /// Position of the first value after the change.
    pub at: usize,
    /// Share of the orders, the real one included, whose largest distance is at least as large.
    pub p: f64,
}

/// Divides a history at its changes.
///
/// `xs` has one value for each session, oldest first, in any unit. With logarithms of times,
/// changes are relative.
///
/// The algorithm has three steps:
///
/// - It divides the whole history, then its parts, as long as `p <= alpha`. Candidate splits come
///   from the whole and from half-overlapping intervals of 512, 256, … values (seeded intervals,
///   Kovács et al. 2020, arXiv 2002.06633), so that a level between two others is not averaged
///   away.
/// - It moves each change to the best split between its neighbours.
/// - It drops changes near an end. One or two different values there are not yet a level, and
///   become a change once there are `side_min` of them.
///
/// There is no change in fewer than `2 side_min` values. Fails for NaN and infinity, and unless
/// `0 < alpha < 1`.
///
/// ```
/// use stats::e_divisive::{DivisionOptions, divide};
/// let xs: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 10) + if i < 25 { 0.0 } else { 8.0 }).collect();
/// let options = DivisionOptions { alpha: 0.01, side_min: 3, n_orders: 999, seed: 1 };
/// let changes = divide(&xs, options).unwrap().changes;
/// assert_eq!(changes.iter().map(|change| change.at).collect::<Vec<_>>(), [25]);
/// ```
pub fn divide(xs: &[f64], options: DivisionOptions) -> Result<Segmentation, Invalid> {
    if !xs.is_empty() {
        finite(xs)?;
    }
    between("alpha", options.alpha, 0.0, 1.0)?;
    let options = DivisionOptions { side_min: options.side_min.max(2), ..options };
    let mut changes = Vec::new();
    let p = divide_part(xs, 0, options, &mut changes);
    changes.sort_by_key(|change: &LevelChange| change.at);
    relocate(xs, options.side_min, &mut changes);
    let n_found = changes.len();
    drop_unsettled(xs, options.side_min, &mut changes);
    if changes.len() < n_found {
        relocate(xs, options.side_min, &mut changes);
    }
    Ok(Segmentation { p, changes })
}

/// p-value of [`Segmentation`] alone, with another `n_orders`. One in 1000 is not a small p-value
/// among many histories.
pub fn p_of_no_change(xs: &[f64], options: DivisionOptions) -> Result<f64, Invalid> {
    finite(xs)?;
    let options = DivisionOptions { side_min: options.side_min.max(2), ..options };
    Ok(best_split(xs, options.side_min)
        .map_or(1.0, |(_, distance)| p_value(xs, distance, seeded(xs, 0, options))))
}

/// The options with a seed for one part of a history. A part has the same random orders in every
/// call.
fn seeded(xs: &[f64], offset: usize, options: DivisionOptions) -> DivisionOptions {
    DivisionOptions { seed: options.seed ^ (offset as u64) << 32 ^ xs.len() as u64, ..options }
}

fn divide_part(
    xs: &[f64],
    offset: usize,
    options: DivisionOptions,
    found: &mut Vec<LevelChange>,
) -> f64 {
    let Some((at, distance)) = best_split(xs, options.side_min) else { return 1.0 };
    let p = p_value(xs, distance, seeded(xs, offset, options));
    if p <= options.alpha {
        found.push(LevelChange { at: offset + at, p });
        let (before, after) = xs.split_at(at);
        divide_part(before, offset, options, found);
        divide_part(after, offset + at, options, found);
    }
    p
}

/// Share of orders with a distance at least as large. Orders come in batches. Drawing ends after
/// ten such orders (Besag & Clifford 1991: `10 / drawn` is then a p-value), so a history without a
/// change takes little time.
fn p_value(xs: &[f64], distance: f64, options: DivisionOptions) -> f64 {
    const ENOUGH: usize = 10;
    const BATCH: usize = 32;
    let (mut n_drawn, mut n_as_large) = (0, 0);
    let stream = Stream::new(options.seed);
    while n_drawn < options.n_orders {
        let batch = BATCH.min(options.n_orders - n_drawn);
        let is_as_large: Vec<bool> = (n_drawn..n_drawn + batch)
            .into_par_iter()
            .map(|i| {
                let mut stream = stream.after((i * xs.len()) as u64);
                let mut xs = xs.to_vec();
                stream.shuffle(&mut xs);
                best_split(&xs, options.side_min)
                    .is_some_and(|(_, other)| other >= distance * (1.0 - 1e-12))
            })
            .collect();
        for is_as_large in is_as_large {
            n_drawn += 1;
            n_as_large += usize::from(is_as_large);
            if n_as_large == ENOUGH {
                return ENOUGH as f64 / n_drawn as f64;
            }
        }
    }
    (n_as_large + 1) as f64 / (n_drawn + 1) as f64
}

/// The split with the largest weighted distance, and that distance.
fn best_split(xs: &[f64], side_min: usize) -> Option<(usize, f64)> {
    let mut best: Option<(usize, f64)> = None;
    let mut weigh = |start: usize, end: usize| {
        if let Some((at, distance)) = best_of_interval(&xs[start..end], side_min)
            && best.is_none_or(|(_, most)| distance > most)
        {
            best = Some((start + at, distance));
        }
    };
    if xs.len() <= INTERVAL_MAX {
        weigh(0, xs.len());
    }
    let mut length = INTERVAL_MAX;
    while length >= 2 * side_min {
        if length < xs.len() {
            for start in (0..xs.len() - length).step_by(length / 2) {
                weigh(start, start + length);
            }
            weigh(xs.len() - length, xs.len());
        }
        length /= 2;
    }
    best
}

/// The same among all splits of one interval, in O(n^2).
fn best_of_interval(xs: &[f64], side_min: usize) -> Option<(usize, f64)> {
    let n = xs.len();
    let mut best: Option<(usize, f64)> = None;
    // Sums of |x - x'| within the left part, within the right part, and in all.
    let mut right: f64 = (1..n).map(|i| distances(xs[i], &xs[..i])).sum();
    let (mut left, all) = (0.0, right);
    for at in 1..n {
        let (before, x, after) = (&xs[..at - 1], xs[at - 1], &xs[at..]);
        left += distances(x, before);
        right -= distances(x, after);
        if at < side_min || n - at < side_min {
            continue;
        }
        let (a, b) = (at as f64, (n - at) as f64);
        let pairs = |n: f64| n * (n - 1.0) / 2.0;
        let energy = 2.0 * (all - left - right) / (a * b) - left / pairs(a) - right / pairs(b);
        let distance = energy * a * b / (a + b);
        if best.is_none_or(|(_, most)| distance > most) {
            best = Some((at, distance));
        }
    }
    best
}

/// Sum of `|x - y|`, in four partial sums that the processor can add at once.
fn distances(x: f64, ys: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let chunks = ys.chunks_exact(4);
    let rest: f64 = chunks.remainder().iter().map(|y| (x - y).abs()).sum();
    for chunk in chunks {
        for (sum, y) in sums.iter_mut().zip(chunk) {
            *sum += (x - y).abs();
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Moves each change to the best split between its neighbours, because it was found while other
/// changes were still on one side of it.
fn relocate(xs: &[f64], side_min: usize, found: &mut [LevelChange]) {
    for i in 0..found.len() {
        let start = if i == 0 { 0 } else { found[i - 1].at };
        let end = found.get(i + 1).map_or(xs.len(), |next| next.at);
        // The distance search is local: 256 values on each side of the change.
        let (start, end) = (start.max(found[i].at.saturating_sub(256)), end.min(found[i].at + 256));
        if let Some((at, _)) = best_of_interval(&xs[start..end], side_min) {
            found[i].at = start + at;
        }
    }
}

/// Drops changes that lie as near to an end as `side_min` permits because fewer than `side_min`
/// values differ there. Such values are not a level yet, and the place would be beside the cause.
/// The place with the least absolute deviations from the medians of both sides decides.
fn drop_unsettled(xs: &[f64], side_min: usize, found: &mut Vec<LevelChange>) {
    let ats: Vec<usize> = found.iter().map(|change| change.at).collect();
    let mut i = 0;
    found.retain(|change| {
        let start = if i == 0 { 0 } else { ats[i - 1] };
        let end = ats.get(i + 1).copied().unwrap_or(xs.len());
        i += 1;
        let near_end = (change.at + side_min == end).then_some(change.at..end);
        let near_start = (change.at == start + side_min).then_some(start + 1..change.at + 1);
        near_end.into_iter().chain(near_start).all(|places| {
            let deviation = |at: usize| deviations(&xs[start..at]) + deviations(&xs[at..end]);
            let here = deviation(change.at);
            places.into_iter().all(|at| deviation(at) >= here)
        })
    });
}

/// Sum of the absolute deviations from the median.
fn deviations(xs: &[f64]) -> f64 {
    let mut xs = xs.to_vec();
    let middle = xs.len() / 2;
    let median = *xs.select_nth_unstable_by(middle, f64::total_cmp).1;
    xs.iter().map(|x| (x - median).abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: DivisionOptions =
        DivisionOptions { alpha: 0.05, side_min: 3, n_orders: 199, seed: 7 };

    /// Sessions with a skewed noise of about 1 %; one in twenty has an outlier.
    fn noise(n: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed);
        (0..n)
            .map(|_| {
                let exponential = -0.01 * (1.0 - stream.unit()).ln();
                exponential + if stream.below(20) == 0 { 0.1 * stream.unit() } else { 0.0 }
            })
            .collect()
    }

    fn places(xs: &[f64]) -> Vec<usize> {
        divide(xs, OPTIONS).unwrap().changes.iter().map(|change| change.at).collect()
    }

    #[test]
    fn a_history_without_a_change_is_called_changed_no_more_often_than_stated() {
        let called = |n: usize| {
            let n_called = (0..400)
                .filter(|&seed| {
                    let options = DivisionOptions { seed, ..OPTIONS };
                    !divide(&noise(n, 1000 + seed), options).unwrap().changes.is_empty()
                })
                .count();
            n_called as f64 / 400.0
        };
        // Nominal 5 %; three standard errors of 400 are 3.3 %.
        for n in [12, 40, 120] {
            assert!(called(n) < 0.083, "{n}: {}", called(n));
        }
        // A test that never rejects would also pass the assertion above.
        assert!(called(40) > 0.01);
    }

    #[test]
    fn a_level_between_two_others_is_found() {
        let mut xs = noise(300, 3);
        xs[140..165].iter_mut().for_each(|x| *x += 0.04);
        let found = places(&xs);
        assert_eq!(found, [140, 165]);
    }

    /// A change that is one or two values old may not last, and a place three values from the end
    /// would be beside it.
    #[test]
    fn a_level_has_as_many_values_as_it_must_have() {
        for (n_new, expect) in [(1, vec![]), (2, vec![]), (3, vec![57]), (4, vec![56])] {
            let mut xs = noise(60, 8);
            xs[60 - n_new..].iter_mut().for_each(|x| *x += 0.4);
            assert_eq!(places(&xs), expect, "{n_new} at the end");
            xs.reverse();
            let mirrored: Vec<usize> = expect.iter().map(|at| 60 - at).collect();
            assert_eq!(places(&xs), mirrored, "{n_new} at the beginning");
        }
    }

    #[test]
    fn more_orders_tell_smaller_probabilities() {
        let mut xs = noise(40, 9);
        xs[20..].iter_mut().for_each(|x| *x += 0.4);
        let p = |n_orders| p_of_no_change(&xs, DivisionOptions { n_orders, ..OPTIONS }).unwrap();
        assert_eq!((p(199), p(3999)), (1.0 / 200.0, 1.0 / 4000.0));
        assert_eq!(p(199), divide(&xs, OPTIONS).unwrap().p);
    }

    #[test]
    fn a_long_history_is_divided_everywhere() {
        let mut xs = noise(1500, 4);
        xs[200..].iter_mut().for_each(|x| *x += 0.03);
        xs[1200..].iter_mut().for_each(|x| *x -= 0.03);
        let found = places(&xs);
        assert_eq!(found, [200, 1200]);
    }

    /// Direct evaluation of the definition, without sums kept between splits.
    #[test]
    fn the_distance_is_the_definition() {
        let xs = noise(23, 5);
        let mean = |x: &[f64], y: &[f64], pairs: f64| {
            x.iter().flat_map(|x| y.iter().map(move |y| (x - y).abs())).sum::<f64>() / pairs
        };
        let distance = |at: usize| {
            let (x, y) = xs.split_at(at);
            let (a, b) = (x.len() as f64, y.len() as f64);
            let within = mean(x, x, a * (a - 1.0)) + mean(y, y, b * (b - 1.0));
            (2.0 * mean(x, y, a * b) - within) * a * b / (a + b)
        };
        let expect = (3..=20).max_by(|&i, &j| distance(i).total_cmp(&distance(j))).unwrap();
        let (at, found) = best_of_interval(&xs, 3).unwrap();
        assert_eq!(at, expect);
        assert!((found - distance(expect)).abs() < 1e-12);
    }

    #[test]
    fn too_few_values_have_no_change_and_bad_ones_are_refused() {
        assert_eq!(divide(&[], OPTIONS), Ok(Segmentation { p: 1.0, changes: vec![] }));
        assert_eq!(divide(&[1.0, 1.0, 1.0, 9.0, 9.0], OPTIONS).unwrap().p, 1.0);
        assert_eq!(places(&[1.0; 50]), [0; 0]);
        assert_eq!(divide(&[1.0, f64::NAN], OPTIONS), Err(Invalid::NotFinite { index: 1 }));
        let alpha = DivisionOptions { alpha: 0.0, ..OPTIONS };
        assert!(matches!(divide(&[1.0], alpha), Err(Invalid::OutOfRange { .. })));
    }
}
