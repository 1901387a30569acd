//! The rule of a trial: a comparison that ends as soon as a gain is shown or out of reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
