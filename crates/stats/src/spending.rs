//! Looks (interim analyses) at a comparison that is still running: their times, and the error that
//! each may make.
//!
//! The errors of all looks sum to alpha. By the union bound all intervals hold at once, whatever
//! depends on whatever and whatever rule stops the session.

use crate::relabel;
use crate::verdict::minimum_pairs;

/// One look (interim analysis) at the pairs so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of pairs at this look.
    pub n_pairs: usize,
    /// Error of this look. Its interval is at level `1 - alpha`.
    pub alpha: f64,
}

/// Numbers of pairs at the looks of a comparison of at most `n_max` pairs: 10, then `ceil(1.4 n)`,
/// and `n_max` at last.
///
/// ```
/// assert_eq!(stats::spending::sizes(40), [10, 14, 20, 28, 40]);
/// ```
pub fn sizes(n_max: usize) -> Vec<usize> {
    let (mut sizes, mut n) = (Vec::new(), 10);
    while sizes.last().copied().unwrap_or(0) < n_max {
        let n_pairs = n.min(n_max);
        sizes.push(n_pairs);
        // ceil(1.4 n) in whole numbers, because 1.4 is not exact in binary.
        n = (7 * n_pairs).div_ceil(5);
    }
    sizes
}

/// A point at which a comparison can have a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterimPoint {
    /// Pairs so far.
    pub n_pairs: usize,
    /// Fraction of the session, from 0 to 1, by its pairs or by its time. It never decreases from
    /// one point to the next, and it must not depend on the labels.
    pub fraction: f64,
}

/// The points of [`sizes`], with the fraction of the pairs.
///
/// ```
/// let points = stats::spending::by_pairs(40);
/// assert_eq!((points[1].n_pairs, points[1].fraction), (14, 0.35));
/// ```
pub fn by_pairs(n_max: usize) -> Vec<InterimPoint> {
    let point = |n_pairs| InterimPoint { n_pairs, fraction: n_pairs as f64 / n_max as f64 };
    sizes(n_max).into_iter().map(point).collect()
}

/// Alpha spending: the error of the looks at a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spending {
    /// Error of all looks together.
    pub alpha: f64,
    /// Number of comparisons in the family. In the worst case each has `alpha / family`.
    pub family: usize,
    /// Smallest number of pairs that may decide.
    pub n_min: usize,
}

/// Re-labellings times pairs of one evaluation of all comparisons: some 20 ms.
const WORK: usize = 4_000_000;
/// Upper limit of the same in a large family, which needs small p-values.
const WORK_MAX: usize = 4 * WORK;
/// Number of pairs above which neighbours form groups, and the smallest number of groups.
const GROUPS_MAX: usize = 1000;
const GROUPS_MIN: usize = 64;
/// Upper limit of the re-labellings of a look. More are not worth the time.
const DRAWS_MAX: usize = 99_999;

impl Spending {
    /// The looks at these points that can decide something.
    ///
    /// The error of the look at fraction `f` is `alpha (f - f_before)`. Points that could not
    /// decide anything leave their share to the next look, so no part of alpha is lost. If the
    /// fractions do not depend on the labels, the errors are fixed given the times of the slots,
    /// and their sum is at most alpha. Later points do not change earlier looks.
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

    /// Number of draws that resolves a p-value at a look: ten for each draw that may be as extreme.
    /// If ten are too much work, two.
    pub fn draws(&self, look: Look) -> usize {
        draws_of(look, self.family)
    }

    /// Upper limit of the pairs or groups that a look tests, so that its work is bounded.
    pub fn n_groups_max(&self, look: Look) -> usize {
        (WORK_MAX / self.draws(look)).clamp(GROUPS_MIN, GROUPS_MAX)
    }

    /// Number of pairs with which one look at the whole alpha can decide. `None` if the family is
    /// too large for any number of pairs.
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

/// Whether the most extreme labelling is rare enough, among all labellings and among the draws.
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
        // No time passes between 10 and 14 pairs, so the look at 14 has no error to spend.
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
