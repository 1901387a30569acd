//! What is computed from the runs, and in which order they are made: words of the options and of the plan.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Order of the runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each block runs every arm once, in random order.
    #[default]
    Interleave,
    /// All runs of one arm, then the next.
    Sequential,
}

/// Which statistic of the runs is compared.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ValueEnum,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Estimand {
    /// The most precise of typical and floor, chosen without looking at which arm is which.
    #[default]
    Adaptive,
    /// 25 % trimmed mean.
    Typical,
    /// The lowest runs.
    Floor,
    /// Mean.
    Mean,
}

/// A smaller one would take more re-labellings than can be computed: ten for each false verdict it allows.
pub const ALPHA_PCT_RANGE: std::ops::RangeInclusive<f64> = 0.01..=50.0;

/// What a ratio is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Middle {
    /// Mean of all values.
    #[default]
    Mean,
    /// Median of all values.
    Median,
}

/// Which number of a result is put in the series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Estimate {
    /// The noise-free time.
    #[default]
    T0,
    Median,
    Mean,
}

/// Runs below which a series has too few different stretches.
pub const CALIBRATION_RUNS_MIN: usize = 120;
