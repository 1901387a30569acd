//! Whether the floor itself moved while the series ran.

use crate::endpoint::window_values;
use crate::invalid::{Invalid, at_least};
use crate::prng::Stream;

const N_WINDOWS: usize = 4;

/// Mean of the lowest 25 % in each of 4 consecutive windows of `floor(n / 4)` runs, in the unit of
/// the sample.
///
/// Runs after the last whole window are left out. Fails for `n < 4`, NaN and infinity.
///
/// ```
/// let floors = stats::series::floor_windows(&[1.0, 2.0, 3.0, 4.0]).unwrap();
/// assert_eq!(floors, [1.0, 2.0, 3.0, 4.0]);
/// ```
pub fn floor_windows(xs: &[f64]) -> Result<Vec<f64>, Invalid> {
    at_least(N_WINDOWS, xs)?;
    let mut floors = window_values(xs, xs.len() / N_WINDOWS, |w| Ok(w.low_mean(0.25)))?;
    floors.truncate(N_WINDOWS);
    Ok(floors)
}

fn spread(xs: &[f64]) -> Result<f64, Invalid> {
    let floors = floor_windows(xs)?;
    let largest = floors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = floors.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(largest - smallest)
}

/// Spread of the floors of consecutive windows, against the same runs in random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloorShift {
    /// Largest minus smallest of [`floor_windows`].
    pub spread: f64,
    /// Share of the orders, the real one included, with a spread at least as large.
    pub p: f64,
}

/// Permutation test of a floor that stays: `p` over `shuffles` random orders and the real one.
///
/// Exact if the runs are exchangeable. Fails as [`floor_windows`].
///
/// ```
/// let xs: Vec<f64> = (0..40).map(f64::from).collect();
/// assert_eq!(stats::series::floor_shift(&xs, 199, 1).unwrap().p, 0.005); // no order is worse
/// ```
pub fn floor_shift(xs: &[f64], shuffles: usize, seed: u64) -> Result<FloorShift, Invalid> {
    let observed = spread(xs)?;
    let (mut stream, mut order, mut as_large) = (Stream::new(seed), xs.to_vec(), 1);
    for _ in 0..shuffles {
        stream.shuffle(&mut order);
        as_large += usize::from(spread(&order)? >= observed);
    }
    Ok(FloorShift { spread: observed, p: as_large as f64 / (shuffles + 1) as f64 })
}
