//! The end of the summary: notes, and unusual facts about the session.

mod ratios;

use std::fmt::Write as _;
use std::path::Path;

use crate::columns::{COLUMNS, one_line, shorten, wrap, wrap_headline};
use crate::depth::Depth;
use crate::remedies::Audience;
use crate::styles::paint;
use crate::{Styles, notes};
use analysis::convert::of_record;
use analysis::verdict::{Judged, Verdict};
use analysis::{Analysis, ArmSummary, Finding, Note};
use model::prose::OptionName;
use model::spec::defaults::DefaultOption;
use model::values::{MemoryMode, Order};
use record::plan::{Plan, ShellReason, Stopping};
use record::{EndReason, Event, Record, Row};

/// Lines of the notes in the brief form.
const LINES_MAX: usize = 2;
/// Smallest share of the time above t0 by one source for a note.
const LOST_MIN: f64 = 0.02;
/// Widest name of a failed command, columns.
const LABEL_MAX: usize = 60;
const STDERR_LINES_MAX: usize = 5;

/// Appends the notes, the lines about the session, and the path of the record. The brief form has only what the reader
/// has to act on.
pub(super) fn lines(out: &mut String, judged: Judged<'_>, detail: Depth, styles: &Styles) {
    let Judged { record, analysis, judgements } = judged;
    let plan = &record.header.plan;
    let is_verbose = detail == Depth::Verbose;
    // A failed session has to be repeated, whatever the noise.
    let has_failed = is_failure(analysis.end);
    let is_open = !has_failed
        && (judgements.is_empty() || judgements.iter().any(|it| it.verdict == Verdict::Undecided));
    ratios::notes(out, judged, detail);
    let is_shown = |note: &&Note| is_verbose || is_worth_reading(note, plan, is_open);
    let shown = analysis.notes.iter().filter(is_shown);
    let n_shown = if is_verbose {
        shown.map(|note| whole_note(out, note, plan)).count()
    } else {
        brief_notes(out, shown, plan)
    };
    not_measured(out, record, analysis);
    if is_verbose {
        priority(out, plan);
        placement(out, plan);
        shell(out, plan);
        defaults(out, &record.header.defaults);
    }
    order(out, record, detail);
    end(out, record, analysis, styles);
    // An imported file that is not stored has no record.
    let file = record.header.imported.as_ref().map(|imported| imported.file.as_str());
    if record.path.to_str() != file {
        writeln!(out, "record: {}", record.path.display()).ok();
    }
    if !is_verbose {
        let n_more = analysis.notes.len() - n_shown;
        let notes = match n_more {
            0 => String::new(),
            1 => " and another note".into(),
            n => format!(" and {n} further notes"),
        };
        let has_p = analysis.comparisons.iter().any(|it| it.evidence.test().is_ok());
        let p = if has_p { "p, " } else { "" };
        let show = show_command(&record.path);
        wrap(out, "details: ", 9, &format!("`{show}` has {p}means, histograms{notes}"));
    }
}

/// The command that shows a record again. Without a name it shows the last one in our own directory.
fn show_command(path: &Path) -> String {
    let is_own = path.is_absolute() && path.parent().is_some_and(|it| it.ends_with("stillwell"));
    let words = ["stillwell", "show", "-v"].map(String::from).into_iter();
    // A name with a line feed, or of bytes that are no text, would be printed as the name of another file.
    let plain = path.to_str().filter(|name| one_line(name) == **name);
    let name = (!is_own).then(|| plain.unwrap_or("RECORD").to_owned());
    shell_words::join(words.chain(name))
}

fn whole_note(out: &mut String, note: &Note, plan: &Plan) {
    wrap(out, "note: ", 6, &notes::what(&note.finding, plan));
    if let Some(advice) = notes::advice(&note.finding, plan) {
        wrap(out, "      ", 6, &advice);
    }
}

/// Appends the most important notes, in at most two lines. The first one always appears, if need be without its advice
/// and in more lines: without its middle a sentence can mean the opposite. Returns their number.
fn brief_notes<'a>(out: &mut String, notes: impl Iterator<Item = &'a Note>, plan: &Plan) -> usize {
    let (mut n_shown, mut n_lines) = (0, 0);
    for note in notes {
        let what = notes::brief(&note.finding, plan);
        let advice = notes::advice(&note.finding, plan).map(|advice| format!("{what}: {advice}"));
        let texts = advice.into_iter().chain([what]).map(|text| {
            let mut lines = String::new();
            wrap(&mut lines, "note: ", 6, &text);
            lines
        });
        let texts: Vec<String> = texts.collect();
        let fits = |text: &&String| n_lines + text.lines().count() <= LINES_MAX;
        let whole = texts.last().filter(|_| n_shown == 0);
        let Some(text) = texts.iter().find(fits).or(whole) else { break };
        (n_shown, n_lines) = (n_shown + 1, n_lines + text.lines().count());
        out.push_str(text);
    }
    n_shown
}

/// Whether a note matters to the reader. Less sharp times matter only while something is undecided; failed runs, a lost
/// shield and the like always matter.
fn is_worth_reading(note: &Note, plan: &Plan, is_open: bool) -> bool {
    match note.finding {
        Finding::FailedRuns { .. }
        | Finding::TimedOutRuns { .. }
        | Finding::LeftBehind { .. }
        | Finding::TooShort { .. }
        | Finding::Outlived { .. } => true,
        // A failure that ended the session is at the top.
        Finding::RejectedRuns { arm, .. } => !notes::have_failed(plan, arm),
        Finding::Lost { share, .. } => is_open && share >= LOST_MIN,
        // The note on lost time is more important, and has the same remedy.
        Finding::NiceInTerminal { .. } => false,
        Finding::Unstable { .. }
        | Finding::NoFloor { .. }
        | Finding::SlowStart { .. }
        | Finding::Neighbours(_)
        | Finding::RealTimePauses { .. }
        | Finding::Migrations { .. } => is_open && notes::advice(&note.finding, plan).is_some(),
        _ => notes::advice(&note.finding, plan).is_some(),
    }
}

/// Appends the requested metrics that no run has. Of an imported file nobody requested any.
fn not_measured(out: &mut String, record: &Record, analysis: &Analysis) {
    let is_measured = |name: &str| {
        let has = |arm: &ArmSummary| arm.metric(name).is_some();
        let is_sliced = |arm: &ArmSummary| name == "wall" && arm.sliced.is_some();
        analysis.arms.iter().any(|arm| has(arm) || is_sliced(arm))
    };
    let header = &record.header;
    if header.imported.is_some() || analysis.arms.iter().all(|arm| arm.n_runs == 0) {
        return;
    }
    let names = header.plan.metrics.iter().map(|shown| shown.name.as_str());
    let missing: Vec<&str> = names.filter(|name| !is_measured(name)).collect();
    if !missing.is_empty() {
        wrap(out, "not measured here: ", 6, &format!("{} (why: --json, gaps)", missing.join(", ")));
    }
}

fn priority(out: &mut String, plan: &Plan) {
    let Some(nice) = plan.process.nice.filter(|_| plan.process.is_raised) else { return };
    let option = Audience::of(plan).name(OptionName::Priority);
    wrap(
        out,
        "priority: ",
        6,
        &format!("nice {nice}, as the rights allow; {option} off leaves it"),
    );
}

fn placement(out: &mut String, plan: &Plan) {
    let threads = of_record::threads(&plan.process);
    if !threads.is_empty() {
        let option = Audience::of(plan).name(OptionName::Threads);
        wrap(out, "threads: ", 6, &format!("{threads}; {option} off leaves them out"));
    }
    if let Some(memory) = &plan.process.memory {
        let nodes: Vec<String> = memory.nodes.iter().map(usize::to_string).collect();
        let of = if nodes.len() == 1 { "node" } else { "nodes" };
        let how = match memory.mode {
            MemoryMode::Bind => "from",
            MemoryMode::Interleave => "page by page from",
        };
        wrap(out, "memory: ", 6, &format!("{how} {of} {}", nodes.join(", ")));
    }
}

fn shell(out: &mut String, plan: &Plan) {
    let Some(shell) = &plan.shell else { return };
    let why = match &plan.shell_reason {
        ShellReason::UserChoice => "as asked for".into(),
        ShellReason::Needed { arm, syntax } => {
            format!("because command {} has {syntax:?}", arm + 1)
        }
        ShellReason::NotNeeded => return,
    };
    wrap(out, "shell: ", 6, &format!("{} -c, {why}", shell.join(" ")));
}

fn defaults(out: &mut String, options: &[DefaultOption]) {
    let text = |it: &DefaultOption| format!("{} ({})", it.words.join(" "), it.from);
    let texts: Vec<String> = options.iter().map(text).collect();
    if !texts.is_empty() {
        wrap(out, "defaults: ", 6, &format!("{}; --no-defaults leaves them out", texts.join(", ")));
    }
}

/// Appends order and seed if the user chose them, or the source of imported times.
fn order(out: &mut String, record: &Record, detail: Depth) {
    let plan = &record.header.plan;
    if let Some(imported) = &record.header.imported {
        for note in &imported.notes {
            wrap(out, "note: ", 6, note);
        }
        wrap(out, "imported: ", 6, &format!("{}, from {}", imported.from, imported.file));
    } else if plan.order == Order::Sequential {
        out.push_str("order: sequential; drift between the commands is not controlled\n");
    }
    let mut words = record.header.command_line.iter();
    let has_seed = words.any(|word| word == "--seed" || word.starts_with("--seed="));
    if has_seed && detail == Depth::Verbose {
        writeln!(out, "seed: {}", plan.seed).ok();
    }
}

fn end(out: &mut String, record: &Record, analysis: &Analysis, styles: &Styles) {
    let reason = analysis.end;
    let text = match reason {
        Some(EndReason::Complete | EndReason::Decided | EndReason::Precise) => None,
        Some(EndReason::Interrupted)
            if analysis.comparisons.iter().all(|it| it.evidence.test().is_err()) =>
        {
            Some("interrupted: every finished run is kept")
        }
        // The error rate holds at any end: each interim analysis used only its share.
        Some(EndReason::Interrupted) if record.header.plan.stopping != Stopping::AtTheEnd => Some(
            "interrupted: every finished run is kept; the verdict is that of the last interim analysis",
        ),
        // A user who stops when the numbers look right applies a stopping rule that no test accounts for.
        Some(EndReason::Interrupted) => Some(
            "interrupted: every finished run is kept; a verdict keeps its error rate only if\n      the numbers \
             were not the reason to stop",
        ),
        // The failure is at the top.
        Some(EndReason::Failed | EndReason::TimedOut) => None,
        Some(EndReason::RecordFull) => Some("the record could not be written any further"),
        None => Some("killed, or still running: what had finished is shown"),
    };
    if let Some(text) = text {
        writeln!(out, "{}", paint(styles.attention, text)).ok();
    }
    if record.torn_bytes > 0 {
        out.push_str("the last line of the record was cut off; it is left out\n");
    }
    let mut suites = record.parts.iter().filter_map(|part| part.header.plan.suite.as_ref());
    // A gate names them itself.
    if !record.not_begun.is_empty() && !suites.any(|suite| suite.is_gate) {
        let names: Vec<String> = record.not_begun.iter().map(|name| one_line(name)).collect();
        wrap(out, "not begun: ", 6, &names.join(", "));
    }
}

/// Appends the failures that ended the session: in a suite, one for each benchmark.
pub(super) fn failures(
    out: &mut String,
    record: &Record,
    reason: Option<EndReason>,
    styles: &Styles,
) {
    if record.parts.is_empty() {
        failure(out, record, reason, styles);
    } else {
        record.parts.iter().for_each(|part| failure(out, part, part.end_reason(), styles));
    }
}

/// Appends the last failed run and the end of its stderr, if it ended the session.
fn failure(out: &mut String, record: &Record, reason: Option<EndReason>, styles: &Styles) {
    if !is_failure(reason) {
        return;
    }
    let (what, stderr) = last_failure(record);
    let text = format!("FAILED: {what}; every finished run is kept");
    wrap_headline(out, styles.attention, &text);
    let n_lines = stderr.lines().count();
    for line in stderr.lines().skip(n_lines.saturating_sub(STDERR_LINES_MAX)) {
        writeln!(out, "  | {}", shorten(line, COLUMNS - 4)).ok();
    }
}

/// Whether a command, a hook or the timeout ended a session.
pub(super) fn is_failure(end: Option<EndReason>) -> bool {
    matches!(end, Some(EndReason::Failed | EndReason::TimedOut))
}

fn failed_parts(suite: &Record) -> impl Iterator<Item = &Record> {
    suite.parts.iter().filter(|part| is_failure(part.end_reason()))
}

/// The failed benchmarks of a suite, each with its last failure.
pub fn failed_benchmarks(suite: &Record) -> Vec<String> {
    failed_parts(suite).map(|part| last_failure(part).0).collect()
}

/// The benchmarks of a suite without counted instructions, each with its last message.
pub fn uncounted_benchmarks(suite: &Record) -> Vec<String> {
    let why = |part: &Record| {
        let (what, said) = last_failure(part);
        match said.trim_end().lines().last() {
            Some(last) => format!("{what}; the last line: {}", shorten(last, LABEL_MAX)),
            None => what,
        }
    };
    failed_parts(suite).map(why).collect()
}

/// Number of benchmarks that ended because a run took too long.
pub fn n_timed_out(suite: &Record) -> usize {
    let is_it = |part: &&Record| part.end_reason() == Some(EndReason::TimedOut);
    suite.parts.iter().filter(is_it).count()
}

/// The start of a failed benchmark's line.
pub fn failing_prefix(benchmark: &str) -> String {
    one_line(benchmark) + ": "
}

/// The last failure, and the end of its standard error.
fn last_failure(record: &Record) -> (String, &str) {
    let failure = record.events.iter().rev().find_map(|event| match event {
        Event::Failure { step, stderr } => Some((*step, &**stderr)),
        _ => None,
    });
    // The row of the failure is near the end.
    let row = failure.and_then(|(step, _)| {
        let rows = (0..record.rows.len()).rev().map(|index| record.rows.row(index));
        rows.into_iter().find(|row| row.step == step)
    });
    let plan = &record.header.plan;
    let suite = plan.suite.as_ref();
    let of = suite.map_or_else(String::new, |it| failing_prefix(&it.benchmark));
    let what = row.map_or_else(|| "the session failed".into(), |row| failed_run(plan, &row));
    (of + &what, failure.map_or("", |(_, stderr)| stderr))
}

/// `FAILED: ./bad exited with 3 in block 2, step 5; every finished run is kept`.
fn failed_run(plan: &Plan, row: &Row) -> String {
    let arm = plan.arms.get(row.arm as usize);
    let is_silent = row.value.is_none() && arm.is_some_and(|arm| arm.value.is_some());
    let how = if row.timed_out {
        "took too long".into()
    } else if row.exit == 0 && is_silent {
        "did not say its value".into()
    } else if row.exit == 0 && plan.valgrind().is_some() {
        "was not counted".into()
    } else if plan.validate.is_some() && !plan.rejects(row.arm, row.shell_exit(), row.value) {
        "wrote an output that is not valid".into()
    } else if row.exit < 0 {
        format!("was ended by signal {}", -row.exit)
    } else {
        format!("exited with {}", row.exit)
    };
    let when = match row.block {
        Some(block) => format!("in its run {}", block + 1),
        None => "in its warm-up".into(),
    };
    let name = shorten(arm.map_or("", |arm| arm.label()), LABEL_MAX);
    format!("{name} {how} {when}")
}
