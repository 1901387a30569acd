//! The slowest runs of both arms: does one arm have more of them?

use statrs::distribution::{Binomial, DiscreteCDF};

use super::Pairs;

/// Shares of the slowest runs that are looked at.
const SLOWEST: [f64; 3] = [0.2, 0.1, 0.05];

/// The runs in which one arm is slower than the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowRuns {
    /// Whether it is the new arm that has more slow runs.
    pub is_new: bool,
    /// Share of this arm's runs by which its slow runs outnumber the other arm's.
    pub share: f64,
    /// Median of the runs by which they outnumber the other arm's / median of the other arm's runs of
    /// the same ranks.
    pub factor: f64,
}

/// Two-sided p-value of `k` heads in `n` throws of a fair coin: `min(1, 2 P(X <= min(k, n - k)))`.
pub(crate) fn coin_p(k: usize, n: usize) -> f64 {
    let Ok(coin) = Binomial::new(0.5, n as u64) else { return 1.0 };
    (2.0 * coin.cdf(k.min(n - k) as u64)).min(1.0)
}

impl Pairs {
    /// p-value of an exact test of the tails after the new arm is lowered by `theta`: the number of the new arm's
    /// runs among the slowest fifth, tenth and twentieth of the runs of both arms.
    ///
    /// If both arms are the same program, the slow run of a pair belongs to either arm with
    /// probability 1/2, whatever the noise is. So the count is binomial over the pairs with one
    /// slow run. The smallest of the three p-values is tripled.
    ///
    /// ```
    /// use stillwell_stats::relabel::Pairs;
    /// // One run in ten of the new arm is three times as long.
    /// let new: Vec<f64> = (0..80).map(|j| if j % 10 == 0 { 3.0 } else { 1.0 }).collect();
    /// let p = Pairs::new(&[1.0; 80], &new, &[false; 80]).unwrap().tail(0.0);
    /// // scipy: binomtest(8, 8).pvalue = 0.0078125
    /// assert!((p - 3.0 * 0.0078125).abs() < 1e-12);
    /// ```
    pub fn tail(&self, theta: f64) -> f64 {
        let (slots, _) = self.centered(theta);
        let mut sorted: Vec<f64> = slots.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let at = |slowest: f64| {
            // Equal times at the limit are left out, whichever arm they are from.
            let n_slow = (slowest * sorted.len() as f64).ceil() as usize;
            let limit = sorted[sorted.len() - n_slow.min(sorted.len() - 1) - 1];
            let (mut n_pairs, mut n_new) = (0, 0);
            for (pair, x) in slots.iter().enumerate() {
                let is_slow = x.map(|x| x > limit);
                if is_slow[0] != is_slow[1] {
                    n_pairs += 1;
                    n_new += usize::from(is_slow[1 - self.label(pair)]);
                }
            }
            SLOWEST.len() as f64 * coin_p(n_new, n_pairs)
        };
        SLOWEST.into_iter().map(at).fold(1.0, f64::min)
    }

    /// A description of the tail in which the arms differ, for display: the limit between slow runs
    /// and others is where the excess of slow runs, times the logarithm of their factor, is
    /// largest. `None` below 2 pairs, or if no limit separates the arms.
    ///
    /// ```
    /// use stillwell_stats::relabel::Pairs;
    /// let new: Vec<f64> = (0..80).map(|j| if j % 10 == 0 { 3.0 } else { 1.0 }).collect();
    /// let pairs = Pairs::new(&[1.0; 80], &new, &[false; 80]).unwrap();
    /// let slow = pairs.slow_runs().unwrap();
    /// assert!(slow.is_new && slow.share == 0.1 && (slow.factor - 3.0).abs() < 1e-12);
    /// ```
    pub fn slow_runs(&self) -> Option<SlowRuns> {
        let arm = |new: usize| {
            let of_pair = |(pair, x): (usize, &[f64; 2])| x[usize::from(self.label(pair) != new)];
            let mut times: Vec<f64> = self.slots.iter().enumerate().map(of_pair).collect();
            times.sort_by(f64::total_cmp);
            times
        };
        let arms = [arm(0), arm(1)];
        let median =
            |sorted: &[f64]| (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        let mut clearest = (0.0, None);
        for (is_new, (slow, other)) in [(false, (&arms[0], &arms[1])), (true, (&arms[1], &arms[0]))]
        {
            // Equal times are on the same side of a limit.
            for at in (1..slow.len()).filter(|&at| slow[at] > slow[at - 1]) {
                let excess = at..other.partition_point(|&x| x <= slow[at - 1]);
                if excess.is_empty() {
                    continue;
                }
                let share = excess.len() as f64 / slow.len() as f64;
                let factor = median(&slow[excess.clone()]) - median(&other[excess]);
                if share * factor > clearest.0 {
                    clearest =
                        (share * factor, Some(SlowRuns { is_new, share, factor: factor.exp() }));
                }
            }
        }
        clearest.1
    }
}
