//! The times of each arm by every clock, and whether t0 is only an upper limit.

use rayon::prelude::*;
use stats::SortedSample;

use crate::analysis::arm_values::by_arm;
use crate::analysis::launches::{gathered, values_by_arm};
use crate::analysis::run_times::cpu_ns;
use crate::analysis::summary::{NoClean, StallSummary, TimeSummary};
use crate::analysis::times::{sliced_times, times};
use crate::record::{Record, Rows};
use crate::values::metric::Metric;
use crate::values::{Clock, Headline};

/// The times of one arm.
#[derive(Debug, Default)]
pub(super) struct ClockSummaries {
    pub times: Option<TimeSummary>,
    pub clean: Option<TimeSummary>,
    pub no_clean: Option<NoClean>,
    pub wall: Option<TimeSummary>,
    pub cpu: Option<TimeSummary>,
    pub stalls: Option<StallSummary>,
}

/// The times of every arm of the plan.
pub(super) fn of_arms(record: &Record) -> Vec<ClockSummaries> {
    let plan = &record.header.plan;
    let n_arms = plan.arms.len();
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    let shown = match &plan.workers {
        Some(workers) => workers.headline.clock(),
        None => Some(rows.clock()),
    };
    let shown = shown.filter(|_| !rows.has_own());
    let compared = summaries(record, None);
    let of = |clock: Clock, metric: Metric| match shown {
        Some(shown) if shown == clock => compared.clone(),
        Some(_) if rows.has(metric) => summaries(record, Some(clock)),
        _ => vec![None; n_arms],
    };
    let has_stalls = rows.has(Metric::StalledNs);
    let mut clean = of(Clock::Clean, Metric::StalledNs);
    let cpu_metric = if record.slices.is_some() { Metric::CpuNs } else { Metric::UserUs };
    let mut cpu = of(Clock::Cpu, cpu_metric);
    let mut wall = if shown.is_some() { of(Clock::Wall, Metric::WallNs) } else { compared.clone() };
    let mut found: Vec<ClockSummaries> = Vec::with_capacity(n_arms);
    for (arm, mut times) in compared.into_iter().enumerate() {
        if let (Some(times), Some(Clock::Clean | Clock::Wall)) = (&mut times, shown) {
            let runs = RunEvidence::of_arm(record, arm, shown == Some(Clock::Clean));
            bound(times, &runs);
        }
        let no_clean = match shown {
            None => Some(NoClean::OtherValues),
            Some(_) if !has_stalls => Some(NoClean::NoEvidence),
            Some(_) => None,
        };
        let mut clean = clean[arm].take().filter(|_| has_stalls);
        if shown == Some(Clock::Clean) {
            clean = clean.and(times.clone());
        } else if let Some(clean) = &mut clean {
            bound(clean, &RunEvidence::of_arm(record, arm, true));
        }
        found.push(ClockSummaries {
            clean,
            no_clean,
            wall: wall[arm].take(),
            cpu: cpu[arm].take(),
            stalls: stalls(&record.rows, arm).filter(|_| shown.is_some()),
            times,
        });
    }
    found
}

/// The times of each arm by one clock, or the compared values.
fn summaries(record: &Record, clock: Option<Clock>) -> Vec<Option<TimeSummary>> {
    let plan = &record.header.plan;
    let n_arms = plan.arms.len();
    let headline = clock.map(Headline::from);
    if let Some(slices) = &record.slices {
        let gathered = headline.map(|headline| gathered(plan, slices, Some(headline)));
        let runs = by_arm(gathered.as_ref().unwrap_or(&record.rows), n_arms, Rows::headline);
        let values = values_by_arm(plan, slices, headline);
        return runs.par_iter().zip(&values).map(|(runs, of)| sliced_times(runs, of)).collect();
    }
    let clock = clock.map_or_else(
        || by_arm(&record.rows, n_arms, Rows::headline),
        |clock| by_arm(&record.rows, n_arms, |rows, index| rows.time_ns(index, clock)),
    );
    clock.par_iter().map(|runs| times(runs)).collect()
}

fn stalls(rows: &Rows, arm: usize) -> Option<StallSummary> {
    let of_arm =
        (0..rows.len()).filter(|&index| rows.arm(index) == arm && rows.is_measurement(index));
    let (mut n, mut n_without) = (0, 0);
    let [mut wall_ns, mut stalled_ns, mut unclear_ns] = [0.0; 3];
    for index in of_arm {
        let Some(wall) = rows.get(index, Metric::WallNs) else { continue };
        let Some(stalled) = rows.get(index, Metric::StalledNs) else {
            n_without += 1;
            continue;
        };
        n += 1;
        wall_ns += wall as f64;
        stalled_ns += stalled as f64;
        unclear_ns += rows.get(index, Metric::UnclearNs).unwrap_or(0) as f64;
    }
    let mean = |sum: f64| sum / f64::from(n);
    (n > 0).then(|| StallSummary {
        wall_mean_ns: mean(wall_ns),
        stalled_mean_ns: mean(stalled_ns),
        unclear_mean_ns: mean(unclear_ns),
        n_without,
    })
}

/// What is known of the time that one run may have lost unseen.
#[derive(Clone, Copy, Debug)]
struct RunEvidence {
    /// The compared time of the run, ns.
    time_ns: f64,
    /// The part of it that may have gone to other programs, ns.
    hidden_ns: f64,
    /// CPU time of the run, if it was on at most one CPU at a time, ns.
    least_ns: Option<f64>,
}

/// A run that was stalled for a larger share of its time was on a busy machine.
const BUSY_SHARE: f64 = 0.01;
/// A run that may have lost a larger share of its time unseen was interrupted.
const HIDDEN_SHARE: f64 = 0.01;
/// CPU time above wall time by this factor means several CPUs at a time.
const ONE_CPU: f64 = 1.02;
/// Share of the runs that t0 rests on.
const LOW: f64 = 0.2;

impl RunEvidence {
    fn of_arm(record: &Record, arm: usize, is_clean: bool) -> Vec<Self> {
        let rows = &record.rows;
        let of_arm = (0..rows.len()).filter(|&at| rows.arm(at) == arm && rows.is_measurement(at));
        of_arm.filter_map(|index| Self::of(record, index, is_clean)).collect()
    }

    fn of(record: &Record, index: usize, is_clean: bool) -> Option<Self> {
        let rows = &record.rows;
        let wall_ns = rows.time_ns(index, Clock::Wall)?;
        let cpu_ns = match rows.get(index, Metric::CpuNs) {
            Some(ns) => Some(ns as f64),
            None => cpu_ns(rows, index),
        };
        let stalled_ns = rows.get(index, Metric::StalledNs).map(|ns| ns as f64);
        let unclear_ns = rows.get(index, Metric::UnclearNs).unwrap_or(0) as f64;
        let hidden_ns = match stalled_ns {
            Some(stalled_ns) => {
                let seen_ns = if is_clean { 0.0 } else { stalled_ns };
                let is_busy = stalled_ns > BUSY_SHARE * wall_ns;
                seen_ns + if is_busy { unclear_ns } else { 0.0 }
            }
            // Only a preemption shows that the machine was busy. A run that just sleeps has none.
            None => {
                let is_preempted =
                    rows.get(index, Metric::InvoluntarySwitches).is_some_and(|n| n > 0);
                cpu_ns.filter(|_| is_preempted).map_or(0.0, |ns| (wall_ns - ns).max(0.0))
            }
        };
        let clock = if is_clean { Clock::Clean } else { Clock::Wall };
        let time_ns = rows.time_ns(index, clock)?;
        let least_ns = cpu_ns.filter(|ns| *ns <= ONE_CPU * time_ns);
        // A process of many loops: the values are per loop.
        let scale = match (&record.slices, rows.headline(index)) {
            (Some(_), Some(value)) if time_ns > 0.0 => value / time_ns,
            _ => 1.0,
        };
        let least_ns = least_ns.filter(|_| record.slices.is_none());
        Some(Self { time_ns: time_ns * scale, hidden_ns: hidden_ns * scale, least_ns })
    }
}

/// Keeps t0 within what the evidence allows.
fn bound(times: &mut TimeSummary, runs: &[RunEvidence]) {
    let mut low: Vec<RunEvidence> = runs.to_vec();
    low.sort_by(|a, b| a.time_ns.total_cmp(&b.time_ns));
    low.truncate(((LOW * low.len() as f64).ceil() as usize).max(1));
    let is_hidden = |run: &RunEvidence| run.hidden_ns > HIDDEN_SHARE * run.time_ns;
    times.is_upper_limit = !low.is_empty() && low.iter().all(is_hidden);
    if times.is_upper_limit {
        times.t0.value = times.min;
    }
    let least_ns = runs
        .iter()
        .map(|run| run.least_ns)
        .min_by(|a, b| a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0)));
    if let Some(Some(least_ns)) = least_ns {
        // A program that does one thing at a time takes at least its CPU time.
        times.t0.value = times.t0.value.max(least_ns.min(times.min));
    }
    let hidden: Vec<f64> = low.iter().map(|run| run.hidden_ns).collect();
    let open_ns = SortedSample::new(&hidden).map_or(0.0, |hidden| hidden.median());
    if times.t0.value > 0.0 {
        times.t0.err = times.t0.err.map(|err| err.max(open_ns).min(times.t0.value));
    }
}
