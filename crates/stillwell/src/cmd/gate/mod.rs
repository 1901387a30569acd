//! `gate`: finds the benchmark programs of two builds, measures them as one suite, and writes what a pull request shows.

mod countable;
mod counting;
mod counting_sessions;
mod files;
mod pairs;
mod same;
mod suite;
mod together;
mod trees;
mod unknown;
mod workers;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::failure::end_with;
use crate::cmd::output_file::{check_distinct, check_path, named, write_all, write_one};
use crate::cmd::print::print;
use analysis::verdict::GateAnswer;
use host::terminal;
use measure::clock::monotonic_ns;
use model::spec::GateVerb;
use model::values::{Better, DecideOn, FailOn, TimeSpan, ValueUnit, exit_code};
use model::words::in_words;
use record::Readers;
use record::plan::defaults;
use render::budget::short_budget_of_gate;
use render::closing::{failed_benchmarks, uncounted_benchmarks};
use render::document::ErrorCode;
use render::gate_result::GateResult;
use render::{gate_document, pull_request, report};

use countable::Timed;
use counting::{ALPHA_OF_TIMES, Counting, CountingLimits, Work};
use pairs::{Changes, Pair};
use suite::{SuiteRequest, measure};
use trees::Trees;
use unknown::refuse_unknown;

/// Names of the variants.
const SIDES: [&str; 2] = ["base", "head"];

/// Measures the programs that differ, and writes the verdict. Returns the exit code.
pub fn gate(verb: &GateVerb) -> Result<u8> {
    verb.alpha.map(defaults::alpha).transpose()?;
    check_files(verb)?;
    if let Some(ceiling) = fail_on(verb).above.filter(|_| verb.decide_on != Some(DecideOn::Value)) {
        let unit = verb.decide_on.map_or(ValueUnit::Time, DecideOn::unit);
        ceiling.check(unit, Better::Lower).map_err(Error::msg)?;
    }
    let counting = Counting::of(verb)?;
    refuse_unknown(verb)?;
    let trees_and_changes = Trees::of(verb).and_then(|trees| {
        let changes = Changes::find(&trees, verb)?;
        Ok((trees, changes))
    });
    let (trees, mut changes) = match trees_and_changes {
        Err(error) => {
            // A reader of the comment alone learns the reason.
            if let Err(unwritten) = write_error(verb, &error) {
                terminal::say(in_words(&unwritten));
            }
            return Err(error);
        }
        Ok(trees_and_changes) => trees_and_changes,
    };
    let measured = match changes.pairs.is_empty() {
        // A benchmark that has vanished was not found to be as fast as before, and a base without any may be a failed
        // build.
        true if changes.is_in_one_build_alone() => {
            Measured { code: exit_code::UNDECIDED, ..Measured::default() }
        }
        true => Measured::default(),
        false => match counting {
            Some(counting) if verb.decide_on.is_some() => {
                Measured::by_counts(verb, &trees, &mut changes, &counting)?
            }
            counting => Measured::of(verb, &trees, &changes, counting.as_ref())?,
        },
    };
    write_result(verb, &trees, changes, &measured)
}

#[derive(Default)]
struct Measured {
    times: Option<Assessment>,
    work: Work,
    short_budget: Option<String>,
    /// The exit code of the times.
    code: u8,
    /// What has failed, if nothing was timed, or counted alone.
    failed: Vec<String>,
}

impl Measured {
    fn of(
        verb: &GateVerb,
        trees: &Trees,
        changes: &Changes,
        counting: Option<&Counting>,
    ) -> Result<Self> {
        let (directory, alpha_pct) = (directory(verb)?, alpha_pct(verb));
        let (budget_ns, started_ns) = (budget(verb).ns, monotonic_ns());
        let kept_ns = counting.map_or(0, |it| it.kept_ns(&changes.pairs, budget_ns, alpha_pct));
        let time_budget_ns = budget_ns - kept_ns;
        let reserved = counting.filter(|_| kept_ns > 0);
        let request = SuiteRequest {
            budget_ns: time_budget_ns,
            alpha_pct: reserved.map_or(alpha_pct, |_| alpha_pct * ALPHA_OF_TIMES),
            directory: &directory,
            has_directory: false,
            counter: None,
            n_blocks: None,
            are_named: changes.pairs.len() > 1,
        };
        let (times, code, failed) =
            measure(verb, trees, &changes.pairs, &request, &changes.failing)?;
        let mut measured = Self { times, code, failed, ..Self::default() };
        let Some(timed) = &measured.times else { return Ok(measured) };
        let share = time_budget_ns as f64 / budget_ns.max(1) as f64;
        measured.short_budget = short_budget_of_gate(&timed.record, budget_ns, share);
        if let Some(counting) = counting.filter(|_| is_answer(code)) {
            // The time of the analysis is not taken from the counts.
            let left_ns = budget_ns.saturating_sub(monotonic_ns() - started_ns).max(kept_ns);
            let alpha_pct = alpha_pct * (1.0 - ALPHA_OF_TIMES);
            let limits = CountingLimits { left_ns, alpha_pct, directory: &timed.record.path };
            let all = Timed::of(timed, fail_on(verb).limit());
            measured.work = counting.count(verb, trees, changes, all, limits)?;
            if measured.work.was_interrupted {
                measured.code = exit_code::INTERRUPTED;
            }
        }
        Ok(measured)
    }

    /// Benchmarks that do the same work are counted as sums, the others alone. All of it takes the budget at most.
    fn by_counts(
        verb: &GateVerb,
        trees: &Trees,
        changes: &mut Changes,
        counting: &Counting,
    ) -> Result<Self> {
        let (started_ns, directory) = (monotonic_ns(), directory(verb)?);
        counting.refuse(changes);
        changes.pairs.iter_mut().try_for_each(|pair| pair.time_iterations(verb, trees))?;
        record::make_directory(&directory, Readers::Owner)?;
        let left_ns = budget(verb).ns.saturating_sub(monotonic_ns() - started_ns);
        let limits = CountingLimits { left_ns, alpha_pct: alpha_pct(verb), directory: &directory };
        let all = Timed::without_times(&changes.pairs);
        let mut work = counting.count(verb, trees, changes, all, limits)?;
        record::remove_if_empty(&directory);
        let (times, failed) = (work.alone.take(), std::mem::take(&mut work.failed));
        Ok(Self { times, code: work.code, work, failed, ..Self::default() })
    }
}

/// Judges the results, and writes the requested files. Returns the exit code.
fn write_result(
    verb: &GateVerb,
    trees: &Trees,
    changes: Changes,
    measured: &Measured,
) -> Result<u8> {
    let mut failing = changes.failing;
    let failed = if measured.work.code == 0 { failed_benchmarks } else { uncounted_benchmarks };
    failing.extend(measured.times.iter().flat_map(|it| failed(&it.record)));
    failing.extend_from_slice(&measured.failed);
    let unmeasured = unmeasured(&changes.pairs, measured);
    let result = GateResult {
        base: &trees.base,
        head: &trees.head,
        measured: measured.times.as_ref().map(Assessment::judged),
        work: &measured.work.counted,
        counter: measured.work.counter.filter(|_| !measured.work.counted.is_empty()),
        uncounted: &measured.work.uncounted,
        // The text counts only benchmarks with runs.
        short_budget: measured.short_budget.as_deref().filter(|_| unmeasured.is_empty()),
        fail_on: fail_on(verb),
        error: None,
        code: measured.code,
        same: &changes.same,
        same_loaded: &changes.same_loaded,
        new: &changes.new,
        gone: &changes.gone,
        failing: &failing,
        left_out: &changes.left_out,
        unmeasured: &unmeasured,
    };
    let rows = result.rows();
    let is_answer = is_answer(measured.code) && !rows.is_empty();
    let code = match (failing.is_empty(), is_answer) {
        (false, _) => exit_code::ERROR,
        (true, true) => GateResult::code_of(&rows),
        (true, false) => measured.code,
    };
    // A benchmark that was not measured may be slower.
    let is_open = code == exit_code::SUCCESS && !unmeasured.is_empty();
    let code = if is_open { exit_code::UNDECIDED } else { code };
    // More time is of no use where everything is decided.
    let has_open = rows.iter().any(|row| row.answer == GateAnswer::Undecided);
    let short_budget = result.short_budget.filter(|_| has_open);
    let result = GateResult { code, short_budget, ..result };
    // Without a terminal the files are written nevertheless.
    let written = write_files(verb, &result);
    let ends_with = if written.is_ok() { code } else { exit_code::ERROR };
    let printed = print(&pull_request::remarks(&result, ends_with));
    if let Some(page) = verb.report.as_ref().filter(|_| measured.times.is_none()) {
        terminal::say(format!("no page {}: nothing was measured alone", page.display()));
    }
    end_with(write_all([written, printed]).err(), Ok(code))
}

/// The benchmarks of both builds without a run in the session.
fn unmeasured(pairs: &[Pair], measured: &Measured) -> Vec<String> {
    let arms = measured.times.iter().flat_map(|it| &it.record.header.plan.arms);
    let timed = arms.filter_map(|arm| arm.benchmark.as_ref());
    let counted = measured.work.counted.iter().map(|(name, _)| name);
    let known: HashSet<&String> = timed.chain(counted).collect();
    let has_session = measured.times.is_some() || is_answer(measured.code);
    let all = Pair::all_named(pairs).map(|(name, _)| name);
    all.filter(|name| has_session && !known.contains(name)).collect()
}

/// Whether a session has come to its end.
fn is_answer(code: u8) -> bool {
    [exit_code::SUCCESS, exit_code::CHECK_FAILED, exit_code::UNDECIDED].contains(&code)
}

/// Refuses files that could not be written, and one that would replace another.
fn check_files(verb: &GateVerb) -> Result<()> {
    let files = named(&[
        ("--markdown", verb.markdown.as_deref()),
        ("--junit", verb.junit.as_deref()),
        ("--json", verb.json.as_deref()),
        ("--report", verb.report.as_deref()),
    ]);
    check_distinct(&files, &named(&[("-o", verb.record.as_deref())]))?;
    files.into_iter().try_for_each(|(option, path)| check_path(option, path))
}

/// Writes the files of a gate that could not begin.
fn write_error(verb: &GateVerb, error: &Error) -> Result<()> {
    let shown = |path: &Option<PathBuf>| {
        path.as_ref().map_or_else(String::new, |path| path.display().to_string())
    };
    let base = verb.base.clone().unwrap_or_else(|| shown(&verb.old));
    let head = if verb.base.is_some() { "HEAD".into() } else { shown(&verb.new) };
    let why = in_words(error).lines().collect::<Vec<_>>().join(" ");
    let result = GateResult {
        code: ErrorCode::of(error).exit_code(),
        error: Some(&why),
        ..GateResult::empty([&base, &head], fail_on(verb))
    };
    write_files(verb, &result)
}

/// The document is the last, so that it names a file that could not be written.
fn write_files(verb: &GateVerb, result: &GateResult<'_>) -> Result<()> {
    let markdown = write_file("--markdown", verb.markdown.as_deref(), |to| {
        Ok(to.write_all(pull_request::markdown(result).as_bytes())?)
    });
    let junit = write_file("--junit", verb.junit.as_deref(), |to| {
        Ok(to.write_all(pull_request::junit(result).as_bytes())?)
    });
    let page = result.measured.map_or(Ok(()), |judged| {
        write_file("--report", verb.report.as_deref(), |to| report::write(to, &[judged], None))
    });
    let written = write_all([markdown, junit, page]);
    let unwritten = written.as_ref().err();
    let document = write_file("--json", verb.json.as_deref(), |mut to| {
        Ok(gate_document::write(&mut to, result, unwritten)?)
    });
    write_all([written, document])
}

fn write_file(
    option: &str,
    path: Option<&Path>,
    export: impl Fn(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    write_one(path, export).with_context(|| format!("{option}: cannot write {}", path.display()))
}

fn fail_on(verb: &GateVerb) -> FailOn {
    verb.fail_on.unwrap_or(defaults::GATE_FAIL_ON)
}

/// The directory of the records.
fn directory(verb: &GateVerb) -> Result<PathBuf> {
    match &verb.record {
        Some(directory) => Ok(directory.clone()),
        None => Ok(record::new_path(&host::local_time::now())?.with_extension("suite")),
    }
}

fn alpha_pct(verb: &GateVerb) -> f64 {
    verb.alpha.map_or(defaults::GATE_ALPHA_PCT, |percent| percent.0)
}

fn budget(verb: &GateVerb) -> TimeSpan {
    verb.budget.unwrap_or(defaults::GATE_BUDGET)
}

/// A process that outlives the whole budget cannot contribute, so the budget is its timeout.
fn timeout(verb: &GateVerb) -> TimeSpan {
    verb.timeout.unwrap_or(budget(verb))
}
