//! Results over months: one SQLite file that keeps every record, and where the level of a benchmark has changed.
//!
//! `taken` makes results of a record, `store` keeps them (`database` opens its file, `schema` has its tables, `session` tells
//! which records are of one session), `series` puts those of one benchmark on one machine in order and finds the changes
//! (`stats::e_divisive`), `together` says which other series of the machine changed there, `relative` takes out of them what all
//! do at once, `commits` asks git, `chart` is what a page shows of a series.

pub mod chart;
pub mod commits;
pub mod concurrent;
mod database;
pub mod extract;
#[cfg(test)]
pub mod fixture;
mod relative;
mod schema;
pub mod series;
mod session;
pub mod store;

use std::sync::Arc;

use serde::Serialize;

/// What a record says of one benchmark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BenchmarkResult {
    /// Its name; of a record of commands, the command's.
    pub benchmark: String,
    /// The program it was measured in, where a record has several; otherwise empty.
    pub arm: String,
    /// Unit of the values: `ns`, `byte`, `count`.
    pub unit: String,
    /// Processes.
    pub n_runs: usize,
    /// Noise-free time, net of the control where there is one.
    pub t0: f64,
    /// Its error.
    pub t0_err: Option<f64>,
    pub median: f64,
    pub mean: f64,
    /// The commit that was measured.
    pub revision: Option<String>,
    /// When that was committed, seconds since 1970.
    pub committed_s: Option<i64>,
}

/// What is known of the record of a result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecordOrigin {
    /// The file it was added from.
    pub file: String,
    /// Which machine; results of different machines are never put in one series.
    pub machine: String,
    /// When it was measured, seconds since 1970.
    pub measured_s: i64,
    /// What may have changed beside the program: kernel, governor, interpreter, …; by name.
    pub surroundings: Vec<(String, String)>,
}

/// A result in a history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredResult {
    /// Of the record; several results have the same.
    pub record: i64,
    #[serde(flatten)]
    pub origin: Arc<RecordOrigin>,
    #[serde(flatten)]
    #[serde(rename = "taken")]
    pub result: BenchmarkResult,
}
