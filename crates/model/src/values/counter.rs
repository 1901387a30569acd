//! What counts instructions.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What counts the instructions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum CounterChoice {
    /// The processor if it counts them for this user, else valgrind.
    #[default]
    Auto,
    /// The counters of the processor.
    Pmu,
    /// valgrind, which executes each instruction itself.
    Valgrind,
}

impl CounterChoice {
    /// Name as an option's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pmu => "pmu",
            Self::Valgrind => "valgrind",
        }
    }
}
