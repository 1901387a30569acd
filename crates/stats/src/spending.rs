//! When to look at a comparison that is still running, and how much each look may err.
//!
//! The errors of all looks sum to alpha, so by the union bound every interval printed on the way
//! holds at once, whatever depends on whatever and however the stopping is decided.

use crate::invalid::{Invalid, between};
use crate::relabel;

/// One look at the pairs so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Number of pairs at this look.
    pub n_pairs: usize,
    /// Error this look may make: its interval is at level `1 - alpha`.
    pub alpha: f64,
}

impl Look {
    /// Whether so few pairs can reject at this look's alpha at all: `2 / 2^n <= alpha`.
    pub fn can_decide(self) -> bool {
        crate::verdict::minimum_pairs(self.alpha).is_ok_and(|need| self.n_pairs >= need)
    }
}

/// All looks of a comparison of at most `n_max` pairs: 10 pairs, then `ceil(1.4 n)`, the last at
/// `n_max`; each may err by `alpha (n_k - n_{k-1}) / n_max`.
///
/// Fails if `n_max` is 0 and unless `0 < alpha < 1`.
///
/// ```
/// let looks = stats::spending::looks(40, 0.01).unwrap();
/// assert_eq!(looks.iter().map(|l| l.n_pairs).collect::<Vec<_>>(), [10, 14, 20, 28, 40]);
/// assert_eq!(looks[0].alpha, 0.0025);
/// ```
pub fn looks(n_max: usize, alpha: f64) -> Result<Vec<Look>, Invalid> {
    between("alpha", alpha, 0.0, 1.0)?;
    if n_max == 0 {
        return Err(Invalid::Empty);
    }
    let (mut looks, mut before, mut n) = (Vec::new(), 0, 10);
    while before < n_max {
        let n_pairs = n.min(n_max);
        looks.push(Look { n_pairs, alpha: alpha * (n_pairs - before) as f64 / n_max as f64 });
        before = n_pairs;
        // ceil(1.4 n) in whole numbers: 1.4 is not exact in binary.
        n = (7 * n_pairs).div_ceil(5);
    }
    Ok(looks)
}

/// The looks at a comparison that can decide something, and what each may err.
///
/// A look may err by its own share and by that of the looks before it that could not decide
/// anything, so that nothing of alpha is lost; the shares sum to alpha or less, whatever is seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Design {
    /// In order of pairs. May be empty: then nothing can ever be decided.
    pub looks: Vec<Look>,
    /// Error of all looks together.
    pub alpha: f64,
    /// Comparisons that are judged together: in the worst case each has `alpha / family`.
    pub family: usize,
    n_pairs_max: usize,
}

/// Re-labellings times pairs that take some 20 ms: what one evaluation should take at most.
const WORK: usize = 4_000_000;
/// What it may take where so many comparisons are judged together that p-values have to be small.
const WORK_MAX: usize = 4 * WORK;
/// Pairs above which neighbours are put together, and the fewest groups that are made of them.
const GROUPS_MAX: usize = 1000;
const GROUPS_MIN: usize = 64;
/// Re-labellings above which no look is worth it.
const DRAWS_MAX: usize = 99_999;

impl Design {
    /// [`looks`] of a comparison of at most `n_max` pairs, none of which decides before `n_min`.
    ///
    /// Fails as [`looks`], and for a family of 0.
    ///
    /// ```
    /// // Ten pairs cannot reject at 0.1 %; their share goes to the look at 14.
    /// let design = stats::spending::Design::new(100, 0, 0.01, 1).unwrap();
    /// assert_eq!(design.looks[0].n_pairs, 14);
    /// assert!((design.looks[0].alpha - 0.0014).abs() < 1e-12);
    /// ```
    pub fn new(n_max: usize, n_min: usize, alpha: f64, family: usize) -> Result<Self, Invalid> {
        Self::of(looks(n_max, alpha)?, n_min, alpha, family)
    }

    /// One look, at the end.
    ///
    /// Fails as [`Design::new`].
    pub fn single(n_pairs: usize, alpha: f64, family: usize) -> Result<Self, Invalid> {
        between("alpha", alpha, 0.0, 1.0)?;
        Self::of(vec![Look { n_pairs, alpha }], 0, alpha, family)
    }

    /// The same, ended after `n_pairs` for a reason that does not depend on which arm was which:
    /// the last look takes all that is left of alpha.
    ///
    /// Given the times of the slots, such an end is fixed, and so is what each look may err.
    ///
    /// ```
    /// let design = stats::spending::Design::new(100, 0, 0.01, 1).unwrap().ended(30).unwrap();
    /// let last = design.looks.last().unwrap();
    /// assert_eq!(last.n_pairs, 30); // after 14, 20 and 28, which may err by 0.28 %
    /// assert!((last.alpha - 0.0072).abs() < 1e-12);
    /// ```
    pub fn ended(self, n_pairs: usize) -> Result<Self, Invalid> {
        let mut looks = self.looks;
        looks.retain(|look| look.n_pairs < n_pairs);
        let spent: f64 = looks.iter().map(|look| look.alpha).sum();
        looks.push(Look { n_pairs, alpha: self.alpha - spent });
        Self::of(looks, 0, self.alpha, self.family)
    }

    fn of(all: Vec<Look>, n_min: usize, alpha: f64, family: usize) -> Result<Self, Invalid> {
        if family == 0 {
            return Err(Invalid::OutOfRange { name: "number of comparisons", value: 0.0 });
        }
        let n_pairs_max = all.last().map_or(0, |look| look.n_pairs);
        let (mut looks, mut carried) = (Vec::new(), 0.0);
        for look in all {
            let look = Look { alpha: look.alpha + carried, ..look };
            let is_due = look.n_pairs >= n_min && can_decide(look, family);
            carried = if is_due { 0.0 } else { look.alpha };
            looks.extend(is_due.then_some(look));
        }
        Ok(Self { looks, alpha, family, n_pairs_max })
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

    /// Pairs of the first look that could decide, also if it is never reached; `None` if there are
    /// too many comparisons for any number of pairs.
    pub fn n_pairs_needed(&self) -> Option<usize> {
        let at = |n_pairs: usize| Look { n_pairs, alpha: self.alpha };
        let reachable = self.looks.first().map(|look| look.n_pairs);
        reachable.or_else(|| (self.n_pairs_max + 1..1000).find(|&n| can_decide(at(n), self.family)))
    }
}

fn draws_of(look: Look, family: usize) -> usize {
    let wanted = relabel::draws(look.alpha / family as f64);
    let affordable = WORK / look.n_pairs.clamp(1, GROUPS_MAX);
    affordable.clamp((wanted / 5).max(1999), wanted).min(DRAWS_MAX)
}

/// Whether the most extreme of all labellings, or of those that are drawn, is rare enough.
fn can_decide(look: Look, family: usize) -> bool {
    let alpha = look.alpha / family as f64;
    let drawn = 1.0 / (draws_of(look, family) + 1) as f64;
    Look { alpha, ..look }.can_decide() && drawn <= alpha
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_alpha_is_lost() {
        for (n_max, n_min, family) in [(10, 0, 1), (60, 0, 1), (500, 100, 1), (300, 0, 40)] {
            let design = Design::new(n_max, n_min, 0.01, family).unwrap();
            let spent: f64 = design.looks.iter().map(|look| look.alpha).sum();
            assert!((spent - 0.01).abs() < 1e-12, "{n_max} {n_min} {family}: {spent}");
            assert!(design.looks.iter().all(|look| look.n_pairs >= n_min));
            assert_eq!(design.looks.last().unwrap().n_pairs, n_max);
        }
    }

    #[test]
    fn an_early_end_spends_the_rest() {
        for n in [9, 10, 33, 500] {
            let design = Design::new(500, 0, 0.05, 1).unwrap().ended(n).unwrap();
            let spent: f64 = design.looks.iter().map(|look| look.alpha).sum();
            assert!((spent - 0.05).abs() < 1e-12 && design.looks.last().unwrap().n_pairs == n);
        }
    }

    #[test]
    fn too_few_pairs_never_decide() {
        let design = Design::new(5, 0, 0.01, 1).unwrap();
        assert_eq!((design.looks.len(), design.n_pairs_needed()), (0, Some(8)));
        let design = Design::single(9, 0.01, 10).unwrap();
        assert_eq!((design.looks.len(), design.n_pairs_needed()), (0, Some(11)));
        let design = Design::new(500, 0, 0.01, 100_000).unwrap();
        assert_eq!((design.looks.len(), design.n_pairs_needed()), (0, None));
    }
}
