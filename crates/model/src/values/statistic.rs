//! Statistics of the runs, and the order of the runs.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Order of the runs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each block runs every arm once, in random order.
    #[default]
    Interleave,
    /// Each block runs every arm once, as they are listed.
    Listed,
    /// All runs of one arm, then the next.
    Sequential,
}

impl Order {
    /// Whether the runs of all arms are mixed, block by block.
    pub fn has_blocks(self) -> bool {
        self != Self::Sequential
    }

    /// Name as an option's value.
    pub fn name(self) -> String {
        option_value(&self)
    }
}

/// The time of a run that is compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// Wall time without the time in which the run was ready and none of it ran; wall time where that is not known.
    #[default]
    Clean,
    /// Wall time.
    Wall,
    /// CPU time of all of its tasks.
    Cpu,
}

impl Clock {
    /// The clock of old plans, which name none: they compared wall time.
    pub fn for_old_plans() -> Self {
        Self::Wall
    }

    /// Name as an option's value.
    pub fn name(self) -> String {
        option_value(&self)
    }
}

/// The name of a value on the command line.
pub(crate) fn option_value(value: &impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The rule for the value of a process with several slices. For the floor it is always the lowest ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessValue {
    /// The mean of all slices: also what the program does now and then, such as a collection of garbage.
    #[default]
    Mean,
    /// The mean of the lowest fifth.
    Low,
}

impl ProcessValue {
    /// The rule of old plans, which name none: their slices were wall times, lengthened by other programs.
    pub fn for_old_plans() -> Self {
        Self::Low
    }
}

/// Whether runs go before the other programs of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Priority {
    /// Where the user's rights allow it.
    #[default]
    Auto,
    Off,
}

/// The statistic of the runs that is compared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Estimand {
    /// The sharpest of typical, the two floors and the geometric mean, chosen without looking at which arm is which.
    #[default]
    Adaptive,
    /// 25 % trimmed mean.
    Typical,
    /// The lowest runs.
    Floor,
    /// Mean.
    Mean,
}

/// Range of significance levels, in percent. Below it, a permutation test needs too many relabellings: ten for each
/// false verdict that the level allows.
pub const ALPHA_PCT_RANGE: std::ops::RangeInclusive<f64> = 0.01..=50.0;

/// Statistic of a file's values that a ratio compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileStatistic {
    /// The noise-free time, as `show` has it; the median of values of which more is better.
    #[default]
    T0,
    /// Mean of all values.
    Mean,
    /// Median of all values.
    Median,
}

/// Estimate of a result that goes into the series of a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Estimate {
    /// The noise-free time.
    #[default]
    T0,
    Median,
    Mean,
}

impl Estimate {
    /// Name as an option's value.
    pub fn name(self) -> String {
        option_value(&self)
    }
}

/// Fewest runs for a calibration. Fewer have too few different stretches.
pub const CALIBRATION_RUNS_MIN: usize = 120;
