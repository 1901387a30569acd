//! The launcher's own CPUs and priority.

use anyhow::{Context as _, Result, ensure};
use rustix::process::{getpriority_process, setpriority_process};

use host::sys;

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
