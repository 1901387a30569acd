//! What tells a file from another that has its path later.

use crate::host::files::Host;
use crate::host::processes::{Process, pid_of};

/// What the kernel shows of every interrupt (kernel/irq/proc.c); anything else is the name of a device.
const IRQ_FILES: &[&str] = &[
    "affinity_hint",
    "effective_affinity",
    "effective_affinity_list",
    "node",
    "smp_affinity",
    "smp_affinity_list",
    "spurious",
];

impl Host {
    /// What a file is about, where its path may come to mean something else: the devices of an interrupt are the
    /// directories beside it, and of a process it is when it started.
    pub(super) fn identity(&self, path: &str) -> Option<String> {
        if let Some(pid) = pid_of(path) {
            return Process::read(self, pid).map(|it| it.start_ticks.to_string());
        }
        let directory = path.strip_suffix("/smp_affinity_list")?;
        let mut names = self.list(directory);
        names.retain(|name| !IRQ_FILES.contains(&name.as_str()));
        Some(names.join(" "))
    }
}
