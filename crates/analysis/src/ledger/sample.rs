//! Times and counts of each run, from the rows of a record.

use crate::arm_values::by_arm;
use crate::launches::SliceRule;
use crate::neighbours::began_on_shared_core;
use crate::summary::ArmSummary;
use crate::times::{in_base_unit, queued_ns};
use model::values::metric::Metric;
use model::values::{Clock, Headline};
use record::{Record, Rows};

/// More than a year. A record with a longer run is damaged.
pub const TIME_NS_MAX: i64 = 1 << 55;

#[derive(Clone, Copy, Debug, Default)]
pub struct LedgerSample {
    pub step: u32,
    pub wall_ns: i64,
    pub floor_ns: i64,
    pub preempted_ns: Option<i64>,
    pub queued_ns: Option<i64>,
    /// Time for which a CPU quota stopped the run's group, summed over CPUs.
    pub quota_ns: i64,
    pub cpu_ns: Option<i64>,
    pub faults: Option<u64>,
    pub migrations: Option<u64>,
    pub interruptions: Option<u64>,
    /// Whether the run never waited voluntarily.
    pub never_waited: bool,
    /// Whether this is a slice of a worker, whose run-queue delay is an upper bound.
    pub is_slice: bool,
    /// Whether the noise-free time contains no waits, as the clean time of a run.
    pub is_clean: bool,
    pub cycles: Option<f64>,
    /// Whether the core's other hardware thread was busy just before the run.
    pub is_core_shared: Option<bool>,
}

pub fn samples_by_arm(record: &Record, arms: &[ArmSummary]) -> Vec<Vec<LedgerSample>> {
    let plan = &record.header.plan;
    let rows = record.slices.as_ref().unwrap_or(&record.rows);
    let is_wall = plan
        .workers
        .as_ref()
        .is_none_or(|workers| matches!(workers.headline, Headline::Clean | Headline::Wall));
    let in_slices = record.slices.is_some();
    if !is_wall || (in_slices && rows.has_own()) {
        return vec![Vec::new(); arms.len()];
    }
    let rule = SliceRule::of(plan, None);
    by_arm(rows, arms.len(), |rows, index| {
        let arm = &arms[rows.arm(index)];
        let t0_ns = arm.times.as_ref()?.t0.value;
        let loops = rows.get(index, Metric::Loops).unwrap_or(1).max(1);
        let loops = if in_slices { loops * rule.inner_loops(arm.arm as u32) } else { 1 };
        let sample = LedgerSample::of(rows, index, (t0_ns * loops as f64).round() as i64)?;
        Some(if in_slices { sample.within_slice() } else { sample })
    })
}

impl LedgerSample {
    fn of(rows: &Rows, index: usize, floor_ns: i64) -> Option<Self> {
        let count = |metric| rows.get(index, metric);
        let ns = |metric| count(metric).map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let us = |metric| ns(metric).map(|us| us.saturating_mul(1000));
        let times_ns = || Some(us(Metric::UserUs)?.saturating_add(us(Metric::SysUs)?));
        let sample = Self {
            step: rows.step(index),
            wall_ns: ns(Metric::WallNs).filter(|_| rows.headline(index).is_some())?,
            floor_ns,
            preempted_ns: ns(Metric::PreemptedNs),
            queued_ns: queued_ns(rows, index).map(|ns| ns as i64),
            quota_ns: ns(Metric::QuotaNs).unwrap_or(0),
            // The task clock stops before a process frees its memory (Linux 6.18: do_exit in kernel/exit.c). With 10
            // MiB that is a tenth of the time.
            cpu_ns: ns(Metric::CpuNs).or_else(times_ns).or(ns(Metric::TaskClockNs)),
            faults: count(Metric::MinorFaults),
            migrations: count(Metric::Migrations),
            interruptions: count(Metric::InvoluntarySwitches),
            // The exit is one voluntary switch, or none if Stillwell sees the end first.
            never_waited: count(Metric::VoluntarySwitches).is_some_and(|n| n <= 1),
            cycles: in_base_unit(rows, index, Metric::Cycles),
            is_core_shared: began_on_shared_core(rows, index),
            is_slice: false,
            is_clean: false,
        }
        .stalled(rows, index);
        let times = [
            Some(sample.wall_ns),
            Some(floor_ns),
            sample.preempted_ns,
            sample.queued_ns,
            sample.cpu_ns,
        ];
        times.iter().flatten().all(|ns| (0..TIME_NS_MAX).contains(ns)).then_some(sample)
    }

    /// Splits the time in which no task of the run ran into waits after preemptions and other waits.
    fn stalled(self, rows: &Rows, index: usize) -> Self {
        let stalled_ns = rows.get(index, Metric::StalledNs).and_then(|ns| i64::try_from(ns).ok());
        let Some(stalled_ns) = stalled_ns.filter(|_| rows.compared().clock == Clock::Clean) else {
            return self;
        };
        // One task may run while another is preempted.
        let preempted_ns = self.preempted_ns.map(|ns| ns.min(stalled_ns));
        let queued_ns = Some(stalled_ns - preempted_ns.unwrap_or(0));
        Self { preempted_ns, queued_ns, is_clean: true, ..self }
    }

    /// The kernel counts a worker's wait from request to answer, so a part may lie outside the slice. The part inside
    /// is at most the slice's time off the CPU.
    pub fn within_slice(self) -> Self {
        let off_ns = self.cpu_ns.map(|cpu_ns| (self.wall_ns - cpu_ns).max(0));
        let preempted_ns = self.preempted_ns.map(|ns| off_ns.map_or(ns, |off_ns| ns.min(off_ns)));
        let off_ns = off_ns.map(|off_ns| off_ns - preempted_ns.unwrap_or(0));
        Self {
            preempted_ns,
            queued_ns: self.queued_ns.zip(off_ns).map(|(ns, off_ns)| ns.min(off_ns)),
            never_waited: false,
            is_slice: true,
            ..self
        }
    }

    pub fn rest_ns(&self) -> i64 {
        self.wall_ns - self.preempted_ns.unwrap_or(0) - self.queued_ns.unwrap_or(0)
    }
}
