//! The error that a campaign limits.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use stats::online::OnlineControl;

/// The error that a campaign limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum ErrorControl {
    /// The share of campaigns that accept anything that is not faster.
    Fwer,
    /// The share of what is not faster among all that is accepted.
    Fdr,
}

impl ErrorControl {
    /// The same error control in the statistics crate.
    pub fn of_tests(self) -> OnlineControl {
        match self {
            Self::Fwer => OnlineControl::FamilyWise,
            Self::Fdr => OnlineControl::FalseDiscovery,
        }
    }
}
