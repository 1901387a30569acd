//! The verbs that show our own records and files of other programs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;

use crate::cmd::assessment::Assessment;
use crate::cmd::exports;
use crate::cmd::failure::end_with;
use crate::cmd::open::{self, FileContent, InputFile, inputs};
use crate::cmd::print::print;
use analysis::convert::of_record;
use analysis::convert::to_record::ImportOptions;
use analysis::series::{ValueSeries, duration_ns, measured_ns, series};
use analysis::{self, RecordCheck, Steadiness, check_record, launches};
use formats::{Detail, Results};
use host::{local_time, terminal};
use model::spec::input::InputOptions;
use model::spec::{CheckVerb, DumpFormat, DumpVerb, FilesVerb, ShowVerb, StatsVerb};
use model::values::exit_code;
use model::words::in_words;
use record::plan::defaults;
use record::{Header, Record, RecordTail, SuiteManifest};
use render::depth::Depth;
use render::document::ErrorObject;
use render::listing::{self, ListedRecord, RecordList};
use render::results::BenchmarkDuration;
use render::stats_table::{self, Statistics};
use render::{Styles, check as shown, dump as dump_rows, json, one_line, results as of_results};

/// Shows file after file; several below their names, if the output is for people.
fn each_file(
    files: impl ExactSizeIterator<Item = Result<InputFile>>,
    is_for_people: bool,
    mut show: impl FnMut(InputFile) -> Result<()>,
) -> Result<()> {
    let has_headings = is_for_people && files.len() > 1;
    for (index, opened) in files.enumerate() {
        let opened = opened?;
        if has_headings {
            let gap = if index == 0 { "" } else { "\n" };
            print(&format!("{gap}== {}\n", one_line(&opened.path.to_string_lossy())))?;
        }
        show(opened)?;
    }
    Ok(())
}

/// Prints the metadata of a file without values. Returns whether it was one.
fn without_values(opened: &InputFile) -> Result<bool> {
    let FileContent::Foreign(results) = &opened.content else { return Ok(false) };
    let is_it = results.benchmarks.iter().all(|it| it.values.is_empty());
    if is_it {
        print(&of_results::summaries(results))?;
    }
    Ok(is_it)
}

pub fn show(verb: &ShowVerb) -> Result<u8> {
    if verb.list {
        return list(&verb.files.files);
    }
    if verb.metadata || verb.slowest.is_some() {
        let what = if verb.metadata { "--metadata" } else { "--slowest" };
        ensure!(
            exports::are_none(&verb.exports),
            "{what} shows no summary, so there is nothing to export"
        );
        return match verb.slowest {
            Some(n) => slowest(&verb.files, n),
            None => metadata(&verb.files, verb.json),
        };
    }
    exports::check(&verb.exports, verb.json, None, &inputs(&verb.files))?;
    let files = open::all(&verb.files, Detail::Everything)?;
    let n_files = files.len();
    ensure!(
        n_files < 2 || exports::are_none(&verb.exports),
        "an export is of one file; {n_files} are named"
    );
    let (mut code, mut unwritten) = (exit_code::SUCCESS, None);
    let prints = !exports::use_stdout(&verb.exports);
    let shown = each_file(files, prints && !verb.json, |opened| {
        if exports::are_none(&verb.exports) && !verb.json && without_values(&opened)? {
            return Ok(());
        }
        let assessment = Assessment::of(opened.into_record()?);
        unwritten = exports::write(&verb.exports, &assessment).err();
        if prints && verb.json {
            let error = ErrorObject::with_unwritten(None, unwritten.as_ref());
            assessment.print_document(error.as_ref())?;
        } else if prints {
            assessment.print(Depth::of(verb.verbose))?;
            if verb.verbose {
                assessment.print_counts()?;
            }
        }
        let of_file = match unwritten {
            None => assessment.exit_code(verb.fail_on)?,
            Some(_) => exit_code::ERROR,
        };
        if prints && !verb.json {
            assessment.print_gate(verb.fail_on, of_file)?;
        }
        code = worse(code, of_file);
        Ok(())
    });
    end_with(unwritten, shown.map(|()| code))
}

/// The exit code of two files: a slowdown outranks an undecided verdict.
fn worse(one: u8, other: u8) -> u8 {
    let is_bad = [one, other].contains(&exit_code::CHECK_FAILED);
    if is_bad { exit_code::CHECK_FAILED } else { one.max(other) }
}

pub fn stats(verb: &StatsVerb) -> Result<u8> {
    each_file(open::all(&verb.files, Detail::Everything)?, !verb.json, |opened| {
        if !verb.json && without_values(&opened)? {
            return Ok(());
        }
        let (record, results) = opened.into_both(ImportOptions::default())?;
        let series = series_of(&record, &results);
        drop(results);
        let arms = analysis::summarise(&record);
        let estimators = analysis::estimators(&record, &arms);
        let statistics =
            Statistics { record: &record, arms: &arms, estimators: &estimators, series: &series };
        match verb.json {
            true => Ok(json::stats(&mut terminal::data(), statistics)?),
            false => print(&stats_table::stats(statistics)),
        }
    })?;
    Ok(exit_code::SUCCESS)
}

/// The series of each arm; `None` for all if every run is a process with one value, which the rest of the table shows.
fn series_of(record: &Record, results: &Results) -> Vec<Option<ValueSeries>> {
    let plan = &record.header.plan;
    let is_imported = record.header.imported.is_some();
    let is_of_interest =
        plan.in_slices || (is_imported && plan.arms.iter().any(|arm| arm.benchmark.is_some()));
    let names = (0..plan.arms.len()).map(|arm| of_record::name(record, arm));
    let each = names.zip(&plan.arms).map(|(name, arm)| {
        let mut benchmarks = results.benchmarks.iter();
        benchmarks.find(|it| it.name == name && it.parameters == arm.parameters)
    });
    each.map(|it| it.filter(|_| is_of_interest).map(|it| series(results, it))).collect()
}

pub fn dump(verb: &DumpVerb) -> Result<u8> {
    let input = InputOptions::from(&verb.input);
    let format = verb.format.unwrap_or(defaults::DUMP_FORMAT);
    let files = open::records(&verb.files, &input, Detail::Everything)?;
    each_file(files, format == DumpFormat::Text, |opened| {
        let mut stdout = std::io::BufWriter::new(terminal::data());
        let record = |opened: InputFile| anyhow::Ok(launches::scattered(opened.into_record()?));
        match format {
            DumpFormat::Text => {
                of_results::launches(&mut stdout, &opened.into_results(), verb.raw)?;
            }
            DumpFormat::Csv => dump_rows::csv(&mut stdout, &record(opened)?)?,
            DumpFormat::Json => dump_rows::json_lines(&mut stdout, &record(opened)?)?,
        }
        Ok(stdout.flush()?)
    })?;
    Ok(exit_code::SUCCESS)
}

pub fn metadata(files: &FilesVerb, as_json: bool) -> Result<u8> {
    each_file(open::all(files, Detail::Everything)?, !as_json, |opened| {
        let results = opened.into_results();
        match as_json {
            true => Ok(json::pretty(&mut terminal::data(), &of_results::metadata_json(&results))?),
            false => print(&of_results::metadata(&results)),
        }
    })?;
    Ok(exit_code::SUCCESS)
}

pub fn slowest(files: &FilesVerb, n: Option<u32>) -> Result<u8> {
    let mut all = Vec::new();
    let files = open::all(files, Detail::Everything)?;
    let n_files = files.len();
    for opened in files {
        let opened = opened?;
        let file = opened.path.display().to_string();
        let results = opened.into_results();
        for (benchmark, label) in results.benchmarks.iter().zip(results.labels()) {
            let took = duration_ns(&results, benchmark).or_else(|| measured_ns(benchmark));
            let name = if n_files > 1 { format!("{file}: {label}") } else { label };
            let n_values = benchmark.values.len();
            all.extend(took.map(|took_ns| BenchmarkDuration { name, took_ns, n_values }));
        }
    }
    all.sort_by(|a, b| b.took_ns.total_cmp(&a.took_ns));
    all.truncate(n.unwrap_or(defaults::N_SLOWEST) as usize);
    ensure!(
        !all.is_empty(),
        "there is no time in these files: they have no values, or values of another kind"
    );
    print(&of_results::slowest(&all)).context("slowest")?;
    Ok(exit_code::SUCCESS)
}

/// Number of listed records without a command.
const N_NEWEST: usize = 20;

/// Lists the records whose commands contain all texts; without a text, the newest ones.
pub fn list(texts: &[PathBuf]) -> Result<u8> {
    let texts: Vec<String> = texts.iter().map(|text| text.to_string_lossy().into()).collect();
    let is_wanted = |it: &ListedRecord| texts.iter().all(|text| it.what.contains(text));
    let (mut records, mut unread) = (Vec::new(), Vec::new());
    for path in record::all_records()? {
        match listed(&path) {
            Ok(record) => records.extend(Some(record).filter(is_wanted)),
            Err(why) => unread.push(in_words(&why)),
        }
    }
    unread.sort();
    records.sort_by(|one, other| other.cmp(one));
    let n_max = if texts.is_empty() { N_NEWEST } else { usize::MAX };
    let n_more = records.len().saturating_sub(n_max);
    records.truncate(n_max);
    let directory = record::records_directory()?;
    let is_search = !texts.is_empty();
    let unread: &[_] = if is_search { &[] } else { &unread };
    print(&listing::text(&RecordList {
        records: &records,
        n_more,
        unread,
        directory: &directory,
        is_search,
    }))?;
    Ok(exit_code::SUCCESS)
}

/// When a record was made, by the clocks of this place, and of what. Errors: it cannot be read.
fn listed(path: &Path) -> Result<ListedRecord> {
    let (created, what) = if record::is_suite(path) {
        let suite = SuiteManifest::read(path)?;
        let members = &suite.suite.members;
        // The file of a gate is temporary.
        let is_gate = members.iter().any(|it| it.plan.suite.as_ref().is_some_and(|it| it.is_gate));
        let what = match suite.command_line.get(1..) {
            Some(words) if is_gate => shell_words::join(words),
            _ => format!("suite {}", suite.file),
        };
        (suite.created, what)
    } else {
        let (_, Header { created, plan, .. }) = RecordTail::open(path)?;
        let names: Vec<&str> = plan.candidates().map(|(_, arm)| arm.label()).collect();
        (created, names.join(", "))
    };
    let created = created.parse::<Timestamp>().with_context(|| path.display().to_string())?;
    Ok(ListedRecord { created: local_time::at(created), what, path: path.into() })
}

/// Checks every arm of every file.
pub fn check(verb: &CheckVerb) -> Result<u8> {
    let mut code = exit_code::SUCCESS;
    for (index, opened) in open::all(&verb.files, Detail::Values)?.enumerate() {
        let record = opened?.into_record()?;
        let check = check_record(&record);
        if verb.json {
            shown::json(&mut terminal::data(), &record, &check)?;
        } else {
            let gap = if index == 0 { "" } else { "\n" };
            let text = shown::text(&record, &check, verb.all, &Styles::colored());
            print(&format!("{gap}{text}"))?;
        }
        code = worse(code, code_of(&check));
    }
    Ok(code)
}

fn code_of(check: &RecordCheck) -> u8 {
    match check.verdict() {
        Steadiness::Unstable => exit_code::CHECK_FAILED,
        Steadiness::TooFewRuns | Steadiness::UnfitTimes => exit_code::UNDECIDED,
        Steadiness::Stable => exit_code::SUCCESS,
    }
}
