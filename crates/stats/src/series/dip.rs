//! Hartigan's dip, the distance of a sample from a distribution with one mode.

use crate::sorted::SortedSample;

/// Hartigan's dip statistic, dimensionless, in `[1 / (2n), 1/4]`. It is the largest distance
/// between the empirical distribution and the closest distribution with a single mode.
///
/// Hartigan & Hartigan (1985), algorithm AS 217 with the corrections of the R package `diptest` by
/// Maechler. O(n) after the sort for most data.
///
/// ```
/// let xs = stillwell_stats::SortedSample::new(&[0.0, 0.0, 1.0, 1.0]).unwrap();
/// assert_eq!(stillwell_stats::series::dip(&xs), 0.25); // two equal atoms: the largest possible value
/// ```
pub fn dip(xs: &SortedSample) -> f64 {
    let x = xs.as_slice();
    let n = x.len();
    // All distances are in units of 1 / (2n). None is below 1 unit.
    let mut dip = 1.0_f64;
    if xs.min() < xs.max() {
        let (minorant, majorant) = (minorant(x), majorant(x));
        let (mut low, mut high) = (0, n - 1);
        loop {
            let lower = chain(&minorant, high, low);
            let upper = chain(&majorant, low, high);
            let gap = widest_gap(x, &lower, &upper);
            if gap.size < dip {
                break;
            }
            let convex = lower[gap.lower..].windows(2).map(|s| rise(x, s[1], s[0], 1.0));
            let concave = upper[gap.upper..].windows(2).map(|s| rise(x, s[0], s[1], -1.0));
            dip = convex.chain(concave).fold(dip, f64::max);
            let next = (lower[gap.lower], upper[gap.upper]);
            if next == (low, high) {
                break;
            }
            (low, high) = next;
        }
    }
    dip / (2 * n) as f64
}

/// For each point, the previous vertex of the greatest convex minorant up to it.
fn minorant(x: &[f64]) -> Vec<usize> {
    let mut link = vec![0; x.len()];
    for j in 1..x.len() {
        let mut at = j - 1;
        while at != 0 && !steeper(x, link[at], at, j) {
            at = link[at];
        }
        link[j] = at;
    }
    link
}

/// For each point, the next vertex of the least concave majorant from it.
fn majorant(x: &[f64]) -> Vec<usize> {
    let last = x.len() - 1;
    let mut link = vec![last; x.len()];
    for k in (0..last).rev() {
        let mut at = k + 1;
        while at != last && !steeper(x, link[at], at, k) {
            at = link[at];
        }
        link[k] = at;
    }
    link
}

/// Whether the distribution is steeper between `b` and `c` than between `a` and `b`. The three are
/// ascending or descending.
fn steeper(x: &[f64], a: usize, b: usize, c: usize) -> bool {
    (x[c] - x[b]) * (b as f64 - a as f64) < (x[b] - x[a]) * (c as f64 - b as f64)
}

fn chain(link: &[usize], from: usize, to: usize) -> Vec<usize> {
    let mut vertices = vec![from];
    let mut at = from;
    while at != to {
        at = link[at];
        vertices.push(at);
    }
    vertices
}

struct ChainDistance {
    size: f64,
    /// Vertex of the lower chain (descending) at which the modal interval begins.
    lower: usize,
    /// Vertex of the upper chain (ascending) at which the modal interval ends.
    upper: usize,
}

/// The largest distance between the two chains, in units of 1 / (2n).
fn widest_gap(x: &[f64], lower: &[usize], upper: &[usize]) -> ChainDistance {
    let mut gap = ChainDistance { size: 0.0, lower: lower.len() - 1, upper: upper.len() - 1 };
    if lower.len() == 2 && upper.len() == 2 {
        return ChainDistance { size: 1.0, ..gap };
    }
    let (mut i, mut j) = (lower.len() - 2, 1);
    loop {
        let (low, high) = (lower[i], upper[j]);
        if low > high {
            let before = lower[i + 1];
            let slope = (low - before) as f64 / (x[low] - x[before]);
            let size = (high + 1 - before) as f64 - (x[high] - x[before]) * slope;
            if size >= gap.size {
                gap = ChainDistance { size, lower: i + 1, upper: j };
            }
            j = (j + 1).min(upper.len() - 1);
        } else {
            let before = upper[j - 1];
            let slope = (high - before) as f64 / (x[high] - x[before]);
            let size = (x[low] - x[before]) * slope - (low as f64 - before as f64 - 1.0);
            if size >= gap.size {
                gap = ChainDistance { size, lower: i, upper: j };
            }
            i = i.saturating_sub(1);
        }
        if lower[i] == upper[j] {
            return gap;
        }
    }
}

/// The largest distance of the distribution from its chord between `begin` and `end`, at least 1.
/// `side` 1 means above the chord, `side` -1 below it.
fn rise(x: &[f64], begin: usize, end: usize, side: f64) -> f64 {
    if end - begin <= 1 || x[end] == x[begin] {
        return 1.0;
    }
    let slope = (end - begin) as f64 / (x[end] - x[begin]);
    (begin..=end)
        .map(|at| side * ((at - begin) as f64 - (x[at] - x[begin]) * slope) + 1.0)
        .fold(1.0, f64::max)
}
