//! Adds what a search found to a history.

use anyhow::{Context as _, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::bisect::state::BisectState;
use model::spec::BisectVerb;
use search::bisection::{BisectSearch, Culprit};
use search::history::culprits::StoredCulprit;
use search::history::extract;
use search::history::store::HistoryStore;

pub(super) fn keep(verb: &BisectVerb, state: &BisectState, search: &BisectSearch) -> Result<()> {
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
    let (good, bad) = (id(state.manifest.lo), id(state.manifest.hi));
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
    let Assessment { record, .. } = Assessment::read(&state.directory.join(record))?;
    let results = extract::results(&record, &analysis::analyse(&record));
    let first = results.into_iter().next().context("the first record of the search has no run")?;
    Ok(first.benchmark)
}
