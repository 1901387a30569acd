//! The ratio of two quantities of the same runs, such as instructions and cycles.

use crate::endpoint::{Estimator, window_err};
use crate::{Invalid, mean};

/// A ratio and its error, if there are enough runs for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunRatio {
    /// Sum of the numerators ÷ sum of the denominators.
    pub value: f64,
    /// Error; `None` below 6 runs.
    pub err: Option<f64>,
}

/// `sum(a) / sum(b)` for runs in their order.
///
/// The ratio of all runs together: runs with a large denominator count more than in a mean of ratios.
/// Error: [`window_err`] of the mean of the linearised runs `(a - r b) / mean(b)`, whose mean is 0 (Cochran, "Sampling Techniques", 3rd edition, section 2.11). The linear formula is
/// accurate while the denominators vary by a few ten percent.
///
/// Fails without runs, on lists of different length, NaN or infinity, and if the denominators add
/// up to zero.
///
/// ```
/// let (faults, seconds) = ([10.0, 12.0, 11.0, 30.0, 9.0, 12.0], [1.0, 1.0, 1.0, 3.0, 1.0, 1.0]);
/// let found = stillwell_stats::ratio::sum_ratio(&faults, &seconds).unwrap();
/// assert_eq!(found.value, 10.5);
/// // Windows of two runs have the means of (a - 10.5 b) / (8 / 6): 0.375, -0.375 and 0.
/// assert!((found.err.unwrap() - 0.375).abs() < 1e-12);
/// assert!(stillwell_stats::ratio::sum_ratio(&faults, &[0.0; 6]).is_err());
/// ```
pub fn sum_ratio(a: &[f64], b: &[f64]) -> Result<RunRatio, Invalid> {
    if a.len() != b.len() {
        return Err(Invalid::Lengths { left: a.len(), right: b.len() });
    }
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let value = mean_a / mean_b;
    if !value.is_finite() {
        return Err(Invalid::OutOfRange { name: "the mean of the denominators", value: mean_b });
    }
    let linear: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a - value * b) / mean_b).collect();
    let err = window_err(&linear, |window| Estimator::Mean.of(window)).ok();
    Ok(RunRatio { value, err })
}
