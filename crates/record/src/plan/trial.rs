//! The rule of an attempt to be faster: a comparison that ends as soon as a gain is shown, or is out of reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When the trial of an attempt is over. The error rate of "faster" is that of the plan's policy, and half of it is on
/// this side. Giving up early can only make false gains rarer, so its error rate is another one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRule {
    /// The gain that has to be exceeded, as a fraction of the time; 0 if any gain will do.
    pub at_least: f64,
    /// The trial is given up as soon as a gain of this fraction is refuted.
    pub aim: f64,
    /// Error rate of giving up on a gain of just that size.
    pub miss: f64,
}
