//! t0 as a text.

use crate::uncertain;
use crate::units::DisplayUnit;
use analysis::{
    ArmSummary, ComparedStatistic, ComparedTime, ComparedTimes, LimitCause, TimeSummary,
    UncertainValue,
};
use model::values::ValueUnit;
use record::plan::{Plan, Role};

/// t0 with its error, or as a limit; without the unit.
pub fn text(unit: DisplayUnit, times: &TimeSummary) -> String {
    shown(unit, times, times.t0)
}

/// t0 of an arm, without the time of a control; `None` without a run.
pub fn arm_text(unit: DisplayUnit, arm: &ArmSummary) -> Option<String> {
    Some(shown(unit, arm.times.as_ref()?, arm.net_t0()?))
}

/// The time of an arm beside its ratio, without the unit. No `+-`: the interval of the ratio has the uncertainty. A limit
/// × an estimated ratio is no limit of the other arm.
pub fn beside_ratio(unit: DisplayUnit, time: ComparedTime) -> String {
    let text = match time.n_digits {
        Some(n_digits) => uncertain::significant(time.value / unit.size, n_digits),
        None => unit.uncertain(time.value, time.err),
    };
    match (time.is_upper_limit, time.is_from_ratio) {
        (true, false) => format!("at most {text}"),
        (true, true) => format!("about {text}"),
        (false, _) => text,
    }
}

/// The heading of a column of times: `t0`, or `t0 × ratio` for the reference's time and its multiples.
pub fn heading(location: &str, times: &ComparedTimes) -> String {
    let statistic = match times.statistic() {
        ComparedStatistic::T0 => location.into(),
        ComparedStatistic::WholeT0 => format!("{location} as measured"),
        ComparedStatistic::NetMedian => "net median".into(),
    };
    if times.has_ratios() { format!("{statistic} × ratio") } else { statistic }
}

fn shown(unit: DisplayUnit, times: &TimeSummary, t0: UncertainValue) -> String {
    if times.is_upper_limit {
        return format!("at most {}", unit.number(t0.value, None));
    }
    unit.uncertain(t0.value, t0.err)
}

/// Why an arm has no t0 after subtracting the control: `too short to measure under a shell (0.2 +- 0.5 ms)`.
pub fn too_short(plan: &Plan, t0: UncertainValue) -> String {
    let size = t0.value.abs().max(t0.err.unwrap_or(0.0));
    let unit = DisplayUnit::for_largest(ValueUnit::Time, size);
    let value = unit.label(&unit.uncertain(t0.value, t0.err));
    let control = match plan.control.map(|control| control.role) {
        Some(Role::EmptyShell) => "under a shell",
        _ => "beside what is subtracted",
    };
    format!("too short to measure {control} ({value})")
}

/// How to measure a command that is too short beside a shell.
pub fn without_shell(plan: &Plan) -> Option<&'static str> {
    let is_shell = plan.control.is_some_and(|control| control.role == Role::EmptyShell);
    (is_shell && plan.suite.is_none()).then_some("use -N")
}

/// Why an arm's t0 is only a limit.
pub fn why_limited(arm: &ArmSummary) -> Option<&'static str> {
    Some(match arm.times.as_ref()?.limited_by? {
        LimitCause::Interruptions => "every run was interrupted",
        LimitCause::Neighbours => "the core's other hardware thread was busy",
        LimitCause::MemoryFloor => "not above the memory of our launcher",
    })
}

/// What is in a limit beside the program: what a control takes is not subtracted if that is a limit, too.
pub fn not_subtracted(arm: &ArmSummary) -> &'static str {
    let times = arm.times.as_ref().filter(|times| times.is_upper_limit);
    let is_whole = times.is_some_and(|_| arm.net.is_some_and(|net| net.t0.is_none()));
    if is_whole { "; nothing is subtracted" } else { "" }
}
