//! Levels for tests that come one after the other, each chosen after the results of those before.
//!
//! A test may be planned after all earlier answers are known, if it uses new data: then, given the
//! past, a test of a true null hypothesis rejects at its level with at most that probability. This
//! is all that the controls need. The number of tests need not be known.

/// The error that is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnlineControl {
    /// The probability that any true null hypothesis is rejected: online fallback (Tian and Ramdas,
    /// "Online control of the familywise error rate", Stat. Methods Med. Res. 2021, section 4).
    FamilyWise,
    /// The expected share of true null hypotheses among those rejected: LORD++ (Ramdas, Yang,
    /// Wainwright and Jordan, "Online control of the false discovery rate with decaying memory",
    /// NeurIPS 2017, section 3).
    FalseDiscovery,
}

/// The part of alpha for each of the planned tests and all after them.
///
/// The formula is `g(i) = min(1 / n, n / i^2) / 2` for the test `i`, from 1, with `n` planned tests:
/// the planned ones share one half, all later ones the other, because the sum of `n / i^2` over
/// `i > n` is below 1. `n_planned` of 0 is 1.
///
/// ```
/// use stillwell_stats::online::share;
/// assert_eq!([share(1, 4), share(4, 4), share(8, 4)], [0.125, 0.125, 0.03125]);
/// // In Python: sum(min(1/100, 100/i**2)/2 for i in range(1, 1000001)) is 0.9974583
/// let sum: f64 = (1..=1_000_000).map(|i| share(i, 100)).sum();
/// assert!((sum - 0.9974583).abs() < 1e-7);
/// ```
pub fn share(i: usize, n_planned: usize) -> f64 {
    let (i, n) = (i.max(1) as f64, n_planned.max(1) as f64);
    (1.0 / n).min(n / (i * i)) / 2.0
}

/// The levels of a sequence of tests.
#[derive(Clone, Debug)]
pub struct OnlineLevels {
    control: OnlineControl,
    alpha: f64,
    n_planned: usize,
    /// The level of each test so far, and whether it rejected.
    tests: Vec<(f64, bool)>,
}

impl OnlineLevels {
    /// A sequence before its first test. `alpha` is the rate for all tests together.
    pub fn new(control: OnlineControl, alpha: f64, n_planned: usize) -> Self {
        Self { control, alpha, n_planned, tests: Vec::new() }
    }

    /// The level of the next test.
    ///
    /// Family-wise: `alpha g(i)`, and the level of the test before if that one rejected. Proof: let
    /// `T` be the first true null hypothesis that is rejected. Before `T` each rejection is right
    /// and hands its whole level on. So each part `alpha g(j)` is at most once at a true null
    /// hypothesis up to `T`: it stays at the first test, from `j` on, that does not reject, or it is
    /// at `T`. Given the past, the test at `i` rejects a true null hypothesis with probability
    /// `level(i)` at most, so `P(T exists) <= E sum of level(i) over true nulls up to T <= alpha`.
    ///
    /// False discovery rate: `g(i) w + (alpha - w) g(i - t1) + alpha sum over k >= 2 of g(i - tk)`,
    /// with `w = alpha / 2` and the rejections at `t1 < t2 < ...`.
    ///
    /// ```
    /// use stillwell_stats::online::{OnlineControl, OnlineLevels};
    /// let mut levels = OnlineLevels::new(OnlineControl::FamilyWise, 0.05, 10);
    /// levels.take(false);
    /// levels.take(true);
    /// // 0.05 / 20, and the same of the second test, which rejected.
    /// assert!((levels.next_level() - 0.005).abs() < 1e-12);
    ///
    /// let mut levels = OnlineLevels::new(OnlineControl::FalseDiscovery, 0.05, 10);
    /// levels.take(true);
    /// levels.take(true);
    /// // 0.025 / 20 + 0.025 / 20 + 0.05 / 20
    /// assert!((levels.next_level() - 0.005).abs() < 1e-12);
    /// ```
    pub fn next_level(&self) -> f64 {
        let i = self.tests.len() + 1;
        let of = |i: usize| share(i, self.n_planned);
        match self.control {
            OnlineControl::FamilyWise => {
                let handed_on = self.tests.last().filter(|(_, is_rejected)| *is_rejected);
                self.alpha * of(i) + handed_on.map_or(0.0, |(level, _)| *level)
            }
            OnlineControl::FalseDiscovery => {
                let wealth = self.alpha / 2.0;
                let rejected = (1..i).zip(&self.tests).filter(|(_, test)| test.1);
                let earned = rejected.enumerate().map(|(k, (at, _))| {
                    let payout = if k == 0 { self.alpha - wealth } else { self.alpha };
                    payout * of(i - at)
                });
                wealth * of(i) + earned.sum::<f64>()
            }
        }
    }

    /// Takes the result of the next test.
    pub fn take(&mut self, is_rejected: bool) {
        self.tests.push((self.next_level(), is_rejected));
    }

    /// The number of tests so far.
    pub fn n_tests(&self) -> usize {
        self.tests.len()
    }
}

/// The level of each of two tests on separate data that together have this level: its square root.
/// If a null hypothesis is true, both reject with at most the product of their levels.
///
/// ```
/// assert_eq!(stillwell_stats::online::level_of_each(0.0004), 0.02);
/// ```
pub fn level_of_each(level: f64) -> f64 {
    level.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    /// Campaigns in which a proposer tries a real gain more often after a success. `power` of each real one.
    fn false_rates(control: OnlineControl, n_campaigns: u64) -> (f64, f64) {
        let (mut n_any, mut share_sum) = (0.0, 0.0);
        for seed in 0..n_campaigns {
            let mut stream = Stream::new(seed);
            let mut levels = OnlineLevels::new(control, 0.05, 20);
            let (mut n_false, mut n_all, mut last) = (0, 0, false);
            for _ in 0..60 {
                let is_null = stream.unit() < if last { 0.5 } else { 0.9 };
                let p = stream.unit();
                let p = if is_null { p } else { p * p * p * 0.01 };
                last = p <= levels.next_level();
                n_all += usize::from(last);
                n_false += usize::from(last && is_null);
                levels.take(last);
            }
            n_any += f64::from(u8::from(n_false > 0));
            share_sum += n_false as f64 / n_all.max(1) as f64;
        }
        (n_any / n_campaigns as f64, share_sum / n_campaigns as f64)
    }

    #[test]
    fn errors_hold_whatever_is_tried_after_a_success() {
        // Two standard deviations of 4000 campaigns at 5 % are 0.7 %.
        let (any, _) = false_rates(OnlineControl::FamilyWise, 4000);
        assert!(any <= 0.057, "{any}");
        let (any, share) = false_rates(OnlineControl::FalseDiscovery, 4000);
        assert!(share <= 0.057, "{share}");
        // The false discovery rate allows more, so it is no control of the other error.
        assert!(any > 0.01, "{any}");
    }

    #[test]
    fn a_rejection_hands_its_level_on_once() {
        let mut levels = OnlineLevels::new(OnlineControl::FamilyWise, 0.04, 2);
        let first = levels.next_level();
        levels.take(true);
        assert!((levels.next_level() - 2.0 * first).abs() < 1e-15);
        levels.take(false);
        assert!((levels.next_level() - 0.04 * share(3, 2)).abs() < 1e-15);
    }
}
