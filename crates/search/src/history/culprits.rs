//! The commits that searches found (`bisect --history`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bisection::LayoutVerdict;

/// A commit that a search found.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize, JsonSchema)]
pub struct StoredCulprit {
    /// The benchmark that was measured.
    pub benchmark: String,
    /// The ends of the search.
    pub good: String,
    pub bad: String,
    /// The commit, and the ancestor that it was confirmed against.
    pub head: String,
    pub base: String,
    /// The first line of the commit message.
    pub subject: String,
    /// Number of candidate commits: more than 1 if the others cannot be built.
    pub n_commits: usize,
    /// The commit against its parent: above 1 is slower.
    pub ratio: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// The result of other link orders; `None` if they were not asked for.
    pub layout: Option<LayoutVerdict>,
    /// When it was found, seconds since 1970.
    pub found_s: i64,
}
