//! Times of a run that are computed from several metrics.

use model::values::metric::Metric;
use record::Rows;

/// Run-queue delay of a run while the clock ran, ns, without waits after preemptions. A lower bound: schedstat counts
/// from the creation of the process, and the wait before the clock starts is at most the launch time.
pub fn queued_ns(rows: &Rows, index: usize) -> Option<f64> {
    let waited_ns = rows.get(index, Metric::RunQueueWaitNs)?;
    let launch_ns = rows.get(index, Metric::SpawnNs).unwrap_or(0);
    let preempted_ns = rows.get(index, Metric::PreemptedNs).unwrap_or(0);
    Some(waited_ns.saturating_sub(launch_ns + preempted_ns) as f64)
}

/// A metric of a run in its base unit, scaled up if its event did not count all the time.
pub fn in_base_unit(rows: &Rows, index: usize, metric: Metric) -> Option<f64> {
    let stored = rows.get(index, metric)?;
    Some(metric.info().in_base_unit(stored, rows.get(index, Metric::RunningPpm)))
}

/// User + system time of a run, ns.
pub fn cpu_ns(rows: &Rows, index: usize) -> Option<f64> {
    let user_us = rows.get(index, Metric::UserUs)?;
    Some((user_us + rows.get(index, Metric::SysUs)?) as f64 * 1000.0)
}
