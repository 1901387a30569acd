//! The request for a watched run, and its observations.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Survivors;
use model::values::CheatKind;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WatchRequest {
    pub argv: Vec<String>,
    pub environment: Vec<(String, String)>,
    /// Standard input; `None` is /dev/null.
    pub input: Option<String>,
    pub folder: String,
    /// Working directory; `None`: the directory of this process.
    pub directory: Option<String>,
    /// The directory whose fresh copy `directory` is.
    pub copy_of: Option<String>,
    /// The declared files, relative to the working directory.
    pub files: Vec<String>,
    pub validate: Option<String>,
    /// Whether system calls are watched.
    pub is_traced: bool,
    /// Whether the program can see that it is measured, by its environment and its parent's name.
    pub is_overt: bool,
    /// When the audit began, by the clock of file times, ns. Newer files were written by an earlier run.
    pub since_ns: i64,
    pub timeout_ns: u64,
}

/// A deed of a program that an honest one need not do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Act {
    /// The way of cheating that the act serves.
    pub kind: CheatKind,
    /// The act as the end of a sentence: `writes /tmp/x`.
    pub what: String,
    /// The directory of the file, if the act is about a file.
    pub place: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFacts {
    /// Exit status, or minus the signal.
    pub exit: i32,
    pub timed_out: bool,
    pub cpu_us: u64,
    /// Digest of standard output.
    pub stdout: String,
    /// Digests of the declared files; `None` for a missing one.
    pub files: Vec<Option<String>>,
    /// Whether the validating command accepts the output.
    pub is_valid: Option<bool>,
    /// Processes that outlived the run.
    pub survivors: Option<Survivors>,
    /// The acts, if the run was traced.
    pub acts: BTreeSet<Act>,
    /// Observations that failed, and why.
    pub unseen: BTreeSet<String>,
}
