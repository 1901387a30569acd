//! Looks (interim analyses) at a comparison that is still running: their times, and how much of the
//! error may be spent up to each.

use crate::verdict::minimum_pairs;

/// One look (interim analysis) at the pairs so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of pairs at this look.
    pub n_pairs: usize,
    /// Share of alpha that may be spent up to this look, from 0 to 1.
    pub spent: f64,
}

/// Numbers of pairs at the looks of a comparison of at most `n_max` pairs: 10, then `ceil(1.25 n)`,
/// and `n_max` at last. Looks cost no error, only time, so they are close together. Any `n_max` has
/// at most 190 of them.
///
/// ```
/// assert_eq!(stillwell_stats::spending::sizes(30), [10, 13, 17, 22, 28, 30]);
/// ```
pub fn sizes(n_max: usize) -> Vec<usize> {
    let (mut sizes, mut n) = (Vec::new(), 10);
    while sizes.last().copied().unwrap_or(0) < n_max {
        let n_pairs = n.min(n_max);
        sizes.push(n_pairs);
        n = n_pairs.saturating_add(n_pairs.div_ceil(4));
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
/// let points = stillwell_stats::spending::by_pairs(40);
/// assert_eq!((points[1].n_pairs, points[1].fraction), (13, 0.325));
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

/// Re-labellings times pairs of a look: one or two milliseconds.
const WORK: usize = 240_000;
/// Number of pairs above which neighbours form groups.
const GROUPS_MAX: usize = 1000;
/// Limits of the re-labellings of a look. More are not worth the time.
const DRAWS_MIN: usize = 1999;
const DRAWS_MAX: usize = 99_999;

impl Spending {
    /// The looks at these points that can decide something.
    ///
    /// Up to the fraction `f` of a session, `alpha sqrt(f)` may be spent: early looks find large
    /// differences soon, and cost the last look little. If the fractions do not depend on the
    /// labels, the sum is at most alpha. Later points do not change earlier looks.
    ///
    /// ```
    /// use stillwell_stats::spending::{Spending, by_pairs};
    /// let spending = Spending { alpha: 0.01, family: 1, n_min: 0 };
    /// let looks = spending.looks(&by_pairs(100));
    /// assert_eq!((looks[0].n_pairs, looks[2].n_pairs), (10, 17));
    /// assert!((looks[0].spent - 0.1f64.sqrt()).abs() < 1e-12);
    /// ```
    pub fn looks(&self, points: &[InterimPoint]) -> Vec<Look> {
        let mut looks: Vec<Look> = Vec::new();
        let least = self.n_pairs_needed().map(|needed| needed.max(self.n_min));
        for &InterimPoint { n_pairs, fraction } in points {
            let spent = fraction.clamp(0.0, 1.0).sqrt();
            let before = looks.last().map_or(0.0, |look| look.spent);
            if least.is_some_and(|least| n_pairs >= least) && spent > before {
                looks.push(Look { n_pairs, spent });
            }
        }
        looks
    }

    /// Number of draws at a look: at least 20 for each labelling of alpha, or of the share of alpha
    /// that the clearest comparison of a family has. Early looks have more, because their part of
    /// alpha is small. The number never grows from one look to the next.
    pub fn draws(&self, look: Look) -> usize {
        let alpha = self.alpha / self.family.max(1) as f64;
        let least = ((20.0 / alpha).ceil() as usize).saturating_sub(1);
        let n_units = look.n_pairs.div_ceil(self.group_size(look));
        (WORK / n_units.max(10)).max(least).clamp(DRAWS_MIN, DRAWS_MAX)
    }

    /// Number of consecutive pairs that a look tests as one, so that its work is bounded: 1, 2, 4 …
    pub fn group_size(&self, look: Look) -> usize {
        look.n_pairs.div_ceil(GROUPS_MAX).next_power_of_two()
    }

    /// The errors at which Holm's procedure judges the comparisons of the family, largest first.
    pub(crate) fn levels(self) -> impl Iterator<Item = f64> {
        (1..=self.family.max(1)).map(move |n_left| self.alpha / n_left as f64)
    }

    /// Number of pairs with which one look at the whole alpha can decide. `None` if the family is
    /// too large for any number of pairs.
    pub fn n_pairs_needed(&self) -> Option<usize> {
        let alpha = self.alpha / self.family.max(1) as f64;
        let smallest_p = 1.0 / (DRAWS_MAX + 1) as f64;
        minimum_pairs(alpha).ok().filter(|_| smallest_p <= alpha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Spending = Spending { alpha: 0.01, family: 1, n_min: 0 };

    #[test]
    fn everything_is_spent_at_the_end() {
        for (n_max, n_min, family) in [(10, 0, 1), (60, 0, 1), (500, 100, 1), (300, 0, 40)] {
            let looks = Spending { n_min, family, ..ONE }.looks(&by_pairs(n_max));
            assert!(looks.iter().all(|look| look.n_pairs >= n_min));
            assert!(looks.is_sorted_by(|a, b| a.spent < b.spent));
            assert_eq!(looks.last(), Some(&Look { n_pairs: n_max, spent: 1.0 }));
        }
    }

    #[test]
    fn the_largest_session_has_a_last_look() {
        let found = sizes(usize::MAX);
        assert_eq!(found.last(), Some(&usize::MAX));
        assert!(found.is_sorted() && found.len() <= 190, "{}", found.len());
    }

    #[test]
    fn time_spends_as_pairs_do() {
        let point = |n_pairs, fraction| InterimPoint { n_pairs, fraction };
        let points = [point(10, 0.25), point(14, 0.25), point(20, 0.81), point(22, 1.0)];
        let looks = ONE.looks(&points);
        // No time passes between 10 and 14 pairs, so the look at 14 has no error to spend.
        let expected =
            [(10, 0.5), (20, 0.9), (22, 1.0)].map(|(n_pairs, spent)| Look { n_pairs, spent });
        assert_eq!(looks, expected);
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

    #[test]
    fn many_pairs_form_groups() {
        let of = |n_pairs| ONE.group_size(Look { n_pairs, spent: 1.0 });
        assert_eq!([1000, 1001, 2000, 2001, 100_000].map(of), [1, 2, 2, 4, 128]);
    }
}
