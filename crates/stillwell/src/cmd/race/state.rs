//! What the directory of a race keeps.

use serde::{Deserialize, Serialize};

use crate::cmd::step_directory::{StepDirectory, StepFiles, StepManifest};
use crate::cmd::suite_commands::KeptSuite;
use model::spec::RaceVerb;

/// What a race was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RaceManifest {
    pub request: RaceVerb,
    /// The directory in which it was asked for.
    pub here: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// The commands and their names, those of `--arms-from` included.
    pub commands: Vec<String>,
    pub names: Vec<String>,
    /// With `--suite`: the suite on which they race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<KeptSuite>,
    /// Digests of the programs of all commands. Earlier races have none.
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
    /// The file name of the record.
    pub record: String,
    /// The arms, in the order of the record.
    pub arms: Vec<usize>,
    /// Arms that failed in it, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<(usize, String)>,
    /// Whether its times count. They do not if a failure cut it short.
    pub counts: bool,
    /// Time that it took, s.
    pub seconds: f64,
}

/// The directory of a race, locked.
pub(super) type RaceState = StepDirectory<RaceManifest, RaceLine>;
