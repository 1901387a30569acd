//! The deciding quantity, and what follows from it: unit, statistic and control.

#[cfg(test)]
mod tests;

use anyhow::{Result, ensure};

use crate::plan::arms::Arms;
use crate::plan::{Control, DecisionRule, Role};
use model::prose::prose;
use model::spec::groups::JudgementOptions;
use model::values::metric::MetricSource;
use model::values::{Better, Ceiling, DecideOn, ValueUnit};

#[derive(Debug)]
pub(super) struct Deciding {
    /// The rule; its error rate, margin and process value are still the defaults.
    pub(super) rule: DecisionRule,
    pub(super) ceiling: Option<Ceiling>,
}

impl Deciding {
    /// The deciding quantity of the options. Sets the unit of the arms, and removes a control that the quantity cannot
    /// use. Errors: the quantity is a value and there is none, or it cannot be subtracted.
    pub(super) fn of(arms: &mut Arms, judgement: &JudgementOptions) -> Result<Self> {
        let value = arms.arms.iter().find_map(|arm| arm.value.clone());
        let chosen = judgement.decide_on.or(value.as_ref().map(|_| DecideOn::Value));
        let estimand = judgement.estimand;
        let clock = chosen.and_then(DecideOn::clock).or(judgement.clock).unwrap_or_default();
        let Some(decide_on) = chosen else {
            let estimand = estimand.unwrap_or_default();
            let rule = DecisionRule { clock, estimand, ..DecisionRule::default() };
            let unit = arms.arms.first().map_or(ValueUnit::Time, |arm| arm.unit);
            return Ok(Self { rule, ceiling: ceiling(judgement, unit, rule.better)? });
        };
        let value = value.filter(|_| decide_on == DecideOn::Value);
        ensure!(
            decide_on != DecideOn::Value || value.is_some(),
            prose![DecideOn " value: there is no value; " Value " or " ValueJson " says where it is"]
        );
        let better = value.as_ref().map_or(Better::Lower, |value| value.better);
        let unit = value.map_or(decide_on.unit(), |value| value.kind());
        arms.arms.iter_mut().for_each(|arm| arm.unit = unit);
        if decide_on.clock().is_none() {
            remove_control(arms, decide_on)?;
        }
        let (decide_on, estimand) = (Some(decide_on), estimand.unwrap_or_default());
        let rule = DecisionRule { estimand, clock, decide_on, better, ..DecisionRule::default() };
        Ok(Self { rule, ceiling: ceiling(judgement, unit, better)? })
    }

    /// Whether the quantity is a processor count, which needs open counters.
    pub(super) fn needs_counters(&self) -> bool {
        let metrics = self.rule.decide_on.map_or(&[][..], DecideOn::metrics);
        metrics.iter().any(|metric| metric.info().source == MetricSource::Hardware)
    }
}

/// The ceiling, if it applies to the deciding quantity.
fn ceiling(
    judgement: &JudgementOptions,
    unit: ValueUnit,
    better: Better,
) -> Result<Option<Ceiling>> {
    let Some(ceiling) = judgement.fail_on.and_then(|fail_on| fail_on.above) else {
        return Ok(None);
    };
    ceiling.check(unit, better).map_err(anyhow::Error::msg)?;
    Ok(Some(ceiling))
}

/// Removes the empty shell: only times have it subtracted.
fn remove_control(arms: &mut Arms, decide_on: DecideOn) -> Result<()> {
    let Some(Control { arm, role }) = arms.control else { return Ok(()) };
    ensure!(
        role == Role::EmptyShell,
        prose!["--subtract subtracts times; it does not go with " DecideOn " " (decide_on.name())]
    );
    arms.arms.remove(arm);
    arms.control = None;
    Ok(())
}
