//! The times of each arm by every clock, and whether t0 is only an upper limit.

use crate::analysis::arm_values::by_arm;
use crate::analysis::evidence::{RunEvidence, settle};
use crate::analysis::launches::{gathered, values_by_arm};
use crate::analysis::summary::{InterruptionSummary, NoClean, StallSummary, TimeSummary};
use crate::analysis::times::{sliced_times, times};
use crate::record::{Record, Rows};
use crate::values::metric::Metric;
use crate::values::{Clock, Headline};
use rayon::prelude::*;

/// The times of one arm.
#[derive(Debug, Default)]
pub(super) struct ClockSummaries {
    pub times: Option<TimeSummary>,
    pub clean: Option<TimeSummary>,
    pub no_clean: Option<NoClean>,
    pub wall: Option<TimeSummary>,
    pub cpu: Option<TimeSummary>,
    pub stalls: Option<StallSummary>,
    pub interruptions: Option<InterruptionSummary>,
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
        let mut clean = clean[arm].take().filter(|_| has_stalls);
        let mut wall = wall[arm].take();
        let mut interruptions = None;
        if let Some(clean) = &mut clean {
            interruptions = settle(clean, &RunEvidence::of_arm(record, arm, Clock::Clean));
        }
        if let Some(wall) = wall.as_mut().filter(|_| shown.is_some()) {
            settle(wall, &RunEvidence::of_arm(record, arm, Clock::Wall));
        }
        match shown {
            Some(Clock::Clean) if clean.is_some() => times.clone_from(&clean),
            Some(Clock::Clean | Clock::Wall) => times.clone_from(&wall),
            Some(Clock::Cpu) | None => {}
        }
        let no_clean = match shown {
            None => Some(NoClean::OtherValues),
            Some(_) if !has_stalls => Some(NoClean::NoEvidence),
            Some(_) => None,
        };
        found.push(ClockSummaries {
            clean,
            no_clean,
            wall,
            cpu: cpu[arm].take(),
            stalls: stalls(&record.rows, arm).filter(|_| shown.is_some()),
            interruptions,
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
