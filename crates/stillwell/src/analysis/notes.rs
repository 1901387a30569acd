//! What a reader of the numbers should know: who took the time, and what to do about it.

use serde::Serialize;

use crate::analysis::{ArmSummary, Comparison, Evidence};
use crate::metric::Metric;
use crate::record::{Event, Record};

/// One remark.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Note {
    /// What was found, with its numbers.
    pub what: String,
    /// What would help.
    pub advice: Option<String>,
    /// Share of the total time that it is about; notes are in order of it.
    pub weight: f64,
}

/// Shares of the measured time below this are not worth a note.
const SHARE_MIN: f64 = 0.002;

/// All remarks, the heaviest first.
pub fn notes(record: &Record, arms: &[ArmSummary], comparisons: &[Comparison]) -> Vec<Note> {
    let total_ns: f64 =
        arms.iter().filter_map(|arm| Some(arm.wall.as_ref()?.mean.value * arm.n_runs as f64)).sum();
    let mut notes = Vec::new();
    notes.extend(failed_runs(arms));
    notes.extend(memory_floor(record, arms));
    if total_ns > 0.0 {
        notes.extend(waiting(record, arms, total_ns));
        notes.extend(faults(record, total_ns));
        notes.extend(migrations(arms));
        notes.extend(load(record));
    }
    notes.extend(floors(arms));
    notes.extend(warmups(comparisons));
    notes.retain(|note| note.weight >= SHARE_MIN);
    notes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    notes
}

/// Sum of a metric over the measured runs; `None` if no run has it.
fn total(record: &Record, metric: Metric) -> Option<f64> {
    let rows = &record.rows;
    let indices = (0..rows.len()).filter(|&index| rows.is_measurement(index));
    let values = indices.filter_map(|index| rows.get(index, metric));
    values.map(|value| value as f64).reduce(|sum, value| sum + value)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent >= 9.95 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

fn waiting(record: &Record, arms: &[ArmSummary], total_ns: f64) -> Vec<Note> {
    let excess_ns: f64 = arms
        .iter()
        .filter_map(|arm| {
            arm.wall.as_ref().map(|wall| (wall.mean.value - wall.t0.value) * arm.n_runs as f64)
        })
        .sum();
    let of_excess = |ns: f64| match ns / excess_ns {
        share if share.is_finite() && (0.0..=1.0).contains(&share) => {
            format!(" ({} of the time above t0)", percent(share))
        }
        _ => String::new(),
    };
    let mut notes = Vec::new();
    if let Some(ns) = total(record, Metric::PreemptedNs) {
        notes.push(Note {
            what: format!(
                "other programs took the CPU for {} of the time{}",
                percent(ns / total_ns),
                of_excess(ns)
            ),
            advice: Some("--affinity on a quiet CPU, or --sched fifo as root".into()),
            weight: ns / total_ns,
        });
    }
    if let Some(ns) = queued_ns(record) {
        notes.push(Note {
            what: format!(
                "runs waited for a free CPU for {} of the time{}",
                percent(ns / total_ns),
                of_excess(ns)
            ),
            advice: Some("fewer programs at the same time, or --affinity on a quiet CPU".into()),
            weight: ns / total_ns,
        });
    }
    notes
}

/// Time on the run queue while the clock ran, beyond what follows a preemption. schedstat counts from the creation of
/// the process; before the clock started it cannot have waited longer than the whole launch took, so this is a lower
/// bound.
fn queued_ns(record: &Record) -> Option<f64> {
    let rows = &record.rows;
    let of_row = |index: usize| {
        let waited_ns = rows.get(index, Metric::RunQueueWaitNs)?;
        let launch_ns = rows.get(index, Metric::SpawnNs).unwrap_or(0);
        let preempted_ns = rows.get(index, Metric::PreemptedNs).unwrap_or(0);
        Some(waited_ns.saturating_sub(launch_ns + preempted_ns) as f64)
    };
    let measured = (0..rows.len()).filter(|&index| rows.is_measurement(index));
    measured.filter_map(of_row).reduce(|sum, ns| sum + ns)
}

fn faults(record: &Record, total_ns: f64) -> Option<Note> {
    let n_faults = total(record, Metric::MajorFaults).filter(|&n_faults| n_faults > 0.0)?;
    // A read from a device takes some 100 µs; only to put the note in its place among the others.
    Some(Note {
        what: format!("{n_faults} page faults had to read from a device"),
        advice: Some("more --warmup, or --cold-cache if that is what is to be measured".into()),
        weight: n_faults * 1e5 / total_ns,
    })
}

fn migrations(arms: &[ArmSummary]) -> Option<Note> {
    let of = |arm: &ArmSummary| {
        let metric = arm.metrics.iter().find(|metric| metric.name == "migrations")?;
        Some((metric.mean * metric.n as f64, metric.n as f64))
    };
    let (n_migrations, n_runs) =
        arms.iter().filter_map(of).reduce(|sum, arm| (sum.0 + arm.0, sum.1 + arm.1))?;
    let per_run = n_migrations / n_runs;
    (per_run > 0.05).then(|| Note {
        what: format!("runs moved to another CPU {per_run:.2} times on average"),
        advice: Some("--affinity".into()),
        weight: (per_run * 0.005).min(0.02),
    })
}

fn load(record: &Record) -> Option<Note> {
    let facts = &record.header.facts;
    let [load, ..] = facts.load_average?;
    let n_cpus = f64::from(facts.topology.as_ref()?.n_cpus);
    (load > 0.5 * n_cpus).then(|| Note {
        what: format!("the machine was busy at the start: load {load:.1} on {n_cpus} CPUs"),
        advice: None,
        weight: 0.01,
    })
}

fn failed_runs(arms: &[ArmSummary]) -> Vec<Note> {
    let note = |arm: &ArmSummary, n: usize, what: &str| {
        let n_all = arm.n_runs + arm.n_timed_out;
        let runs = if n_all == 1 { "run" } else { "runs" };
        let what = format!("{n} of {n_all} {runs} of command {} {what}", arm.arm + 1);
        (n > 0).then_some(Note { what, advice: None, weight: 1.0 })
    };
    let of_arm = |arm: &ArmSummary| {
        [
            note(arm, arm.n_nonzero_exits, "exited with a failure"),
            note(arm, arm.n_timed_out, "took longer than the timeout and did not count"),
        ]
    };
    arms.iter().flat_map(of_arm).flatten().collect()
}

fn memory_floor(record: &Record, arms: &[ArmSummary]) -> Option<Note> {
    let floor_kib = record.events.iter().find_map(|event| match event {
        Event::Launcher { maxrss_floor_kib } => Some(*maxrss_floor_kib),
        _ => None,
    })?;
    let binds = |arm: &&ArmSummary| {
        let maxrss = arm.metrics.iter().find(|metric| metric.name == "maxrss");
        !arm.is_control && maxrss.is_some_and(|maxrss| maxrss.median <= floor_kib as f64 * 1024.0)
    };
    let arm = arms.iter().find(binds)?;
    Some(Note {
        what: format!(
            "peak memory of command {} is not above that of our launcher ({floor_kib} KiB); its own may be lower",
            arm.arm + 1
        ),
        advice: None,
        weight: 0.004,
    })
}

fn floors(arms: &[ArmSummary]) -> Vec<Note> {
    let note = |arm: &ArmSummary| {
        let without = arm.wall.as_ref().is_some_and(|wall| !wall.has_floor) && !arm.is_control;
        without.then(|| Note {
            what: format!(
                "command {} shows no lower limit of its time; its t0 is the smallest run",
                arm.arm + 1
            ),
            advice: Some("more runs, or --estimand typical".into()),
            weight: 0.006,
        })
    };
    arms.iter().filter_map(note).collect()
}

fn warmups(comparisons: &[Comparison]) -> Option<Note> {
    let n_dropped = comparisons.iter().filter_map(|comparison| match &comparison.evidence {
        Evidence::Paired(paired) => Some(paired.n_warmup_pairs),
        _ => None,
    });
    let n_dropped = n_dropped.max().filter(|&n_dropped| n_dropped >= 2)?;
    Some(Note {
        what: format!(
            "the first {n_dropped} blocks were slower than the rest and are left out of the comparison"
        ),
        advice: Some(format!("--warmup {}", n_dropped + 1)),
        weight: 0.008,
    })
}
