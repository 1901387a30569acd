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
use crate::ledger::RecordLedger;
use crate::neighbours::Neighbours;
use crate::notes::{lost, on_the_core};
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
        not_begun: Vec::new(),
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
    for mut event in part.events.iter().cloned() {
        match &mut event {
            Event::Failure { step, .. } => *step += first_step,
            Event::Worker { arm, .. } => *arm += first_arm,
            Event::Counters { step, arm, .. } => {
                *step += first_step;
                *arm += first_arm;
            }
            _ => continue,
        }
        whole.events.push(event);
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
    let is_early = [EndReason::Interrupted, EndReason::RecordFull].iter().any(is_there);
    if ends.contains(&None) && !is_early {
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
    whole.neighbours = Neighbours::joined(each.iter().map(|one| one.neighbours));
    let mut ledgers = Vec::new();
    for mut one in each {
        let first = whole.arms.len();
        ledgers.extend(one.ledger.take().map(|ledger| (first, ledger)));
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
    whole.ledger = RecordLedger::joined(&record.header.plan, ledgers.into_iter());
    sum_up(&mut whole);
    whole.notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    whole
}

/// Makes the notes on sums of one benchmark notes on the sums of all.
fn sum_up(whole: &mut Analysis) {
    let notes = std::mem::take(&mut whole.notes);
    let of_all = |note: Note| match note.finding {
        Finding::Lost { .. } => whole.ledger.as_ref().and_then(lost),
        Finding::Neighbours(_) => whole.neighbours.and_then(on_the_core),
        _ => Some(note),
    };
    whole.notes = notes.into_iter().filter_map(of_all).collect();
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

/// Whether the benchmarks of a suite compare different quantities.
pub fn is_mixed(record: &Record) -> bool {
    let compared = |part: &Record| part.header.plan.policy.compared();
    record.parts.iter().any(|part| compared(part) != compared(&record.parts[0]))
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
    plan_of_arm(record, comparison.arm).policy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::of_record;
    use crate::ledger::record_ledger;
    use crate::{Disturbance, analyse, check_record, estimators, other_quantity};
    use model::values::metric::Metric;
    use model::values::{Better, Clock, DecideOn, ValueUnit};
    use record::Row;
    use record::fixture::record;
    use record::plan::{ValueReader, ValueRule, ValueSource};

    /// A benchmark of 24 runs, `lost_us` of each in the run queue.
    fn benchmark(compared: Compared, lost_us: u64) -> Record {
        let mut part = record(&["a", "b"]);
        let policy = &mut part.header.plan.policy;
        (policy.clock, policy.decide_on, policy.better) =
            (compared.clock, compared.decide_on, compared.better);
        part.rows = Rows::of(compared);
        for step in 0..48 {
            let mut row = Row::new(step, step % 2, Some(step / 2), u64::from(step) << 30);
            let noise_us = if step < 4 { 0 } else { lost_us + u64::from(step) };
            for (metric, value) in [
                (Metric::WallNs, (1000 + noise_us) * 1000),
                (Metric::StalledNs, noise_us * 1000),
                (Metric::PreemptedNs, 0),
                (Metric::RunQueueWaitNs, noise_us * 1000),
                (Metric::UserUs, 1000),
                (Metric::SysUs, 0),
                (Metric::OneChainNs, 4000),
                (Metric::FourChainsNs, if step % 4 == 0 { 8000 } else { 4000 }),
            ] {
                row.set(metric, Some(value));
            }
            row.value = compared.decide_on.map(|_| f64::from(100 + step % 5));
            part.rows.push(&row);
        }
        part
    }

    fn suite() -> Record {
        let clock = Clock::Wall;
        let time = Compared { clock, decide_on: None, better: Better::Lower };
        let rate = Compared { clock, decide_on: Some(DecideOn::Value), better: Better::Higher };
        let parts = vec![benchmark(rate, 10), benchmark(time, 100), benchmark(time, 200)];
        merge(Path::new("suite"), 1, parts).unwrap()
    }

    #[test]
    fn a_benchmark_of_a_mixed_suite_is_what_its_own_record_is() {
        let whole = suite();
        assert!(is_mixed(&whole));
        let arms = summarise(&whole);
        let (all, checks) = (estimators(&whole, &arms), check_record(&whole).arms);
        for (at, part) in whole.parts.iter().enumerate() {
            let own = summarise(part);
            let range = 2 * at..2 * at + 2;
            assert_eq!(all[range.clone()], estimators(part, &own), "{at}");
            for ((here, arm), check) in
                arms[range.clone()].iter().zip(&own).zip(&checks[range.clone()])
            {
                assert_eq!(here.arm, arm.arm + range.start);
                assert_eq!(here.times, arm.times);
                let alone = &check_record(part).arms[arm.arm];
                assert_eq!((check.steadiness, &check.checks), (alone.steadiness, &alone.checks));
            }
        }
        assert_eq!(arms[0].times.as_ref().unwrap().median.value, 102.0);
        assert_eq!(plan_of_arm(&whole, 3).policy.decide_on, None);
    }

    #[test]
    fn the_time_above_t0_is_that_of_all_benchmarks() {
        let whole = suite();
        let found = analyse(&whole);
        let ledger = record_ledger(&whole, &summarise(&whole)).unwrap();
        assert_eq!(ledger.arms.iter().map(|it| it.arm).collect::<Vec<_>>(), [2, 3, 4, 5]);
        assert_eq!(found.ledger.as_ref(), Some(&ledger));
        let each = whole.parts[1..].iter().map(|part| analyse(part).ledger.unwrap());
        assert_eq!(ledger.total.total_ns, each.map(|it| it.total.total_ns).sum::<i64>());
        let lost = found.notes.iter().find_map(|note| match note.finding {
            Finding::Lost { total_ns, .. } => Some(total_ns),
            _ => None,
        });
        assert_eq!(lost, Some(ledger.total.total_ns));
        let disturbance = Disturbance::of(&found).unwrap();
        assert_eq!(disturbance.shared_core_share, Some(0.25));
        assert!(!disturbance.sources.is_empty());
    }

    /// The joined plan says that values decide if quantities differ, which is true of no benchmark.
    #[test]
    fn a_quantity_is_that_of_a_benchmark() {
        let on = |clock| Compared { clock, decide_on: None, better: Better::Lower };
        let times = vec![benchmark(on(Clock::Wall), 10), benchmark(on(Clock::Cpu), 10)];
        let whole = merge(Path::new("suite"), 1, times).unwrap();
        assert!(is_mixed(&whole));
        assert_eq!(other_quantity(&whole), None);
        assert_eq!(other_quantity(&suite()).as_deref(), Some("value"));
        let rate = Compared {
            decide_on: Some(DecideOn::Value),
            better: Better::Higher,
            ..on(Clock::Wall)
        };
        let mut parts = vec![benchmark(on(Clock::Wall), 10), benchmark(rate, 10)];
        for part in &mut parts {
            let source = ValueSource::File("x".into());
            let reader = ValueReader::Pointer("/x".into());
            let unit = Some("req/s".into());
            let rule = ValueRule { reader, source, unit, scale: 1.0, better: Better::Higher };
            for arm in &mut part.header.plan.arms {
                (arm.unit, arm.value) = (ValueUnit::Count, Some(rule.clone()));
            }
        }
        parts[0].header.plan.policy.decide_on = Some(DecideOn::Faults);
        let whole = merge(Path::new("suite"), 1, parts).unwrap();
        let of_arm = |arm| (of_record::unit_name(&whole, arm), of_record::better(&whole, arm));
        assert_eq!(of_arm(0), ("count".into(), Better::Lower));
        assert_eq!(of_arm(2), ("req/s".into(), Better::Higher));
    }
}
