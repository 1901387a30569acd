//! Scheduling and memory policies with the kernel's numbers (sched(7), set_mempolicy(2)).

use host::sys::{NodePolicy, SchedulingPolicy};
use model::values::{MemoryMode, MemoryPolicy, Sched};

pub(super) fn policy(sched: Sched) -> SchedulingPolicy {
    let (policy, priority) = policy_numbers(sched);
    SchedulingPolicy { policy, priority }
}

/// The number of the policy, and the priority.
pub(super) fn policy_numbers(sched: Sched) -> (i32, i32) {
    match sched {
        Sched::Other => (libc::SCHED_OTHER, 0),
        Sched::Batch => (libc::SCHED_BATCH, 0),
        Sched::Fifo(priority) => (libc::SCHED_FIFO, priority.into()),
        Sched::Rr(priority) => (libc::SCHED_RR, priority.into()),
    }
}

pub(super) fn node_policy(policy: &MemoryPolicy) -> NodePolicy {
    NodePolicy::new(mode_number(policy.mode), &policy.nodes)
}

pub(super) fn mode_number(mode: MemoryMode) -> i32 {
    match mode {
        MemoryMode::Bind => libc::MPOL_BIND,
        MemoryMode::Interleave => libc::MPOL_INTERLEAVE,
    }
}
