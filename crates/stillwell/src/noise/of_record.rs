//! Record → where the time above t0 went, arm by arm. Pure.
//!
//! A run of one thread is on a CPU, ready but without one, or asleep, so
//!
//! ```text
//! wall - t0 = (preempted - least) + (queued - least) + (on the CPU - what it takes) + (asleep - what it sleeps)
//! ```
//!
//! holds exactly, run by run. What a run has of each without noise is what the least disturbed runs have: the smallest
//! preemption and queueing, and of the rest the shares of the lowest fifth. The time on the CPU is divided further by
//! estimates; what they leave is not explained.

use std::collections::HashMap;

use serde::Serialize;
use stats::series::theil_sen_at;

use crate::analysis::ArmSummary;
use crate::metric::Metric;
use crate::noise::ledger::{Entry, Ledger, Source};
use crate::record::{Event, Record};

use self::sample::{Sample, samples_by_arm};

mod sample;

/// The ledgers of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordLedger {
    /// Of each arm that has times; hidden ones are left out.
    pub arms: Vec<ArmLedger>,
    /// Of all of them together.
    pub total: Ledger,
    /// Time that was measured in all, ns.
    pub measured_ns: i64,
    /// What reading the evidence cost, where that was measured.
    pub evidence: Option<EvidenceCost>,
}

/// What it cost to read what the kernel counts of the runs. None of it is in their times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EvidenceCost {
    /// For a run, between this one and the next, ns.
    pub of_run_ns: f64,
    /// As a share of the time of the runs.
    pub share: f64,
}

/// The ledger of an arm: all its runs that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ArmLedger {
    /// Index in the plan.
    pub arm: usize,
    /// What to call it.
    pub label: String,
    /// Runs, or slices of them.
    pub n: usize,
    /// Its time without noise, ns.
    pub t0_ns: f64,
    /// Time that was measured, ns.
    pub measured_ns: i64,
    /// Where the time above t0 went.
    pub ledger: Ledger,
    /// Whether it had several CPUs at a time: what it waited for is no part of its wall time then, and nothing but
    /// preemption is told apart.
    pub is_parallel: bool,
}

/// Share of an arm's runs that counts as undisturbed.
const LOW: f64 = 0.2;
/// More CPU time than wall time by this factor is more than one thread.
const PARALLEL_FROM: f64 = 1.1;
/// Fewest runs that costs are estimated from, and most: the estimate takes their square.
const ESTIMATE_RUNS_MIN: usize = 20;
const ESTIMATE_RUNS_MAX: usize = 300;

/// The ledgers of a record; `None` when nothing in it has a time.
pub fn of_record(record: &Record, arms: &[ArmSummary]) -> Option<RecordLedger> {
    let samples = samples_by_arm(record, arms);
    let taken = taken_by_step(record);
    let arms: Vec<ArmLedger> = arms
        .iter()
        .zip(samples)
        .filter(|(arm, samples)| !arm.is_hidden && !samples.is_empty())
        .filter_map(|(arm, samples)| {
            of_arm(arm, &record.header.plan.full_label(arm.arm), &samples, &taken)
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
    let wall_ns: u64 = (0..rows.len()).filter_map(|index| rows.get(index, Metric::WallNs)).sum();
    let of_run_ns = evidence_ns / rows.len() as f64;
    (wall_ns > 0).then(|| EvidenceCost { of_run_ns, share: evidence_ns / wall_ns as f64 })
}

/// What a trace says of each run: who took the CPU from it.
type Taken<'a> = HashMap<u32, &'a [Entry]>;

fn taken_by_step(record: &Record) -> Taken<'_> {
    let taken = record.events.iter().filter_map(|event| match event {
        Event::Taken { step, by } => Some((*step, by.as_slice())),
        _ => None,
    });
    taken.collect()
}

fn of_arm(
    summary: &ArmSummary,
    label: &str,
    samples: &[Sample],
    taken: &Taken<'_>,
) -> Option<ArmLedger> {
    let t0_ns = summary.wall.as_ref()?.t0.value;
    let total_ns = samples.iter().map(|sample| sample.wall_ns - sample.floor_ns).sum();
    let usual = Usual::of(samples);
    let mut parts = Vec::new();
    let (mut cpu_ns, mut is_capped) = (Some(Vec::new()), false);
    let (mut preempted_ns, mut queued_ns) = (0, 0);
    for sample in samples {
        let split = usual.split(sample);
        preempted_ns += split.preempted_ns;
        queued_ns += split.queued_ns;
        is_capped |= split.is_capped;
        if let Some(all) = &mut cpu_ns {
            match split.cpu_ns {
                Some(ns) => all.push(ns),
                None => cpu_ns = None,
            }
        }
        if let Some(asleep_ns) = split.asleep_ns {
            parts.push(Entry::exact(Source::Asleep, asleep_ns));
        }
    }
    let waited = |source, ns| Entry { is_estimate: is_capped, ..Entry::exact(source, ns) };
    let (tasks, interrupts) = named(samples, taken);
    parts.extend(shared(tasks, preempted_ns, Source::Preempted, is_capped));
    parts.push(waited(Source::Queued, queued_ns));
    if let Some(cpu_ns) = cpu_ns {
        let beyond_ns: i64 = cpu_ns.iter().sum();
        // What every run has of them is no noise; and they are in the CPU time of the run.
        let most_ns = beyond_usual_ns(samples, taken).clamp(0, beyond_ns.max(0));
        parts.extend(shared(interrupts, most_ns, Source::Unexplained, false));
        parts.extend(computing(samples, &cpu_ns, most_ns));
    }
    Some(ArmLedger {
        arm: summary.arm,
        label: label.into(),
        n: samples.len(),
        t0_ns,
        measured_ns: samples.iter().map(|sample| sample.wall_ns).sum(),
        ledger: Ledger::new(total_ns, parts, Source::Unexplained),
        is_parallel: usual.is_parallel(),
    })
}

/// Programs and interrupts that a trace has seen, of all runs together.
fn named(samples: &[Sample], taken: &Taken<'_>) -> (Vec<Entry>, Vec<Entry>) {
    let seen = samples.iter().filter_map(|sample| taken.get(&sample.step));
    let all = seen.flat_map(|entries| entries.iter().cloned());
    all.partition(|entry| matches!(entry.source, Source::Task { .. }))
}

/// Interrupts of all runs, beyond as many times those of the run that has least.
fn beyond_usual_ns(samples: &[Sample], taken: &Taken<'_>) -> i64 {
    let of_run = |sample: &Sample| {
        let entries = taken.get(&sample.step).copied().unwrap_or_default();
        let interrupts = entries.iter().filter(|it| !matches!(it.source, Source::Task { .. }));
        interrupts.map(|entry| entry.ns).sum::<i64>()
    };
    let each: Vec<i64> = samples.iter().map(of_run).collect();
    each.iter().sum::<i64>() - each.iter().min().unwrap_or(&0) * each.len() as i64
}

/// Divides a time among those who were seen; each gets its share of it, if they took more. What they leave is `rest`.
fn shared(seen: Vec<Entry>, ns: i64, rest: Source, is_capped: bool) -> Vec<Entry> {
    let seen_ns: i64 = seen.iter().map(|entry| entry.ns).sum();
    let mut left_ns = ns;
    let mut parts = Vec::new();
    for entry in seen {
        let share_ns = if seen_ns > ns { scaled(entry.ns, ns.max(0), seen_ns) } else { entry.ns };
        left_ns -= share_ns;
        parts.push(Entry { ns: share_ns, is_estimate: is_capped, ..entry });
    }
    if !rest.is_unexplained() {
        parts.push(Entry { is_estimate: is_capped, ..Entry::exact(rest, left_ns) });
    }
    parts
}

/// `ns · part / whole` without overflow.
fn scaled(ns: i64, part: i64, whole: i64) -> i64 {
    let scaled = i128::from(ns) * i128::from(part) / i128::from(whole.max(1));
    i64::try_from(scaled).unwrap_or(0)
}

/// Whether anything was recorded that can tell where time went.
pub fn has_evidence(record: &Record) -> bool {
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    [Metric::PreemptedNs, Metric::RunQueueWaitNs].into_iter().any(|metric| rows.has(metric))
}

/// What an arm has without noise.
struct Usual {
    preempted_ns: i64,
    queued_ns: i64,
    /// CPU time ÷ time that it was not waiting for a CPU.
    cpu_share: Option<f64>,
}

/// The excess of a run.
struct Split {
    preempted_ns: i64,
    queued_ns: i64,
    cpu_ns: Option<i64>,
    asleep_ns: Option<i64>,
    /// Whether it waited for longer than it took: several threads did at once.
    is_capped: bool,
}

impl Usual {
    fn of(samples: &[Sample]) -> Self {
        let least =
            |of: fn(&Sample) -> Option<i64>| samples.iter().filter_map(of).min().unwrap_or(0);
        let mut order: Vec<&Sample> = samples.iter().collect();
        let n_low = ((samples.len() as f64 * LOW).ceil() as usize).max(1);
        if n_low < order.len() {
            let excess = |sample: &Sample| sample.wall_ns as f64 / sample.floor_ns.max(1) as f64;
            order.select_nth_unstable_by(n_low, |a, b| excess(a).total_cmp(&excess(b)));
            order.truncate(n_low);
        }
        let cpu_ns: Option<i64> = order.iter().map(|sample| sample.cpu_ns).sum();
        let rest_ns: i64 = order.iter().map(|sample| sample.rest_ns()).sum();
        Self {
            preempted_ns: least(|sample| sample.preempted_ns),
            queued_ns: least(|sample| sample.queued_ns),
            cpu_share: cpu_ns.filter(|_| rest_ns > 0).map(|ns| ns as f64 / rest_ns as f64),
        }
    }

    fn is_parallel(&self) -> bool {
        self.cpu_share.is_some_and(|share| share > PARALLEL_FROM)
    }

    fn split(&self, sample: &Sample) -> Split {
        let excess_ns = sample.wall_ns - sample.floor_ns;
        let mut preempted_ns = sample.preempted_ns.map_or(0, |ns| ns - self.preempted_ns);
        let mut queued_ns = sample.queued_ns.map_or(0, |ns| ns - self.queued_ns);
        let waited_ns = preempted_ns + queued_ns;
        let is_capped = waited_ns > excess_ns.max(0);
        if is_capped {
            preempted_ns = scaled(preempted_ns, excess_ns.max(0), waited_ns);
            queued_ns = excess_ns.max(0) - preempted_ns;
        }
        let left_ns = excess_ns - preempted_ns - queued_ns;
        let (mut cpu_ns, mut asleep_ns) = (None, None);
        if let (Some(share), Some(ns)) =
            (self.cpu_share.filter(|_| !self.is_parallel()), sample.cpu_ns)
        {
            // Both parts come from one difference, so that what one has too much the other has too little.
            let usual_ns = (sample.rest_ns() - left_ns) as f64 * share;
            let more_ns = ns - usual_ns.round() as i64;
            cpu_ns = Some(more_ns);
            asleep_ns = Some(left_ns - more_ns);
        }
        Split { preempted_ns, queued_ns, cpu_ns, asleep_ns, is_capped }
    }
}

/// Reads a count of a run.
type Count = fn(&Sample) -> Option<u64>;

/// What the time on the CPU beyond the usual went to, as far as counts tell; `known_ns` of it is known already.
fn computing(samples: &[Sample], beyond_ns: &[i64], known_ns: i64) -> Vec<Entry> {
    let mut left_ns = beyond_ns.iter().sum::<i64>() - known_ns;
    let mut parts = Vec::new();
    let mut take = |source: Source, ns: f64, n: u64| {
        let ns = (ns.round() as i64).clamp(0, left_ns.max(0));
        left_ns -= ns;
        parts.push(Entry::estimate(source, ns, n));
    };
    if let Some(ns) = slower_clock_ns(samples) {
        take(Source::Frequency, ns, samples.len() as u64);
    }
    let counts: [(Source, Count); 2] = [
        (Source::Migrations, |sample| sample.migrations),
        (Source::Faults, |sample| sample.faults),
    ];
    for (source, count) in counts {
        let counted: Option<Vec<u64>> = samples.iter().map(count).collect();
        let Some(counted) = counted else { continue };
        let least = counted.iter().copied().min().unwrap_or(0);
        let n_more: u64 = counted.iter().map(|n| n - least).sum();
        if let Some(each_ns) = cost_ns(&counted, beyond_ns) {
            take(source, each_ns * n_more as f64, n_more);
        }
    }
    parts
}

/// What one more of something costs, by the slope over the runs; `None` unless both halves of the runs say much the same.
fn cost_ns(counts: &[u64], beyond_ns: &[i64]) -> Option<f64> {
    if counts.len() < ESTIMATE_RUNS_MIN {
        return None;
    }
    let stride = counts.len().div_ceil(ESTIMATE_RUNS_MAX);
    let slope = |from: usize| {
        let at = |index: &usize| index % (2 * stride) == from * stride;
        let indices: Vec<usize> = (0..counts.len()).filter(at).collect();
        let xs: Vec<f64> = indices.iter().map(|&index| counts[index] as f64).collect();
        let ys: Vec<f64> = indices.iter().map(|&index| beyond_ns[index] as f64).collect();
        theil_sen_at(&xs, &ys).ok().filter(|slope| *slope > 0.0)
    };
    let (even, odd) = (slope(0)?, slope(1)?);
    (even < 2.0 * odd && odd < 2.0 * even).then_some(even.midpoint(odd))
}

/// Time that a clock slower than in the fastest runs has cost.
fn slower_clock_ns(samples: &[Sample]) -> Option<f64> {
    let rates: Option<Vec<f64>> = samples
        .iter()
        .map(|sample| Some(sample.cycles? / sample.cpu_ns.filter(|&ns| ns > 0)? as f64))
        .collect();
    let rates = rates?;
    let top = stats::Sorted::new(&rates).ok()?.quantile(1.0 - LOW / 2.0);
    let lost = samples
        .iter()
        .zip(&rates)
        .map(|(sample, rate)| sample.cpu_ns.unwrap_or(0) as f64 * (1.0 - rate / top).max(0.0));
    (top > 0.0).then(|| lost.sum())
}

#[cfg(test)]
mod tests;
