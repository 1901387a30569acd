//! `history`: keeps results, and shows when they changed.
#![expect(clippy::disallowed_methods, reason = "reads files and looks into directories")]

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use formats::Detail;

use crate::cmd::culprits;
use crate::cmd::named_files::expanded;
use crate::cmd::open::{self, FileContent, InputFile};
use crate::cmd::output_file::write_new;
use crate::cmd::print::print;
use crate::cmd::site::Folder;
use analysis::convert::to_record::ImportOptions;
use host::{open_regular, terminal};
use model::spec::{
    HistoryAction, HistoryAdd, HistoryChanges, HistoryFile, HistoryGet, HistoryReport,
    HistorySearch, HistoryShow,
};
use model::values::{ALPHA_PCT_RANGE, Estimate, FailOn, exit_code};
use model::words::in_words;
use record::plan::defaults;
use render::site::{self, HistorySite};
use render::units::counted;
use render::{Styles, document, history as shown, json};
use search::history::commits::Commits;
use search::history::detection::{self, DetectionSettings};
use search::history::series::{self, ChangeKind, Series};
use search::history::store::{AddOutcome, HistoryStore, NewRecord};
use search::history::{BenchmarkResult, RecordOrigin, StoredResult, extract};

/// Seed of the random orders with which changes are compared: the same history has the same changes.
const SEED: u64 = 1;
/// False discovery rate: the largest share of unchanged benchmarks among those reported as changed.
const FALSE_DISCOVERY: f64 = 0.05;

pub fn history(action: &HistoryAction) -> Result<u8> {
    match action {
        HistoryAction::Add(verb) => add(verb),
        HistoryAction::Show(verb) => show(verb),
        HistoryAction::Changes(verb) => changes(verb),
        HistoryAction::Report(verb) => report(verb),
        HistoryAction::Get(verb) => get(verb),
    }
}

fn database(file: &HistoryFile) -> Result<PathBuf> {
    if let Some(path) = &file.db { Ok(path.clone()) } else { record::history_path() }
}

/// Says that the last addition is not in the history. The next one removes what is left of it.
fn tell_cut(store: &HistoryStore) {
    if store.is_cut() {
        let path = store.path().display();
        terminal::say(format!(
            "the last line of {path} is unfinished, and left out; add its file again, unless another program is adding it now"
        ));
    }
}

/// Adds all readable files. Reports unreadable ones, with exit code 2.
fn add(verb: &HistoryAdd) -> Result<u8> {
    let mut commits = Commits::of(verb.repository.as_deref())?;
    if verb.file.db.is_none() {
        record::make_records_directory()?;
    }
    let mut store = HistoryStore::open(&database(&verb.file)?)?;
    tell_cut(&store);
    let full_id = |revision: &String| commits.id(revision).unwrap_or_else(|| revision.clone());
    let revision = verb.revision.as_ref().map(full_id);
    let mut n = shown::AddCounts::default();
    let is_stdin = verb.files.iter().any(|path| path == Path::new("-"));
    ensure!(!is_stdin, "a history is made of files; standard input has no name");
    let options = open::read_options(&verb.input, Detail::Values);
    let files = verb.files.iter().map(|path| expanded(path, options));
    for path in files.collect::<Result<Vec<_>>>()?.concat() {
        let added = results_from(verb, &path, revision.as_ref(), &mut commits)
            .and_then(|new| store.add(&new));
        match added {
            Ok(AddOutcome::New) => n.added += 1,
            Ok(AddOutcome::Later) => n.later += 1,
            Ok(AddOutcome::Known) => n.known += 1,
            Err(error) => {
                n.failed += 1;
                let (file, why) = (path.display().to_string(), in_words(&error));
                let place = if why.contains(&file) { String::new() } else { format!("{file}: ") };
                terminal::say(format!("{place}{why}"));
            }
        }
    }
    print(&shown::added(n))?;
    Ok(if n.failed > 0 { exit_code::ERROR } else { exit_code::SUCCESS })
}

fn results_from(
    verb: &HistoryAdd,
    path: &Path,
    revision: Option<&String>,
    commits: &mut Commits,
) -> Result<NewRecord> {
    let cannot_read = || format!("cannot read {}", path.display());
    if !path.is_dir() {
        // The file is read twice, which a pipe does not allow.
        open_regular(path).with_context(cannot_read)?;
    }
    let opened = open::open(path, &verb.input, Detail::Everything)?;
    opened.tell_unread();
    let bytes = if path.is_dir() {
        let options = open::read_options(&verb.input, Detail::Values);
        archive(&formats::criterion_files(path, options)?.unwrap_or_default())?
    } else {
        std::fs::read(path).with_context(cannot_read)?
    };
    let (mut results, mut origin) = results_of(opened, revision.is_some())?;
    ensure!(!results.is_empty(), "there is no finished run in it");
    if let Some(revision) = revision {
        name_all(&mut results, revision)?;
    }
    if let Some(machine) = &verb.machine {
        origin.machine.clone_from(machine);
    }
    for result in &mut results {
        if let (Some(revision), None) = (&result.revision, result.committed_s) {
            result.committed_s = commits.committed_s(revision);
        }
    }
    Ok(NewRecord { origin, results, bytes, is_revision_given: revision.is_some() })
}

/// Gives all results of a record the same commit.
fn name_all(results: &mut [BenchmarkResult], revision: &str) -> Result<()> {
    let is_one = results.iter().all(|result| result.revision == results[0].revision);
    ensure!(
        is_one,
        "its results are of several commits; leave --revision out, it would call all of them {revision}"
    );
    for result in results {
        (result.revision, result.committed_s) = (Some(revision.to_owned()), None);
    }
    Ok(())
}

/// The files of a directory as a tar(5) archive. The same files give the same bytes, so they are added once.
fn archive(files: &[formats::FileBytes]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &bytes[..])?;
    }
    Ok(archive.into_inner()?)
}

fn results_of(
    opened: InputFile,
    is_revision_given: bool,
) -> Result<(Vec<BenchmarkResult>, RecordOrigin)> {
    let file = opened.path.display().to_string();
    let FileContent::Foreign(results) = &opened.content else {
        let record = opened.into_record()?;
        let results = extract::results(&record, &analysis::analyse(&record));
        return Ok((results, extract::origin(&record, &file)));
    };
    if let Some(patch) = extract::patch(results).filter(|_| !is_revision_given) {
        bail!(
            "it is of sources that {patch} has changed, and not of its commit; give it a --revision of its own"
        );
    }
    let origin = extract::imported_origin(results, &opened.created, &file);
    if results.benchmarks.iter().all(|it| it.values.is_empty()) {
        return Ok((extract::imported_results(results, None), origin));
    }
    let (record, results) = opened.into_both(ImportOptions::default())?;
    let analysis = analysis::analyse(&record);
    Ok((extract::imported_results(&results, Some((&record, &analysis))), origin))
}

fn search(search: &HistorySearch) -> Result<Vec<Series>> {
    let found = search_any(search)?;
    let is_part = search.name.is_some() || search.machine.is_some();
    ensure!(
        is_part || !found.is_empty(),
        "the history is empty; `stillwell history add RECORD…` adds to it"
    );
    ensure!(
        !found.is_empty(),
        "the history has no such result; `stillwell history show` lists the benchmarks"
    );
    Ok(found)
}

fn search_any(search: &HistorySearch) -> Result<Vec<Series>> {
    Ok(detection::detect(entries(search, search.name.as_deref())?, policy(search, false)?))
}

/// [`search()`] relative to all other results of the machine. Returns also the number of results with too few others.
fn search_relative(search: &HistorySearch) -> Result<(Vec<Series>, usize)> {
    let all = entries(search, None)?;
    let wanted = search.name.as_deref().unwrap_or_default();
    let is_wanted = |benchmark: &str| benchmark.contains(wanted);
    let n_wanted = all.iter().filter(|entry| is_wanted(&entry.result.benchmark)).count();
    let mut found = detection::detect(all, policy(search, true)?);
    found.retain(|series| is_wanted(&series.benchmark));
    ensure!(
        !found.is_empty(),
        "no result of this kind has four others of its machine within half a day; leave --relative out"
    );
    let n_left_out = n_wanted - found.iter().map(|series| series.values.len()).sum::<usize>();
    Ok((found, n_left_out))
}

fn entries(search: &HistorySearch, name: Option<&str>) -> Result<Vec<StoredResult>> {
    let store = HistoryStore::open_existing(&database(&search.file)?)?;
    tell_cut(&store);
    let mut entries = store.entries(name);
    if let Some(machine) = &search.machine {
        entries.retain(|entry| entry.origin.machine.contains(machine));
    }
    if estimate(search) == Estimate::T0 {
        leave_limits_out(&mut entries);
    }
    Ok(entries)
}

/// Leaves out upper limits of t0 beside values of t0: the difference would look like a change of the program. On a
/// machine that never has a quiet core all are limits, and stay.
fn leave_limits_out(entries: &mut Vec<StoredResult>) {
    let n_before = entries.len();
    let series = |entry: &StoredResult| {
        let BenchmarkResult { benchmark, arm, unit, .. } = &entry.result;
        (benchmark.clone(), arm.clone(), unit.clone(), entry.origin.machine.clone())
    };
    // What is no time is compared by its median.
    let is_limit = |entry: &StoredResult| entry.result.t0_is_limit && entry.result.is_time();
    let with_t0: HashSet<_> = entries.iter().filter(|entry| !is_limit(entry)).map(series).collect();
    entries.retain(|entry| !is_limit(entry) || !with_t0.contains(&series(entry)));
    let n_limits = n_before - entries.len();
    if n_limits > 0 {
        let results =
            if n_limits == 1 { "1 result is" } else { &format!("{n_limits} results are") };
        terminal::say(format!(
            "{results} left out: t0 is only an upper limit, because the runs were interrupted or met no quiet core; \
             --by median takes all"
        ));
    }
}

fn estimate(search: &HistorySearch) -> Estimate {
    search.by.unwrap_or(defaults::HISTORY_ESTIMATE)
}

fn policy(search: &HistorySearch, is_relative: bool) -> Result<DetectionSettings> {
    let alpha_pct = search.alpha.unwrap_or(defaults::HISTORY_ALPHA).0;
    let (least, most) = (100.0 * detection::ALPHA_MIN, *ALPHA_PCT_RANGE.end());
    ensure!(
        (least..=most).contains(&alpha_pct),
        "--alpha {alpha_pct} is out of range: from {least} to {most} percent"
    );
    Ok(DetectionSettings {
        estimate: estimate(search),
        alpha: alpha_pct / 100.0,
        false_discovery: FALSE_DISCOVERY,
        size_min: search.min.map_or(0.0, |pct| pct.0 / 100.0),
        seed: SEED,
        is_relative,
    })
}

fn show(verb: &HistoryShow) -> Result<u8> {
    let found = search(&verb.search)?;
    if verb.json {
        json::pretty(&mut terminal::data(), &found)?;
    } else if verb.search.name.is_none() {
        print(&shown::list(&found, estimate(&verb.search)))?;
    } else {
        let n_results = verb.last.unwrap_or(defaults::N_HISTORY_RESULTS);
        print(&shown::series(&found, n_results, &Styles::colored()))?;
    }
    Ok(exit_code::SUCCESS)
}

fn changes(verb: &HistoryChanges) -> Result<u8> {
    let least = series::LEVEL_MIN;
    ensure!(
        verb.last.is_none_or(|last| last >= least),
        "--last {} finds nothing: a change is one when {least} results are after it; --last {least} is the least",
        verb.last.unwrap_or_default()
    );
    let commits = Commits::of(verb.repository.as_deref())?;
    let (mut found, n_left_out) =
        if verb.relative { search_relative(&verb.search)? } else { (search(&verb.search)?, 0) };
    let nearest = detection::nearest(&found, policy(&verb.search, verb.relative)?);
    if let Some(last) = verb.last {
        for series in &mut found {
            let first = series.values.len().saturating_sub(last);
            series.changes.retain(|change| change.until.unwrap_or(change.at) >= first);
        }
    }
    let store = HistoryStore::open_existing(&database(&verb.search.file)?)?;
    let changes = culprits::changed(&found, commits, store.culprits());
    if let Some(number) = verb.bisect {
        let wanted = number.checked_sub(1).and_then(|at| changes.get(at));
        let listed = counted(changes.len(), "change");
        let wanted = wanted.with_context(|| format!("--bisect {number}: the list has {listed}"))?;
        return culprits::search(verb, &store, wanted);
    }
    if verb.json {
        let body = shown::ChangesBody { changes: &changes, nearest: nearest.as_ref() };
        document::write(&mut terminal::data(), &body, shown::conclusion(&changes), None)?;
    } else {
        let nearest = nearest.as_ref();
        print(&shown::changes(&found, &changes, n_left_out, nearest, &Styles::colored()))?;
    }
    let is_slower = |fail_on: FailOn| {
        let limit = fail_on.limit();
        changes.iter().any(|it| it.change.kind == ChangeKind::Level && it.cost().lo > limit)
    };
    Ok(if verb.fail_on.is_some_and(is_slower) {
        exit_code::CHECK_FAILED
    } else {
        exit_code::SUCCESS
    })
}

/// Writes the site, even for an empty history. A search without results is an error.
fn report(verb: &HistoryReport) -> Result<u8> {
    ensure!(verb.output != Path::new("-"), "-o -: a site is a directory, and needs a name");
    let commits = Commits::of(verb.repository.as_deref())?;
    let is_part = verb.search.name.is_some() || verb.search.machine.is_some();
    let found = if is_part { search(&verb.search)? } else { search_any(&verb.search)? };
    let mut folder = Folder::open(&verb.output)?;
    let store = HistoryStore::open_existing(&database(&verb.search.file)?)?;
    let changes = culprits::changed(&found, commits, store.culprits());
    let nearest = detection::nearest(&found, policy(&verb.search, false)?);
    let site = HistorySite {
        series: &found,
        changes: &changes,
        nearest: nearest.as_ref(),
        estimate: estimate(&verb.search),
        title: verb.title.as_deref(),
    };
    let assets = site::assets();
    folder.announce(assets.iter().map(|file| file.path.clone()).chain(site.pages()))?;
    for file in assets {
        folder.write(&file.path, &file.text)?;
    }
    for page in site::pages(site) {
        let page = page?;
        folder.write(&page.path, &page.text)?;
    }
    let n_written = folder.finish()?;
    print(&site::written_message(&verb.output, n_written))?;
    Ok(exit_code::SUCCESS)
}

fn get(verb: &HistoryGet) -> Result<u8> {
    let store = HistoryStore::open_existing(&database(&verb.file)?)?;
    tell_cut(&store);
    let bytes = store.bytes(verb.record)?;
    write_new(&verb.output, |to| Ok(to.write_all(&bytes)?))
        .with_context(|| format!("cannot write {}", verb.output.display()))?;
    Ok(exit_code::SUCCESS)
}
