//! Loops within launches: the noise of each process, the noise of each loop, and the number of
//! loops that a process is worth.

use crate::invalid::{Invalid, between};
use crate::sorted::{mean_of, sample_variance};

/// Upper limit of the planned loops of one launch.
const MOST_LOOPS: f64 = 50.0;

/// The two variance components of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoLevel {
    /// T1^2: mean variance within a launch, in the unit squared.
    pub within: f64,
    /// S2^2: variance of the launch means.
    pub of_means: f64,
    /// T2^2: variance between launches, `max(0, S2^2 - T1^2 / L)`.
    pub between: f64,
}

/// Variance components of `launches`, each with the same number L of loops in order (Kalibera &
/// Jones 2013).
///
/// Fails below 2 launches or 2 loops, for different numbers of loops, NaN and infinity.
///
/// ```
/// let found = stillwell_stats::two_level::two_level(&[vec![1.0, 3.0], vec![5.0, 7.0]]).unwrap();
/// assert_eq!((found.within, found.of_means, found.between), (2.0, 8.0, 7.0));
/// ```
pub fn two_level(launches: &[Vec<f64>]) -> Result<TwoLevel, Invalid> {
    let n_loops = launches.first().ok_or(Invalid::Empty)?.len();
    if let Some(other) = launches.iter().find(|launch| launch.len() != n_loops) {
        return Err(Invalid::Lengths { left: n_loops, right: other.len() });
    }
    let mut variances = Vec::new();
    for launch in launches {
        variances.push(sample_variance(launch)?);
    }
    let means: Vec<f64> = launches.iter().map(|launch| mean_of(launch)).collect();
    let of_means = sample_variance(&means)?;
    let within = mean_of(&variances);
    let between = (of_means - within / n_loops as f64).max(0.0);
    Ok(TwoLevel { within, of_means, between })
}

impl TwoLevel {
    /// Loops per launch with the smallest error in a given time:
    /// `ceil(sqrt(cost_ratio T1^2 / T2^2))`, within 1 to 50.
    ///
    /// `cost_ratio` is the time of a launch without its loops, divided by the time of a loop. If
    /// launches do not differ, more loops always help, so the result is 50. Fails unless the ratio
    /// is positive.
    ///
    /// ```
    /// let found = stillwell_stats::two_level::two_level(&[vec![1.0, 3.0], vec![5.0, 7.0]]).unwrap();
    /// assert_eq!(found.optimal_loops(20.0), Ok(3)); // sqrt(20 * 2 / 7) = 2.39
    /// ```
    pub fn optimal_loops(&self, cost_ratio: f64) -> Result<usize, Invalid> {
        between("cost ratio", cost_ratio, 0.0, f64::INFINITY)?;
        if self.between == 0.0 {
            return Ok(MOST_LOOPS as usize);
        }
        let loops = (cost_ratio * self.within / self.between).sqrt().ceil();
        Ok(loops.clamp(1.0, MOST_LOOPS) as usize)
    }
}
