//! The quantity of a run that decides a comparison, and the direction in which it is better.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::metric::Metric;
use crate::values::{Clock, ValueUnit, option_value};

/// The quantity of a run that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecideOn {
    Clean,
    Wall,
    Cpu,
    User,
    Sys,
    Maxrss,
    TreeMemory,
    Faults,
    Switches,
    Instructions,
    Cycles,
    Value,
}

impl DecideOn {
    /// The clock, for a time that needs no further words to compare arms.
    pub fn clock(self) -> Option<Clock> {
        match self {
            Self::Clean => Some(Clock::Clean),
            Self::Wall => Some(Clock::Wall),
            Self::Cpu => Some(Clock::Cpu),
            _ => None,
        }
    }

    /// The metrics to add up. Empty for a clock's time and for a program's value.
    pub fn metrics(self) -> &'static [Metric] {
        match self {
            Self::User => &[Metric::UserUs],
            Self::Sys => &[Metric::SysUs],
            Self::Maxrss => &[Metric::MaxrssKib],
            Self::TreeMemory => &[Metric::TreePeakBytes],
            Self::Faults => &[Metric::MinorFaults, Metric::MajorFaults],
            Self::Switches => &[Metric::VoluntarySwitches, Metric::InvoluntarySwitches],
            Self::Instructions => &[Metric::Instructions],
            Self::Cycles => &[Metric::Cycles],
            Self::Clean | Self::Wall | Self::Cpu | Self::Value => &[],
        }
    }

    /// Unit of the quantity. A program's value has the unit of its rule instead.
    pub fn unit(self) -> ValueUnit {
        match self {
            Self::Clean | Self::Wall | Self::Cpu | Self::User | Self::Sys => ValueUnit::Time,
            Self::Maxrss | Self::TreeMemory => ValueUnit::Bytes,
            _ => ValueUnit::Count,
        }
    }

    /// Name as an option's value.
    pub fn name(self) -> String {
        option_value(&self)
    }

    /// Sum of the metrics in their base unit.
    pub fn sum(self, get: impl Fn(Metric) -> Option<u64>) -> Option<f64> {
        self.metrics().iter().map(|metric| metric.in_base_unit(&get)).sum()
    }
}

/// The direction in which a value is better.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    #[default]
    Lower,
    Higher,
}

impl Better {
    pub fn is_lower(&self) -> bool {
        *self == Self::Lower
    }

    /// A value as a cost, or a cost as a value. Where higher is better, each is the inverse of the other, so a ratio of
    /// costs above 1 is always worse.
    pub fn turned(self, value: f64) -> f64 {
        if self.is_lower() { value } else { 1.0 / value }
    }
}

/// The quantity that decides a comparison of runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// Clock of the time that decides without `decide_on`.
    pub clock: Clock,
    /// The quantity that the user chose. Otherwise a row's own value decides, or the time.
    pub decide_on: Option<DecideOn>,
    /// Direction in which the quantity is better.
    pub better: Better,
}

impl Default for Compared {
    fn default() -> Self {
        Self { clock: Clock::Wall, decide_on: None, better: Better::Lower }
    }
}

impl Compared {
    /// The quantity of a row with this own value and these metrics.
    pub fn value(self, own: Option<f64>, get: impl Fn(Metric) -> Option<u64>) -> Option<f64> {
        match self.decide_on {
            None => own.or_else(|| time_ns(self.clock, get)),
            Some(DecideOn::Value) => own,
            // Of one iteration, if a framework's iterations are counted.
            Some(DecideOn::Instructions) if own.is_some() => own,
            Some(quantity) => match quantity.clock() {
                Some(clock) => time_ns(clock, get),
                None => quantity.sum(get),
            },
        }
    }
}

/// The time of a run, ns. Without evidence of stalls, the clean time is the wall time. Records of earlier versions have
/// a few stalls as long as the run; they are no evidence.
pub fn time_ns(clock: Clock, get: impl Fn(Metric) -> Option<u64>) -> Option<f64> {
    let ns = match clock {
        Clock::Wall => get(Metric::WallNs)?,
        Clock::Clean => {
            let wall_ns = get(Metric::WallNs)?;
            let stalled_ns = get(Metric::StalledNs).filter(|stalled_ns| *stalled_ns < wall_ns);
            wall_ns - stalled_ns.unwrap_or(0)
        }
        Clock::Cpu => match get(Metric::CpuNs) {
            Some(ns) => ns,
            None => get(Metric::UserUs)?.saturating_add(get(Metric::SysUs)?).saturating_mul(1000),
        },
    };
    Some(ns as f64)
}

/// What counts the instructions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum CounterChoice {
    /// The processor if it counts them for this user, else valgrind.
    #[default]
    Auto,
    /// The counters of the processor.
    Pmu,
    /// valgrind, which executes each instruction itself.
    Valgrind,
}

impl CounterChoice {
    /// Name as an option's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Pmu => "pmu",
            Self::Valgrind => "valgrind",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_that_leaves_nothing_is_no_evidence() {
        let clean = |stalled_ns| {
            time_ns(Clock::Clean, |metric| match metric {
                Metric::WallNs => Some(50),
                Metric::StalledNs => stalled_ns,
                _ => None,
            })
        };
        assert_eq!([None, Some(20), Some(50)].map(clean), [50.0, 30.0, 50.0].map(Some));
    }

    #[test]
    fn a_sum_needs_all_of_its_metrics() {
        let get = |metric| match metric {
            Metric::MinorFaults => Some(5),
            Metric::MajorFaults => Some(2),
            Metric::Instructions => Some(10),
            Metric::RunningPpm => Some(500_000),
            Metric::VoluntarySwitches => Some(1),
            _ => None,
        };
        assert_eq!(DecideOn::Faults.sum(get), Some(7.0));
        assert_eq!(DecideOn::Instructions.sum(get), Some(20.0));
        assert_eq!(DecideOn::Switches.sum(get), None);
    }
}
