//! A new result against stored ones, from sessions that can no longer be interleaved.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::Interval;
use crate::invalid::{Invalid, at_least, between};
use crate::sorted::{mean_of, sample_sd};
use crate::two_sample::{TTest, t_test};

/// A new session against past ones, by the prediction interval of the next session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionPrediction {
    /// Test of "one more session like the past ones".
    pub test: TTest,
    /// The new value minus the mean of the past ones.
    pub difference: f64,
    /// The differences that are not rejected at `alpha`: `difference +- q s sqrt(1 + 1/m)`. `q` is
    /// the quantile of Student's t at `1 - alpha / 2`.
    pub interval: Interval,
}

/// Test of "the new session is one more session like the `past` ones":
/// `t = (new - mean) / (s sqrt(1 + 1/m))` with `m - 1` degrees of freedom.
///
/// `past` has one floor (or its logarithm) for each of m sessions, in the unit of `new`. This is
/// the prediction interval of a normal sample (Hahn & Meeker 1991). Its error contains the spread
/// between sessions; the spread within them is not enough.
///
/// Fails below 5 sessions, for NaN, infinity and equal values only, and unless `0 < alpha < 1`.
/// ```
/// let past = [1.0, 2.0, 3.0, 4.0, 5.0];
/// let found = stats::across_sessions::across_sessions(&past, 3.0 + 3f64.sqrt(), 0.05).unwrap();
/// assert!((found.test.t - 1.0).abs() < 1e-12); // s sqrt(6/5) = sqrt(3)
/// // scipy: t.ppf(.975, 4) = 2.7764451051977987
/// assert!((found.interval.half_width() - 2.7764451051977987 * 3f64.sqrt()).abs() < 1e-9);
/// ```
pub fn across_sessions(past: &[f64], new: f64, alpha: f64) -> Result<SessionPrediction, Invalid> {
    at_least(5, past)?;
    between("alpha", alpha, 0.0, 1.0)?;
    crate::invalid::finite(&[new])?;
    let m = past.len() as f64;
    let (difference, err) = (new - mean_of(past), sample_sd(past)? * (1.0 + 1.0 / m).sqrt());
    let test = t_test(difference, err, m - 1.0)?;
    let student = StudentsT::new(0.0, 1.0, m - 1.0).map_err(|_| Invalid::NoSpread)?;
    let half_width = err * student.inverse_cdf(1.0 - alpha / 2.0);
    let interval = Interval { lo: difference - half_width, hi: difference + half_width };
    Ok(SessionPrediction { test, difference, interval })
}
