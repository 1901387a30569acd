//! The end of the summary: notes, and unusual facts about the session.

use std::fmt::Write as _;

use crate::analysis::{Analysis, ArmSummary, end_reason};
use crate::plan::{Plan, ShellReason, Stopping};
use crate::record::{EndReason, Event, Record};
use crate::render::columns::{COLUMNS, shorten, wrap};
use crate::render::remedies::Audience;
use crate::render::styles::paint;
use crate::render::{Styles, notes};
use crate::values::{MemoryMode, Order};

const NOTES_MAX: usize = 3;
const STDERR_LINES_MAX: usize = 5;
/// Widest name of a benchmark, columns.
const NAME_MAX: usize = 30;

/// Appends the notes, the lines about the session, and the path of the record.
pub(super) fn lines(out: &mut String, record: &Record, analysis: &Analysis, styles: &Styles) {
    let plan = &record.header.plan;
    for note in analysis.notes.iter().take(NOTES_MAX) {
        wrap(out, "note: ", 6, &notes::what(&note.finding, plan));
        if let Some(advice) = notes::advice(&note.finding, plan) {
            wrap(out, "      ", 6, &advice);
        }
    }
    let n_more = analysis.notes.len().saturating_sub(NOTES_MAX);
    if n_more > 0 {
        writeln!(out, "note: {n_more} more with --json").ok();
    }
    not_measured(out, plan, analysis);
    priority(out, plan);
    placement(out, plan);
    shell(out, plan);
    order(out, record);
    end(out, record, analysis, styles);
    // An imported file that is not stored has no record.
    let file = record.header.imported.as_ref().map(|imported| imported.file.as_str());
    if record.path.to_str() != file {
        writeln!(out, "record: {}", record.path.display()).ok();
    }
}

/// Appends the requested metrics that no run has.
fn not_measured(out: &mut String, plan: &Plan, analysis: &Analysis) {
    let is_measured = |name: &str| {
        let has = |arm: &ArmSummary| arm.metrics.iter().any(|metric| metric.name == name);
        let is_sliced = |arm: &ArmSummary| name == "wall" && arm.sliced.is_some();
        analysis.arms.iter().any(|arm| has(arm) || is_sliced(arm))
    };
    if analysis.arms.iter().all(|arm| arm.n_runs == 0) {
        return;
    }
    let missing =
        plan.metrics.iter().map(|shown| shown.name.as_str()).filter(|name| !is_measured(name));
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        wrap(out, "not measured here: ", 6, &format!("{} (why: --json, gaps)", missing.join(", ")));
    }
}

fn priority(out: &mut String, plan: &Plan) {
    let Some(nice) = plan.process.nice.filter(|_| plan.process.is_raised) else { return };
    let option = Audience::of(plan).words("⟦priority⟧");
    wrap(
        out,
        "priority: ",
        6,
        &format!("nice {nice}, as the rights allow; {option} off leaves it"),
    );
}

/// Appends what the runtimes of threads were told, and the memory nodes.
fn placement(out: &mut String, plan: &Plan) {
    let process = &plan.process;
    if !process.thread_variables.is_empty() {
        let variables: Vec<String> = process
            .thread_variables
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let option = Audience::of(plan).words("⟦threads⟧");
        let text = format!("{}; {option} off leaves them out", variables.join(" "));
        wrap(out, "threads: ", 6, &text);
    }
    if let Some(memory) = &process.memory {
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

/// Appends order and seed, if the user chose them; or the source of imported times.
fn order(out: &mut String, record: &Record) {
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
    if words.any(|word| word == "--seed" || word.starts_with("--seed=")) {
        writeln!(out, "seed: {}", plan.seed).ok();
    }
}

fn end(out: &mut String, record: &Record, analysis: &Analysis, styles: &Styles) {
    let reason = analysis.end;
    let is_suite = !record.parts.is_empty();
    let text = match reason {
        Some(EndReason::Complete | EndReason::Decided | EndReason::Precise) => None,
        Some(EndReason::Interrupted) if analysis.comparisons.is_empty() => {
            Some("interrupted: every finished run is kept")
        }
        // The error rate holds whatever ends the session: each interim analysis used only its share.
        Some(EndReason::Interrupted) if record.header.plan.stopping == Stopping::WhenDecided => {
            Some("interrupted: every finished run is kept; the verdict is that of the last look")
        }
        // A user who stops when the numbers look right applies a stopping rule that no test accounts for.
        Some(EndReason::Interrupted) => Some(
            "interrupted: every finished run is kept; a verdict keeps its error rate only if\n      the numbers \
             were not the reason to stop",
        ),
        Some(EndReason::Failed) if is_suite => {
            Some("failed: not every benchmark came to its end, every finished run is kept")
        }
        Some(EndReason::Failed) => {
            Some("failed: the session ended here, every finished run is kept")
        }
        Some(EndReason::TimedOut) => Some("timeout: a run took longer, every finished run is kept"),
        Some(EndReason::RecordFull) => Some("the record could not be written any further"),
        None => Some("killed, or still running: what had finished is shown"),
    };
    if let Some(text) = text {
        writeln!(out, "{}", paint(styles.attention, text)).ok();
    }
    if is_suite {
        record.parts.iter().for_each(|part| failure(out, part, end_reason(part)));
    } else {
        failure(out, record, reason);
    }
    if record.torn_bytes > 0 {
        out.push_str("the last line of the record was cut off; it is left out\n");
    }
}

/// Appends the last failed run and the end of its stderr, if it ended the session.
fn failure(out: &mut String, record: &Record, reason: Option<EndReason>) {
    if !matches!(reason, Some(EndReason::Failed | EndReason::TimedOut)) {
        return;
    }
    let failure = record.events.iter().rev().find_map(|event| match event {
        Event::Failure { step, stderr } => Some((*step, stderr)),
        _ => None,
    });
    let Some((step, stderr)) = failure else { return };
    // The row of the last failure is near the end.
    let row = (0..record.rows.len())
        .rev()
        .map(|index| record.rows.row(index))
        .find(|row| row.step == step);
    if let Some(row) = row {
        let arm = usize::try_from(row.arm).unwrap_or(0);
        let label = record.header.plan.arms.get(arm).map_or("", |arm| arm.label());
        let how = if row.timed_out {
            "took too long".into()
        } else if row.exit < 0 {
            format!("was ended by signal {}", -row.exit)
        } else {
            format!("exited with {}", row.exit)
        };
        let suite = record.header.plan.suite.as_ref();
        let of = suite.map_or_else(String::new, |it| shorten(&it.benchmark, NAME_MAX) + ": ");
        let text = format!("{of}a run of command {} (step {step}) {how}: ", arm + 1);
        writeln!(out, "{text}{}", shorten(label, COLUMNS.saturating_sub(text.len()))).ok();
    }
    let n_lines = stderr.lines().count();
    for line in stderr.lines().skip(n_lines.saturating_sub(STDERR_LINES_MAX)) {
        writeln!(out, "  | {}", shorten(line, COLUMNS - 4)).ok();
    }
}
