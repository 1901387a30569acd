//! The state of the launcher's processes: runs and hooks.

use crate::wire::LauncherSettings;
use host::sys::{Attributes, CpuMask, NodePolicy, SchedulingPolicy};

pub(super) fn attributes_of(
    open: LauncherSettings,
    allowed: &[usize],
    own_nice: Option<i32>,
) -> [Attributes; 2] {
    let is_with_runs = open.launcher_cpus == open.affinity;
    let runs = Attributes {
        // Children inherit the launcher's mask; hooks get the original mask back.
        affinity: open.affinity.filter(|_| !is_with_runs).as_deref().map(CpuMask::new),
        memory: open.memory.map(|(mode, nodes)| NodePolicy::new(mode, &nodes)),
        nice: open.nice,
        policy: open.policy.map(|(policy, priority)| SchedulingPolicy { policy, priority }),
        no_aslr: open.no_aslr,
        rlimits: open.rlimits,
        run_as: open.run_as.clone(),
        directory: None,
    };
    let hooks = Attributes {
        affinity: open.launcher_cpus.map(|_| CpuMask::new(allowed)),
        nice: own_nice,
        run_as: open.run_as,
        ..Attributes::default()
    };
    [runs, hooks]
}
