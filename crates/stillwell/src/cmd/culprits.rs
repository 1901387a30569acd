//! The changes of a history and their commits, as searches found them. `history changes --bisect` starts a search.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::bisect;
use host::terminal;
use model::spec::{BisectVerb, HistoryChanges};
use model::values::DecideOn;
use model::words::in_words;
use record::Record;
use record::plan::Arm;
use render::history::SeriesChange;
use search::history::commits::Commits;
use search::history::series::Series;
use search::history::store::HistoryStore;
use search::history::{StoredCulprit, StoredResult};

/// The changes of all series with their suspected commits, and those that searches found.
pub fn changed<'a>(
    all: &'a [Series],
    mut commits: Commits,
    stored: &[StoredCulprit],
) -> Vec<SeriesChange<'a>> {
    all.iter()
        .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
        .map(|(series, change)| {
            let revision = |at: usize| series.entries[at].result.revision.as_deref();
            let (old, new) = (revision(change.at - 1), revision(change.at));
            let between = old.zip(new).and_then(|(old, new)| commits.between(old, new));
            let of_change = |it: &&StoredCulprit| {
                let (Some(old), Some(new)) = (old, new) else { return false };
                let is_search = it.good == old && it.bad == new;
                it.benchmark == series.benchmark
                    && (is_search || commits.is_between(&it.head, old, new))
            };
            let culprits = stored.iter().filter(of_change).cloned().collect();
            SeriesChange { series, change, commits: between, culprits }
        })
        .collect()
}

/// Searches between the last result before a change and the first one after it. Returns the exit code of `bisect`.
/// Errors: the commits or the command are unknown, or see [`bisect::begin`].
pub fn search(
    verb: &HistoryChanges,
    store: &HistoryStore,
    changed: &SeriesChange<'_>,
) -> Result<u8> {
    let SeriesChange { series, change, .. } = changed;
    let side = |at: usize| {
        let StoredResult { record, result, .. } = &series.entries[at];
        result.revision.as_deref().with_context(|| {
            format!("record {record} is of no known commit; give --revision to history add")
        })
    };
    let (good, bad) = (side(change.at - 1)?, side(change.at)?);
    ensure!(good != bad, "both results are of the commit {good}: the commits are not the cause");
    let asked = BisectVerb {
        good: Some(good.into()),
        bad: Some(bad.into()),
        build: verb.build.clone(),
        history: Some(store.path().to_owned()),
        benchmark: Some(series.benchmark.clone()),
        host_root: "/".into(),
        ..search_of(store, &series.entries[change.at])?
    };
    let (build, command) = (asked.build.as_deref(), asked.command.join(" "));
    let build = build.map_or_else(String::new, |build| format!(", built by `{build}`"));
    terminal::say(format!("searching {good}..{bad} with `{command}`{build}"));
    bisect::begin(&asked, verb.repository.as_deref().unwrap_or(Path::new(".")))
}

/// A search with the command of a stored result and the way it was measured.
fn search_of(store: &HistoryStore, entry: &StoredResult) -> Result<BisectVerb> {
    let number = entry.record;
    let bytes = formats::unpacked(&store.bytes(number)?)?.into_owned();
    let record = Record::parse(Path::new("a record of the history"), bytes);
    let record = record.map_err(|error| {
        let why = in_words(&error);
        anyhow::anyhow!("record {number} has no command that could be run again ({why}); give it to `stillwell bisect`")
    })?;
    let plan = &record.header.plan;
    if plan.workers.is_some() || record.header.imported.is_some() {
        bail!("record {number} is of no command of `run`; give its command to `stillwell bisect`");
    }
    let result = &entry.result;
    let is_of = |arm: &&Arm| {
        !arm.role.is_control()
            && arm.git.as_ref().is_none_or(|git| result.revision.as_ref() == Some(&git.revision))
            && arm.benchmark.as_deref().unwrap_or(arm.label()) == result.benchmark
    };
    let arm = plan.arms.iter().find(is_of);
    let arm =
        arm.with_context(|| format!("record {number} has no command {:?}", result.benchmark))?;
    let value = arm.value.as_ref().map(|rule| {
        rule.options().with_context(|| {
            format!(
                "record {number} is of a framework; give its program to `stillwell bisect --program`"
            )
        })
    });
    let mut search = BisectVerb {
        command: vec![arm.command.clone()],
        decide_on: plan.policy.decide_on.filter(|it| *it != DecideOn::Value),
        ..BisectVerb::default()
    };
    search.hooks.prepare.extend(arm.prepare.clone());
    search.hooks.conclude.extend(arm.conclude.clone());
    let variables = arm.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let variables = shell_words::join(variables);
    search.process.execution.env.extend((!variables.is_empty()).then_some(variables));
    search.process.execution.value = value.transpose()?.unwrap_or_default();
    Ok(search)
}
