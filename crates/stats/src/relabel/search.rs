//! The ends of the set of log ratios that a test does not reject.

use crate::interval::Interval;

/// First step outwards if the data show no scatter at all.
const LEAST_STEP: f64 = 1e-5;
/// A log ratio that no comparison reaches: beyond it an end counts as infinite.
const FARTHEST: f64 = 50.0;

/// The interval around `center` on which `inside` holds, ends included.
///
/// `inside(0)` is known as `zero_inside`, and the result agrees with it even where the accepted
/// set has gaps: 0 is never skipped when it is rejected, and always covered when it is not.
pub(super) fn interval(
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

/// The last point from `inner`, which is inside, towards `outer`, which is not.
pub(super) fn edge(
    mut inner: f64,
    mut outer: f64,
    tolerance: f64,
    mut inside: impl FnMut(f64) -> bool,
) -> f64 {
    while (outer - inner).abs() > tolerance {
        let middle = (inner + outer) / 2.0;
        if inside(middle) {
            inner = middle;
        } else {
            outer = middle;
        }
    }
    inner
}
