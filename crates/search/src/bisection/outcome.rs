//! The result of a search: the changes with their commits, and the ranges without an answer.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::bisection::answer::Relation;
use crate::bisection::layout::{LayoutFinding, LayoutVerdict};

/// A change that was found and confirmed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Culprit {
    /// The commits: one, or one that can be built and those before it that cannot.
    pub commits: Vec<usize>,
    /// The commit that it was confirmed against.
    pub base: usize,
    pub head: usize,
    pub size: Relation,
    /// The result of other link orders; `None` if they were not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<LayoutFinding>,
}

impl Culprit {
    pub fn is_layout(&self) -> bool {
        self.layout.as_ref().is_some_and(|found| found.verdict == LayoutVerdict::Layout)
    }
}

/// A change that no single commit could be named for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnresolvedRange {
    /// The ends that differ.
    pub lo: usize,
    pub hi: usize,
    /// The commits that the change is among.
    pub commits: Vec<usize>,
    /// The difference of the ends.
    pub size: Relation,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SearchOutcome {
    /// The comparison of the whole range's ends; `None` before they were measured.
    pub ends: Option<Relation>,
    pub culprits: Vec<Culprit>,
    /// The changes without a name.
    pub unresolved: Vec<UnresolvedRange>,
    /// Commits that cannot be built or run.
    pub failed: BTreeMap<usize, String>,
    /// Numbers of builds, probes and confirmations, and the time of the last two.
    pub n_builds: u32,
    pub n_probes: u32,
    pub build_s: f64,
    pub measure_s: f64,
}

impl SearchOutcome {
    /// Counts a build, also a failed one; 0 s is none. Returns the mean time of all, s.
    pub(super) fn take_build(&mut self, seconds: f64) -> f64 {
        if seconds > 0.0 {
            self.n_builds += 1;
            self.build_s += seconds;
        }
        self.build_s / f64::from(self.n_builds.max(1))
    }
}
