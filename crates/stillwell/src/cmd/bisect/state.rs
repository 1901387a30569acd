//! The directory of a search.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use crate::cmd::assessment::Assessment;
use crate::cmd::step_directory::{StepDirectory, StepFiles, StepManifest};
use model::spec::BisectVerb;
use search::bisection::{BisectSearch, Commit, Culprit, Observation};
use search::history::store::HistoryStore;
use search::history::{StoredCulprit, extract};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BisectManifest {
    pub request: BisectVerb,
    /// The current directory of the request.
    pub here: String,
    pub seed: u64,
    #[serde(flatten)]
    pub range: BisectRange,
}

impl StepManifest for BisectManifest {
    const FILES: StepFiles = StepFiles {
        format: "stillwell-bisect",
        version: 2,
        manifest: "bisect.json",
        steps: "observations.jsonl",
        work: "a search",
    };
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BisectRange {
    /// The ends, as indices of commits.
    pub lo: usize,
    pub hi: usize,
    /// The commits of the range, parents before their children.
    pub commits: Vec<Commit>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ObservedLine {
    pub observation: Observation,
    /// File name of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

pub(super) type BisectState = StepDirectory<BisectManifest, ObservedLine>;

impl BisectRange {
    pub(super) fn ends(&self) -> [&String; 2] {
        [self.lo, self.hi].map(|end| &self.commits[end].id)
    }
}

pub fn is_search(directory: &Path) -> bool {
    directory.join(BisectManifest::FILES.manifest).is_file()
}

/// The record of the largest confirmed change: the commit and the one before it. Errors: no change is confirmed.
pub fn confirmed(directory: &Path) -> Result<PathBuf> {
    let shown = directory.display();
    let (_, lines) = BisectState::look(directory)?;
    let change = |line: ObservedLine| {
        let Observation::Confirm { new, .. } = line.observation else { return None };
        new.is_different.then_some((new.ratio.ln().abs(), line.record?))
    };
    let changes = lines.into_iter().filter_map(change);
    let largest = changes.max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, record) = largest.with_context(|| {
        format!("{shown}: the search has found no commit yet; go on with `stillwell bisect --resume {shown}`")
    })?;
    Ok(directory.join(record))
}

/// Adds what a search found to a history.
pub(super) fn keep_in_history(
    verb: &BisectVerb,
    state: &BisectState,
    search: &BisectSearch,
) -> Result<()> {
    let culprits = &search.outcome().culprits;
    let Some(path) = verb.history.as_deref().filter(|_| !culprits.is_empty()) else {
        return Ok(());
    };
    let benchmark = match &verb.benchmark {
        Some(name) => name.clone(),
        None => measured_name(state)?,
    };
    let commits = search.graph().commits();
    let id = |commit: usize| commits[commit].id.clone();
    let (good, bad) = (id(search.good), id(search.bad));
    let stored = |culprit: &Culprit| StoredCulprit {
        benchmark: benchmark.clone(),
        good: good.clone(),
        bad: bad.clone(),
        head: id(culprit.head),
        base: id(culprit.base),
        subject: commits[culprit.head].subject.clone(),
        n_commits: culprit.commits.len(),
        ratio: culprit.size.ratio,
        lo: culprit.size.lo,
        hi: culprit.size.hi,
        layout: culprit.layout.as_ref().map(|found| found.verdict),
        found_s: jiff::Timestamp::now().as_second(),
    };
    let found: Vec<StoredCulprit> = culprits.iter().map(stored).collect();
    HistoryStore::open(path)?.add_culprits(&found)
}

/// The benchmark's name in `history add`.
fn measured_name(state: &BisectState) -> Result<String> {
    let record = state.lines.iter().find_map(|line| line.record.as_ref());
    let record = record.context("the search has no record")?;
    let found = Assessment::read(&state.directory.join(record))?;
    let results = extract::results(&found.record, &found.analysis);
    let first = results.into_iter().next().context("the first record of the search has no run")?;
    Ok(first.benchmark)
}
