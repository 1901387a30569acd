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

/// Shares of alpha for comparisons of ends, for probes and for confirmations.
const ENDS: f64 = 1.0 / 8.0;
const PROBES: f64 = 1.0 / 2.0;
const CONFIRMATIONS: f64 = 3.0 / 8.0;

/// The error rate of each next step. The sum is at most alpha, however long the search is.
#[derive(Clone, Debug)]
pub struct ErrorBudget {
    alpha: f64,
    /// Probes that a search without surprises needs.
    pub n_usual: u32,
}

impl ErrorBudget {
    pub fn new(alpha: f64, n_commits: usize) -> Self {
        let n_halvings = usize::BITS - n_commits.max(1).leading_zeros();
        Self { alpha, n_usual: n_halvings + 2 }
    }

    /// For the comparison of a segment's ends, after `n` others.
    pub fn ends(&self, n: u32) -> f64 {
        self.alpha * ENDS * shrinking(n)
    }

    /// The error rate of a probe that follows `n` others. Each group of `n_usual` probes has one part of the budget, and
    /// its probes share that part equally.
    pub fn probe(&self, n: u32) -> f64 {
        self.alpha * PROBES * shrinking(n / self.n_usual) / f64::from(self.n_usual)
    }

    /// For a confirmation, after `n` others.
    pub fn confirmation(&self, n: u32) -> f64 {
        self.alpha * CONFIRMATIONS * shrinking(n)
    }
}

/// Three quarters, then three quarters of the rest, and so on: most searches need only the first part.
fn shrinking(n: u32) -> f64 {
    0.75 * 0.25_f64.powi(n as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_together_have_at_most_alpha() {
        let budget = ErrorBudget::new(0.01, 1024);
        assert_eq!(budget.n_usual, 13);
        let sum: f64 =
            (0..900).map(|n| budget.ends(n) + budget.probe(n) + budget.confirmation(n)).sum();
        assert!(sum <= 0.01 * (1.0 + 1e-9) && sum > 0.0099, "{sum}");
        let usual: f64 = (0..13).map(|n| budget.probe(n)).sum();
        assert!((usual - 0.00375).abs() < 1e-12);
    }
}
