//! The values of a campaign: the error that it limits, and the ways of winning without being faster (docs/fair-play.md).

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::values::option_value;
use stats::online::OnlineControl;

/// One of the twelve.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum CheatKind {
    /// Another standard output than the reference's
    Stdout,
    /// A declared file that is missing, or has other contents
    File,
    /// Answers for the inputs that it was tried with
    HardCoded,
    /// Files that stay outside of its directory
    OutsideFile,
    /// Files that stay inside, or less work at the second call
    SecondCall,
    /// Shared memory, message queues, semaphores, keys
    SharedMemory,
    /// Processes that outlive a run
    Survivor,
    /// Such processes that left the run's process group or session
    Daemon,
    /// A server outside of the run
    Socket,
    /// A changed clock, library path or tool
    Tool,
    /// Its own priority, CPUs or kernel settings
    Priority,
    /// Another behaviour where it is measured
    Detection,
}

impl CheatKind {
    /// Name on the command line.
    pub fn name(self) -> String {
        option_value(&self)
    }
}

/// The error that a campaign limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum ErrorControl {
    /// The share of campaigns that accept anything that is not faster.
    Fwer,
    /// The share of what is not faster among all that is accepted.
    Fdr,
}

impl ErrorControl {
    /// This error control in the statistics crate.
    pub fn online_control(self) -> OnlineControl {
        match self {
            Self::Fwer => OnlineControl::FamilyWise,
            Self::Fdr => OnlineControl::FalseDiscovery,
        }
    }
}
