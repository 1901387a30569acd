//! `history`: keep results, and say when they changed.
#![expect(clippy::disallowed_methods, reason = "reads files and looks into directories")]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};

use crate::analysis;
use crate::cli::{
    HistoryAction, HistoryAdd, HistoryChanges, HistoryFile, HistoryGet, HistorySearch, HistoryShow,
    HistoryVerb,
};
use crate::cmd::exports::write_new;
use crate::cmd::open;
use crate::convert::read::Detail;
use crate::history::commits::Commits;
use crate::history::series::{self, Policy, Series};
use crate::history::store::{NewRecord, Store};
use crate::history::taken;
use crate::record;
use crate::render::{Styles, history as shown};
use crate::spec::values::FailOn;

/// For the random orders that changes are compared with: the same history has the same changes.
const SEED: u64 = 1;
/// Of the benchmarks that are said to have changed, so many at most have not.
const FALSE_DISCOVERY: f64 = 0.05;

/// Some files could not be added.
const ERROR: u8 = 2;
/// Something became slower, and that was asked for.
const FAILED: u8 = 1;

/// `history`.
pub fn history(verb: &HistoryVerb) -> Result<u8> {
    match &verb.action {
        HistoryAction::Add(verb) => add(verb),
        HistoryAction::Show(verb) => show(verb),
        HistoryAction::Changes(verb) => changes(verb),
        HistoryAction::Get(verb) => get(verb),
    }
}

fn database(file: &HistoryFile) -> Result<PathBuf> {
    match &file.db {
        Some(path) => Ok(path.clone()),
        None => record::history_path(),
    }
}

/// One file that cannot be read does not keep the others out; the exit code tells.
fn add(verb: &HistoryAdd) -> Result<u8> {
    let mut store = Store::open(&database(&verb.file)?)?;
    let mut commits = Commits::of(&verb.repository);
    let full_id = |revision: &String| commits.id(revision).unwrap_or_else(|| revision.clone());
    let revision = verb.revision.as_ref().map(full_id);
    let (mut n_added, mut n_known, mut n_failed) = (0, 0, 0);
    for path in files(&verb.files)? {
        let added = taken_from(verb, &path, revision.as_ref(), &mut commits)
            .and_then(|new| store.add(&new));
        match added {
            Ok(true) => n_added += 1,
            Ok(false) => n_known += 1,
            Err(error) => {
                n_failed += 1;
                writeln!(anstream::stderr(), "stillwell: {}: {error:#}", path.display()).ok();
            }
        }
    }
    super::print(&shown::added(n_added, n_known, n_failed))?;
    Ok(if n_failed > 0 { ERROR } else { 0 })
}

/// The files that were named, and for directories those in them. A directory that is one result itself stays one.
fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in named {
        ensure!(path != Path::new("-"), "a history is made of files; standard input has no name");
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path);
        let entries = entries.with_context(|| format!("cannot read {}", path.display()))?;
        let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        inside.retain(|path| path.is_file() && is_result(path));
        ensure!(!inside.is_empty(), "{} has no results (.swell, .json, .json.gz)", path.display());
        inside.sort();
        files.extend(inside);
    }
    Ok(files)
}

fn is_result(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    [".swell", ".json", ".json.gz"].iter().any(|extension| name.ends_with(extension))
}

fn taken_from(
    verb: &HistoryAdd,
    path: &Path,
    revision: Option<&String>,
    commits: &mut Commits,
) -> Result<NewRecord> {
    let opened = open::open(path, &verb.input, Detail::Values)?;
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let record = opened.into_record()?;
    let results = taken::results(&record, &analysis::analyse(&record));
    ensure!(!results.is_empty(), "there is no finished run in it");
    let mut origin = taken::origin(&record, &path.display().to_string());
    if let Some(revision) = revision {
        origin.revision = Some(revision.clone());
        origin.committed_s = None;
    }
    if let Some(machine) = &verb.machine {
        origin.machine.clone_from(machine);
    }
    if let (Some(revision), None) = (&origin.revision, origin.committed_s) {
        origin.committed_s = commits.committed_s(revision);
    }
    Ok(NewRecord { origin, results, bytes })
}

fn search(search: &HistorySearch) -> Result<Vec<Series>> {
    let store = Store::open_existing(&database(&search.file)?)?;
    let mut entries = store.entries(search.name.as_deref())?;
    if let Some(machine) = &search.machine {
        entries.retain(|entry| entry.origin.machine.contains(machine));
    }
    if entries.is_empty() {
        bail!("the history has no such result; `stillwell history show` lists the benchmarks");
    }
    let policy = Policy {
        estimate: search.by,
        alpha: search.alpha.0 / 100.0,
        false_discovery: FALSE_DISCOVERY,
        size_min: search.min.map_or(0.0, |pct| pct.0 / 100.0),
        seed: SEED,
    };
    Ok(series::series(entries, policy))
}

fn show(verb: &HistoryShow) -> Result<u8> {
    let found = search(&verb.search)?;
    if verb.search.json {
        shown::json(&mut std::io::stdout().lock(), &found)?;
    } else if verb.search.name.is_none() {
        super::print(&shown::list(&found))?;
    } else {
        super::print(&shown::series(&found, verb.last, &Styles::colored()))?;
    }
    Ok(0)
}

fn changes(verb: &HistoryChanges) -> Result<u8> {
    let mut found = search(&verb.search)?;
    if let Some(last) = verb.last {
        for series in &mut found {
            let first = series.values.len().saturating_sub(last);
            series.changes.retain(|change| change.at >= first);
        }
    }
    let commits = Commits::of(&verb.repository);
    let changes: Vec<shown::Changed<'_>> = found
        .iter()
        .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
        .map(|(series, change)| {
            let revision = |at: usize| series.entries[at].origin.revision.as_deref();
            let (old, new) = (revision(change.at - 1), revision(change.at));
            let between = old.zip(new).and_then(|(old, new)| commits.between(old, new));
            shown::Changed { series, change, commits: between }
        })
        .collect();
    if verb.search.json {
        shown::json(&mut std::io::stdout().lock(), &changes)?;
    } else {
        super::print(&shown::changes(&found, &changes, &Styles::colored()))?;
    }
    let is_slower = |fail_on: FailOn| {
        changes.iter().any(|it| it.change.ratio.lo > 1.0 + fail_on.slower_pct / 100.0)
    };
    Ok(if verb.fail_on.is_some_and(is_slower) { FAILED } else { 0 })
}

fn get(verb: &HistoryGet) -> Result<u8> {
    let store = Store::open_existing(&database(&verb.file)?)?;
    let bytes = store.bytes(verb.record)?;
    write_new(&verb.output, |to| Ok(to.write_all(&bytes)?))?;
    Ok(0)
}
