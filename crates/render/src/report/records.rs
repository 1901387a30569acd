//! A record's measurement: command line, seed, notes, gaps, machine.

use serde::Serialize;

use crate::columns::one_line;
use crate::{notes, results};
use analysis::Analysis;
use analysis::convert::of_record;
use analysis::verdict::Judged;
use model::values::Order;
use record::plan::Role;
use record::{EndReason, Header, Record};

const COMMANDS_MAX: usize = 500;

#[derive(Clone, Debug, Serialize)]
pub(super) struct RecordText {
    file: String,
    how: String,
    /// `None` if another program measured the times.
    command_line: Option<String>,
    commands: Vec<String>,
    notes: Vec<NoteText>,
    gaps: Vec<GapText>,
    /// Names and values of what is known of the machine.
    facts: Vec<(String, String)>,
}

#[derive(Clone, Debug, Serialize)]
struct NoteText {
    what: String,
    advice: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct GapText {
    what: String,
    why: String,
    fix: String,
}

pub(super) fn file(record: &Record) -> String {
    let imported = record.header.imported.as_ref().map(|imported| imported.file.clone());
    one_line(&imported.unwrap_or_else(|| record.path.display().to_string()))
}

/// Paths of the files without their common directory.
pub(super) fn file_names(records: &[Judged<'_>]) -> Vec<String> {
    let files: Vec<String> = records.iter().map(|it| file(it.record)).collect();
    let directory = |file: &str| file.rfind('/').map_or(0, |at| at + 1);
    let (Some(first), true) = (files.first(), files.len() > 1) else { return files };
    let common = &first[..directory(first)];
    if files.iter().all(|file| file[..directory(file)] == *common) {
        return files.iter().map(|file| file[common.len()..].to_owned()).collect();
    }
    files
}

pub(super) fn words(record: &Record, analysis: &Analysis) -> RecordText {
    let header = &record.header;
    let plan = &header.plan;
    let texts = analysis.notes.iter().map(|note| NoteText {
        what: one_line(&notes::what(&note.finding, plan)),
        advice: notes::advice(&note.finding, plan),
    });
    let imported = header.imported.iter().flat_map(|imported| &imported.notes);
    let imported = imported.map(|note| NoteText { what: one_line(note), advice: None });
    let (common, _) = results::divided(&of_record::results(record));
    let commands = plan.arms.iter().filter(|arm| !arm.role.is_control() && arm.role != Role::Twin);
    let mut commands: Vec<String> =
        commands.map(|arm| one_line(&arm.command)).take(COMMANDS_MAX).collect();
    commands.dedup();
    RecordText {
        file: file(record),
        how: how(record, analysis),
        command_line: header.imported.is_none().then(|| command_line(header)),
        commands,
        notes: texts.chain(imported).collect(),
        gaps: gaps(header),
        facts: common
            .into_iter()
            .map(|(name, value)| (one_line(&name), one_line(&value)))
            .collect(),
    }
}

/// The gaps; those with the same reason and remedy share an entry.
fn gaps(header: &Header) -> Vec<GapText> {
    let mut said: Vec<GapText> = Vec::new();
    for gap in &header.gaps {
        let (what, why, fix) =
            (one_line(&gap.what), one_line(&gap.why), one_line(&gap.fix.to_string()));
        match said.iter_mut().find(|other| other.why == why && other.fix == fix) {
            Some(other) => other.what.push_str(&format!(", {what}")),
            None => said.push(GapText { what, why, fix }),
        }
    }
    said
}

fn how(record: &Record, analysis: &Analysis) -> String {
    let header = &record.header;
    let plan = &header.plan;
    let n_runs = analysis.arms.iter().map(|arm| arm.n_runs).max().unwrap_or(0);
    if let Some(imported) = &header.imported {
        return one_line(&format!(
            "Measured by {}, read from a file of the format {}.",
            if imported.tool.is_empty() { "another program" } else { &imported.tool },
            imported.from
        ));
    }
    let order = match plan.order {
        Order::Interleave => {
            format!("in blocks of one run of each, in random order (seed {})", plan.seed)
        }
        Order::Listed => {
            format!("in blocks of one run of each, in the order listed (seed {})", plan.seed)
        }
        Order::Sequential => "one command after the other".into(),
    };
    let copies = plan.copies.as_ref();
    let copies = copies.map_or_else(String::new, |it| format!(" ({} copies at a time)", it.n));
    let is_suite = !record.parts.is_empty();
    let end = match analysis.end {
        Some(EndReason::Decided) => "It ended because everything was decided.",
        Some(EndReason::Precise) => "It ended at the precision that was asked for.",
        Some(EndReason::Complete) => "It ended after its last block.",
        Some(EndReason::Interrupted) => "It was interrupted.",
        Some(EndReason::Failed) if is_suite => "A run failed, and ended its benchmark.",
        Some(EndReason::TimedOut) if is_suite => {
            "A run took longer than the timeout, and ended its benchmark."
        }
        Some(EndReason::Failed) => "A run failed, and ended it.",
        Some(EndReason::TimedOut) => "A run took longer than the timeout, and ended it.",
        Some(EndReason::RecordFull) => "The record could not be written any further.",
        None => "It was killed, or is still running.",
    };
    one_line(&format!(
        "Started {}: up to {n_runs} runs of each{copies}, {order}. {end} By {}.",
        header.created, header.tool
    ))
}

/// The command line that repeats the session, with its seed.
fn command_line(header: &Header) -> String {
    let words = &header.command_line;
    let has_seed = words.iter().any(|word| word == "--seed" || word.starts_with("--seed="));
    let seed = format!("--seed {} ", header.plan.seed);
    let text = match words.split_at_checked(2) {
        // Options come before the commands.
        Some((verb, rest)) if !has_seed => {
            format!("{} {seed}{}", shell_words::join(verb), shell_words::join(rest))
        }
        _ => shell_words::join(words),
    };
    one_line(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_run_ends_one_benchmark_of_a_suite() {
        let mut suite = record::fixture::record(&["a", "b"]);
        let failed = Analysis { end: Some(EndReason::Failed), ..Analysis::default() };
        assert!(how(&suite, &failed).contains("A run failed, and ended it."));
        suite.parts.push(record::fixture::record(&["a", "b"]));
        assert!(how(&suite, &failed).contains("A run failed, and ended its benchmark."));
    }
}
