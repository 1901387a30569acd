//! Is an attempt of a campaign fair? Judges the observations on its runs (docs/fair-play.md). Pure.

mod audit;
mod outputs;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Survivors;
use model::values::CheatKind;
use stats::Stream;

pub use audit::{AuditFacts, ProgramRuns, judge, judge_survivors};
pub use outputs::{OutputRules, RunOutput, judge_outputs, judge_outputs_of_benchmarks};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CheatFinding {
    /// One of the twelve ways to cheat.
    pub kind: CheatKind,
    pub sentence: String,
}

impl CheatFinding {
    fn new(kind: CheatKind, sentence: impl Into<String>) -> Self {
        Self { kind, sentence: sentence.into() }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AuditReport {
    pub findings: Vec<CheatFinding>,
    /// Checks that are impossible here, and why.
    pub unchecked: Vec<String>,
}

impl AuditReport {
    /// Both reports as one, without repetitions.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        for finding in other.findings {
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
        for sentence in other.unchecked {
            if !self.unchecked.contains(&sentence) {
                self.unchecked.push(sentence);
            }
        }
        self
    }

    /// The report without what the user permits.
    #[must_use]
    pub fn without(mut self, allowed: &[CheatKind]) -> Self {
        self.findings.retain(|finding| !allowed.contains(&finding.kind));
        self
    }

    pub fn is_fair(&self) -> bool {
        self.findings.is_empty()
    }
}

/// A half of the inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Half {
    #[default]
    Try,
    /// Held back for confirmations.
    Confirm,
}

/// Separates the random stream of inputs from the stream of numbers.
const INPUT_STREAM: u64 = 0x1f83_d9ab_fb41_bd6b;
const CONFIRM_STREAM: u64 = 0x5be0_cd19_137e_2179;
/// Number of distinct numbers, then they repeat. A session has fewer blocks.
const N_SEEDS: usize = 1000;
/// Numbers are below this, so every program can read them.
const SEEDS_END: u64 = 1 << 31;

/// One half of the inputs, in block order.
pub fn half_of(inputs: &[String], half: Half, seed: u64) -> Vec<String> {
    let order = Stream::new(seed ^ INPUT_STREAM).permutation(inputs.len());
    let (tries, confirmations) = order.split_at(inputs.len().div_ceil(2));
    let half = if half == Half::Try { tries } else { confirmations };
    half.iter().map(|&index| inputs[index].clone()).collect()
}

pub fn seeds(half: Half, seed: u64) -> Vec<String> {
    let half = if half == Half::Try { 0 } else { CONFIRM_STREAM };
    let mut stream = Stream::new(seed ^ half);
    (0..N_SEEDS).map(|_| stream.below(SEEDS_END).to_string()).collect()
}

/// The request for a watched run, and its observations.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_halves_have_nothing_in_common() {
        let inputs: Vec<String> = (0..7).map(|n| n.to_string()).collect();
        let [tries, confirmations] =
            [Half::Try, Half::Confirm].map(|half| half_of(&inputs, half, 9));
        assert_eq!((tries.len(), confirmations.len()), (4, 3));
        let mut all = [tries.clone(), confirmations].concat();
        all.sort();
        assert_eq!(all, inputs);
        assert_ne!(half_of(&inputs, Half::Try, 10), tries);
        assert_ne!(seeds(Half::Try, 9), seeds(Half::Confirm, 9));
    }
}
