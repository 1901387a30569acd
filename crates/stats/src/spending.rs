//! When to look at a comparison that is still running, and how much each look may err.
//!
//! The errors of all looks sum to alpha, so by the union bound every interval printed on the way
//! holds at once, whatever depends on whatever and however the stopping is decided.

use crate::relabel;
use crate::verdict::minimum_pairs;

/// One look at the pairs so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of pairs at this look.
    pub n_pairs: usize,
    /// Error this look may make: its interval is at level `1 - alpha`.
    pub alpha: f64,
}

/// Numbers of pairs at which a comparison of at most `n_max` is looked at: 10, then `ceil(1.4 n)`,
/// the last at `n_max`.
///
/// ```
/// assert_eq!(stats::spending::sizes(40), [10, 14, 20, 28, 40]);
/// ```
pub fn sizes(n_max: usize) -> Vec<usize> {
    let (mut sizes, mut n) = (Vec::new(), 10);
    while sizes.last().copied().unwrap_or(0) < n_max {
        let n_pairs = n.min(n_max);
        sizes.push(n_pairs);
        // ceil(1.4 n) in whole numbers: 1.4 is not exact in binary.
        n = (7 * n_pairs).div_ceil(5);
    }
    sizes
}

/// A point that a comparison has reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimPoint {
    /// Pairs so far.
    pub n_pairs: usize,
    /// How much of the session that is, from 0 to 1: of its pairs, or of its time. Never smaller
    /// than at the point before, and the same whichever arm is which.
    pub fraction: f64,
}

/// The points of [`sizes`], by their share of the pairs.
///
/// ```
/// let points = stats::spending::by_pairs(40);
/// assert_eq!((points[1].n_pairs, points[1].fraction), (14, 0.35));
/// ```
pub fn by_pairs(n_max: usize) -> Vec<InterimPoint> {
    let point = |n_pairs| InterimPoint { n_pairs, fraction: n_pairs as f64 / n_max as f64 };
    sizes(n_max).into_iter().map(point).collect()
}

/// What the looks at a comparison may err.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// Error of all looks together.
    pub alpha: f64,
    /// Comparisons that are judged together: in the worst case each has `alpha / family`.
    pub family: usize,
    /// Nothing is decided before so many pairs.
    pub n_min: usize,
}

/// Re-labellings times pairs that take some 20 ms: what one evaluation of all comparisons should take.
const WORK: usize = 4_000_000;
/// What it may take where so many comparisons are judged together that p-values have to be small.
const WORK_MAX: usize = 4 * WORK;
/// Pairs above which neighbours are put together, and the fewest groups that are made of them.
const GROUPS_MAX: usize = 1000;
const GROUPS_MIN: usize = 64;
/// Re-labellings above which no look is worth it.
const DRAWS_MAX: usize = 99_999;

impl Spending {
    /// The looks at these points that can decide something.
    ///
    /// The look at fraction `f` may err by `alpha (f - f_before)`, and by what the points before it
    /// left over because they could not decide anything: nothing of alpha is lost. As long as the
    /// fractions do not depend on the labels, the errors are fixed given the times of the slots;
    /// they sum to alpha at most. Points that are added later change none of the earlier looks.
    ///
    /// ```
    /// use stats::spending::{Spending, by_pairs};
    /// let spending = Spending { alpha: 0.01, family: 1, n_min: 0 };
    /// // Ten pairs of 100 cannot reject at 0.1 %; their share goes to the look at 14.
    /// let looks = spending.looks(&by_pairs(100));
    /// assert_eq!(looks[0].n_pairs, 14);
    /// assert!((looks[0].alpha - 0.0014).abs() < 1e-12);
    /// ```
    pub fn looks(&self, points: &[InterimPoint]) -> Vec<Look> {
        let (mut looks, mut spent) = (Vec::new(), 0.0);
        for &InterimPoint { n_pairs, fraction } in points {
            let due = self.alpha * fraction.clamp(0.0, 1.0);
            let look = Look { n_pairs, alpha: due - spent };
            if n_pairs >= self.n_min && can_decide(look, self.family) {
                looks.push(look);
                spent = due;
            }
        }
        looks
    }

    /// Draws that resolve a p-value at a look: ten for each that may be as extreme, or two where
    /// ten would be too much work.
    pub fn draws(&self, look: Look) -> usize {
        draws_of(look, self.family)
    }

    /// Pairs or groups of pairs that are tested at a look, so that the work stays bounded.
    pub fn n_groups_max(&self, look: Look) -> usize {
        (WORK_MAX / self.draws(look)).clamp(GROUPS_MIN, GROUPS_MAX)
    }

    /// Pairs with which one look at all of alpha could decide; `None` if there are too many
    /// comparisons for any number.
    pub fn n_pairs_needed(&self) -> Option<usize> {
        let look = |n_pairs| Look { n_pairs, alpha: self.alpha };
        (1..1000).find(|&n_pairs| can_decide(look(n_pairs), self.family))
    }
}

fn draws_of(look: Look, family: usize) -> usize {
    let wanted = relabel::draws(look.alpha / family as f64);
    let affordable = WORK / look.n_pairs.clamp(1, GROUPS_MAX) / family.max(1);
    affordable.clamp((wanted / 5).max(1999), wanted).min(DRAWS_MAX)
}

/// Whether the most extreme of all labellings, or of those that are drawn, is rare enough.
fn can_decide(look: Look, family: usize) -> bool {
    let alpha = look.alpha / family as f64;
    let drawn = 1.0 / (draws_of(look, family) + 1) as f64;
    minimum_pairs(alpha).is_ok_and(|need| look.n_pairs >= need) && drawn <= alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Spending = Spending { alpha: 0.01, family: 1, n_min: 0 };

    #[test]
    fn nothing_of_alpha_is_lost() {
        for (n_max, n_min, family) in [(10, 0, 1), (60, 0, 1), (500, 100, 1), (300, 0, 40)] {
            let looks = Spending { n_min, family, ..ONE }.looks(&by_pairs(n_max));
            let spent: f64 = looks.iter().map(|look| look.alpha).sum();
            assert!((spent - 0.01).abs() < 1e-12, "{n_max} {n_min} {family}: {spent}");
            assert!(looks.iter().all(|look| look.n_pairs >= n_min));
            assert_eq!(looks.last().unwrap().n_pairs, n_max);
        }
    }

    #[test]
    fn time_spends_as_pairs_do() {
        let point = |n_pairs, fraction| InterimPoint { n_pairs, fraction };
        let points = [point(10, 0.5), point(14, 0.5), point(20, 0.9), point(22, 1.0)];
        let looks = ONE.looks(&points);
        // No time passed between 10 and 14 pairs, so there is nothing to err with at 14.
        assert_eq!(looks.iter().map(|look| look.n_pairs).collect::<Vec<_>>(), [10, 20, 22]);
        for (look, expected) in looks.iter().zip([0.005, 0.004, 0.001]) {
            assert!((look.alpha - expected).abs() < 1e-12, "{looks:?}");
        }
        assert_eq!(ONE.looks(&points[..3]), looks[..2], "later points change nothing");
    }

    #[test]
    fn too_few_pairs_never_decide() {
        assert_eq!((ONE.looks(&by_pairs(5)), ONE.n_pairs_needed()), (vec![], Some(8)));
        let ten = Spending { family: 10, ..ONE };
        assert_eq!((ten.looks(&by_pairs(9)), ten.n_pairs_needed()), (vec![], Some(11)));
        let crowd = Spending { family: 100_000, ..ONE };
        assert_eq!((crowd.looks(&by_pairs(500)), crowd.n_pairs_needed()), (vec![], None));
    }
}
