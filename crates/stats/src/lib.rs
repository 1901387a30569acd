//! The statistics of noisy timings: pure functions on slices of numbers.
//!
//! The crate reads no clock, no file and no environment; every random choice comes from a seed.
//! Estimators of a floor, a location or a trend take times in any unit. Comparisons work on natural
//! logarithms of times, and every ratio is new / reference.
//!
//! Two words are used throughout. An *arm* is one of the two programs that are compared. A *look*
//! is an interim analysis: a test of a comparison that is still being measured.
//!
//! - one sample: [`SortedSample`], [`endpoint`], [`low_end`]
//! - one sample with its interruptions: [`interruptions`]
//! - one series in run order: [`warmup`], [`series`], [`changepoint`], [`two_level`]
//! - many quantities of two arms in pairs, tested together: [`max_t`]
//! - two arms in pairs: [`relabel`], then [`IntervalVerdict`], [`multiplicity`], [`shift`]
//! - a paired comparison while it grows: [`sequential`], with the alpha of [`spending`]
//! - two independent samples, for display: [`two_sample`]
//! - a new session against stored ones: [`across_sessions`]
//! - one value a session, over months: [`level_shift`]
//! - tests one after the other, each chosen after the answers before: [`online`]
//! - one ratio on many machines: [`pooled`]
//! - arithmetic of values with errors: [`propagate`]; the ratio of two counts of the same runs:
//!   [`ratio`]
#![forbid(unsafe_code)]
#![warn(missing_docs, unreachable_pub)]

pub mod across_sessions;
pub mod changepoint;
pub mod endpoint;
pub mod interruptions;
mod interval;
mod invalid;
pub mod level_shift;
pub mod low_end;
pub mod max_t;
pub mod multiplicity;
pub mod online;
mod parallel;
pub mod pooled;
mod prng;
pub mod propagate;
pub mod ratio;
pub mod relabel;
pub mod sequential;
pub mod series;
pub mod shift;
mod sorted;
pub mod spending;
pub mod suspects;
pub mod two_level;
pub mod two_sample;
pub mod verdict;
pub mod warmup;

pub use interval::Interval;
pub use invalid::{Invalid, logs};
pub use prng::Stream;
pub use propagate::PointEstimate;
pub use sorted::{SortedSample, cv, mean, median, quantile_needs, sample_sd};
pub use verdict::IntervalVerdict;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
