//! When to look at a comparison that is still running, and how much each look may err.
//!
//! The errors of all looks sum to alpha, so by the union bound every interval printed on the way
//! holds at once, whatever depends on whatever and however the stopping is decided.

use crate::interval::Interval;
use crate::invalid::{Invalid, between};

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

/// Intersection of the intervals of all looks so far.
///
/// Looks can contradict each other only if an interval missed the true ratio or the ratio moved;
/// then the newest interval starts afresh and `contradicted` stays set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Running {
    /// What all looks agree on.
    pub interval: Interval,
    /// Whether some look had nothing in common with those before it.
    pub contradicted: bool,
}

impl Default for Running {
    fn default() -> Self {
        Self { interval: Interval::ALL, contradicted: false }
    }
}

impl Running {
    /// The intersection with one more look.
    ///
    /// ```
    /// use stats::{Interval, spending::Running};
    /// let mut running = Running::default();
    /// running.add(Interval { lo: -0.1, hi: 0.2 });
    /// running.add(Interval { lo: 0.0, hi: 0.3 });
    /// assert_eq!(running.interval, Interval { lo: 0.0, hi: 0.2 });
    /// ```
    pub fn add(&mut self, look: Interval) {
        match self.interval.intersect(look) {
            Some(common) => self.interval = common,
            None => *self = Self { interval: look, contradicted: true },
        }
    }
}
