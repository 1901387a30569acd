#![doc = include_str!("../README.md")]
//!
//! The saved file: a header line, then rows and events as they happen, one JSON value a line. `docs/format.md`
//! describes every field.
//!
//! Nothing is subtracted, dropped, sorted or rounded before it is written here.

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

pub use folder::{SuiteManifest, is_suite};
pub use place::{
    all_records, builds_path, cache_path, cores_path, history_path, new_path, newest, pools_path,
};
pub use read::{Record, RecordLine, RecordTail};
pub use row::{FIXED_COLUMNS, Layout, Row};
pub use rows::Rows;
pub use write::{Readers, Writer, kept_len};

/// `format` of every record.
pub const FORMAT: &str = "stillwell";
/// First bytes of every record.
pub const START: &str = "{\"format\":\"stillwell\"";
/// Version of the format that this program writes; it reads this one and all earlier ones.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// Name and version of the program that wrote it.
    pub tool: String,
    /// When the session started, RFC 3339 with the offset of the local time zone.
    pub created: String,
    /// The command line that started it, word by word.
    pub command_line: Vec<String>,
    /// Reading of CLOCK_MONOTONIC from which `started_ns` of the rows counts.
    pub clock_origin_ns: u64,
    /// Name of each cell of a row.
    pub columns: Vec<String>,
    /// All decisions about the session, defaults included.
    pub plan: Plan,
    /// Facts about the machine.
    pub facts: Facts,
    /// Measurements that the machine cannot make, with the reasons.
    pub gaps: Vec<Gap>,
    /// Isolation of the CPUs of the runs, read from the machine before the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Source of the times, if another program has measured them; absent in a record of `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<ImportedFile>,
}

impl Header {
    /// The commit of an arm. Early records of suites lack it; then the commit of an arm in another directory is
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
    /// Its path, as it was given.
    pub file: String,
    /// Its format, as `convert --from` names it.
    pub from: String,
    /// The program that wrote it, with its version if the file contains it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    /// Limits of such a file, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Metadata of all its benchmarks.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Each of its benchmarks, in the order of the arms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub benchmarks: Vec<ImportedBenchmark>,
}

/// A benchmark of an imported file, without its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedBenchmark {
    /// Its name there.
    pub name: String,
    /// Its package, class or group, if the file has one beside the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Unit of its values, if no arm can have this unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_name: Option<String>,
    /// Metadata of all its launches.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Its summary, if the file has this instead of values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryStatistics>,
}

/// The message of a JSON error without its line number: each line of a record is a document of its own.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rsplit_once(" at line ") {
        Some((what, _)) => format!("character {}: {what}", error.column()),
        None => text,
    }
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

/// The processes that runs left behind and that did not end within a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivors {
    /// Step of the run; of several, the first.
    pub step: u32,
    /// Arm of the run.
    pub arm: u32,
    /// Name of the first one.
    pub name: String,
    /// Runs of this arm that left some.
    #[serde(default = "one")]
    pub n_runs: u32,
    /// Processes that went on until the end of the session, which ended them.
    #[serde(default)]
    pub n_left: u32,
    /// Processes that the launcher ended after their run: in a campaign, or because the run itself was ended.
    pub n_ended: u32,
    /// Processes that had left the process group of the run.
    pub n_detached: u32,
    /// CPU time that all of them used after the end of the run, µs, as far as they were ended after it.
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
        /// Its peak resident set, KiB: no `maxrss_kib` of a row can be lower.
        maxrss_floor_kib: u64,
        /// Time spent on reading the kernel's counts between the runs, those of the warm-up too; `None` when
        /// Stillwell read none.
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
        /// The change that was found.
        why: String,
    },
    /// Programs that took the CPU from a run, found by a trace (`--attribute`).
    Taken {
        /// Step of its row.
        step: u32,
        /// Programs that ran instead of it, and interrupts during the run.
        by: Vec<ledger::LedgerEntry>,
    },
    /// A run failed, was killed or timed out.
    Failure {
        /// Step of its row.
        step: u32,
        /// Last lines of its standard error.
        stderr: String,
    },
    /// Metadata of a worker and the warm-up of its benchmark, from a process of its own before the first block.
    Worker {
        /// Index of the arm.
        arm: u32,
        /// Loops in each of its slices.
        loops: u64,
        /// Slices of the search for the warm-up: the first rows of its arm, in the order of the record.
        #[serde(default)]
        n_slices: u32,
        /// Slices before it was steady.
        n_warmup_slices: u32,
        /// Whether it became steady in these slices.
        is_steady: bool,
        /// Threads of the process, at the end.
        n_threads: Option<u32>,
        /// The times of a loop, if they depend on the length of the slice.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short: Option<ShortSlice>,
        /// Facts and metadata, as the worker wrote them.
        values: BTreeMap<String, String>,
    },
    /// The user's counters that a slice returned, for all its loops together.
    Counters {
        /// Step of its row.
        step: u32,
        /// Index of the arm.
        arm: u32,
        /// Loops.
        loops: u64,
        /// By name.
        counters: BTreeMap<String, u64>,
    },
    /// A launch of an imported benchmark: a process, or the source's closest equivalent. Its rows are the next ones
    /// of its arm.
    Launch {
        /// Index of the arm.
        arm: u32,
        /// The number of its rows that are warm-ups; these come first.
        n_warmups: u32,
        /// The number of its other rows.
        n_values: u32,
        /// Outer loops of each value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        loops: Option<NonZeroU64>,
        /// Inner loops in each outer one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner_loops: Option<NonZeroU64>,
        /// Its purpose, if it has no values.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        calibration: Option<Calibration>,
        /// Its metadata in the source.
        #[serde(default, skip_serializing_if = "Metadata::is_empty")]
        metadata: Metadata,
    },
    /// A gate measured it more often than others, because it may be slower. So its last look is not at the end.
    Suspect,
    /// The session ended in order. Without this line, it was killed.
    End {
        /// The reason.
        reason: EndReason,
    },
    /// An event of an earlier or a later program, which says nothing to this one. It is read, and never written.
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
