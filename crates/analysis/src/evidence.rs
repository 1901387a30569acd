//! Finds the noise-free time from the evidence on each run.

use stats::interruptions::{Interruptions, Uninterrupted, uninterrupted};

use crate::arm_values::{by_arm, lowest};
use crate::launches::SliceRule;
use crate::summary::{InterruptionSummary, LimitCause, TimeSummary, UncertainValue};
use model::values::Clock;
use model::values::metric::Metric;
use record::{Record, Rows};

/// The time that one run may have lost unseen.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunEvidence {
    time_ns: f64,
    /// The part that may have gone to other programs, ns.
    hidden_ns: f64,
    /// Preemptions on a busy machine.
    n_interruptions: u64,
    /// Largest possible cost of the interruptions, ns: the other program cannot fill the caches for longer than it ran.
    left_ns_max: f64,
    /// The CPU time of a run that used at most one CPU at a time, otherwise 0, ns.
    least_ns: f64,
}

/// A run was on a busy machine if it was stalled, or its tasks were preempted, for more than this share of its time. In
/// slices, the waits of other threads are not seen, so the whole session counts as busy if its slices waited for more
/// than this share.
const BUSY_SHARE: f64 = 0.01;
/// A run was interrupted if it may have lost more than this share of its time unseen.
const HIDDEN_SHARE: f64 = 0.01;
/// CPU time above wall time by this factor means several CPUs at a time.
const ONE_CPU: f64 = 1.02;
/// Assumed cost of an interruption if the runs do not show it, ns: CPU time to refill caches and predictors. Measured:
/// 0.3 to 0.9 ms, and nothing for a loop that needs no memory.
const COST_NS: f64 = 400e3;

/// The evidence on each arm's runs, in run order, by a clock. `processes` has the runs by this clock if there are slices.
/// A run with the mean of its slices hides something if any slice does; otherwise its lowest slices count.
pub(super) fn arm_evidence(
    record: &Record,
    clock: Clock,
    processes: Option<&Rows>,
) -> Vec<Vec<RunEvidence>> {
    let plan = &record.header.plan;
    let n_arms = plan.arms.len();
    match (&record.slices, processes) {
        (Some(slices), Some(processes)) => {
            let rule = SliceRule::of(plan, Some(clock.into()));
            let rows = if rule.is_low() { slices } else { processes };
            let is_busy = is_session_busy(slices);
            by_arm(rows, n_arms, |rows, index| {
                let run = RunEvidence::of(rows, index, clock, is_busy)?;
                let per_loop_ns = match rule.is_low() {
                    true => rule.slice(&rows.row(index))?.value,
                    false => rows.headline(index)?,
                };
                Some(run.per_loop(per_loop_ns))
            })
        }
        _ => by_arm(&record.rows, n_arms, |rows, index| RunEvidence::of(rows, index, clock, false)),
    }
}

/// Waits of a run that show that the machine was busy, ns. Slices have no records of preemptions, and with several
/// threads no stall.
fn seen_waits_ns(rows: &Rows, index: usize) -> f64 {
    let stalled_ns = rows.get(index, Metric::StalledNs).unwrap_or(0);
    let preempted_ns = rows.get(index, Metric::PreemptedNs);
    let waited_ns = preempted_ns.or_else(|| rows.get(index, Metric::RunQueueWaitNs));
    stalled_ns.max(waited_ns.unwrap_or(0)) as f64
}

fn is_session_busy(slices: &Rows) -> bool {
    let wall_ns = |index| slices.get(index, Metric::WallNs).unwrap_or(0) as f64;
    let all_ns: f64 = slices.measurements().map(wall_ns).sum();
    let waited_ns: f64 = slices.measurements().map(|index| seen_waits_ns(slices, index)).sum();
    waited_ns > BUSY_SHARE * all_ns
}

/// (time, hidden time) of the runs with the lowest times, on which t0 rests, ns. Empty if no run hides anything.
fn lowest_times(runs: &[RunEvidence]) -> Vec<(f64, f64)> {
    if runs.iter().all(|run| run.hidden_ns == 0.0) {
        return Vec::new();
    }
    lowest(runs.iter().map(|run| (run.time_ns, run.hidden_ns)).collect(), |run| run.0)
}

impl RunEvidence {
    fn of(rows: &Rows, index: usize, clock: Clock, is_session_busy: bool) -> Option<Self> {
        let time_ns = rows.time_ns(index, clock)?;
        let wall_ns = rows.time_ns(index, Clock::Wall)?;
        let cpu_ns = rows.time_ns(index, Clock::Cpu);
        let stalled_ns = rows.get(index, Metric::StalledNs).map(|ns| ns as f64);
        let unclear_ns = rows.get(index, Metric::UnclearNs).unwrap_or(0) as f64;
        let is_busy = stalled_ns.is_some()
            && (is_session_busy || seen_waits_ns(rows, index) > BUSY_SHARE * wall_ns);
        let n_preempted = rows.get(index, Metric::InvoluntarySwitches);
        let hidden_ns = match stalled_ns {
            Some(stalled_ns) => {
                let seen_ns = if clock == Clock::Clean { 0.0 } else { stalled_ns };
                seen_ns + if is_busy { unclear_ns } else { 0.0 }
            }
            // Only a preemption shows that the machine was busy: a run that just sleeps has none.
            None => {
                let is_preempted = n_preempted.is_some_and(|n| n > 0);
                let off_ns = cpu_ns.map(|ns| (wall_ns - ns).max(0.0));
                let waited_ns = rows.get(index, Metric::RunQueueWaitNs).map(|ns| ns as f64);
                off_ns.or(waited_ns).filter(|_| is_preempted).unwrap_or(0.0)
            }
        };
        let least_ns = cpu_ns.filter(|ns| *ns <= ONE_CPU * time_ns).unwrap_or(0.0);
        let n_interruptions = n_preempted.filter(|_| is_busy).unwrap_or(0);
        let left_ns_max = stalled_ns.unwrap_or(0.0).min(COST_NS * n_interruptions as f64);
        Some(Self { time_ns, hidden_ns, n_interruptions, left_ns_max, least_ns })
    }

    /// The evidence for one loop of a slice. Preemptions are too rare to be seen in a slice, and its CPU time includes
    /// reading the clocks.
    fn per_loop(self, per_loop_ns: f64) -> Self {
        let scale = if self.time_ns > 0.0 { per_loop_ns / self.time_ns } else { 0.0 };
        Self {
            time_ns: per_loop_ns,
            hidden_ns: self.hidden_ns * scale,
            n_interruptions: 0,
            left_ns_max: 0.0,
            least_ns: 0.0,
        }
    }
}

/// Places t0 as the evidence allows: at the time without interruptions if the runs show their cost, and not below the
/// CPU time of a single-threaded program. The error covers what the evidence leaves open.
pub(super) fn settle(
    times: &mut TimeSummary,
    mut runs: Vec<RunEvidence>,
) -> Option<InterruptionSummary> {
    if let Some(lone) = times.lone_run.as_ref().filter(|lone| lone.is_left_out()) {
        runs.remove(lone.run - 1);
    }
    let low = lowest_times(&runs);
    let is_interrupted = !low.is_empty()
        && low.iter().all(|(time_ns, hidden_ns)| *hidden_ns > HIDDEN_SHARE * time_ns);
    if times.is_upper_limit {
        if is_interrupted {
            times.limited_by = Some(LimitCause::Interruptions);
        }
        // t0 stays, but interruptions are still a part of the lost time.
        let found = without_interruptions(&mut times.clone(), &runs)?;
        return Some(InterruptionSummary { removed_ns: None, left_ns_max: None, ..found });
    }
    if is_interrupted {
        // The smallest value of a process may differ from its slices' smallest, as with a difference of n and 2n loops.
        let least = runs.iter().map(|run| run.time_ns).min_by(f64::total_cmp);
        times.limit(least.unwrap_or(times.most()), LimitCause::Interruptions);
        return None;
    }
    // 0 if some run was on several CPUs at a time.
    let least_cpu_ns = runs.iter().map(|run| run.least_ns).min_by(f64::total_cmp).unwrap_or(0.0);
    times.t0.value = times.t0.value.max(least_cpu_ns.min(times.most()));
    let found = without_interruptions(times, &runs);
    let left_ns_max = found.and_then(|found| found.left_ns_max).unwrap_or(0.0);
    let open_ns = median_of(low.iter().map(|run| run.1)).hypot(left_ns_max);
    // No more than all of t0 can have been hidden.
    times.t0.err = times.t0.err.map(|err| err.max(open_ns.min(times.t0.value)));
    found
}

fn median_of(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    stats::median(&values).unwrap_or(0.0)
}

/// Extrapolates t0 to zero interruptions, if the runs show the cost of one.
fn without_interruptions(
    times: &mut TimeSummary,
    runs: &[RunEvidence],
) -> Option<InterruptionSummary> {
    if runs.iter().all(|run| run.n_interruptions == 0) {
        return None;
    }
    let time_ns: Vec<f64> = runs.iter().map(|run| run.time_ns).collect();
    let counts: Vec<u64> = runs.iter().map(|run| run.n_interruptions).collect();
    match uninterrupted(&time_ns, &counts).ok()? {
        Interruptions::Negligible => None,
        Interruptions::UnknownCost { usual } => {
            let left_ns_max = Some(median_of(runs.iter().map(|run| run.left_ns_max)));
            Some(InterruptionSummary { usual, each: None, removed_ns: None, left_ns_max })
        }
        Interruptions::Removed(Uninterrupted { t0, per_interruption, usual, least }) => {
            // Some run had no interruption: nothing is removed, and the error is the usual error of t0.
            if least > 0.0 {
                times.t0 = UncertainValue { value: t0.value.min(times.most()), err: Some(t0.err) };
            }
            let each = UncertainValue::from(per_interruption);
            let removed_ns = Some(each.value * least);
            Some(InterruptionSummary { usual, each: Some(each), removed_ns, left_ns_max: None })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launches::{gather, gathered};
    use crate::low_runs::LowRuns;
    use crate::times::times;
    use model::values::ProcessValue;
    use record::Row;
    use record::fixture::record;

    fn run(time_ns: f64) -> RunEvidence {
        RunEvidence { time_ns, hidden_ns: 0.0, n_interruptions: 0, left_ns_max: 0.0, least_ns: 0.0 }
    }

    fn settled(runs: &[RunEvidence], least_ns: f64) -> (TimeSummary, Option<InterruptionSummary>) {
        let values: Vec<f64> = runs.iter().map(|run| run.time_ns).collect();
        let mut found = times(&values, &LowRuns::from_values(&values)).unwrap();
        let runs = runs.iter().map(|run| RunEvidence { least_ns, ..*run }).collect();
        let interruptions = settle(&mut found, runs);
        (found, interruptions)
    }

    #[test]
    fn t0_is_a_limit_if_every_low_run_may_hide_something() {
        let mut runs: Vec<RunEvidence> = (0..20)
            .map(|at| RunEvidence { hidden_ns: 2e6, ..run(10e6 + 1e4 * f64::from(at)) })
            .collect();
        let (found, _) = settled(&runs, 10e6);
        assert!(found.is_upper_limit);
        assert_eq!(found.t0, UncertainValue { value: 10e6, err: None });
        runs[1].hidden_ns = 0.0;
        let (found, _) = settled(&runs, 10e6);
        assert!(!found.is_upper_limit && found.t0.err.unwrap() >= 2e6, "{found:?}");
    }

    #[test]
    fn a_process_hides_what_any_of_its_slices_hides() {
        let limited = |value: ProcessValue| {
            let mut record = record(&["a"]);
            record.header.plan.in_slices = true;
            record.header.plan.policy.process_value = value;
            for step in 0..30 {
                let mut row = Row::new(step, 0, Some(step / 5), 10_000 * u64::from(step));
                let stalled_ns = if step % 5 == 0 { 500 } else { 0 };
                row.set(Metric::WallNs, Some(1000 + stalled_ns + u64::from(step)));
                row.set(Metric::StalledNs, Some(stalled_ns));
                record.rows.push(&row);
            }
            let record = gather(record);
            let slices = record.slices.as_ref().unwrap();
            let processes = gathered(&record.header.plan, slices, Some(Clock::Wall.into()));
            let mut evidence = arm_evidence(&record, Clock::Wall, Some(&processes));
            let values = [1.0, 2.0, 3.0];
            let mut found = times(&values, &LowRuns::from_values(&values)).unwrap();
            settle(&mut found, evidence.remove(0));
            found.is_upper_limit
        };
        assert!(limited(ProcessValue::Mean) && !limited(ProcessValue::Low));
    }

    /// Only the slow process waits where that is seen. The threads of the others may have waited for half of the time.
    #[test]
    fn unclear_slices_of_a_busy_session_make_t0_a_limit() {
        let is_limit = |stalled_ns: u64, unclear_ns: u64| {
            let mut record = record(&["a"]);
            record.header.plan.in_slices = true;
            for step in 0..30 {
                let mut row = Row::new(step, 0, Some(step / 5), 10_000 * u64::from(step));
                let is_slow = step / 5 == 5;
                row.set(Metric::WallNs, Some(1000 + if is_slow { 500 } else { u64::from(step) }));
                row.set(Metric::StalledNs, Some(if is_slow { stalled_ns } else { 0 }));
                row.set(Metric::UnclearNs, Some(unclear_ns));
                record.rows.push(&row);
            }
            let found = crate::clocks::clock_summaries(&gather(record), None);
            found[0].clean.as_ref().unwrap().is_upper_limit
        };
        assert!(is_limit(400, 500));
        assert!(!is_limit(0, 500) && !is_limit(400, 5));
    }

    #[test]
    fn the_limit_is_of_the_lowest_fifth() {
        let mut runs: Vec<RunEvidence> =
            (0..20).map(|at| run(10e6 + 1e4 * f64::from((at * 7) % 20))).collect();
        let hide = |run: &mut RunEvidence, below: f64| {
            run.hidden_ns = if run.time_ns < below { 2e6 } else { 0.0 };
        };
        runs.iter_mut().for_each(|run| hide(run, 10e6 + 3.5e4));
        assert!(settled(&runs, 0.0).0.is_upper_limit);
        runs.iter_mut().for_each(|run| hide(run, 10e6 + 2.5e4));
        assert!(!settled(&runs, 0.0).0.is_upper_limit);
    }

    #[test]
    fn t0_is_not_below_the_cpu_time_and_what_is_hidden_not_above_t0() {
        let mut runs: Vec<RunEvidence> =
            (0..24).map(|at| run(10e6 + 3e5 * f64::from(at * 7 % 24))).collect();
        assert_eq!(settled(&runs, 10e6).0.t0.value, 10e6);
        assert!(settled(&runs, 0.0).0.t0.value < 10e6);
        runs.iter_mut().for_each(|run| run.hidden_ns = 1e9);
        runs[0].hidden_ns = 0.0;
        let (found, _) = settled(&runs, 0.0);
        assert_eq!(found.t0.err, Some(found.t0.value));
        // The scatter of the runs can be larger.
        let (found, _) = settled(&[10e6, 11e6, 12e6, 13e6, 20e6].map(run), 0.0);
        assert!(found.t0.value < 10e6);
        assert_eq!(found.t0.err, Some(10e6));
    }

    #[test]
    fn the_cost_of_interruptions_is_taken_off_or_in_the_error() {
        let counts = [0, 3, 1, 5, 2, 8, 4, 0, 6, 1, 7, 2, 3, 9, 0, 5];
        let busy = |n: u64| {
            let left_ns_max = COST_NS * n as f64;
            RunEvidence { n_interruptions: n, left_ns_max, ..run(50e6 + 5e5 * n as f64) }
        };
        let (found, interruptions) = settled(&counts.map(busy), 50e6);
        let each_ns = interruptions.unwrap().each.unwrap().value;
        assert!((found.t0.value - 50e6).abs() < 1e4 && (each_ns - 5e5).abs() < 1e4, "{found:?}");
        // Most of the least interrupted runs had no interruption: nothing is removed.
        let few = [0, 3, 0, 0, 2, 0, 4, 0, 0, 1, 7, 0, 3, 9, 0, 5];
        let (found, interruptions) = settled(&few.map(busy), 50e6);
        assert_eq!(interruptions.unwrap().removed_ns, Some(0.0));
        let values = few.map(|n| busy(n).time_ns);
        assert_eq!(found.t0, times(&values, &LowRuns::from_values(&values)).unwrap().t0);
        let (found, interruptions) = settled(&[8; 16].map(busy), 54e6);
        let left_ns_max = Some(8.0 * COST_NS);
        let expected =
            InterruptionSummary { usual: 8.0, each: None, removed_ns: None, left_ns_max };
        assert_eq!((interruptions, found.t0.value), (Some(expected), 54e6));
        assert!(found.t0.err.unwrap() >= 8.0 * COST_NS);
    }
}
