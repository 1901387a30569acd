//! Change points: the places where the level of a series changes.

use crate::invalid::{Invalid, at_least};
use crate::sorted::SortedSample;

/// The first index of each segment of constant mean, 0 first. The segmentation is the one with the
/// smallest `sum of squared errors / s^2 + penalty * (segments - 1)`.
///
/// PELT (Killick, Fearnhead & Eckley 2012) is exact, and linear in n where changes are frequent.
/// The scale is `s = 1.4826 med |x_{i+1} - x_i| / sqrt(2)`, which changes of level do not widen.
///
/// `xs` is in run order. A usual penalty is `3 ln n` to `15 ln n`. To keep spikes from becoming
/// segments, pass the ranks of the runs. Fails for `n < 2`, NaN and infinity, a penalty that is not
/// positive, and if most neighbours are equal.
/// ```
/// let xs = [1.0, 1.2, 0.9, 1.1, 5.0, 5.1, 4.9, 5.2];
/// assert_eq!(stillwell_stats::changepoint::pelt(&xs, 10.0).unwrap(), [0, 4]);
/// ```
pub fn pelt(xs: &[f64], penalty: f64) -> Result<Vec<usize>, Invalid> {
    at_least(2, xs)?;
    crate::invalid::between("penalty", penalty, 0.0, f64::INFINITY)?;
    let steps: Vec<f64> = xs.windows(2).map(|x| (x[1] - x[0]).abs()).collect();
    let scale = 1.4826 * SortedSample::new(&steps)?.median() / std::f64::consts::SQRT_2;
    if scale == 0.0 {
        return Err(Invalid::NoSpread);
    }
    let cost = squared_error(xs, scale);
    let n = xs.len();
    let mut best = vec![-penalty; n + 1];
    let mut start_of_last = vec![0; n + 1];
    let mut candidates = vec![0];
    for end in 1..=n {
        let total = |start: usize| best[start] + cost(start, end);
        let (start, least) = candidates
            .iter()
            .map(|&start| (start, total(start)))
            .fold((0, f64::INFINITY), |m, c| if c.1 < m.1 { c } else { m });
        start_of_last[end] = start;
        // A start that loses by more than the penalty at this end loses at every later end.
        candidates.retain(|&start| total(start) <= least + penalty);
        candidates.push(end);
        best[end] = least + penalty;
    }
    let mut starts = vec![start_of_last[n]];
    while starts[starts.len() - 1] > 0 {
        starts.push(start_of_last[starts[starts.len() - 1]]);
    }
    starts.reverse();
    Ok(starts)
}

/// Squared error about the mean of `xs[start..end] / scale`, in constant time per segment.
fn squared_error(xs: &[f64], scale: f64) -> impl Fn(usize, usize) -> f64 {
    let mut sums = vec![(0.0, 0.0)];
    let (mut sum, mut squares) = (0.0, 0.0);
    for x in xs {
        // The first value is the origin, because squares of large numbers lose digits.
        let z = (x - xs[0]) / scale;
        sum += z;
        squares += z * z;
        sums.push((sum, squares));
    }
    move |start, end| {
        let sum = sums[end].0 - sums[start].0;
        (sums[end].1 - sums[start].1 - sum * sum / (end - start) as f64).max(0.0)
    }
}
