//! The ends of the set of log ratios that a test does not reject.

use crate::interval::Interval;

/// First step outwards if the data have no scatter at all.
const LEAST_STEP: f64 = 1e-5;
/// A log ratio beyond any real comparison. An end beyond it counts as infinite.
const FARTHEST: f64 = 50.0;

/// The interval around `center` in which `inside` holds, ends included.
///
/// `zero_inside` is `inside(0)`, and the result agrees with it even if the accepted set has gaps.
/// The interval never skips a rejected 0, and always covers an accepted one.
pub(crate) fn interval(
    center: f64,
    step: f64,
    zero_inside: bool,
    tolerance: f64,
    mut inside: impl FnMut(f64) -> bool,
) -> Interval {
    let mut end = |side: f64| {
        let mut inner = center;
        if zero_inside && center * side < 0.0 {
            inner = 0.0;
        }
        let (from, mut reach) = (inner, step.max(LEAST_STEP));
        let mut outer;
        loop {
            outer = from + side * reach;
            if !zero_inside && from * side < 0.0 && outer * side >= 0.0 {
                outer = 0.0;
                break;
            }
            if !inside(outer) {
                break;
            }
            if reach > FARTHEST {
                return side * f64::INFINITY;
            }
            inner = outer;
            reach *= 1.6;
        }
        edge(inner, outer, tolerance, &mut inside)
    };
    Interval { lo: end(-1.0), hi: end(1.0) }
}

/// The last accepted point on the way from `inner`, which is inside, to `outer`, which is not.
pub(super) fn edge(
    mut inner: f64,
    mut outer: f64,
    tolerance: f64,
    mut inside: impl FnMut(f64) -> bool,
) -> f64 {
    while (outer - inner).abs() > tolerance {
        let middle = (inner + outer) / 2.0;
        // The tolerance of data without scatter is less than a double can tell.
        if middle == inner || middle == outer {
            break;
        }
        if inside(middle) {
            inner = middle;
        } else {
            outer = middle;
        }
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_data_without_scatter_ends_at_its_center() {
        let center = (29.0f64 / 28.0).ln();
        let found = interval(center, 0.0, false, 0.0, |theta| (theta - center).abs() < 1e-17);
        assert!(found.contains(center) && found.half_width() < 1e-16, "{found:?}");
    }
}
