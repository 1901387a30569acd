//! Excess.

use serde::Serialize;

use crate::analysis::ledger::sample::LedgerSample;
use crate::ledger::scaled;

/// What the threads of a run do with CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadUse {
    /// There is one, or one at a time.
    One,
    /// One waits while another one has the CPU, so that its waiting is no part of the wall time, and nothing but waiting is
    /// told apart, as an estimate.
    TakeTurns,
    /// They have several CPUs at a time: the same.
    Parallel,
}

/// Share of an arm's runs that counts as undisturbed.
pub const LOW: f64 = 0.2;

/// More CPU time than wall time by this factor is more than one CPU; more CPU time and waiting, more than one thread.
const PARALLEL_FROM: f64 = 1.1;

/// What an arm has without noise.
pub struct ArmBaseline {
    pub preempted_ns: i64,
    pub queued_ns: i64,
    /// CPU time ÷ time that it was not waiting for a CPU; `None` where it is not known, or there are several threads.
    pub cpu_share: Option<f64>,
    pub threads: ThreadUse,
}

/// The excess of a run.
pub struct ExcessSplit {
    pub preempted_ns: i64,
    pub queued_ns: i64,
    pub cpu_ns: Option<i64>,
    pub asleep_ns: Option<i64>,
    /// Whether it waited for longer than it took: several threads did at once.
    pub is_capped: bool,
}

impl ArmBaseline {
    pub fn of(samples: &[LedgerSample]) -> Self {
        let least =
            |of: fn(&LedgerSample) -> Option<i64>| samples.iter().filter_map(of).min().unwrap_or(0);
        let mut order: Vec<&LedgerSample> = samples.iter().collect();
        let n_low = ((samples.len() as f64 * LOW).ceil() as usize).max(1);
        if n_low < order.len() {
            let excess =
                |sample: &LedgerSample| sample.wall_ns as f64 / sample.floor_ns.max(1) as f64;
            order.select_nth_unstable_by(n_low, |a, b| excess(a).total_cmp(&excess(b)));
            order.truncate(n_low);
        }
        let cpu_ns: Option<i64> = order.iter().map(|sample| sample.cpu_ns).sum();
        let rest_ns: i64 = order.iter().map(|sample| sample.rest_ns()).sum();
        let wall_ns: i64 = order.iter().map(|sample| sample.wall_ns).sum();
        let is_more = |ns: i64| cpu_ns.is_some_and(|cpu| cpu as f64 > PARALLEL_FROM * ns as f64);
        // Waiting is of all threads, or of the first one: without it there may be no time left.
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
            // Both parts come from one difference, so that what one has too much the other has too little.
            let usual_ns = (sample.rest_ns() - left_ns) as f64 * share;
            let more_ns = ns - usual_ns.round() as i64;
            cpu_ns = Some(more_ns);
            // Where nobody has counted how long it was ready, nobody knows that it was not.
            asleep_ns = sample.queued_ns.map(|_| left_ns - more_ns);
        }
        ExcessSplit { preempted_ns, queued_ns, cpu_ns, asleep_ns, is_capped }
    }
}
