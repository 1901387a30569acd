//! Single disturbed sessions.

use crate::sorted::SortedSample;

/// Sessions in the running median. Fewer than half of them may be disturbed.
const WINDOW: usize = 9;
/// Sessions at an end that share one more median. The last three can then be a new level.
const END: usize = 5;
/// Largest distance from the running median, in standard deviations.
const FAR: f64 = 3.0;

/// Pulls sessions that are far from the running median to that distance. A level of more than half
/// the window, or of more than half of an end, stays as it is.
pub(super) fn clean(xs: &[f64]) -> Vec<f64> {
    let n = xs.len();
    if n < WINDOW {
        return xs.to_vec();
    }
    let inner = |at: usize| median::<WINDOW>(xs, at.saturating_sub(WINDOW / 2).min(n - WINDOW));
    // Near an end, a session may be of either level.
    let range = |at: usize| match inner(at) {
        inner if at < END => (inner, median::<END>(xs, 0)),
        inner if at + END >= n => (inner, median::<END>(xs, n - END)),
        inner => (inner, inner),
    };
    let ranges: Vec<(f64, f64)> = (0..n).map(range).collect();
    let distances: Vec<f64> = xs.iter().zip(&ranges).map(|(x, (it, _))| (x - it).abs()).collect();
    // The median of nine takes a share of each session's own error, so the distances are too small.
    let scale = SortedSample::new(&distances).map_or(0.0, |it| it.median()) * 1.4826 * 1.2;
    if scale == 0.0 {
        return xs.to_vec();
    }
    let pulled = |(x, (one, other)): (&f64, (f64, f64))| {
        x.clamp(one.min(other) - FAR * scale, one.max(other) + FAR * scale)
    };
    xs.iter().zip(ranges).map(pulled).collect()
}

fn median<const N: usize>(xs: &[f64], start: usize) -> f64 {
    let mut window: [f64; N] = std::array::from_fn(|i| xs[start + i]);
    window.sort_by(f64::total_cmp);
    window[N / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_sessions_are_pulled_and_levels_stay() {
        let mut xs: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 10)).collect();
        xs[20..].iter_mut().for_each(|x| *x += 500.0);
        let level = xs.clone();
        assert_eq!(clean(&xs), level);
        xs[7] += 300.0;
        xs[39] += 300.0;
        let cleaned = clean(&xs);
        assert!(cleaned[7] < 30.0 && cleaned[39] < 530.0, "{cleaned:?}");
        assert_eq!(cleaned[8..39], level[8..39]);
        // The last three are a new level; the last two are not.
        let mut last = level.clone();
        last[37..].iter_mut().for_each(|x| *x += 300.0);
        assert_eq!(clean(&last), last);
        last[37] -= 300.0;
        assert!(clean(&last)[39] < 530.0);
    }
}
