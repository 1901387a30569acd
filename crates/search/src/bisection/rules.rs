//! The rules of a search: when differences count as one, or as none.

use crate::bisection::answer::Relation;

/// The margin within which a probe is like an end, as a share of the ends' difference.
const MARGIN_SHARE: f64 = 0.25;
/// A change explains the whole difference of the ends if its estimate is at most this share of the difference away.
/// Overlapping intervals are not enough: a wide one could hide a second change of the opposite sign.
const MISSED_SHARE: f64 = 1.0 / 3.0;

#[derive(Clone, Copy, Debug)]
pub struct SearchRules {
    pub alpha: f64,
    /// Log ratio below which a probe is like an end.
    pub margin: f64,
    /// Whether a commit is measured in several link orders before it is called slower.
    pub asks_layouts: bool,
}

impl SearchRules {
    /// The log ratio that counts as the same if the ends differ so much.
    pub fn margin_of(self, size: &Relation) -> f64 {
        self.margin.min(MARGIN_SHARE * size.theta().abs())
    }

    /// Whether a difference is negligible beside the ends' difference. A value without noise tells any two commits
    /// apart.
    pub fn is_negligible(self, it: &Relation, size: &Relation) -> bool {
        let margin = self.margin_of(size);
        let is_inside = |end: Option<f64>| end.is_some_and(|end| end.ln().abs() <= margin);
        is_inside(it.lo) && is_inside(it.hi)
    }

    /// Whether the size of a change may be the whole difference of a segment's ends.
    pub fn explains(self, change: &Relation, whole: &Relation) -> bool {
        let ends = |it: &Relation| Some((it.lo?, it.hi?));
        let missed = (change.theta() - whole.theta()).abs();
        if missed <= self.margin_of(whole) {
            return true;
        }
        match (ends(change), ends(whole)) {
            (Some((lo, hi)), Some((whole_lo, whole_hi))) => {
                let is_near = missed <= MISSED_SHARE * whole.theta().abs();
                is_near && lo <= whole_hi && whole_lo <= hi
            }
            _ => true,
        }
    }
}
