//! The statistics of noisy timings: pure functions on slices of numbers.
//!
//! Nothing here reads a clock, a file or the environment; every random choice comes from a seed.
//! Functions that look for a floor, a location or a trend take times in any unit; comparisons
//! work on natural logarithms of times, and their ratios are always new / reference.
//!
//! - one sample: [`SortedSample`], [`endpoint`]
//! - one series in run order: [`warmup`], [`series`], [`changepoint`], [`two_level`]
//! - two arms in pairs: [`relabel`], then [`IntervalVerdict`], [`multiplicity`], [`shift`]
//! - the same while it grows: [`sequential`], by the looks of [`spending`]
//! - two arms otherwise, for display: [`two_sample`], [`across_sessions`]
//! - one value a session, over months: [`e_divisive`]
//! - one ratio on many machines: [`pooled`]
//! - values with errors: [`propagate`]
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod across_sessions;
pub mod changepoint;
pub mod e_divisive;
pub mod endpoint;
mod interval;
mod invalid;
pub mod multiplicity;
pub mod pooled;
mod prng;
pub mod propagate;
pub mod relabel;
pub mod sequential;
pub mod series;
pub mod shift;
mod sorted;
pub mod spending;
pub mod two_level;
pub mod two_sample;
pub mod verdict;
pub mod warmup;

pub use interval::Interval;
pub use invalid::{Invalid, logs};
pub use prng::Stream;
pub use propagate::PointEstimate;
pub use sorted::{SortedSample, cv, mean, sample_sd};
pub use verdict::IntervalVerdict;
