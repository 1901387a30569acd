//! Distinguishes a boot from an earlier one, and a file from a later one with the same path.

use crate::host::files::Host;
use crate::host::processes::{Process, pid_of};

/// The kernel's entries for every interrupt (kernel/irq/proc.c). Any other entry is the name of a device.
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
    /// The id of this boot (proc(5), `random/boot_id`). Empty where it cannot be read.
    pub fn boot_id(&self) -> String {
        self.read("proc/sys/kernel/random/boot_id").unwrap_or_default()
    }

    /// Returns the identity of a file whose path may come to mean something else. An interrupt is identified by its
    /// devices, the directories beside the file. A process is identified by its start time.
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
