#![doc = include_str!("../README.md")]
//!
//!
//! Makes rows from steps. A [`Runner`] executes the steps and writes their rows into the record.

mod child_run;
pub mod clock;
mod commands;
mod core_prober;
mod counters;
pub mod counting;
mod destination;
pub mod digest;
pub mod exec;
mod fields;
pub mod fresh;
pub mod harnesses;
pub mod interrupt;
pub mod jit;
mod job_mark;
mod jobs;
mod launch_attributes;
mod launch_failure;
mod launcher;
pub mod link;
pub mod load;
mod memory_use;
pub mod noise;
mod page_placement;
mod prepared;
mod proc_counts;
mod process;
pub mod profile;
pub mod programs;
mod quota_use;
pub mod roles;
pub mod sampling;
pub mod script;
pub mod serve;
mod signal_pipe;
pub mod slices;
pub mod stack_copies;
pub mod stalls;
pub mod stepped_clock;
mod streams;
pub mod supervised;
pub mod survivors;
pub mod switches;
pub mod valgrind;
mod value;
pub mod waiting;
pub mod watch;
pub mod wire;
pub mod worker;

use std::path::PathBuf;

use anyhow::Result;

use crate::slices::Paces;
use model::prose::Prose;
use record::schedule::Step;
use record::{Event, Survivors};

pub use counters::can_count_instructions;
pub use exec::ExecRunner;
pub use script::ScriptRunner;

/// The record of a runner's rows.
#[derive(Clone, Debug)]
pub struct RowPlace {
    /// An absolute path.
    pub record: PathBuf,
    pub columns: Vec<String>,
    /// Origin of the rows' starts on the monotonic clock.
    pub clock_origin_ns: u64,
    /// The first step without a row.
    pub next_step: u32,
}

/// Makes runs: with real processes, or from a script for tests.
pub trait Runner {
    /// Sets the record of the rows. Errors: it cannot be opened.
    fn keep(&mut self, rows: RowPlace) -> Result<()>;

    /// Runs steps in order, each with its hooks. Their rows are in the record when this returns. Errors: the runner
    /// itself cannot go on. A failed command is not an error, but a part of the outcome.
    fn run(&mut self, steps: &[Step]) -> Result<Outcome>;

    /// Executes a command of the whole session. Errors: see [`Runner::run`].
    fn hook(&mut self, hook: Hook, command: &str, arm: usize) -> Result<Outcome>;

    /// Counts of the runs' parent at the end of the session.
    fn last_words(&self) -> Option<Event> {
        None
    }

    /// The paces of workers that this runner found, for the next runner of the same plan.
    fn paces(&mut self) -> Paces {
        Paces::default()
    }
}

/// A command around the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    Setup,
    Prepare,
    Validate,
    Conclude,
    Cleanup,
}

/// The progress of a request.
#[derive(Debug, Default)]
pub struct Outcome {
    pub interrupted: bool,
    pub failure: Option<MeasurementFailure>,
}

impl Outcome {
    pub fn failed(failure: MeasurementFailure) -> Self {
        Self { interrupted: false, failure: Some(failure) }
    }

    pub fn is_end(&self) -> bool {
        self.interrupted || self.failure.is_some()
    }
}

/// Failures that end a session.
#[derive(Debug, PartialEq, Eq)]
pub enum MeasurementFailure {
    Run {
        step: u32,
        arm: usize,
        /// Exit status, or minus the signal.
        exit: i32,
        timed_out: bool,
        stderr: String,
    },
    /// A run printed no value.
    Value { step: u32, arm: usize, why: String, stderr: String },
    /// The values of the runs cannot be compared.
    Unfit { why: String },
    /// The instructions of a run were not counted.
    NotCounted {
        step: u32,
        arm: usize,
        /// Exit status, or minus the signal.
        exit: i32,
        /// The reason, and valgrind's output.
        uncounted: valgrind::Uncounted,
        stderr: String,
    },
    /// A worker did not do as asked.
    Worker { arm: usize, failure: Box<worker::WorkerFailure> },
    /// A run left processes behind, which the session forbids.
    Survivors(Survivors),
    Hook {
        hook: Hook,
        /// The step before or after which it ran.
        step: u32,
        arm: usize,
        command: String,
        /// Exit status, or minus the signal.
        exit: i32,
        stderr: String,
    },
    /// A command could not be started.
    Start {
        /// The arm, if the command belongs to one.
        arm: Option<usize>,
        /// The failed operation, and the reason.
        why: Prose,
    },
    /// The record could not be written.
    Record {
        error: String,
        /// The line of the row that did not fit.
        line: Vec<u8>,
    },
}
