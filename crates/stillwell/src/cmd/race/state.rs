//! The directory of a race.

use serde::{Deserialize, Serialize};

use crate::cmd::step_directory::{StepDirectory, StepFiles, StepManifest};
use crate::cmd::suite_commands::KeptSuite;
use model::spec::RaceVerb;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RaceManifest {
    pub request: RaceVerb,
    /// The current directory of the request.
    pub here: String,
    pub seed: u64,
    /// The commands and their names, with those from `--arms-from`.
    pub commands: Vec<String>,
    pub names: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<KeptSuite>,
    /// Digests of all commands' programs. Older races have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<Option<String>>,
}

impl StepManifest for RaceManifest {
    const FILES: StepFiles = StepFiles {
        format: "stillwell-race",
        version: 2,
        manifest: "race.json",
        steps: "rounds.jsonl",
        work: "a race",
    };
}

/// A finished round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RaceLine {
    /// File name of the record.
    pub record: String,
    /// The arms in the order of the record.
    pub arms: Vec<usize>,
    /// Failed arms with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<(usize, String)>,
    /// Whether the times count: not if a failure cut the round short.
    pub counts: bool,
    /// Length, s.
    pub seconds: f64,
}

pub(super) type RaceState = StepDirectory<RaceManifest, RaceLine>;
