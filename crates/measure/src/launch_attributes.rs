//! The state of the processes of a launcher: of the runs, of the hooks, and of the launcher itself.

use anyhow::{Context as _, Result, ensure};
use rustix::process::{getpriority_process, setpriority_process};

use crate::wire::LauncherSettings;
use host::sys::{self, Attributes, CpuMask, NodePolicy, SchedulingPolicy};
use model::values::{MemoryMode, MemoryPolicy, Sched};

/// The attributes of each copy of a run, and of the hooks.
pub(super) fn attributes_of(
    open: LauncherSettings,
    allowed: &[usize],
    own_nice: Option<i32>,
) -> (Vec<Attributes>, Attributes) {
    let copies = open.copies;
    let is_with_runs = open.launcher_cpus == open.affinity;
    let runs = Attributes {
        // Children inherit the launcher's mask; hooks get the original mask back.
        affinity: open.affinity.filter(|_| !is_with_runs).as_deref().map(CpuMask::new),
        memory: open.memory.as_ref().map(node_policy),
        nice: open.nice,
        policy: open.sched.map(policy),
        no_aslr: open.no_aslr,
        run_as: open.run_as.clone(),
        ..Attributes::default()
    };
    let hooks = Attributes {
        affinity: open.launcher_cpus.map(|_| CpuMask::new(allowed)),
        nice: own_nice,
        run_as: open.run_as,
        ..Attributes::default()
    };
    (copy_attributes(&runs, &copies), hooks)
}

/// The attributes of each copy. `cpus` has the CPUs of each, and is empty without copies. A copy with an empty list may use
/// the CPUs of all.
fn copy_attributes(runs: &Attributes, cpus: &[Vec<usize>]) -> Vec<Attributes> {
    if cpus.is_empty() {
        return vec![runs.clone()];
    }
    let of_copy = |cpus: &Vec<usize>| {
        let own = (!cpus.is_empty()).then(|| CpuMask::new(cpus));
        Attributes { affinity: own.or_else(|| runs.affinity.clone()), ..runs.clone() }
    };
    cpus.iter().map(of_copy).collect()
}

/// Sets this process's nice level. Returns the level before, or `None` if that is not allowed: the first run then
/// reports it.
pub fn raise_own_priority(nice: i32) -> Option<i32> {
    let before = getpriority_process(None).ok()?;
    setpriority_process(None, nice).ok()?;
    Some(before)
}

pub fn pin_myself(cpus: &[usize]) -> Result<()> {
    sys::bind(None, cpus)?;
    // A cpuset (cgroup) reduces the mask without an error (sched_setaffinity(2)).
    let allowed = allowed_cpus()?;
    ensure!(allowed == cpus, "the cpuset of this control group allows only {allowed:?} of them");
    Ok(())
}

pub fn allowed_cpus() -> Result<Vec<usize>> {
    sys::bound_cpus().context("cannot read my own affinity")
}

pub(super) fn policy(sched: Sched) -> SchedulingPolicy {
    let (policy, priority) = match sched {
        Sched::Other => (libc::SCHED_OTHER, 0),
        Sched::Batch => (libc::SCHED_BATCH, 0),
        Sched::Fifo(priority) => (libc::SCHED_FIFO, priority.into()),
        Sched::Rr(priority) => (libc::SCHED_RR, priority.into()),
    };
    SchedulingPolicy { policy, priority }
}

pub(super) fn node_policy(policy: &MemoryPolicy) -> NodePolicy {
    let mode = match policy.mode {
        MemoryMode::Bind => libc::MPOL_BIND,
        MemoryMode::Interleave => libc::MPOL_INTERLEAVE,
    };
    NodePolicy::new(mode, &policy.nodes)
}
