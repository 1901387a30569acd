//! The summary of an arm: location statistics, metrics and exits of its rows.

use rayon::prelude::*;

use crate::arm_values::{by_arm, sessions};
use crate::clocks::clock_summaries;
use crate::quiet::QuietSlices;
use crate::sliced;
use crate::summary::{ArmSummary, MetricSummary, NetTimes, TimeSummary};
use crate::times::{cpu_ns, in_base_unit};
use model::values::metric::{METRICS, Metric, MetricInfo};
use model::values::{CPU, VALUE};
use record::plan::{Plan, Role};
use record::{Record, Rows};

/// Summaries of all arms, controls included. Each benchmark of a suite is summarised as its session decides.
pub fn summarise(record: &Record) -> Vec<ArmSummary> {
    let each = sessions(record).into_par_iter().flat_map(|(first, session)| {
        let arms = summarise_session(session).into_par_iter();
        arms.map(move |arm| ArmSummary { arm: arm.arm + first, ..arm })
    });
    each.collect()
}

fn summarise_session(record: &Record) -> Vec<ArmSummary> {
    let plan = &record.header.plan;
    let values = by_arm(&record.rows, plan.arms.len(), Rows::headline);
    let quiet = QuietSlices::of(record);
    let mut clocks = clock_summaries(record, quiet.as_ref());
    count_exits(&record.rows, &mut clocks);
    let mut sliced = sliced::summaries(record, quiet.as_ref());
    let mut metrics = metrics_by_arm(&record.rows, plan);
    let control = plan.control.and_then(|control| clocks[control.arm].times.clone());
    let of_arm = |(arm, mut clocks): (usize, ArmSummary)| {
        let role = plan.arms[arm].role;
        let control = control.as_ref().filter(|_| !role.is_control());
        if let Some((times, cause)) =
            clocks.times.as_mut().zip(control.and_then(|it| it.limited_by))
            && !times.is_upper_limit
        {
            times.limit(times.most(), cause);
        }
        let net = clocks.times.as_ref().zip(control);
        ArmSummary {
            arm,
            label: plan.arms[arm].label().into(),
            is_hidden: role != Role::Candidate,
            n_runs: values[arm].len(),
            net: net.map(|(times, control)| net_of(times, control)),
            metrics: std::mem::take(&mut metrics[arm]),
            sliced: sliced[arm].take(),
            ..clocks
        }
    };
    clocks.into_iter().enumerate().map(of_arm).collect()
}

/// Counts the timed runs of each arm that timed out, failed, have nothing to compare, or exited with a status other
/// than 0.
fn count_exits(rows: &Rows, arms: &mut [ArmSummary]) {
    for index in (0..rows.len()).filter(|&index| rows.block(index).is_some()) {
        let of_arm = &mut arms[rows.arm(index)];
        if rows.timed_out(index) {
            of_arm.n_timed_out += 1;
        } else if rows.is_rejected(index) || rows.headline(index).is_none() {
            of_arm.n_failed += 1;
        } else if rows.exit(index) != 0 {
            of_arm.n_nonzero_exits += 1;
        }
    }
}

fn net_of(times: &TimeSummary, control: &TimeSummary) -> NetTimes {
    NetTimes {
        t0: (!control.is_upper_limit).then(|| times.t0.minus(control.t0)),
        median: times.median.minus(control.median),
        mean: times.mean.minus(control.mean),
    }
}

fn metrics_by_arm(rows: &Rows, plan: &Plan) -> Vec<Vec<MetricSummary>> {
    let (n_arms, in_slices) = (plan.arms.len(), plan.in_slices);
    let says_values = plan.arms.iter().any(|arm| arm.value.is_some());
    // The number of loops of a run varies, so sums over its slices mean nothing. `SliceSummary` has usable values.
    let is_shown = |info: &&MetricInfo| {
        rows.has(info.metric) && (!in_slices || info.metric == Metric::MaxrssKib)
    };
    let present: Vec<&MetricInfo> = METRICS.iter().filter(is_shown).collect();
    let summaries_of = |name: &str, value: &(dyn Fn(&Rows, usize) -> Option<f64> + Sync)| {
        by_arm(rows, n_arms, value).iter().map(|xs| MetricSummary::of(name, xs)).collect::<Vec<_>>()
    };
    let mut by_metric: Vec<Vec<Option<MetricSummary>>> = present
        .par_iter()
        .map(|info| summaries_of(info.name, &|rows, index| in_base_unit(rows, index, info.metric)))
        .collect();
    if says_values {
        by_metric.push(summaries_of(VALUE, &Rows::own));
    }
    if rows.has(Metric::UserUs) && rows.has(Metric::SysUs) {
        by_metric.push(summaries_of(CPU, &cpu_ns));
    }
    (0..n_arms)
        .map(|arm| by_metric.iter().filter_map(|summaries| summaries[arm].clone()).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::times;
    use crate::summary::LimitCause;
    use model::values::{DecideOn, ValueUnit};
    use record::fixture;

    /// With exit statuses ignored, a run without a value does not end the session.
    #[test]
    fn a_run_without_a_value_does_not_count() {
        let mut record = fixture::record(&["a"]);
        record.header.plan.policy.decide_on = Some(DecideOn::Value);
        record.header.plan.arms[0].unit = ValueUnit::Count;
        record.rows = Rows::of(record.header.plan.policy.compared());
        for (step, value) in (0..).zip([Some(5.0), None, Some(6.0)]) {
            let mut row = fixture::row(step, 0, Some(step), 1000);
            (row.value, row.exit) = (value, 3);
            record.rows.push(&row);
        }
        let found = &summarise(&record)[0];
        assert_eq!((found.n_runs, found.n_failed, found.n_nonzero_exits), (2, 1, 2));
    }

    /// Without a control of at most 4, nothing is known of the rest of t0: the control may have taken nothing.
    #[test]
    fn the_limit_of_a_control_is_not_subtracted() {
        let mut control = times(4.0, 0.1);
        let mut whole = times(10.0, 0.1);
        let t0 = |whole: &TimeSummary, control: &TimeSummary| {
            net_of(whole, control).t0.map(|t0| t0.value)
        };
        assert_eq!(t0(&whole, &control), Some(6.0));
        whole.limit(10.0, LimitCause::Neighbours);
        assert_eq!(t0(&whole, &control), Some(6.0));
        control.limit(4.0, LimitCause::Neighbours);
        assert_eq!(t0(&whole, &control), None);
        assert_eq!(net_of(&whole, &control).median.value, 6.0);
    }
}
