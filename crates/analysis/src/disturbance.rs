//! How much other programs disturbed a session, in a few numbers.

use serde::Serialize;

use crate::arm_values::sessions;
use crate::ledger::RecordLedger;
use crate::neighbours::Neighbours;
use crate::single::Analysis;
use crate::summary::{ArmSummary, LimitCause, TimeSummary};
use model::values::DecideOn;
use record::Record;
use record::ledger::{Ledger, NoiseSource};

const SOURCES_MAX: usize = 5;

/// How much the runs were disturbed. Shares are fractions: 0.03 is 3 %.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Disturbance {
    /// Share of the runs' wall time in which they were ready and other programs had the CPU. Clean time leaves it out.
    /// Null if the kernel does not report it.
    pub taken_share: Option<f64>,
    /// Share of the runs that began while the other hardware thread of their core was busy; null without probes.
    pub shared_core_share: Option<f64>,
    /// Whether the noise-free time of a command is only an upper limit, because noise was in every run.
    pub is_limit_only: bool,
    /// The causes of the time above the noise-free time, the largest first.
    pub sources: Vec<DisturbanceSource>,
}

/// One source of the time above the noise-free time.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DisturbanceSource {
    #[serde(flatten)]
    pub source: NoiseSource,
    /// The cause's time ÷ the measured time.
    pub share: f64,
}

impl Disturbance {
    /// The disturbance of the candidates; `None` without a finished run.
    pub fn of(analysis: &Analysis) -> Option<Self> {
        Self::new(&analysis.arms, analysis.neighbours, analysis.ledger.as_ref())
    }

    pub fn new(
        arms: &[ArmSummary],
        neighbours: Option<Neighbours>,
        ledger: Option<&RecordLedger>,
    ) -> Option<Self> {
        let arms = || arms.iter().filter(|arm| !arm.is_hidden && arm.n_runs > 0);
        arms().next()?;
        let stalls = arms().filter_map(|arm| Some((arm.n_runs as f64, arm.stalls?)));
        let (stalled_ns, wall_ns) = stalls.fold((0.0, 0.0), |(stalled, wall), (n, it)| {
            (stalled + n * it.stalled_mean_ns, wall + n * it.wall_mean_ns)
        });
        let is_limit = |times: &TimeSummary| {
            times.is_upper_limit && times.limited_by != Some(LimitCause::MemoryFloor)
        };
        let sources = ledger.map(|it| DisturbanceSource::largest(&it.total, it.measured_ns as f64));
        Some(Self {
            taken_share: (wall_ns > 0.0).then(|| stalled_ns / wall_ns),
            shared_core_share: neighbours.map(|it| it.share()),
            is_limit_only: arms().any(|arm| arm.times.as_ref().is_some_and(is_limit)),
            sources: sources.unwrap_or_default(),
        })
    }
}

/// The quantity that decides in a record or in one of its benchmarks, if it is not a time. It has no t0, so no time can
/// be lost above it.
pub fn other_quantity(record: &Record) -> Option<String> {
    sessions(record).into_iter().find_map(|(_, session)| {
        let plan = &session.header.plan;
        let other = plan.policy.decide_on.filter(|it| it.clock().is_none());
        let memory = plan.workers.as_ref().filter(|it| it.headline.clock().is_none());
        other.map(DecideOn::name).or_else(|| memory.map(|_| "memory".to_owned()))
    })
}

impl DisturbanceSource {
    /// The largest sources of a ledger, as shares of `whole_ns`.
    pub fn largest(ledger: &Ledger, whole_ns: f64) -> Vec<Self> {
        let entries = ledger.entries.iter().filter(|entry| entry.ns > 0).take(SOURCES_MAX);
        let share = |ns: i64| ns as f64 / whole_ns.max(1.0);
        entries.map(|it| Self { source: it.source.clone(), share: share(it.ns) }).collect()
    }
}
