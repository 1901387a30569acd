//! Verdict of an interval: different, the same, or undecided.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::interval::Interval;
use crate::invalid::{Invalid, between};

/// Verdict of the interval of a log ratio, given the margin of "the same".
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IntervalVerdict {
    /// Zero is outside the interval, and the interval is not inside the margin.
    Different,
    /// Zero is outside the interval, but the whole interval is inside the margin.
    DifferentWithinMargin,
    /// Zero is inside the interval, and the interval is inside the margin.
    Same,
    /// Neither holds: a decision needs more pairs.
    Undecided,
}

impl IntervalVerdict {
    /// Verdict for an interval of the log ratio at level `1 - alpha` and a margin `r = ln(1 + x)`.
    /// The arms are different iff 0 is outside `[lo, hi]`, and the same iff `-r < lo` and `hi < r`.
    ///
    /// An end that is not a number decides nothing.
    ///
    /// "Same" amounts to two one-sided tests (Schuirmann 1987) at `alpha / 2` each.
    ///
    /// ```
    /// use stillwell_stats::{Interval, IntervalVerdict};
    /// let verdict = IntervalVerdict::of(Interval { lo: -0.004, hi: 0.005 }, 0.01);
    /// assert_eq!(verdict, IntervalVerdict::Same);
    /// ```
    pub fn of(interval: Interval, margin: f64) -> Self {
        if interval.lo.is_nan() || interval.hi.is_nan() {
            return Self::Undecided;
        }
        match (interval.contains(0.0), interval.is_within(margin)) {
            (false, false) => Self::Different,
            (false, true) => Self::DifferentWithinMargin,
            (true, true) => Self::Same,
            (true, false) => Self::Undecided,
        }
    }

    /// Whether the verdict is anything but undecided.
    pub fn is_decided(self) -> bool {
        self != Self::Undecided
    }
}

/// Smallest and largest forecast ÷ the pairs that it rests on. The interval of few pairs may end at other modes of the
/// times, and an end that is just beyond 0 or the margin may stay there: no interval is known so well.
const FORECAST: std::ops::RangeInclusive<f64> = 1.1..=200.0;

/// Smallest distance of the estimate from an end of a forecast's interval, as a share of the interval. The other end is
/// at another mode then.
const APART_MIN: f64 = 0.1;

/// Number of pairs that would decide: `ceil(n w^2)`, where `w` is what the interval must shrink by.
///
/// There are two ways to a decision about the estimate `theta`, and the shorter counts. The end beyond 0 comes back to it
/// (different): `w` is the distance from `theta` to that end ÷ the distance to 0. Or both ends come within the margin `r`
/// (the same): `w` is the larger of `(hi - theta) / (r - theta)` and `(theta - lo) / (r + theta)`. Widths shrink as
/// `1 / sqrt(n)`. `None` if neither is possible. The law does not hold for times of several modes, so it is also `None` if
/// the number is below `1.1 n` or above `200 n`, or `theta` is nearer to an end than a tenth of the interval.
///
/// ```
/// use stillwell_stats::{Interval, verdict::pairs_to_decide};
/// let interval = Interval { lo: -0.02, hi: 0.02 };
/// assert_eq!(pairs_to_decide(50, interval, 0.0, 0.01), Some(200));
/// let skewed = Interval { lo: -0.004, hi: 0.056 };
/// assert_eq!(pairs_to_decide(50, skewed, 0.016, 0.01), Some(79)); // different at 1.6 %
/// let far = Interval { lo: -0.29, hi: 0.43 };
/// assert_eq!(pairs_to_decide(12, far, 0.0, 0.01), None); // 22188
/// let one_sided = Interval { lo: -0.004, hi: 0.33 };
/// assert_eq!(pairs_to_decide(12, one_sided, 0.02, 0.01), None);
/// let just_beyond = Interval { lo: -0.002, hi: 0.147 };
/// assert_eq!(pairs_to_decide(20, just_beyond, 0.082, 0.01), None); // 21
/// let cut = Interval { lo: -0.003, hi: 0.01 };
/// assert_eq!(pairs_to_decide(41, cut, 0.003, 0.01), None); // 41
/// ```
pub fn pairs_to_decide(n: usize, interval: Interval, theta: f64, margin: f64) -> Option<usize> {
    let (above, below) = (interval.hi - theta, theta - interval.lo);
    if above.min(below) < APART_MIN * (interval.hi - interval.lo) {
        return None;
    }
    let different = if theta < 0.0 { above / -theta } else { below / theta };
    let same = (above / (margin - theta)).max(below / (margin + theta));
    let is_inside = theta.abs() < margin;
    let shrinking = if is_inside { different.min(same) } else { different };
    let times = shrinking.powi(2);
    FORECAST.contains(&times).then(|| (n as f64 * times).ceil() as usize)
}

/// Smallest log ratio that `n` pairs like these detect with 80 % power: `h (z + 0.8416) / z`, where
/// `z` is the normal quantile at `1 - alpha / 2`.
///
/// `h` is the half-width of the final interval, the noise floor of the comparison. Fails unless
/// `0 < alpha < 1`.
///
/// ```
/// let mde = stillwell_stats::verdict::mde80(1.0, 0.05).unwrap();
/// assert!((mde - 1.4294).abs() < 1e-4); // 1 + 0.8416 / 1.9600
/// ```
pub fn mde80(half_width: f64, alpha: f64) -> Result<f64, Invalid> {
    between("alpha", alpha, 0.0, 1.0)?;
    // Not the quantile at 1 - alpha / 2, which is rounded to 1 for a small alpha.
    let z_level = -z(alpha / 2.0)?;
    Ok(half_width * (1.0 + z(0.8)? / z_level))
}

/// Quantile of the standard normal distribution. Fails unless `0 < p < 1`, where it is infinite or
/// does not exist.
///
/// ```
/// use stillwell_stats::verdict::z;
/// assert!((z(0.975).unwrap() - 1.959963984540054).abs() < 1e-12); // R: qnorm(0.975)
/// assert!(z(1.0).is_err() && z(-0.1).is_err() && z(f64::NAN).is_err());
/// ```
pub fn z(p: f64) -> Result<f64, Invalid> {
    between("probability", p, 0.0, 1.0)?;
    Ok(Normal::standard().inverse_cdf(p))
}

/// Smallest number of pairs that can detect a difference at `alpha`: the smallest `n` with
/// `2 / 2^n <= alpha`.
///
/// With fewer pairs, even the most extreme of all re-labellings is too frequent. Fails unless
/// `0 < alpha < 1`.
///
/// ```
/// assert_eq!(stillwell_stats::verdict::minimum_pairs(0.05), Ok(6));
/// assert_eq!(stillwell_stats::verdict::minimum_pairs(0.01), Ok(8));
/// ```
pub fn minimum_pairs(alpha: f64) -> Result<usize, Invalid> {
    between("alpha", alpha, 0.0, 1.0)?;
    Ok((1.0 - alpha.log2()).ceil() as usize)
}
