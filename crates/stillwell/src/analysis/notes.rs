//! Notes for the reader of a result: sources of lost time and limits of the data. As data; `render` has the words.

use serde::Serialize;

use crate::analysis::comparison::{Comparison, Evidence};
use crate::analysis::ledger::RecordLedger;
use crate::analysis::neighbours::Neighbours;
use crate::analysis::steadiness::{self, SteadinessFlag};
use crate::analysis::summary::ArmSummary;
use crate::ledger::LedgerEntry;
use crate::plan::priority::{NICE, REAL_TIME};
use crate::record::{Event, Header, Record, Rows};
use crate::values::metric::Metric;
use crate::values::read_cpu_list;

/// One note.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
    /// Share of the total time that the note is about; notes are sorted by it.
    pub weight: f64,
}

/// The kinds of findings. Shares are of the measured time; arms are indices into the plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "finding", rename_all = "snake_case")]
pub enum Finding {
    /// The time above t0: its sum, and its largest parts with a cause. `share` is the largest part ÷ the measured
    /// time.
    Lost { total_ns: i64, share: f64, parts: Vec<LedgerEntry> },
    /// The runs of each value of a parameter followed a setup or a cleanup of their own, so they were not mixed.
    NotMixed,
    /// Page faults that read from a device.
    MajorFaults { n: f64 },
    /// Moves between CPUs.
    Migrations { per_run: f64 },
    /// The other hardware thread of the core was busy when runs, or slices, began.
    Neighbours(Neighbours),
    /// The machine was busy when the session started.
    Busy { load: f64, n_cpus: u32 },
    /// Runs failed, which ended their session; they do not count.
    RejectedRuns { arm: usize, n: usize, n_runs: usize },
    /// Runs failed, but they count.
    FailedRuns { arm: usize, n: usize, n_runs: usize },
    /// Runs took longer than the timeout and do not count.
    TimedOutRuns { arm: usize, n: usize, n_runs: usize },
    /// The arm's peak memory is not above the launcher's.
    MemoryFloor { arm: usize, floor_kib: u64 },
    /// The low tail of the arm's times does not end.
    NoFloor { arm: usize },
    /// The times of the arm are not those of one steady process. `n_warmups`: warm-up runs that would leave out the
    /// slow start, if there was one.
    Unstable { arm: usize, flags: Vec<SteadinessFlag>, n_warmups: Option<usize> },
    /// Blocks at the beginning were slower and are left out of a comparison. `n_warmups`: warm-up runs that would
    /// leave them out, if the plan can have them.
    SlowStart { n_blocks: usize, n_warmups: Option<usize> },
    /// Workers waited on the run queue for a large share of their slices' time.
    WorkersWaited { share: f64 },
    /// A loop of the arm takes hardly any time: the compiler may have removed the work.
    HardlyAnything { arm: usize, per_loop_ns: f64 },
    /// Slices at the beginning of each process were slower and are left out. `is_steady`: the warm-up came to an end.
    WarmUp { arm: usize, n_slices: u32, is_steady: bool },
    /// The arm has several threads on one CPU.
    OneCpu { arm: usize, n_threads: u32 },
    /// The shield was lost before the end; other programs may have disturbed the last runs.
    ShieldLost { n_runs: usize, why: String },
    /// On CPUs without other programs, the processes or threads of the runs waited for each other.
    SharedCpus { share: f64, n_cpus: usize },
    /// More threads of the runs were ready than they had CPUs, for this share of the time.
    Crowded { share: f64, n_threads: u64, n_cpus: usize },
    /// The nice level counts only among the commands of one terminal, and other programs took the CPU.
    NiceInTerminal { share: f64 },
    /// Runs were long enough for the kernel to stop a real-time program.
    RealTimePauses { why: String },
    /// All runs of all arms are forks of one process, so they share one memory layout.
    OneLayout,
}

impl Finding {
    /// The arm of the note.
    pub fn arm_mut(&mut self) -> Option<&mut usize> {
        match self {
            Self::RejectedRuns { arm, .. }
            | Self::FailedRuns { arm, .. }
            | Self::TimedOutRuns { arm, .. }
            | Self::MemoryFloor { arm, .. }
            | Self::NoFloor { arm }
            | Self::Unstable { arm, .. }
            | Self::HardlyAnything { arm, .. }
            | Self::WarmUp { arm, .. }
            | Self::OneCpu { arm, .. } => Some(arm),
            _ => None,
        }
    }
}

/// Smallest share of the measured time for a note.
const SHARE_MIN: f64 = 0.002;

/// All notes, the heaviest first.
pub fn notes(
    record: &Record,
    arms: &[ArmSummary],
    comparisons: &[Comparison],
    ledger: Option<&RecordLedger>,
    neighbours: Option<Neighbours>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    if let Some(slices) = &record.slices {
        notes.extend(sliced(record, slices, arms));
        notes.extend(neighbours.and_then(on_the_core));
        notes.extend(load(record));
        notes.extend(warmups(record, comparisons));
        notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        return notes;
    }
    let total_ns: f64 = arms
        .iter()
        .filter_map(|arm| Some(arm.times.as_ref()?.mean.value * arm.n_runs as f64))
        .sum();
    notes.extend(failed_runs(arms));
    notes.extend(not_mixed(record));
    notes.extend(lost_shield(record));
    notes.extend(memory_floor(record, arms));
    if total_ns > 0.0 {
        notes.extend(ledger.and_then(lost));
        notes.extend(shared_cpus(record, total_ns).or_else(|| crowded(record)));
        notes.extend(priority(record, total_ns));
        notes.extend(faults(record, total_ns));
        notes.extend(migrations(arms));
        notes.extend(neighbours.and_then(on_the_core));
        notes.extend(load(record));
    }
    notes.extend(floors(arms));
    notes.extend(warmups(record, comparisons));
    notes.extend(unstable(record));
    notes.retain(|note| note.weight >= SHARE_MIN);
    notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    notes
}

fn not_mixed(record: &Record) -> Option<Note> {
    let arms = &record.header.plan.arms;
    let has_own = arms.iter().any(|arm| arm.setup.is_some() || arm.cleanup.is_some());
    has_own.then_some(Note { finding: Finding::NotMixed, weight: 1.0 })
}

/// Smallest share of runs on a shared core for a note. Probes take 4 µs, so an interrupt may hit some.
const SHARED_CORE_MIN: f64 = 0.05;

fn on_the_core(found: Neighbours) -> Option<Note> {
    let cost = found.ratio.map_or(0.1, |ratio| (ratio - 1.0).max(0.0));
    let is_worth_it = found.share() >= SHARED_CORE_MIN && cost > 0.0;
    is_worth_it.then(|| Note { finding: Finding::Neighbours(found), weight: found.share() * cost })
}

/// A faster loop is most likely empty: CPython's own takes some 5 ns, a compiled one 0.3 ns or less.
const HARDLY_NS: f64 = 1.0;
/// Blocking and waking alone cost up to this share.
pub(super) const WAIT_MIN: f64 = 0.1;

/// The notes on slices.
fn sliced(record: &Record, slices: &Rows, arms: &[ArmSummary]) -> Vec<Note> {
    let mut notes = Vec::new();
    let wait = arms.iter().filter_map(|arm| arm.sliced.as_ref()?.wait_share).fold(0.0, f64::max);
    if wait > WAIT_MIN {
        notes.push(Note { finding: Finding::WorkersWaited { share: wait }, weight: wait });
    }
    for arm in arms.iter().filter(|arm| !arm.is_hidden) {
        let is_timed = slices.has(Metric::Loops) && record.header.plan.arms[arm.arm].unit.is_time();
        let per_loop_ns = arm.times.as_ref().map(|wall| wall.t0.value).filter(|_| is_timed);
        if let Some(per_loop_ns) = per_loop_ns.filter(|&ns| ns < HARDLY_NS) {
            let finding = Finding::HardlyAnything { arm: arm.arm, per_loop_ns };
            notes.push(Note { finding, weight: 1.0 });
        }
    }
    let n_cpus = record.header.plan.process.affinity.as_ref().map_or(usize::MAX, Vec::len);
    for event in &record.events {
        let Event::Worker { arm, n_warmup_slices, is_steady, n_threads, .. } = event else {
            continue;
        };
        let arm = *arm as usize;
        if *n_warmup_slices >= WARMUP_SLICES_MIN || !is_steady {
            let finding =
                Finding::WarmUp { arm, n_slices: *n_warmup_slices, is_steady: *is_steady };
            notes.push(Note { finding, weight: 0.02 });
        }
        if let Some(n_threads) = n_threads.filter(|&n| n > 1 && n_cpus == 1) {
            notes.push(Note { finding: Finding::OneCpu { arm, n_threads }, weight: 0.5 });
        }
    }
    if record.header.plan.is_forked() {
        notes.push(Note { finding: Finding::OneLayout, weight: 0.03 });
    }
    notes
}

/// Smallest number of left-out slices for a note. Fewer slices at the beginning are always left out.
const WARMUP_SLICES_MIN: u32 = 2;

/// Sum of a metric over the measured runs; `None` if no run has it.
fn total(record: &Record, metric: Metric) -> Option<f64> {
    let rows = &record.rows;
    let indices = (0..rows.len()).filter(|&index| rows.is_measurement(index));
    let values = indices.filter_map(|index| rows.get(index, metric));
    values.map(|value| value as f64).reduce(|sum, value| sum + value)
}

/// Most parts of the lost time in the note.
const PARTS_MAX: usize = 3;
/// Smallest share of the lost time for a part in the note.
const PART_MIN: f64 = 0.05;

fn lost(ledger: &RecordLedger) -> Option<Note> {
    let total_ns = ledger.total.total_ns;
    let share = ledger.total.largest()?.ns as f64 / ledger.measured_ns as f64;
    let is_worth_a_word = |entry: &&LedgerEntry| {
        !entry.source.is_unexplained() && entry.ns as f64 >= PART_MIN * total_ns as f64
    };
    let named = ledger.total.entries.iter().filter(is_worth_a_word).take(PARTS_MAX);
    let parts: Vec<LedgerEntry> = named.cloned().collect();
    let finding = Finding::Lost { total_ns, share, parts };
    Some(Note { finding, weight: share })
}

/// Smallest share of the time that shows several threads on one CPU; a kernel thread takes less.
const SHARED_MIN: f64 = 0.05;

/// Threads of the runs that shared the CPUs of a shield. The threshold leaves out single kernel threads.
fn shared_cpus(record: &Record, total_ns: f64) -> Option<Note> {
    let n_cpus = shielded_cpus(record)?;
    let share = total(record, Metric::PreemptedNs)? / total_ns;
    let finding = Finding::SharedCpus { share, n_cpus };
    (share >= SHARED_MIN).then_some(Note { finding, weight: share })
}

/// Runs with more threads than CPUs. A shorter time is that of a process that starts another one and waits for it.
fn crowded(record: &Record) -> Option<Note> {
    let share = total(record, Metric::CrowdedNs)? / total(record, Metric::WallNs)?;
    let rows = &record.rows;
    let runs = (0..rows.len()).filter(|&at| rows.is_measurement(at));
    let n_threads = runs.filter_map(|at| rows.get(at, Metric::RunnableMax)).max()?;
    let Header { plan, facts, .. } = &record.header;
    let allowed = || Some(read_cpu_list(facts.cpus_allowed.as_deref()?)?.len());
    let n_cpus = plan.process.affinity.as_ref().map(Vec::len).or_else(allowed)?;
    let finding = Finding::Crowded { share, n_threads, n_cpus };
    (share >= SHARED_MIN).then_some(Note { finding, weight: share / 2.0 })
}

/// Number of CPUs reserved for the runs; `None` without a shield, or if it was lost.
fn shielded_cpus(record: &Record) -> Option<usize> {
    let isolation =
        record.header.isolation.as_ref().filter(|isolation| isolation.how.is_shield())?;
    let is_whole = isolation.n_tasks_left == 0 && lost_shield(record).is_none();
    is_whole.then(|| isolation.bound_cpus().len())
}

fn lost_shield(record: &Record) -> Option<Note> {
    let (first, why) = record.events.iter().find_map(|event| match event {
        Event::IsolationLost { first_step, why, .. } => Some((*first_step, why.clone())),
        _ => None,
    })?;
    let rows = &record.rows;
    let n_runs = (0..rows.len()).filter(|&at| rows.is_measurement(at) && rows.step(at) >= first);
    Some(Note { finding: Finding::ShieldLost { n_runs: n_runs.count(), why }, weight: 1.0 })
}

/// Shorter runs end before the kernel stops a real-time program.
const PAUSE_AFTER_NS: u64 = 900_000_000;

/// Limits of a nice level or of a real-time policy, where they have an effect.
fn priority(record: &Record, total_ns: f64) -> Vec<Note> {
    let rows = &record.rows;
    let gap = |what: &str| record.header.gaps.iter().find(|gap| gap.what == what);
    let preempted = total(record, Metric::PreemptedNs).map_or(0.0, |ns| ns / total_ns);
    let nice = gap(NICE)
        .map(|_| Note { finding: Finding::NiceInTerminal { share: preempted }, weight: preempted });
    let is_long = (0..rows.len()).any(|at| {
        rows.is_measurement(at)
            && rows.get(at, Metric::WallNs).is_some_and(|ns| ns > PAUSE_AFTER_NS)
    });
    let real_time = gap(REAL_TIME).filter(|_| is_long).map(|gap| Note {
        finding: Finding::RealTimePauses { why: gap.why.clone() },
        weight: 0.05,
    });
    nice.into_iter().chain(real_time).collect()
}

fn faults(record: &Record, total_ns: f64) -> Option<Note> {
    let n = total(record, Metric::MajorFaults).filter(|&n| n > 0.0)?;
    // A read from a device takes some 100 µs. The estimate only gives the note its place among the others.
    Some(Note { finding: Finding::MajorFaults { n }, weight: n * 1e5 / total_ns })
}

fn migrations(arms: &[ArmSummary]) -> Option<Note> {
    let of = |arm: &ArmSummary| {
        let metric = arm.metrics.iter().find(|metric| metric.name == "migrations")?;
        Some((metric.mean * metric.n as f64, metric.n as f64))
    };
    let (n_migrations, n_runs) =
        arms.iter().filter_map(of).reduce(|sum, arm| (sum.0 + arm.0, sum.1 + arm.1))?;
    let per_run = n_migrations / n_runs;
    let weight = (per_run * 0.005).min(0.02);
    (per_run > 0.05).then_some(Note { finding: Finding::Migrations { per_run }, weight })
}

fn load(record: &Record) -> Option<Note> {
    let facts = &record.header.facts;
    let [load, ..] = facts.load_average?;
    let n_cpus = facts.topology.as_ref()?.n_cpus;
    let is_busy = load > 0.5 * f64::from(n_cpus);
    is_busy.then_some(Note { finding: Finding::Busy { load, n_cpus }, weight: 0.01 })
}

fn failed_runs(arms: &[ArmSummary]) -> Vec<Note> {
    let of_arm = |arm: &ArmSummary| {
        let n_runs = arm.n_runs + arm.n_timed_out + arm.n_failed;
        let found = [
            (arm.n_failed, Finding::RejectedRuns { arm: arm.arm, n: arm.n_failed, n_runs }),
            (
                arm.n_nonzero_exits,
                Finding::FailedRuns { arm: arm.arm, n: arm.n_nonzero_exits, n_runs },
            ),
            (arm.n_timed_out, Finding::TimedOutRuns { arm: arm.arm, n: arm.n_timed_out, n_runs }),
        ];
        found.into_iter().filter(|(n, _)| *n > 0).map(|(_, finding)| Note { finding, weight: 1.0 })
    };
    arms.iter().flat_map(of_arm).collect()
}

fn memory_floor(record: &Record, arms: &[ArmSummary]) -> Option<Note> {
    let floor_kib = record.events.iter().find_map(|event| match event {
        Event::Launcher { maxrss_floor_kib, .. } => Some(*maxrss_floor_kib),
        _ => None,
    })?;
    let binds = |arm: &&ArmSummary| {
        let maxrss = arm.metrics.iter().find(|metric| metric.name == "maxrss");
        !arm.is_hidden && maxrss.is_some_and(|maxrss| maxrss.median <= floor_kib as f64 * 1024.0)
    };
    let arm = arms.iter().find(binds)?.arm;
    Some(Note { finding: Finding::MemoryFloor { arm, floor_kib }, weight: 0.004 })
}

fn floors(arms: &[ArmSummary]) -> Vec<Note> {
    let is_without = |arm: &&ArmSummary| {
        !arm.is_hidden && arm.times.as_ref().is_some_and(|wall| !wall.has_floor)
    };
    let without = arms.iter().filter(is_without);
    without.map(|arm| Note { finding: Finding::NoFloor { arm: arm.arm }, weight: 0.006 }).collect()
}

fn warmups(record: &Record, comparisons: &[Comparison]) -> Option<Note> {
    let n_dropped = comparisons.iter().filter_map(|comparison| match &comparison.evidence {
        Evidence::Paired(paired) => Some(paired.n_warmup_pairs),
        _ => None,
    });
    let n_blocks = n_dropped.max().filter(|&n_blocks| n_blocks >= 2)?;
    let n_warmups = (!record.header.plan.in_slices).then_some(n_blocks + 1);
    Some(Note { finding: Finding::SlowStart { n_blocks, n_warmups }, weight: 0.008 })
}

/// The weight is below that of every cause, because unsteady times are no explanation.
fn unstable(record: &Record) -> Vec<Note> {
    let found = steadiness::unstable_candidates(record).into_iter();
    found
        .map(|(arm, flags, slow_start)| {
            let n_warmups = slow_start.map(|found| found.n_warmups);
            Note { finding: Finding::Unstable { arm, flags, n_warmups }, weight: 0.005 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fixture;

    /// Runs of 1 ms on two CPUs. `sh` and what it starts are ready together for a moment, which is no finding.
    #[test]
    fn threads_beyond_the_cpus_are_a_finding_if_they_last() {
        let found = |crowded_ns: u64| {
            let mut record = fixture::record(&["a"]);
            record.header.plan.process.affinity = Some(vec![2, 3]);
            for step in 0..4 {
                let mut row = fixture::row(step, 0, Some(step), 1_000_000);
                row.set(Metric::RunnableMax, Some(3 + u64::from(step)));
                row.set(Metric::CrowdedNs, Some(crowded_ns));
                row.exit = 0;
                record.rows.push(&row);
            }
            crowded(&record).map(|note| note.finding)
        };
        let expected = Finding::Crowded { share: 0.25, n_threads: 6, n_cpus: 2 };
        assert_eq!(found(250_000), Some(expected));
        assert_eq!(found(40_000), None);
    }
}
