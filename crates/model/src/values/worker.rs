//! Options of workers: processes that run a benchmark a given number of times and report the time.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::Clock;

/// Garbage collection of the interpreter.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Gc {
    /// As the interpreter has it: on, mostly.
    #[default]
    On,
    /// Off while the benchmark runs.
    Off,
    /// As it is, and a collection before each slice, outside the timing.
    Collect,
}

/// Compared quantity.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "snake_case")]
pub enum Headline {
    /// Clean time of a loop.
    Clean,
    /// Wall time of a loop.
    #[default]
    Wall,
    /// CPU time of a loop, all threads of the process.
    Cpu,
    /// Peak resident set of the process.
    Memory,
    /// Peak of the memory that the interpreter has given out, while the loops run.
    Tracemalloc,
}

impl From<Clock> for Headline {
    fn from(clock: Clock) -> Self {
        match clock {
            Clock::Clean => Self::Clean,
            Clock::Wall => Self::Wall,
            Clock::Cpu => Self::Cpu,
        }
    }
}

impl Headline {
    /// Whether rows keep the value in a column of its own instead of a metric.
    pub fn is_own(self) -> bool {
        self == Self::Tracemalloc
    }

    /// The clock to read, if times are compared.
    pub fn clock(self) -> Option<Clock> {
        match self {
            Self::Clean => Some(Clock::Clean),
            Self::Wall => Some(Clock::Wall),
            Self::Cpu => Some(Clock::Cpu),
            Self::Memory | Self::Tracemalloc => None,
        }
    }

    pub fn unit(self) -> ValueUnit {
        match self {
            Self::Clean | Self::Wall | Self::Cpu => ValueUnit::Time,
            Self::Memory | Self::Tracemalloc => ValueUnit::Bytes,
        }
    }
}

/// Unit of an arm's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValueUnit {
    /// Nanoseconds.
    #[default]
    Time,
    /// Bytes.
    Bytes,
    /// Counts.
    Count,
}

impl ValueUnit {
    pub fn is_time(&self) -> bool {
        *self == Self::Time
    }
}
