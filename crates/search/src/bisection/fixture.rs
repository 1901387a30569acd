//! Relations for tests.

use crate::bisection::Relation;

/// A commit that takes so many percent longer than another one, give or take `half_width`.
pub fn relation(percent: f64, half_width: f64) -> Relation {
    let ratio = 1.0 + percent / 100.0;
    let end = |sign: f64| Some(ratio + sign * half_width / 100.0);
    let is_different = percent.abs() > half_width;
    Relation { ratio, lo: end(-1.0), hi: end(1.0), alpha: 0.001, is_different, is_same: false }
}
