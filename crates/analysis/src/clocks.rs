//! The times of each arm by every clock, and whether t0 is only an upper limit.

use rayon::prelude::*;

use crate::arm_values::by_arm;
use crate::evidence::{self, RunEvidence, settle};
use crate::launches::{gathered, values_by_arm};
use crate::low_runs::{self, LowRuns};
use crate::memory_floor;
use crate::quiet::QuietSlices;
use crate::summary::{
    ArmSummary, InterruptionSummary, LimitCause, NoClean, StallSummary, TimeSummary,
};
use crate::times::{sliced_times, times};
use model::values::metric::Metric;
use model::values::{Clock, Headline};
use record::plan::{Arm, Plan};
use record::{Record, Rows};

/// The times of every arm of the plan; nothing else of its summary. `quiet` has the slices on a quiet core.
pub(super) fn clock_summaries(record: &Record, quiet: Option<&QuietSlices>) -> Vec<ArmSummary> {
    let plan = &record.header.plan;
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    let n_arms = plan.arms.len();
    let compared_clock = match &plan.workers {
        Some(workers) => workers.headline.clock(),
        None => Some(rows.compared().clock),
    };
    let Some(compared_clock) = compared_clock.filter(|_| !rows.compares_other_values()) else {
        let mut summaries = summaries(record, None, None, None);
        for (arm, values) in plan.arms.iter().zip(&mut summaries) {
            if !compares_time(plan, arm) {
                values.iter_mut().for_each(|values| {
                    values.center();
                    memory_floor::limit(record, values);
                });
            }
        }
        return summaries.into_iter().map(untimed).collect();
    };
    let of = |clock: Clock| settled(record, clock, quiet);
    let has_clean = rows.has(Metric::StalledNs);
    let (mut clean, (mut wall, mut cpu)) = rayon::join(
        || if has_clean { of(Clock::Clean) } else { vec![Settled::default(); n_arms] },
        || (of(Clock::Wall), of(Clock::Cpu)),
    );
    let mut stalls = stalls_by_arm(&record.rows, n_arms);
    let of_arm = |arm: usize| {
        let (clean, interruptions) = std::mem::take(&mut clean[arm]);
        let (wall, cpu) = (std::mem::take(&mut wall[arm]).0, std::mem::take(&mut cpu[arm]).0);
        let compared = match compared_clock {
            Clock::Clean => clean.as_ref().or(wall.as_ref()),
            Clock::Wall => wall.as_ref(),
            Clock::Cpu => cpu.as_ref(),
        };
        ArmSummary {
            times: compared.cloned(),
            no_clean: (!has_clean).then_some(NoClean::NoEvidence),
            clean,
            wall,
            cpu,
            stalls: stalls[arm].take(),
            interruptions,
            ..ArmSummary::default()
        }
    };
    (0..n_arms).map(of_arm).collect()
}

/// Whether the compared values were read by the kernel, the program or another tool. Stillwell's own clocks count
/// nanoseconds.
pub(super) fn is_read_elsewhere(record: &Record) -> bool {
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    record.header.imported.is_some() || rows.compares_other_values()
}

/// Whether the compared quantity has a noise-free lowest value, as times do.
pub fn compares_times(plan: &Plan) -> bool {
    plan.arms.iter().all(|arm| compares_time(plan, arm))
}

/// [`compares_times`] of one arm: only files of other programs mix quantities.
pub fn compares_time(plan: &Plan, arm: &Arm) -> bool {
    match plan.policy.decide_on {
        None => arm.unit.is_time(),
        Some(_) => plan.arms.iter().all(|arm| arm.unit.is_time()) && plan.policy.better.is_lower(),
    }
}

fn untimed(values: Option<TimeSummary>) -> ArmSummary {
    let no_clean = Some(NoClean::OtherValues);
    ArmSummary { wall: values.clone(), times: values, no_clean, ..Default::default() }
}

/// The times of an arm by one clock, and the cost of its interruptions.
type Settled = (Option<TimeSummary>, Option<InterruptionSummary>);

fn settled(record: &Record, clock: Clock, quiet: Option<&QuietSlices>) -> Vec<Settled> {
    let slices = record.slices.as_ref();
    let processes = slices.map(|slices| gathered(&record.header.plan, slices, Some(clock.into())));
    let summaries = summaries(record, Some(clock), processes.as_ref(), quiet);
    if clock == Clock::Cpu {
        return summaries.into_iter().map(|times| (times, None)).collect();
    }
    let evidence = evidence::arm_evidence(record, clock, processes.as_ref());
    let of_arm = |(mut times, runs): (Option<TimeSummary>, Vec<RunEvidence>)| {
        let interruptions = times.as_mut().and_then(|times| settle(times, runs));
        (times, interruptions)
    };
    summaries.into_iter().zip(evidence).map(of_arm).collect()
}

/// The times of each arm by one clock, or the compared values. `processes` has the runs by this clock if there are
/// slices. t0 rests on the quiet slices if there are enough.
fn summaries(
    record: &Record,
    clock: Option<Clock>,
    processes: Option<&Rows>,
    quiet: Option<&QuietSlices>,
) -> Vec<Option<TimeSummary>> {
    let plan = &record.header.plan;
    let n_arms = plan.arms.len();
    let headline = clock.map(Headline::from);
    let has_times = clock.is_some() || plan.arms.iter().any(|arm| compares_time(plan, arm));
    let is_read_elsewhere = is_read_elsewhere(record);
    // The mean of several readings has another step than they.
    let are_readings = is_read_elsewhere && record.slices.is_none();
    let low_of = |rows: &Rows, runs: &[Vec<f64>], value: &dyn Fn(&Rows, usize) -> Option<f64>| {
        match has_times {
            true => low_runs::low_ends(rows, n_arms, are_readings, value),
            // The state of the core matters only for times.
            false => runs.iter().map(|runs| LowRuns::from_values(runs)).collect::<Vec<LowRuns>>(),
        }
    };
    if let Some(slices) = &record.slices {
        let values = values_by_arm(plan, slices, headline);
        let quiet_rows = quiet
            .filter(|quiet| quiet.is_enough())
            .map(|quiet| quiet.processes(plan, slices, headline));
        let rows = quiet_rows.as_ref().or(processes).unwrap_or(&record.rows);
        let runs = by_arm(rows, n_arms, Rows::headline);
        let mut low = low_of(rows, &runs, &Rows::headline);
        if has_times && is_read_elsewhere {
            for (low, values) in low.iter_mut().zip(&values) {
                values.iter().for_each(|&value| low.add_reading(value));
            }
        }
        let of_arm = |arm: usize| {
            let mut times = sliced_times(&runs[arm], &low[arm], &values[arm])?;
            if quiet_rows.is_none() && quiet.is_some_and(|quiet| quiet.is_mostly_shared(arm)) {
                times.limit(low[arm].min()?, LimitCause::Neighbours);
            }
            Some(times)
        };
        return (0..n_arms).into_par_iter().map(of_arm).collect();
    }
    let value = |rows: &Rows, index: usize| match clock {
        None => rows.headline(index),
        Some(clock) => rows.time_ns(index, clock),
    };
    let runs = by_arm(&record.rows, n_arms, value);
    let low = low_of(&record.rows, &runs, &value);
    runs.par_iter().zip(&low).map(|(runs, low)| times(runs, low)).collect()
}

/// Runs without evidence are only counted.
fn stalls_by_arm(rows: &Rows, n_arms: usize) -> Vec<Option<StallSummary>> {
    // The wall, stalled and unclear time of a run, ns.
    let times_ns = by_arm(rows, n_arms, |rows, index| {
        let wall_ns = rows.get(index, Metric::WallNs)?;
        let unclear_ns = rows.get(index, Metric::UnclearNs).unwrap_or(0);
        let stalled_ns = rows.get(index, Metric::StalledNs);
        Some(stalled_ns.map(|stalled_ns| [wall_ns, stalled_ns, unclear_ns]))
    });
    let of_arm = |runs: &Vec<Option<[u64; 3]>>| {
        let n = runs.iter().flatten().count();
        let sum = |place: usize| runs.iter().flatten().map(|run| run[place] as f64).sum::<f64>();
        let mean = |place: usize| sum(place) / n as f64;
        (n > 0).then(|| StallSummary {
            wall_mean_ns: mean(0),
            stalled_mean_ns: mean(1),
            unclear_mean_ns: mean(2),
            n_without: runs.len() - n,
        })
    };
    times_ns.iter().map(of_arm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launches::gather;
    use crate::summarise;
    use model::values::DecideOn;
    use record::{Row, fixture};

    #[test]
    fn the_step_is_that_of_the_readings_not_of_their_means() {
        let err = |n_processes: u32, readings: &[f64]| {
            let mut record = fixture::record(&["a"]);
            record.header.plan.in_slices = true;
            record.header.plan.policy.decide_on = Some(DecideOn::Value);
            record.rows = Rows::of(record.header.plan.policy.compared());
            for process in 0..n_processes {
                for &value in readings {
                    let step = u32::try_from(record.rows.len()).unwrap();
                    let row = fixture::row(step, 0, Some(process), 1000);
                    record.rows.push(&Row { value: Some(value), ..row });
                }
            }
            summarise(&gather(record))[0].times.as_ref().unwrap().t0.err
        };
        assert_eq!(err(6, &[280e6, 290e6, 280e6]), Some(5e6));
        assert_eq!(err(1, &[280e6; 6]), Some(5e6));
    }
}
