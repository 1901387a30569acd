//! The number of blocks of a session, and its end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rule for the number of blocks. It never depends on which arm was faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockRule {
    /// The number that the user gave.
    Exactly(u32),
    /// As many as fit into the budget.
    Budget {
        /// Time for all timed runs with their hooks.
        budget_ns: u64,
        /// Fewest blocks before an interim analysis.
        min: u32,
        /// At most so many.
        max: u32,
        /// Number of blocks to measure even if they do not fit. Old records have 0 and measured `min` blocks.
        #[serde(default)]
        firm: u32,
    },
}

impl BlockRule {
    /// Fewest blocks, most blocks, and the time for all, ns.
    pub fn bounds(self) -> (u32, u32, u64) {
        match self {
            Self::Exactly(n_blocks) => (n_blocks, n_blocks, u64::MAX),
            Self::Budget { budget_ns, min, max, .. } => (min, max, budget_ns),
        }
    }

    /// The number of blocks to measure even if they do not fit into the time: at least one.
    pub fn firm(self) -> u32 {
        match self {
            Self::Exactly(n_blocks) => n_blocks,
            Self::Budget { firm, .. } => firm.max(1),
        }
    }
}

/// Whether a comparison ends its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopping {
    /// The session has one interim analysis, after the last block. The oldest records have this.
    #[default]
    AtTheEnd,
    /// The session has several interim analyses, and ends at the first that decides everything.
    WhenDecided,
    /// The session has several interim analyses, and ends at the first at which any comparison differs.
    AtADifference,
}

/// When the trial of an attempt is over. "Faster" has the error rate of the plan's policy, half of it on this side.
/// Giving up early can only make false gains rarer, so it has an error rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRule {
    /// The gain that has to be exceeded, as a fraction of the time; 0 if any gain will do.
    pub at_least: f64,
    /// The trial is given up as soon as a gain of this fraction is refuted.
    pub aim: f64,
    /// Error rate of giving up on a gain of exactly that size.
    pub miss: f64,
}
