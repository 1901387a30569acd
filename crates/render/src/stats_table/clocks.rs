//! The times by the other clocks.

use crate::t0;
use crate::units::DisplayUnit;
use analysis::{ArmSummary, TimeSummary, UncertainValue};
use model::values::Clock;

use super::{StatisticLine, Statistics, add};

type TimesOf = for<'a> fn(&'a ArmSummary) -> Option<&'a TimeSummary>;

/// Adds t0, median and mean by the clocks that are not compared.
pub(super) fn lines(lines: &mut Vec<StatisticLine>, statistics: Statistics<'_>, unit: DisplayUnit) {
    let arms = statistics.arms;
    let session = statistics.session();
    let planned = match &session.workers {
        Some(workers) => workers.headline.clock(),
        None => Some(session.policy.clock),
    };
    let has_clean = arms.iter().any(|arm| arm.clean.is_some());
    // Without evidence the clean time is the wall time.
    let compared =
        planned.map(|clock| if clock == Clock::Clean && !has_clean { Clock::Wall } else { clock });
    let clocks: [(Clock, &str, TimesOf); 3] = [
        (Clock::Clean, "clean", |arm| arm.clean.as_ref()),
        (Clock::Wall, "wall", |arm| arm.wall.as_ref()),
        (Clock::Cpu, "cpu", |arm| arm.cpu.as_ref()),
    ];
    for (clock, name, times) in clocks {
        if compared.is_none_or(|compared| compared == clock)
            || arms.iter().all(|arm| times(arm).is_none())
        {
            continue;
        }
        let value = |value: UncertainValue| Some(unit.uncertain(value.value, value.err));
        add(lines, arms, format!("{name} t0"), |arm| Some(t0::text(unit, times(arm)?)));
        add(lines, arms, format!("{name} median"), |arm| value(times(arm)?.median));
        add(lines, arms, format!("{name} mean"), |arm| value(times(arm)?.mean));
    }
}
