//! The error of this crate, and the checks that return it.

use std::error::Error;
use std::fmt;

/// Input for which the requested number does not exist.
///
/// Every fallible function of the crate returns this error. None panics on bad data. Later versions
/// may have further reasons.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Invalid {
    /// The sample has no values.
    Empty,
    /// The formula needs more values than were given.
    TooFew {
        /// Smallest workable number of values.
        need: usize,
        /// Number of values given.
        got: usize,
    },
    /// A value is NaN or infinite.
    NotFinite {
        /// Position of the first such value.
        index: usize,
    },
    /// A value has no logarithm: a time must be above zero.
    NotPositive {
        /// Position of the first such value.
        index: usize,
    },
    /// Two slices that belong together differ in length.
    Lengths {
        /// Length of the first slice.
        left: usize,
        /// Length of the second slice.
        right: usize,
    },
    /// A parameter is outside the range its formula is defined for.
    OutOfRange {
        /// Name of the parameter.
        name: &'static str,
        /// The value given.
        value: f64,
    },
    /// All values are equal, so a spread in a denominator is zero.
    NoSpread,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "no values"),
            Self::TooFew { need, got } => write!(f, "needs at least {need} values, got {got}"),
            Self::NotFinite { index } => {
                write!(f, "the value at index {index} is not a finite number")
            }
            Self::NotPositive { index } => {
                write!(f, "the value at index {index} is not above zero")
            }
            Self::Lengths { left, right } => write!(f, "lengths differ: {left} and {right}"),
            Self::OutOfRange { name, value } => write!(f, "{name} is out of range: {value}"),
            Self::NoSpread => write!(f, "all values are equal"),
        }
    }
}

impl Error for Invalid {}

/// Refuses an empty slice and any NaN or infinity in it.
pub(crate) fn finite(xs: &[f64]) -> Result<(), Invalid> {
    if xs.is_empty() {
        return Err(Invalid::Empty);
    }
    match xs.iter().position(|x| !x.is_finite()) {
        Some(index) => Err(Invalid::NotFinite { index }),
        None => Ok(()),
    }
}

/// Refuses fewer than `need` values and any NaN or infinity among them.
pub(crate) fn at_least(need: usize, xs: &[f64]) -> Result<(), Invalid> {
    if xs.len() < need {
        return Err(Invalid::TooFew { need, got: xs.len() });
    }
    finite(xs)
}

/// Refuses a parameter outside the open interval `(lo, hi)`, and NaN.
pub(crate) fn between(name: &'static str, value: f64, lo: f64, hi: f64) -> Result<(), Invalid> {
    if value > lo && value < hi { Ok(()) } else { Err(Invalid::OutOfRange { name, value }) }
}

/// Natural logarithms of times, in the same order.
///
/// Fails on an empty slice, NaN or infinity, and a time that is not above zero.
///
/// ```
/// assert_eq!(stillwell_stats::logs(&[1.0]).unwrap(), [0.0]);
/// assert_eq!(stillwell_stats::logs(&[1.0, 0.0]), Err(stillwell_stats::Invalid::NotPositive { index: 1 }));
/// ```
pub fn logs(times: &[f64]) -> Result<Vec<f64>, Invalid> {
    finite(times)?;
    match times.iter().position(|&t| t <= 0.0) {
        Some(index) => Err(Invalid::NotPositive { index }),
        None => Ok(times.iter().map(|t| t.ln()).collect()),
    }
}
