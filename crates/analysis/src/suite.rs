//! Merges the records of a suite's benchmarks into one record and one analysis. Each benchmark keeps its session's
//! interim analyses; all comparisons form one family (docs/methodology.md, "Suites").

use std::mem::discriminant;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;

use crate::arm::summarise;
use crate::compare::{RecordLooks, family};
use crate::comparison::Comparison;
use crate::finding::{Finding, Note};
use crate::single::{Analysis, analyse_alone};
use model::values::Compared;
use record::plan::{DecisionRule, Plan};
use record::{EndReason, Event, Header, Record, Rows};

/// Merges the records of a suite's benchmarks, each with one row per run (`launches::gather`). `None` without a record.
pub fn merge(path: &Path, seed: u64, parts: Vec<Record>) -> Option<Record> {
    let first = &parts.first()?.header;
    let plans: Vec<&Plan> = parts.iter().map(|part| &part.header.plan).collect();
    let compared = first.plan.policy.compared();
    let are_alike = plans.iter().all(|plan| plan.policy.compared() == compared);
    let compared = if are_alike { compared } else { Compared::default() };
    let are_sliced = parts.iter().all(|part| part.slices.is_some());
    let plan = Plan::joined(&plans, seed)?.in_slices(are_sliced);
    let mut whole = Record {
        path: path.into(),
        header: Header { plan, ..first.clone() },
        rows: Rows::of(compared),
        slices: are_sliced.then(Rows::default),
        events: Vec::new(),
        torn_bytes: 0,
        parts: Vec::new(),
    };
    let (mut next_step, mut next_arm) = (0, 0);
    for part in &parts {
        next_step = add(&mut whole, part, next_step, next_arm);
        next_arm += u32::try_from(part.header.plan.arms.len()).unwrap_or(u32::MAX);
    }
    if let Some(reason) = end_of(&parts) {
        whole.events.push(Event::End { reason });
    }
    whole.parts = parts;
    Some(whole)
}

/// Keeps the benchmarks with these names. The family of comparisons is still the whole suite. Errors: no benchmark has
/// one of the names.
pub fn select(record: &mut Record, names: &[String]) -> Result<()> {
    let name_of = |part: &Record| part.header.plan.suite.as_ref().map(|it| it.benchmark.clone());
    let known: Vec<String> = record.parts.iter().filter_map(name_of).collect();
    let missing = names.iter().find(|name| !known.contains(name));
    if let Some(name) = missing {
        bail!("there is no benchmark {name:?}; there are: {}", known.join(", "));
    }
    let mut parts = std::mem::take(&mut record.parts);
    parts.retain(|part| name_of(part).is_some_and(|name| names.contains(&name)));
    let selected = merge(&record.path, record.header.plan.seed, parts);
    *record = selected.context("no benchmark is named")?;
    Ok(())
}

/// Appends a part with its steps and arms renumbered. Returns the first free step.
fn add(whole: &mut Record, part: &Record, first_step: u32, first_arm: u32) -> u32 {
    let mut end = first_step;
    let mut copy = |from: &Rows, to: &mut Rows| {
        for mut row in from.iter() {
            row.step += first_step;
            row.arm += first_arm;
            end = end.max(row.step + 1);
            to.push(&row);
        }
    };
    copy(&part.rows, &mut whole.rows);
    if let (Some(from), Some(to)) = (&part.slices, &mut whole.slices) {
        copy(from, to);
    }
    for event in &part.events {
        match event {
            Event::Failure { step, stderr } => whole
                .events
                .push(Event::Failure { step: step + first_step, stderr: stderr.clone() }),
            Event::Worker { arm, .. } | Event::Counters { arm, .. } => {
                let arm = arm + first_arm;
                let mut event = event.clone();
                if let Event::Worker { arm: at, .. } | Event::Counters { arm: at, .. } = &mut event
                {
                    *at = arm;
                }
                if let Event::Counters { step, .. } = &mut event {
                    *step += first_step;
                }
                whole.events.push(event);
            }
            _ => {}
        }
    }
    end
}

fn end_of(parts: &[Record]) -> Option<EndReason> {
    let ends: Vec<Option<EndReason>> = parts.iter().map(Record::end_reason).collect();
    let bad = [
        EndReason::RecordFull,
        EndReason::Interrupted,
        EndReason::Failed,
        EndReason::TimedOut,
        EndReason::Complete,
    ];
    let is_there = |reason: &EndReason| ends.contains(&Some(*reason));
    if ends.contains(&None) && !is_there(&EndReason::Interrupted) {
        return None;
    }
    bad.into_iter().find(is_there).or(Some(EndReason::Decided))
}

/// Analyses each part, with all comparisons as one family.
pub(super) fn analyse(record: &Record) -> Analysis {
    let parts = &record.parts;
    let arms: Vec<_> = parts.par_iter().map(summarise).collect();
    let looks: Vec<Option<RecordLooks<'_>>> =
        parts.par_iter().zip(&arms).map(|(part, arms)| RecordLooks::of(part, arms).ok()).collect();
    let n_family = parts.iter().map(|part| part.header.plan.family()).max().unwrap_or(0);
    let shares = family(&looks.iter().flatten().collect::<Vec<_>>(), n_family);
    let mut shares = shares.into_iter();
    let judged: Vec<_> = looks
        .iter()
        .map(|looks| looks.as_ref().and_then(|it| Some((it, shares.next()?))))
        .collect();
    let each: Vec<Analysis> = (parts.par_iter().zip(&arms).zip(&judged))
        .map(|((part, arms), judged)| {
            let judged = judged.as_ref().map(|(looks, share)| (*looks, share.as_slice()));
            analyse_alone(part, arms.clone(), judged)
        })
        .collect();
    let mut whole = Analysis { end: record.end_reason(), ..Analysis::default() };
    for mut one in each {
        let first = whole.arms.len();
        one.arms.iter_mut().for_each(|arm| arm.arm += first);
        for found in one.comparisons.iter_mut().chain(&mut one.cpu_comparisons) {
            found.arm += first;
            found.reference += first;
        }
        whole.arms.append(&mut one.arms);
        whole.comparisons.append(&mut one.comparisons);
        whole.cpu_comparisons.append(&mut one.cpu_comparisons);
        one.notes.into_iter().for_each(|note| take(&mut whole.notes, note, first));
    }
    whole.notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    whole
}

/// Adds a note of a part. Of the notes without an arm, only the heaviest of each kind stays.
fn take(notes: &mut Vec<Note>, mut note: Note, first_arm: usize) {
    if let Some(arm) = note.finding.arm_mut() {
        *arm += first_arm;
        notes.push(note);
        return;
    }
    let kind = discriminant::<Finding>(&note.finding);
    match notes.iter_mut().find(|other| discriminant(&other.finding) == kind) {
        Some(other) if other.weight >= note.weight => {}
        Some(other) => *other = note,
        None => notes.push(note),
    }
}

/// The plan of a comparison: in a suite, each benchmark has its own.
pub fn plan_of<'a>(record: &'a Record, comparison: &Comparison) -> &'a Plan {
    plan_of_arm(record, comparison.arm)
}

/// The plan of an arm: in a suite, each benchmark has its own.
pub fn plan_of_arm(record: &Record, arm: usize) -> &Plan {
    let mut first = 0;
    for part in &record.parts {
        first += part.header.plan.arms.len();
        if arm < first {
            return &part.header.plan;
        }
    }
    &record.header.plan
}

pub fn policy_of(record: &Record, comparison: &Comparison) -> DecisionRule {
    plan_of(record, comparison).policy
}
