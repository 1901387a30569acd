//! CPU time, waits and counters of the slices of an arm.

use std::collections::BTreeMap;

use stats::{SortedSample, low_end};

use crate::arm_values::by_arm;
use crate::launches::gathered;
use crate::quiet::QuietSlices;
use crate::summary::{SliceCore, SliceSummary, UncertainValue};
use model::values::Headline;
use model::values::metric::Metric;
use record::{Event, Record, Rows};

/// The summary of each arm of the plan; all `None` without slices. `quiet` has the slices on a quiet core.
pub(super) fn of_arms(record: &Record, quiet: Option<&QuietSlices>) -> Vec<Option<SliceSummary>> {
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
    Some(SortedSample::new(&series).ok()?.median())
}
