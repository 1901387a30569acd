//! CPU time, waits and counters of the slices of an arm.

use std::collections::BTreeMap;

use crate::arm_values::by_arm;
use crate::finding::{Finding, Note};
use crate::launches::gathered;
use crate::long_slices::long_slices;
use crate::quiet::QuietSlices;
use crate::summary::{ArmSummary, SliceCore, SliceSummary, UncertainValue};
use model::values::Headline;
use model::values::metric::Metric;
use record::{Event, Record, Rows};
use stats::low_end;

/// The summary of each arm of the plan; all `None` without slices. `quiet` has the slices on a quiet core.
pub(super) fn summaries(record: &Record, quiet: Option<&QuietSlices>) -> Vec<Option<SliceSummary>> {
    let plan = &record.header.plan;
    let n_arms = plan.arms.len();
    let Some(slices) = &record.slices else { return vec![None; n_arms] };
    let enough = quiet.filter(|quiet| quiet.is_enough());
    let cpu = if slices.has(Metric::CpuNs) {
        let headline = Some(Headline::Cpu);
        let runs = match enough {
            Some(quiet) => quiet.processes(plan, slices, headline),
            None => gathered(plan, slices, headline),
        };
        by_arm(&runs, n_arms, Rows::headline)
    } else {
        vec![Vec::new(); n_arms]
    };
    let totals = |metric| by_arm(&record.rows, n_arms, |rows, index| rows.get(index, metric));
    let (walls, waits) = (totals(Metric::WallNs), totals(Metric::RunQueueWaitNs));
    let cpus = totals(Metric::CpuNs);
    let empty = totals(Metric::EmptyLoopPs);
    let loops = by_arm(slices, n_arms, |rows, index| rows.get(index, Metric::Loops));
    let n_slices = by_arm(slices, n_arms, Rows::headline);
    let of_arm = |arm: usize| {
        (!n_slices[arm].is_empty()).then(|| SliceSummary {
            n_slices: n_slices[arm].len(),
            loops: loops[arm].iter().copied().max().unwrap_or(1),
            cpu: floor(&cpu[arm]),
            wait_share: share(&waits[arm], &walls[arm], &cpus[arm]),
            empty_loop_ns: median_ps(&empty[arm]).map(|ps| ps / 1e3),
            counters: counters(record, arm, loops[arm].iter().map(|&n| n as f64).sum()),
            is_empty_loop_off: plan
                .workers
                .as_ref()
                .is_some_and(|workers| workers.subtract_empty_loop),
            core: quiet.map(|quiet| quiet.arm(arm)).filter(|core| core.n_probed > 0).map(|core| {
                SliceCore {
                    n_probed: core.n_probed,
                    n_shared: core.n_shared,
                    n_of_t0: enough.map(|_| core.n_quiet),
                }
            }),
        })
    };
    (0..n_arms).map(of_arm).collect()
}

/// Counts of all slices ÷ their loops. A slice without a counter counts as 0.
fn counters(record: &Record, arm: usize, n_loops: f64) -> Vec<(String, f64)> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for event in &record.events {
        let Event::Counters { arm: of, counters, .. } = event else { continue };
        if *of as usize == arm {
            for (name, count) in counters {
                *totals.entry(name).or_default() += *count as f64;
            }
        }
    }
    let per_loop = |total: f64| total / n_loops.max(1.0);
    totals.into_iter().map(|(name, total)| (name.to_owned(), per_loop(total))).collect()
}

fn floor(runs: &[f64]) -> Option<UncertainValue> {
    let floor = low_end::floor(runs).ok()?;
    Some(UncertainValue { value: floor.value, err: floor.err })
}

/// The share of waits. The kernel counts them from each request to its answer, which is mostly the slice's wall time;
/// but a worker may also wait before it can read the clock.
fn share(waits_ns: &[u64], walls_ns: &[u64], cpus_ns: &[u64]) -> Option<f64> {
    let sum = |series: &[u64]| series.iter().fold(0, |sum: u64, &it| sum.saturating_add(it));
    let wait_ns = sum(waits_ns);
    let total_ns = sum(walls_ns).max(wait_ns + sum(cpus_ns));
    (!waits_ns.is_empty() && total_ns > 0).then(|| wait_ns as f64 / total_ns as f64)
}

fn median_ps(series: &[u64]) -> Option<f64> {
    let series: Vec<f64> = series.iter().map(|&ps| ps as f64).collect();
    stats::median(&series).ok()
}

/// A faster loop is most likely empty. CPython's empty loop takes some 5 ns, a compiled one 0.3 ns or less.
const HARDLY_NS: f64 = 1.0;
/// Blocking and waking alone cost up to this share.
pub(super) const WAIT_MIN: f64 = 0.1;

pub(super) fn notes_on_slices(record: &Record, slices: &Rows, arms: &[ArmSummary]) -> Vec<Note> {
    let mut notes = Vec::new();
    let wait = arms.iter().filter_map(ArmSummary::waited_share).fold(0.0, f64::max);
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
        notes.extend(clock_in_slices(record, slices, arm.arm));
        if let Some(shares) = long_slices(record, slices, arm.arm) {
            let finding = Finding::LongSlices { arm: arm.arm, shares };
            notes.push(Note { finding, weight: shares.of_time });
        }
    }
    let n_cpus = record.header.plan.process.affinity.as_ref().map_or(usize::MAX, Vec::len);
    for event in &record.events {
        let Event::Worker { arm, n_warmup_slices, is_steady, n_threads, short, .. } = event else {
            continue;
        };
        let arm = *arm as usize;
        if *n_warmup_slices >= WARMUP_SLICES_MIN || !is_steady {
            let finding =
                Finding::WarmUp { arm, n_slices: *n_warmup_slices, is_steady: *is_steady };
            notes.push(Note { finding, weight: 0.02 });
        }
        if let Some(times) = *short {
            let weight = times.short_ns / times.long_ns - 1.0;
            notes.push(Note { finding: Finding::ShortSlices { arm, times }, weight });
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

/// Python reads its clock in some 100 ns, a compiled program in less.
const CLOCK_NS: f64 = 100.0;
const CLOCK_SHARE_MIN: f64 = 0.01;

/// The note on slices that are short because the user chose them, not calibration. `--delta` subtracts the clock.
fn clock_in_slices(record: &Record, slices: &Rows, arm: usize) -> Option<Note> {
    let plan = &record.header.plan;
    let workers = plan.workers.as_ref()?;
    if workers.is_slice_free() || workers.delta || !plan.arms[arm].unit.is_time() {
        return None;
    }
    let of_arm = slices.measurements().filter(|&index| slices.arm(index) == arm);
    let walls = of_arm.filter_map(|index| slices.get(index, Metric::WallNs));
    let slice_ns = stats::median(&walls.map(|ns| ns as f64).collect::<Vec<_>>()).ok()?;
    let weight = (CLOCK_NS / slice_ns.max(1.0)).min(1.0);
    let finding = Finding::ClockInSlices { arm, slice_ns };
    (weight > CLOCK_SHARE_MIN).then_some(Note { finding, weight })
}

/// Fewest left-out slices for a note. The first slice is always left out.
const WARMUP_SLICES_MIN: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use record::Row;
    use record::plan::workers::Workers;

    fn noted(workers: Workers, slice_ns: u64) -> Option<f64> {
        let mut record = record::fixture::record(&["a"]);
        record.header.plan.in_slices = true;
        record.header.plan.workers = Some(workers);
        for step in 0..3 {
            let mut row = Row::new(step, 0, Some(step), 10_000 * u64::from(step));
            row.set(Metric::Loops, Some(1));
            row.set(Metric::WallNs, Some(slice_ns));
            record.rows.push(&row);
        }
        let record = crate::launches::gather(record);
        let note = clock_in_slices(&record, record.slices.as_ref().unwrap(), 0);
        note.map(|note| note.weight)
    }

    /// One loop of 21 ns was said to take 253 ns.
    #[test]
    fn the_clock_is_a_part_of_slices_that_were_made_short() {
        let one_loop = Workers { loops: Some(1), ..Workers::default() };
        let short = Workers { is_slice_named: true, ..Workers::default() };
        assert_eq!(noted(one_loop.clone(), 250), Some(0.4));
        assert_eq!(noted(short, 50), Some(1.0));
        assert_eq!(noted(one_loop.clone(), 20_000), None);
        assert_eq!(noted(Workers { delta: true, ..one_loop }, 250), None);
        assert_eq!(noted(Workers::default(), 250), None, "calibration made them long enough");
    }
}
