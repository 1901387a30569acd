//! How workers are used: processes that run a benchmark a given number of times and answer how long that took.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Everything about the workers of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Workers {
    /// How long a slice should take, ns.
    pub slice_ns: u64,
    /// Loops in a slice; `None` when they are found out.
    pub loops: Option<u64>,
    /// Slices of each launch; `None` when they are found out.
    pub n_slices: Option<u32>,
    /// Slices before these that are left out; `None` when they are found out.
    pub n_warmup_slices: Option<u32>,
    /// Garbage collection while the benchmark runs.
    pub gc: Gc,
    /// Whether slices of n and of 2n loops take turns, so that what does not grow with the loops cancels.
    pub delta: bool,
    /// Whether the cost of an empty loop is taken off.
    pub subtract_empty_loop: bool,
    /// What is compared.
    pub headline: Headline,
    /// Variables that the workers inherit; `None` for all.
    pub inherit: Option<Vec<String>>,
}

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

/// Code that a worker is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Before the loops of each slice, not timed.
    pub setup: String,
    /// What is timed.
    pub statement: String,
    /// After them, not timed.
    pub teardown: String,
    /// How often the statement stands in one loop.
    pub duplicate: u32,
}
