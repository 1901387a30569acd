//! Throughput of copies that run at the same time.

use model::values::{Clock, DecideOn};
use record::plan::Plan;

/// Copies that end in a second, where a run of all of them takes this time, ns. `None` without several copies, or if what is
/// compared is no wall time.
pub fn throughput(plan: &Plan, time_ns: f64) -> Option<f64> {
    let policy = &plan.policy;
    let is_wall =
        policy.clock == Clock::Wall && policy.decide_on.is_none_or(|it| it == DecideOn::Wall);
    let copies = plan.copies.as_ref().filter(|_| is_wall)?;
    (time_ns > 0.0).then(|| f64::from(copies.n) * 1e9 / time_ns)
}
