//! Results over months: one file with all records, and the changes in the level of each benchmark.
//!
//! `extract` makes the results of a record, `store` keeps them in the `lines` of a file, `session` finds the records of
//! one session. `detection` puts results in `series` and finds the changes; `relative` first removes the common
//! movement of a machine, on request. `concurrent` counts the other series that changed at the same time. `nearest`
//! says what a history without a change could have shown. `commits` executes git, `chart` makes the data of a page.

pub mod chart;
pub mod commits;
mod concurrent;
pub mod detection;
pub mod extract;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod lines;
mod relative;
pub mod series;
mod session;
pub mod store;

use std::sync::Arc;

use formats::ResultUnit;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::bisection::LayoutVerdict;
use model::values::Better;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct BenchmarkResult {
    /// Name of the benchmark, or the command.
    pub benchmark: String,
    /// The program, if a record has several; otherwise empty.
    pub arm: String,
    pub unit: String,
    /// The direction in which the values are better; `None`: as the unit says. Older versions stored none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// Number of processes, if it is known.
    #[serde(deserialize_with = "known")]
    pub n_runs: Option<usize>,
    /// Noise-free time, net of the control if there is one.
    pub t0: f64,
    pub t0_err: Option<f64>,
    /// Whether `t0` is only an upper limit, because every run was interrupted. A series of t0 has no such results.
    pub t0_is_limit: bool,
    pub median: f64,
    pub mean: f64,
    pub revision: Option<String>,
    /// Commit time, seconds since 1970.
    pub committed_s: Option<i64>,
}

/// Older versions stored 0 for a number that is not known.
fn known<'de, D: Deserializer<'de>>(number: D) -> Result<Option<usize>, D::Error> {
    Ok(Option::<usize>::deserialize(number)?.filter(|&n| n > 0))
}

impl BenchmarkResult {
    pub fn better(&self) -> Better {
        let of_unit = || match ResultUnit::Other(self.unit.clone()).more_is_better() {
            true => Better::Higher,
            false => Better::Lower,
        };
        self.better.unwrap_or_else(of_unit)
    }

    /// Whether it is a time. Only a time has a t0.
    pub fn is_time(&self) -> bool {
        self.unit == "ns" && self.better().is_lower()
    }

    /// The level with its error: the t0 of a time, otherwise the median. For other quantities, older versions stored the
    /// lowest value as `t0`.
    pub fn level(&self) -> (f64, Option<f64>) {
        match self.is_time() || self.t0 == self.median {
            true => (self.t0, self.t0_err),
            false => (self.median, None),
        }
    }
}

/// Origin of a record: machine, time and surroundings.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct RecordOrigin {
    pub file: String,
    /// The machine. A series holds results of one machine only.
    pub machine: String,
    /// Time of measurement, seconds since 1970.
    pub measured_s: i64,
    /// Possible causes of a change beside the program, as name and value: kernel, governor, interpreter, ….
    pub surroundings: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredResult {
    /// Number of the record, shared by all its results.
    pub record: i64,
    #[serde(flatten)]
    pub origin: Arc<RecordOrigin>,
    #[serde(flatten)]
    pub result: BenchmarkResult,
}

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
    /// The commit against its parent, as a cost: above 1 is worse.
    pub ratio: f64,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    /// The result of other link orders; `None` if they were not asked for.
    pub layout: Option<LayoutVerdict>,
    /// When it was found, seconds since 1970.
    pub found_s: i64,
}
