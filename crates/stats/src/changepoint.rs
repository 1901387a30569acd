//! Change points: the places where the level of a series changes.

use crate::invalid::{Invalid, at_least};
use crate::sorted::SortedSample;

/// The first index of each segment of constant mean, 0 first. The segmentation is the one with the
/// smallest `sum of squared errors / s^2 + penalty * (segments - 1)`.
///
/// Recursion and answer are PELT's (Killick, Fearnhead & Eckley 2012). Starts
/// are dropped by functional pruning (FPOP; Maidstone, Hocking, Rigaill & Fearnhead 2017, section
/// 4): a start is kept only while there is a mean for which it is the best one. Of 100 000 values
/// without a change some ten starts are kept, where PELT keeps all. The scale is `s = 1.4826 med |x_{i+1} - x_i| / sqrt(2)`, which changes of level do not widen.
///
/// `xs` is in run order. A usual penalty is `3 ln n` to `15 ln n`. To keep spikes from becoming
/// segments, pass the ranks of the runs. Fails for `n < 2`, NaN and infinity, a penalty that is not
/// positive, if most neighbours are equal, and if a value is too far away to be squared in units of
/// the scale.
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
    let sums = Sums::new(xs, scale)?;
    let n = xs.len();
    let mut best = vec![-penalty; n + 1];
    let mut start_of_last = vec![0; n + 1];
    let mut pieces = vec![Piece { lo: f64::NEG_INFINITY, hi: f64::INFINITY, start: 0 }];
    let mut kept = Vec::new();
    for end in 1..=n {
        let total = |start: usize| best[start] + sums.squared_error(start, end);
        let (start, least) = pieces
            .iter()
            .map(|piece| (piece.start, total(piece.start)))
            .fold((0, f64::INFINITY), |m, c| if (c.1, c.0) < (m.1, m.0) { c } else { m });
        start_of_last[end] = start;
        let bound = least + penalty;
        kept.clear();
        for piece in &pieces {
            let room = (bound - total(piece.start)) / (end - piece.start) as f64;
            piece.split(sums.mean(piece.start, end), room, end, &mut kept);
        }
        std::mem::swap(&mut pieces, &mut kept);
        best[end] = bound;
    }
    let mut starts = vec![start_of_last[n]];
    while starts[starts.len() - 1] > 0 {
        starts.push(start_of_last[starts[starts.len() - 1]]);
    }
    starts.reverse();
    Ok(starts)
}

/// The means of the last segment for which a start is better than all others.
#[derive(Clone, Copy)]
struct Piece {
    lo: f64,
    hi: f64,
    start: usize,
}

impl Piece {
    /// Appends the part of this piece within `sqrt(room)` of the mean of its segment, and gives the
    /// rest to a segment that starts at `end`. Outside, the squared error about such a mean is more
    /// than the best cost so far and the penalty of another segment.
    fn split(self, mean: f64, room: f64, end: usize, pieces: &mut Vec<Self>) {
        let reach = if room > 0.0 { room.sqrt() } else { -1.0 };
        let (lo, hi) = (self.lo.max(mean - reach), self.hi.min(mean + reach));
        let new = |lo: f64, hi: f64, pieces: &mut Vec<Self>| match pieces.last_mut() {
            _ if lo >= hi => {}
            Some(last) if last.start == end => last.hi = hi,
            _ => pieces.push(Self { lo, hi, start: end }),
        };
        if lo < hi {
            new(self.lo, lo, pieces);
            pieces.push(Self { lo, hi, start: self.start });
            new(hi, self.hi, pieces);
        } else {
            new(self.lo, self.hi, pieces);
        }
    }
}

/// Cumulative sums of values and squares, in units of the scale.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn new(xs: &[f64], scale: f64) -> Result<Self, Invalid> {
        let (mut sum, mut squares) = (0.0, 0.0);
        let mut sums = vec![(0.0, 0.0)];
        for x in xs {
            // The first value is the origin, because squares of large numbers lose digits.
            let z = (x - xs[0]) / scale;
            sum += z;
            squares += z * z;
            sums.push((sum, squares));
        }
        // No sum of z is larger in size than the root of this.
        if (squares * xs.len() as f64).is_finite() {
            return Ok(Self(sums));
        }
        Err(Invalid::OutOfRange { name: "range / scatter of neighbours", value: f64::INFINITY })
    }

    fn mean(&self, start: usize, end: usize) -> f64 {
        (self.0[end].0 - self.0[start].0) / (end - start) as f64
    }

    /// Squared error of `xs[start..end]` about its mean, in constant time.
    fn squared_error(&self, start: usize, end: usize) -> f64 {
        let sum = self.0[end].0 - self.0[start].0;
        (self.0[end].1 - self.0[start].1 - sum * sum / (end - start) as f64).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    /// The recursion without any pruning.
    fn exhaustive(xs: &[f64], penalty: f64) -> Vec<usize> {
        let steps: Vec<f64> = xs.windows(2).map(|x| (x[1] - x[0]).abs()).collect();
        let scale = 1.4826 * SortedSample::new(&steps).unwrap().median() / std::f64::consts::SQRT_2;
        let sums = Sums::new(xs, scale).unwrap();
        let mut best = vec![(-penalty, 0)];
        for end in 1..=xs.len() {
            let total = |start: usize| (best[start].0 + sums.squared_error(start, end), start);
            let (least, start) = (0..end).map(total).min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
            best.push((least + penalty, start));
        }
        let mut starts = vec![best[xs.len()].1];
        while starts[starts.len() - 1] > 0 {
            starts.push(best[starts[starts.len() - 1]].1);
        }
        starts.reverse();
        starts
    }

    #[test]
    fn pruning_loses_no_segmentation() {
        let mut stream = Stream::new(3);
        let mut n_segments = 0;
        for round in 0..300 {
            let n = 20 + round % 180;
            let mut level = 0.0;
            let xs: Vec<f64> = (0..n)
                .map(|_| {
                    level = if stream.below(25) == 0 { 3.0 * stream.unit() } else { level };
                    level + stream.unit()
                })
                .collect();
            let penalty = [3.0, 15.0][round % 2] * (n as f64).ln();
            let found = pelt(&xs, penalty).unwrap();
            n_segments += found.len();
            assert_eq!(found, exhaustive(&xs, penalty), "round {round}");
        }
        assert!(n_segments > 600, "{n_segments}");
    }

    #[test]
    fn few_starts_are_kept_where_nothing_changes() {
        let mut stream = Stream::new(8);
        let flat: Vec<f64> = (0..100_000).map(|_| stream.unit()).collect();
        // With all starts kept these are 5 thousand million steps, some 40 s.
        assert_eq!(pelt(&flat, 15.0 * 1e5_f64.ln()), Ok(vec![0]));
    }
}
