//! t0 as a text.

use crate::analysis::{ArmSummary, LimitCause, TimeSummary};
use crate::render::units::DisplayUnit;

/// t0 with its error, or as a limit; without the unit.
pub fn text(unit: DisplayUnit, times: &TimeSummary) -> String {
    if times.is_upper_limit {
        return format!("at most {}", unit.number(times.t0.value, None));
    }
    unit.uncertain(times.t0.value, times.t0.err)
}

/// The same of an arm, without the time of a control; `None` without a run.
pub fn of_arm(unit: DisplayUnit, arm: &ArmSummary) -> Option<String> {
    let times = arm.times.as_ref()?;
    let net = arm.net.filter(|_| !times.is_upper_limit).map(|net| net.t0);
    Some(net.map_or_else(|| text(unit, times), |t0| unit.uncertain(t0.value, t0.err)))
}

/// The reason why t0 of an arm is only a limit.
pub fn why_limited(arm: &ArmSummary) -> Option<&'static str> {
    Some(match arm.times.as_ref()?.limited_by? {
        LimitCause::Interruptions => "every run was interrupted",
        LimitCause::Neighbours => "the core's other hardware thread was busy",
    })
}
