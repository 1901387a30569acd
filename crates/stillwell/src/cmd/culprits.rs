//! The changes of a history and their commits: those that searches found, and `history changes --bisect`, which starts
//! one.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser as _;

use crate::cmd::bisect;
use host::terminal;
use model::spec::{Cli, HistoryChanges, Verb};
use model::values::DecideOn;
use model::words::in_words;
use record::Record;
use record::plan::{Arm, ValueReader, ValueSource};
use render::history::SeriesChange;
use search::history::StoredResult;
use search::history::commits::Commits;
use search::history::culprits::StoredCulprit;
use search::history::series::Series;
use search::history::store::HistoryStore;

/// The changes of all series with the commits that may be the cause, and those that searches found.
pub fn changed<'a>(
    all: &'a [Series],
    mut commits: Commits,
    found: &[StoredCulprit],
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
            let culprits = found.iter().filter(of_change).cloned().collect();
            SeriesChange { series, change, commits: between, culprits }
        })
        .collect()
}

/// Searches between the last result before a change and the first one after it. Returns the exit code of `bisect`.
///
/// # Errors
/// The commits or the command are not known, or as [`bisect::begin`].
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
    let (options, command) = command_of(store, &series.entries[change.at])?;
    let mut words: Vec<String> = vec!["bisect".into(), "--history".into()];
    words.push(store.path().display().to_string());
    words.extend(["--benchmark".into(), series.benchmark.clone()]);
    words.extend(verb.build.iter().flat_map(|build| ["--build".into(), build.clone()]));
    words.extend(options);
    words.extend([good.into(), bad.into(), "--".into(), command]);
    writeln!(terminal::stderr(), "stillwell {}", shell_words::join(&words)).ok();
    let first = ["stillwell".to_owned()];
    let Verb::Bisect(asked) = Cli::try_parse_from(first.iter().chain(&words))?.verb else {
        unreachable!("the words begin with bisect")
    };
    bisect::begin(&asked, words, verb.repository.as_deref().unwrap_or(Path::new(".")))
}

/// The command that a stored result is of, and the options of `bisect` that say how it was measured.
fn command_of(store: &HistoryStore, entry: &StoredResult) -> Result<(Vec<String>, String)> {
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
    let mut words = value_options(arm).with_context(|| format!("record {number}"))?;
    let decide_on = plan.policy.decide_on.filter(|it| *it != DecideOn::Value);
    words.extend(decide_on.iter().flat_map(|it| option("--decide-on", &it.name())));
    words.extend(arm.prepare.iter().flat_map(|hook| option("--prepare", hook)));
    words.extend(arm.conclude.iter().flat_map(|hook| option("--conclude", hook)));
    if !arm.environment.is_empty() {
        let variables = arm.environment.iter().map(|(name, value)| format!("{name}={value}"));
        words.extend(option("--env", &shell_words::join(variables)));
    }
    Ok((words, arm.command.clone()))
}

/// The options for the value that an arm says.
fn value_options(arm: &Arm) -> Result<Vec<String>> {
    let Some(rule) = &arm.value else { return Ok(Vec::new()) };
    let mut words: Vec<String> = match &rule.reader {
        ValueReader::Regex(regex) => option("--value", regex).into(),
        ValueReader::Pointer(pointer) => option("--value-json", pointer).into(),
        ValueReader::Harness { .. } => {
            bail!("it is of a framework; give its program to `stillwell bisect --program`")
        }
    };
    if let ValueSource::File(file) = &rule.source {
        words.extend(option("--value-file", file));
    }
    words.extend(rule.unit.iter().flat_map(|unit| option("--value-unit", unit)));
    if !rule.better.is_lower() {
        words.extend(option("--value-better", "higher"));
    }
    Ok(words)
}

fn option(name: &str, value: &str) -> [String; 2] {
    [name.to_owned(), value.to_owned()]
}
