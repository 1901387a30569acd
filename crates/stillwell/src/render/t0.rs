//! t0 as a text.

use crate::analysis::{ArmSummary, LimitCause, TimeSummary, UncertainValue};
use crate::render::exported::net_t0;
use crate::render::units::DisplayUnit;

/// t0 with its error, or as a limit; without the unit.
pub fn text(unit: DisplayUnit, times: &TimeSummary) -> String {
    shown(unit, times, times.t0)
}

/// t0 of an arm, without the time of a control; `None` without a run.
pub fn of_arm(unit: DisplayUnit, arm: &ArmSummary) -> Option<String> {
    Some(shown(unit, arm.times.as_ref()?, net_t0(arm)?))
}

fn shown(unit: DisplayUnit, times: &TimeSummary, t0: UncertainValue) -> String {
    if times.is_upper_limit {
        return format!("at most {}", unit.number(t0.value, None));
    }
    unit.uncertain(t0.value, t0.err)
}

/// The reason why t0 of an arm is only a limit.
pub fn why_limited(arm: &ArmSummary) -> Option<&'static str> {
    Some(match arm.times.as_ref()?.limited_by? {
        LimitCause::Interruptions => "every run was interrupted",
        LimitCause::Neighbours => "the core's other hardware thread was busy",
    })
}
