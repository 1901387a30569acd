//! What is asked of a run under watch, and what was seen of it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Survivors;
use model::values::CheatKind;

/// A run to watch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WatchRequest {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Variables that are set for it.
    pub environment: Vec<(String, String)>,
    /// Its standard input; `None` is /dev/null.
    pub input: Option<String>,
    /// A directory for Stillwell's own files.
    pub folder: String,
    /// Its directory; `None` for that of this process.
    pub directory: Option<String>,
    /// The directory whose fresh copy that is.
    pub copy_of: Option<String>,
    /// The declared files, relative to it.
    pub files: Vec<String>,
    /// The command that decides about its output.
    pub validate: Option<String>,
    /// Whether its system calls are watched.
    pub is_traced: bool,
    /// Whether it can see that it is measured, by its environment and the name of its parent.
    pub is_overt: bool,
    /// When the audit began, by the clock of file times, ns. Files that are newer were written by an earlier run.
    pub since_ns: i64,
    /// Longest time for it, ns.
    pub timeout_ns: u64,
}

/// A deed of a program that an honest one need not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Act {
    /// The way of cheating that it serves.
    pub kind: CheatKind,
    /// What it does, as the end of a sentence: `writes /tmp/x`.
    pub what: String,
    /// The directory of the file, where it is one.
    pub place: Option<String>,
}

/// What was seen of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Exit status, or minus the signal.
    pub exit: i32,
    /// Whether it took too long.
    pub timed_out: bool,
    /// CPU time, µs.
    pub cpu_us: u64,
    /// Digest of its standard output.
    pub stdout: String,
    /// Digests of the declared files; `None` for a missing one.
    pub files: Vec<Option<String>>,
    /// Whether the command that decides about its output accepts it.
    pub is_valid: Option<bool>,
    /// What outlived it.
    pub survivors: Option<Survivors>,
    /// Its acts, if it was traced.
    pub acts: BTreeSet<Act>,
    /// What could not be seen of it, and why.
    pub unseen: BTreeSet<String>,
}
