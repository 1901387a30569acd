//! Is an attempt of a campaign fair? Judges the observations on its runs (docs/fair-play.md). Pure.

mod audit;
mod draw;
mod facts;
mod outputs;

use serde::Serialize;

use model::values::CheatKind;

pub use audit::{AuditFacts, ProgramRuns, judge, judge_survivors};
pub use draw::{Half, half_of, seeds};
pub use facts::{Act, RunFacts, WatchRequest};
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
