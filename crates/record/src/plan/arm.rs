//! The arms of a plan: what is measured, or only subtracted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::value::ValueRule;
use crate::plan::workers::{TIMEIT, WorkerCode};
use host::Git;
use model::harness::Harness;
use model::values::{OutputTarget, ValueUnit};

/// A command, statement or benchmark that is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arm {
    /// The name given to it.
    pub name: Option<String>,
    /// The command line with its parameters filled in.
    pub command: String,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The arm's part in the comparison.
    pub role: Role,
    /// Parameters and their values.
    pub parameters: Vec<(String, String)>,
    /// Variables set for it.
    pub environment: Vec<(String, String)>,
    /// Command before its first run, if each value of a parameter has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Command after its last run, if each value of a parameter has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleanup: Option<String>,
    /// Command before each of its runs.
    pub prepare: Option<String>,
    /// Command after each of its runs.
    pub conclude: Option<String>,
    /// The destination of its standard output.
    pub output: OutputTarget,
    /// Exit statuses that are no failure; `None` if none is.
    pub accept: Option<Vec<i32>>,
    /// The iterations of a framework that are counted, if instructions decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedIterations>,
    /// Its benchmark. Only variants of the same benchmark are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<String>,
    /// The unit of its values.
    #[serde(default, skip_serializing_if = "ValueUnit::is_time")]
    pub unit: ValueUnit,
    /// The value that its program says of each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ValueRule>,
    /// Repetitions within one loop.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub inner_loops: u64,
    /// Whether it times itself. Then the CPU time of the whole call is of no use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_own_timer: bool,
    /// The directories that its blocks take turns with; the current one if there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
    /// Of a revision, or of a variant of a suite: the commit of its checkout, or of the directory in which it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// Whether the name is a revision's (`--revisions`). The arms of its benchmark are then the same program at
    /// different commits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_revision: bool,
    /// The code to send to its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<WorkerCode>,
}

/// Iterations of a framework's benchmark. Two processes that differ by so many have the same fixed part, which cancels in
/// the difference of their counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedIterations {
    /// Iterations in the difference.
    pub n: u64,
    /// Benchmarks that each process executes.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub n_together: u64,
    /// The command line with fewer iterations; most frameworks' have half.
    pub half: Vec<String>,
    /// Whether the clock of processes under valgrind goes on by the same step at each reading.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_stepped_clock: bool,
    /// Whether valgrind lists the system calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lists_calls: bool,
    /// The framework. Older records do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harness: Option<Harness>,
}

fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_one(n: &u64) -> bool {
    *n == 1
}

impl Arm {
    /// A command without hooks and variables, whose output is discarded and whose every exit is a success.
    pub fn bare(command: &str, role: Role) -> Self {
        Self {
            name: None,
            command: command.into(),
            argv: Vec::new(),
            role,
            parameters: Vec::new(),
            environment: Vec::new(),
            setup: None,
            cleanup: None,
            prepare: None,
            conclude: None,
            output: OutputTarget::Null,
            accept: None,
            counted: None,
            benchmark: None,
            unit: ValueUnit::Time,
            value: None,
            inner_loops: 1,
            has_own_timer: false,
            directories: Vec::new(),
            git: None,
            is_revision: false,
            source: None,
        }
    }

    /// Whether the arm gives this variable a value of its own.
    pub fn sets(&self, variable: &str) -> bool {
        self.environment.iter().any(|(name, _)| name == variable)
    }

    /// The directory of a block, or of a warm-up.
    pub fn directory(&self, block: Option<u32>) -> Option<&str> {
        let n_directories = self.directories.len().max(1);
        let at = block.unwrap_or(0) as usize % n_directories;
        self.directories.get(at).map(String::as_str)
    }

    /// The benchmark's name, for a label. None if the label already has it (functions, imports), for revisions, and for a
    /// statement that the user has not named.
    pub(super) fn known_benchmark(&self) -> Option<&String> {
        let is_known = !self.is_unnamed_statement() && !self.argv.is_empty() && !self.is_revision;
        self.benchmark.as_ref().filter(|_| is_known)
    }

    /// Whether this is a statement that the user has not named.
    pub fn is_unnamed_statement(&self) -> bool {
        self.source.is_some() && self.benchmark.as_deref() == Some(TIMEIT)
    }

    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }
}

/// The part of an arm in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An arm to compare.
    Candidate,
    /// A second copy of the reference, for the self-check of `--aa`.
    Twin,
    /// The shell without a command, to subtract.
    EmptyShell,
    /// The command of --subtract.
    Subtract,
}

impl Role {
    /// Whether the arm is only measured to be subtracted.
    pub fn is_control(self) -> bool {
        matches!(self, Self::EmptyShell | Self::Subtract)
    }
}

/// The arm that is subtracted from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Control {
    /// The arm's index.
    pub arm: usize,
    /// The arm's role.
    pub role: Role,
}
