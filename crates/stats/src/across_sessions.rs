//! A new result against stored ones, from sessions that cannot be interleaved any more.

use crate::invalid::{Invalid, at_least};
use crate::sorted::{mean_of, sample_sd};
use crate::two_sample::{TTest, t_test};

/// Whether a new session lies where one more session like the `past` ones would:
/// `t = (new - mean) / (s sqrt(1 + 1/m))`, `m - 1` degrees of freedom.
///
/// `past`: one floor (or its logarithm) for each of m sessions, in the unit of `new`. This is the
/// prediction interval of a normal sample (Hahn & Meeker 1991), so the spread between sessions is in
/// the error; the spread within them is not enough. Fails below 5 sessions, for NaN, infinity and
/// equal values only.
///
/// ```
/// let past = [1.0, 2.0, 3.0, 4.0, 5.0];
/// let found = stats::across_sessions::across_sessions(&past, 3.0 + 3f64.sqrt()).unwrap();
/// assert!((found.t - 1.0).abs() < 1e-12); // s sqrt(6/5) = sqrt(3)
/// ```
pub fn across_sessions(past: &[f64], new: f64) -> Result<TTest, Invalid> {
    at_least(5, past)?;
    crate::invalid::finite(&[new])?;
    let m = past.len() as f64;
    t_test(new - mean_of(past), sample_sd(past)? * (1.0 + 1.0 / m).sqrt(), m - 1.0)
}
