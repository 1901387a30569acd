//! Splits a run's excess over the least disturbed runs into preemption, queueing, CPU time and sleep.

use schemars::JsonSchema;
use serde::Serialize;

use crate::arm_values::lowest;
use crate::ledger::sample::LedgerSample;
use record::ledger::scaled;

/// The use of CPUs by the threads of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadUse {
    /// One thread, or one at a time.
    One,
    /// Several threads share one CPU: one waits while another runs, so the run-queue delay is not part of the wall
    /// time. The ledger separates only waiting, as an estimate.
    TakeTurns,
    /// The threads use several CPUs at a time. The ledger separates only waiting, as an estimate.
    Parallel,
}

/// CPU time above wall time by this factor means several CPUs. CPU time plus run-queue delay above wall time by this
/// factor means several threads.
const PARALLEL_FROM: f64 = 1.1;

/// The noise-free parts of an arm's time.
pub struct ArmBaseline {
    pub preempted_ns: i64,
    pub queued_ns: i64,
    /// CPU time ÷ time outside the run queue; `None` if unknown, or with several threads.
    pub cpu_share: Option<f64>,
    pub threads: ThreadUse,
}

pub struct ExcessSplit {
    pub preempted_ns: i64,
    pub queued_ns: i64,
    pub cpu_ns: Option<i64>,
    pub asleep_ns: Option<i64>,
    /// Whether the run-queue delay exceeds the excess: several threads waited at once.
    pub is_capped: bool,
}

impl ExcessSplit {
    /// Separates the waits that a CPU quota made. The kernel records such a wait as a preemption, or as queueing after
    /// a sleep.
    pub fn without_quota(self, quota_ns: i64) -> (Self, i64) {
        let of_preempted_ns = quota_ns.clamp(0, self.preempted_ns.max(0));
        let of_queued_ns = (quota_ns - of_preempted_ns).clamp(0, self.queued_ns.max(0));
        let preempted_ns = self.preempted_ns - of_preempted_ns;
        let queued_ns = self.queued_ns - of_queued_ns;
        (Self { preempted_ns, queued_ns, ..self }, of_preempted_ns + of_queued_ns)
    }
}

impl ArmBaseline {
    pub fn of(samples: &[LedgerSample]) -> Self {
        // The clean time of the least disturbed runs contains no waits; their wall time does.
        let with_waits = samples.iter().filter(|sample| !sample.is_clean);
        let least = |of: fn(&LedgerSample) -> Option<i64>| {
            with_waits.clone().filter_map(of).min().unwrap_or(0)
        };
        let excess = |sample: &&LedgerSample| {
            let waited_ns = if sample.is_clean { sample.wall_ns - sample.rest_ns() } else { 0 };
            (sample.wall_ns - waited_ns) as f64 / sample.floor_ns.max(1) as f64
        };
        let low = lowest(samples.iter().collect(), excess);
        let cpu_ns: Option<i64> = low.iter().map(|sample| sample.cpu_ns).sum();
        let rest_ns: i64 = low.iter().map(|sample| sample.rest_ns()).sum();
        let wall_ns: i64 = low.iter().map(|sample| sample.wall_ns).sum();
        let is_more = |ns: i64| cpu_ns.is_some_and(|cpu| cpu as f64 > PARALLEL_FROM * ns as f64);
        // The run-queue delay may be a sum over threads, and exceed the wall time.
        let threads = if is_more(wall_ns) {
            ThreadUse::Parallel
        } else if is_more(rest_ns) {
            ThreadUse::TakeTurns
        } else {
            ThreadUse::One
        };
        let cpu_ns = cpu_ns.filter(|_| rest_ns > 0 && threads == ThreadUse::One);
        Self {
            preempted_ns: least(|sample| sample.preempted_ns),
            queued_ns: least(|sample| sample.queued_ns),
            cpu_share: cpu_ns.map(|ns| ns as f64 / rest_ns as f64),
            threads,
        }
    }

    pub fn split(&self, sample: &LedgerSample) -> ExcessSplit {
        let excess_ns = sample.wall_ns - sample.floor_ns;
        let mut preempted_ns = sample.preempted_ns.map_or(0, |ns| ns - self.preempted_ns);
        let mut queued_ns = sample.queued_ns.map_or(0, |ns| ns - self.queued_ns);
        let waited_ns = preempted_ns + queued_ns;
        let is_capped = waited_ns > excess_ns.max(0);
        if is_capped {
            preempted_ns = scaled(preempted_ns, excess_ns.max(0), waited_ns);
            queued_ns = excess_ns.max(0) - preempted_ns;
        }
        let left_ns = excess_ns - preempted_ns - queued_ns;
        let (mut cpu_ns, mut asleep_ns) = (None, None);
        if let (Some(share), Some(ns)) = (self.cpu_share, sample.cpu_ns) {
            // Both parts come from one difference, so an error moves time from one to the other.
            let usual_ns = (sample.rest_ns() - left_ns) as f64 * share;
            let more_ns = ns - usual_ns.round() as i64;
            cpu_ns = Some(more_ns);
            // Without a run-queue count, the time off the CPU cannot be split into sleeping and waiting.
            asleep_ns = sample.queued_ns.map(|_| left_ns - more_ns);
        }
        ExcessSplit { preempted_ns, queued_ns, cpu_ns, asleep_ns, is_capped }
    }
}
