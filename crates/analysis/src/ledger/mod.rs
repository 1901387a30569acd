//! The ledger: the time above t0 of each arm, by source. Pure.
//!
//! A run of one thread is on a CPU, ready without one, or asleep; or it has ended and Stillwell has not seen it yet. So
//! for each run exactly
//!
//! ```text
//! wall - t0 = (preempted - least) + (queued - least) + (on the CPU - what it takes) + (asleep - what it sleeps)
//! ```
//!
//! The noise-free baseline comes from the least disturbed runs: the smallest preemption and queueing, and the mean
//! shares of the lowest fifth for the rest. Estimates divide the CPU time further; they leave what the program itself
//! took more.

mod baseline;
mod estimates;
mod sample;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::arm_values::sessions;
use crate::ledger::baseline::ArmBaseline;
use crate::ledger::estimates::{computing, sum_of_counts};
use crate::ledger::sample::{LedgerSample, samples_by_arm};
use crate::summary::ArmSummary;
use model::values::metric::Metric;
use record::ledger::{Ledger, LedgerEntry, NoiseSource};
use record::plan::Plan;
use record::{Event, Record, Rows};

pub use baseline::ThreadUse;

/// The ledgers of a record.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecordLedger {
    /// Ledger of each arm with times; hidden arms are left out.
    pub arms: Vec<ArmLedger>,
    /// Sum of all arms.
    pub total: Ledger,
    /// Total measured time, ns.
    pub measured_ns: i64,
    /// Cost of reading the evidence, if it was measured.
    pub evidence: Option<EvidenceCost>,
}

impl RecordLedger {
    /// The ledgers of a suite's benchmarks together, each with the index of its first arm; `None` without any.
    pub fn joined(plan: &Plan, each: impl Iterator<Item = (usize, Self)>) -> Option<Self> {
        let renumbered = each.map(|(first, mut one)| {
            for it in &mut one.arms {
                it.arm += first;
                it.label = plan.full_label(it.arm);
            }
            one
        });
        renumbered.reduce(|mut whole, one| {
            whole.arms.extend(one.arms);
            whole.total = whole.total.plus(&one.total);
            whole.measured_ns += one.measured_ns;
            whole.evidence = None;
            whole
        })
    }

    /// Whether the t0 of an arm is an upper limit, so that the time above t0 is at least this long.
    pub fn is_lower_limit(&self) -> bool {
        self.arms.iter().any(|arm| arm.is_upper_limit)
    }
}

/// The cost of reading the kernel's counts of the runs. It is not part of their times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct EvidenceCost {
    /// Cost per run, between this run and the next, ns.
    pub of_run_ns: f64,
    /// Share of the time of the runs.
    pub share: f64,
}

/// The ledger of an arm: all its runs that count.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmLedger {
    /// Index in the plan.
    pub arm: usize,
    /// Label of the arm.
    pub label: String,
    /// Runs, or slices of them.
    pub n: usize,
    /// Time of a run without noise, ns.
    pub t0_ns: f64,
    /// Whether `t0_ns` is an upper limit, so that at least this time is above it.
    pub is_upper_limit: bool,
    /// Total measured time, ns.
    pub measured_ns: i64,
    /// Time above t0 by source.
    pub ledger: Ledger,
    /// Use of CPUs by the threads.
    pub threads: ThreadUse,
    /// Runs whose switch records the kernel dropped.
    pub n_uncounted: usize,
}

/// The ledgers of a record; `None` if no row has a time, or a sum would overflow. A suite's benchmarks that compare other
/// values than times have none.
pub fn record_ledger(record: &Record, arms: &[ArmSummary]) -> Option<RecordLedger> {
    if record.parts.is_empty() {
        return session_ledger(record, arms);
    }
    let each = sessions(record).into_iter().filter_map(|(first, session)| {
        let n_arms = session.header.plan.arms.len();
        let own = arms[first..first + n_arms].iter().cloned();
        let own: Vec<_> = own.map(|it| ArmSummary { arm: it.arm - first, ..it }).collect();
        let is_of_times = !session.rows.compares_other_values();
        Some((first, is_of_times.then(|| session_ledger(session, &own)).flatten()?))
    });
    RecordLedger::joined(&record.header.plan, each)
}

fn session_ledger(record: &Record, arms: &[ArmSummary]) -> Option<RecordLedger> {
    let samples = samples_by_arm(record, arms);
    let losses = losses_by_step(record);
    if !can_be_added(&samples, &losses) {
        return None;
    }
    let has_switches = rows_of(record).has(Metric::PreemptedNs);
    let arms: Vec<ArmLedger> = arms
        .iter()
        .zip(samples)
        .filter(|(arm, samples)| !arm.is_hidden && !samples.is_empty())
        .filter_map(|(arm, samples)| {
            let label = record.header.plan.full_label(arm.arm);
            arm_ledger(arm, label, &samples, &losses, has_switches)
        })
        .collect();
    let total = arms.iter().map(|arm| arm.ledger.clone()).reduce(|sum, arm| sum.plus(&arm))?;
    let measured_ns = arms.iter().map(|arm| arm.measured_ns).sum();
    Some(RecordLedger { arms, total, measured_ns, evidence: evidence_cost(record) })
}

fn evidence_cost(record: &Record) -> Option<EvidenceCost> {
    let evidence_ns = record.events.iter().find_map(|event| match event {
        Event::Launcher { evidence_ns, .. } => *evidence_ns,
        _ => None,
    })? as f64;
    let rows = &record.rows;
    let walls_ns = (0..rows.len()).filter_map(|index| rows.get(index, Metric::WallNs));
    let wall_ns = sum_of_counts(walls_ns);
    let of_run_ns = evidence_ns / rows.len() as f64;
    (wall_ns > 0).then(|| EvidenceCost { of_run_ns, share: evidence_ns / wall_ns as f64 })
}

/// Whether sums of these times stay far below the range of an i64.
fn can_be_added(samples: &[Vec<LedgerSample>], losses: &EntriesByStep<'_>) -> bool {
    let of = |it: &LedgerSample| {
        [Some(it.wall_ns), Some(it.floor_ns), it.preempted_ns, it.queued_ns, it.cpu_ns]
            .map(|ns| i128::from(ns.unwrap_or(0)))
            .iter()
            .sum::<i128>()
    };
    let all: i128 = samples.iter().flatten().map(of).sum();
    let mut entries = losses.values().copied().flatten();
    let named: i128 = entries.clone().map(|entry| i128::from(entry.ns).abs()).sum();
    all.max(named) < i128::from(i64::MAX) / 4 && entries.all(|entry| entry.ns >= 0)
}

type EntriesByStep<'a> = HashMap<u32, &'a [LedgerEntry]>;

fn losses_by_step(record: &Record) -> EntriesByStep<'_> {
    let losses = record.events.iter().filter_map(|event| match event {
        Event::Taken { step, by } => Some((*step, by.as_slice())),
        _ => None,
    });
    losses.collect()
}

fn arm_ledger(
    summary: &ArmSummary,
    label: String,
    samples: &[LedgerSample],
    losses: &EntriesByStep<'_>,
    has_switches: bool,
) -> Option<ArmLedger> {
    let times = summary.times.as_ref()?;
    let t0_ns = times.t0.value;
    let total_ns = samples.iter().map(|sample| sample.wall_ns - sample.floor_ns).sum();
    let usual = ArmBaseline::of(samples);
    let interruption_ns = summary.interruptions.and_then(|found| found.each).map(|each| each.value);
    let mut parts = Vec::new();
    // Waiting is an estimate if threads take turns. So it is for slices, whose waits have no exact time.
    let mut is_rough =
        usual.threads != ThreadUse::One || samples.iter().any(|sample| sample.is_slice);
    let mut cpu_ns = Some(Vec::new());
    let (mut preempted_ns, mut queued_ns, mut waited_ns, mut quota_ns) = (0, 0, 0, 0);
    for sample in samples {
        let (split, ns) = usual.split(sample).without_quota(sample.quota_ns);
        quota_ns += ns;
        is_rough |= split.is_capped;
        if sample.preempted_ns.is_some() {
            preempted_ns += split.preempted_ns;
            queued_ns += split.queued_ns;
        } else {
            // Without a preemption count, this includes the wait after a preemption.
            waited_ns += split.queued_ns;
        }
        if let Some(all) = &mut cpu_ns {
            if let Some(ns) = split.cpu_ns { all.push(ns) } else { cpu_ns = None }
        }
        if let Some(asleep_ns) = split.asleep_ns {
            let source =
                if sample.never_waited { NoiseSource::SeenLate } else { NoiseSource::Asleep };
            parts.push(LedgerEntry { is_estimate: true, ..LedgerEntry::exact(source, asleep_ns) });
        }
    }
    let (counted, uncounted): (Vec<&LedgerSample>, _) =
        samples.iter().partition(|sample| sample.preempted_ns.is_some());
    let tasks = |of: &[&LedgerSample]| named(of, losses).0;
    parts.extend(shared(tasks(&counted), preempted_ns, NoiseSource::Preempted, is_rough));
    parts.extend(shared(tasks(&uncounted), waited_ns, NoiseSource::Waited, is_rough));
    for (source, ns) in [(NoiseSource::Queued, queued_ns), (NoiseSource::Quota, quota_ns)] {
        parts.push(LedgerEntry { is_estimate: is_rough, ..LedgerEntry::exact(source, ns) });
    }
    if let Some(cpu_ns) = cpu_ns {
        let beyond_ns: i64 = cpu_ns.iter().sum();
        // Interrupts are part of the run's CPU time. Those in every run are no noise.
        let most_ns = beyond_usual_ns(samples, losses).clamp(0, beyond_ns.max(0));
        let all: Vec<&LedgerSample> = samples.iter().collect();
        parts.extend(shared(named(&all, losses).1, most_ns, NoiseSource::Unexplained, false));
        parts.extend(computing(samples, &cpu_ns, most_ns, interruption_ns));
    }
    Some(ArmLedger {
        arm: summary.arm,
        label,
        n: samples.len(),
        t0_ns,
        is_upper_limit: times.is_upper_limit,
        measured_ns: samples.iter().map(|sample| sample.wall_ns).sum(),
        ledger: Ledger::new(total_ns, parts, NoiseSource::Unexplained),
        threads: usual.threads,
        n_uncounted: if has_switches { uncounted.len() } else { 0 },
    })
}

/// Programs and interrupts in the traces of all these runs.
fn named(
    samples: &[&LedgerSample],
    losses: &EntriesByStep<'_>,
) -> (Vec<LedgerEntry>, Vec<LedgerEntry>) {
    let traced = samples.iter().filter_map(|sample| losses.get(&sample.step));
    let all = traced.flat_map(|entries| entries.iter().cloned());
    all.partition(|entry| matches!(entry.source, NoiseSource::Task { .. }))
}

/// Interrupt time above the run with the least.
fn beyond_usual_ns(samples: &[LedgerSample], losses: &EntriesByStep<'_>) -> i64 {
    let of_run = |sample: &LedgerSample| {
        let entries = losses.get(&sample.step).copied().unwrap_or_default();
        let interrupts = entries.iter().filter(|it| !matches!(it.source, NoiseSource::Task { .. }));
        interrupts.map(|entry| entry.ns).sum::<i64>()
    };
    let each: Vec<i64> = samples.iter().map(of_run).collect();
    each.iter().sum::<i64>() - each.iter().min().unwrap_or(&0) * each.len() as i64
}

/// Divides a time among traced sources; `rest` gets the remainder. If the sources took more than the time, all are
/// scaled down.
fn shared(
    traced: Vec<LedgerEntry>,
    ns: i64,
    rest: NoiseSource,
    is_rough: bool,
) -> Vec<LedgerEntry> {
    let traced_ns: i64 = traced.iter().map(|entry| entry.ns).sum();
    // The rest of a partial trace has no measured source.
    let is_estimate = is_rough || traced_ns > ns;
    let mut left_ns = ns;
    let mut parts = Vec::new();
    for entry in traced {
        let part = if traced_ns > ns { entry.scaled(ns.max(0), traced_ns) } else { entry };
        left_ns -= part.ns;
        parts.push(LedgerEntry { is_estimate, ..part });
    }
    if !rest.is_unexplained() {
        parts.push(LedgerEntry { is_estimate, ..LedgerEntry::exact(rest, left_ns) });
    }
    parts
}

/// The slices of the record, or its runs without slices.
fn rows_of(record: &Record) -> &Rows {
    record.slices.as_ref().unwrap_or(&record.rows)
}

pub fn has_evidence(record: &Record) -> bool {
    let rows = rows_of(record);
    [Metric::PreemptedNs, Metric::RunQueueWaitNs].into_iter().any(|metric| rows.has(metric))
}

#[cfg(test)]
mod tests;
