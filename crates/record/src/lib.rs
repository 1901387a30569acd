#![doc = include_str!("../README.md")]
//!
//!
//! The saved file: a header line, then rows and events as they happen, one JSON value a line (docs/format.md). Nothing
//! is subtracted, dropped, sorted or rounded before it is written.

pub mod fair_play;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture;
mod folder;
pub mod ledger;
mod origin;
mod place;
pub mod plan;
mod read;
mod row;
mod rows;
pub mod schedule;
mod write;

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;

use formats::{Calibration, Metadata, SummaryStatistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;
use host::shield::Isolation;
use host::{Facts, Gap, Git};
use model::spec::defaults::DefaultOption;

pub use folder::{SuiteManifest, is_suite, make_directory, remove_if_empty};
pub use origin::{command_line, defaults, set_command_line};
pub use place::{
    all_records, builds_path, cache_path, cores_path, history_path, make_records_directory,
    new_path, newest, pools_path, records_directory,
};
pub use read::{Record, RecordLine, RecordTail};
pub use row::{FIXED_COLUMNS, Layout, Row};
pub use rows::Rows;
pub use write::{Readers, Writer, kept_len};

pub const FORMAT: &str = "stillwell";
/// First bytes of every record.
pub const START: &str = "{\"format\":\"stillwell\"";
/// Version of the format that this program writes. It also reads all earlier ones.
pub const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// Name and version of the writing program.
    pub tool: String,
    /// Start of the session, RFC 3339 with the local time zone's offset.
    pub created: String,
    /// The command line of the session, word by word, with `defaults`.
    pub command_line: Vec<String>,
    /// The options among its words that are from `STILLWELL_OPTIONS` or a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaults: Vec<DefaultOption>,
    /// Reading of CLOCK_MONOTONIC at the origin of the rows' `started_ns`.
    pub clock_origin_ns: u64,
    /// Name of each cell of a row.
    pub columns: Vec<String>,
    /// All decisions about the session, defaults included.
    pub plan: Plan,
    /// Facts about the machine.
    pub facts: Facts,
    /// Measurements that the machine cannot make, with reasons.
    pub gaps: Vec<Gap>,
    /// Isolation of the runs' CPUs, read from the machine before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Source of the times, if another program measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFile>,
}

impl Header {
    /// The commit of an arm. Early records of suites lack it: the commit of an arm in another directory is then
    /// unknown.
    pub fn git_of(&self, arm: usize) -> Option<&Git> {
        let arm = &self.plan.arms[arm];
        let here = self.facts.directory.as_ref().map(Path::new);
        let is_here =
            |directory: &String| here.is_some_and(|here| Path::new(directory).starts_with(here));
        let is_all_here = arm.directories.iter().all(is_here);
        arm.git.as_ref().or(self.facts.git.as_ref().filter(|_| is_all_here))
    }
}

/// The file that a record was converted from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// Path as given.
    pub file: String,
    /// Format, as in `convert --from`.
    pub from: String,
    /// The writing program, with its version if the file contains it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// Limits of such a file, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<ImportedBenchmark>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedBenchmark {
    pub name: String,
    /// Package, class or group, if the file has one beside the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Unit of the values, if no arm can have this unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_name: Option<String>,
    /// Metadata common to all launches.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// The summary, if the file has no values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryStatistics>,
}

/// A loop that took longer in short slices than in long ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ShortSlice {
    /// Loops of the first, short slices.
    pub loops: u64,
    /// Time per loop in these, ns.
    pub short_ns: f64,
    /// Time per loop in slices long enough, ns.
    pub long_ns: f64,
}

/// Processes that runs left behind and that did not end within a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivors {
    pub step: u32,
    pub arm: u32,
    pub name: String,
    /// Runs of this arm that left processes.
    #[serde(default = "one")]
    pub n_runs: u32,
    /// Processes that were there a moment after their run and its hooks. The end of the session ends them.
    #[serde(default)]
    pub n_left: u32,
    /// Processes that the launcher ended after the run: in a campaign, or because the run itself was ended.
    pub n_ended: u32,
    /// Processes that had left the process group of the run.
    pub n_detached: u32,
    /// CPU time after the run, µs, of the processes that were ended.
    pub late_cpu_us: u64,
}

fn one() -> u32 {
    1
}

/// A line that is neither the header nor a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Counts of the launcher at the end.
    Launcher {
        /// The launcher's peak resident set, KiB. A row's `maxrss_kib` up to it may be the launcher's own.
        maxrss_floor_kib: u64,
        /// Time spent reading the kernel's counts between runs, warm-ups included; `None` when Stillwell read none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        evidence_ns: Option<u64>,
        /// Processes that runs left behind.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        survivors: Vec<Survivors>,
    },
    /// The shield was lost. The check before the run of `first_step` still found it.
    IsolationLost {
        /// First step whose isolation is unknown.
        first_step: u32,
        /// First step after the loss was found.
        step: u32,
        why: String,
    },
    /// Programs that took the CPU from a run, found by a trace (`--attribute`).
    Taken {
        /// Step of the row.
        step: u32,
        /// Programs that ran instead, and interrupts during the run.
        by: Vec<ledger::LedgerEntry>,
    },
    /// A run failed, was killed or timed out.
    Failure {
        step: u32,
        /// Last lines of standard error.
        stderr: String,
    },
    /// Metadata of a worker and its benchmark's warm-up, from a separate process before the first block.
    Worker {
        arm: u32,
        /// Loops per slice.
        loops: u64,
        /// Slices of the search for the warm-up: the arm's first rows in the record.
        #[serde(default)]
        n_slices: u32,
        /// Slices before the steady state.
        n_warmup_slices: u32,
        /// Whether these slices reached a steady state.
        is_steady: bool,
        /// Threads of the process at its end.
        n_threads: Option<u32>,
        /// The times of a loop, if they depend on the slice's length.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short: Option<ShortSlice>,
        /// Facts and metadata, as the worker wrote them.
        values: BTreeMap<String, String>,
    },
    /// The user's counters for a slice, for all its loops together.
    Counters {
        /// Step of the row.
        step: u32,
        arm: u32,
        loops: u64,
        counters: BTreeMap<String, u64>,
    },
    /// A launch of an imported benchmark: a process, or the source's closest equivalent. It owns the arm's next rows.
    Launch {
        arm: u32,
        /// Number of warm-up rows, which come first.
        n_warmups: u32,
        /// Number of other rows.
        n_values: u32,
        /// Outer loops of each value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loops: Option<NonZeroU64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner_loops: Option<NonZeroU64>,
        /// Purpose of a launch without values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        calibration: Option<Calibration>,
        /// Metadata in the source.
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata,
    },
    /// A gate measured this benchmark more often, because it may be slower. So its last look is not at the end.
    Suspect,
    /// The session ended in order. Without this line, it was killed.
    End { reason: EndReason },
    /// An event of another version of the program. It is read, but never written.
    #[serde(other)]
    Unknown,
}

impl EndReason {
    /// Whether the session cannot be resumed.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Complete | Self::Decided | Self::Precise)
    }
}

/// The reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// All blocks were run, or as many as the budget allowed.
    Complete,
    /// Every comparison was decided before the last block.
    Decided,
    /// The precision asked for was reached before the last block.
    Precise,
    /// ^C or SIGTERM.
    Interrupted,
    /// A command or a hook failed.
    Failed,
    /// A run took longer than the timeout.
    TimedOut,
    /// The record could not be written any more.
    RecordFull,
}
