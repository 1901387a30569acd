//! Words about workers: processes that run a benchmark a given number of times and answer how long that took.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Garbage collection of the interpreter.
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
pub enum Gc {
    /// As the interpreter has it: on, mostly.
    #[default]
    On,
    /// Off while the benchmark runs.
    Off,
    /// As it is, and a collection before each slice, outside the timing.
    Collect,
}

/// What is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Headline {
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

impl Headline {
    /// Whether each row has a value of its own for it, instead of a metric.
    pub fn is_own(self) -> bool {
        self == Self::Tracemalloc
    }

    /// The unit of its values.
    pub fn unit(self) -> Unit {
        match self {
            Self::Wall | Self::Cpu => Unit::Time,
            Self::Memory | Self::Tracemalloc => Unit::Bytes,
        }
    }
}

/// What the values of an arm are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Times, ns.
    #[default]
    Time,
    /// Amounts of memory, bytes.
    Bytes,
    /// Anything else.
    Count,
}

impl Unit {
    /// Whether it is the usual one.
    pub fn is_time(&self) -> bool {
        *self == Self::Time
    }
}
