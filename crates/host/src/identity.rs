//! Distinguishes a boot from an earlier one, and a file from a later one with the same path.

use std::io;

use crate::files::{Host, READ_BYTES_MAX, is_gone};
use crate::processes::{Process, pid_of};

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
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
    /// The id of this boot (proc(5), `random/boot_id`). Empty if it cannot be read.
    pub fn boot_id(&self) -> String {
        self.read(BOOT_ID).unwrap_or_default()
    }

    /// The id of this boot. Empty if the machine has none.
    pub(super) fn try_boot_id(&self) -> io::Result<String> {
        match self.try_read(BOOT_ID.as_ref(), READ_BYTES_MAX) {
            Ok(id) => Ok(id.trim_end().to_owned()),
            Err(error) if is_gone(&error) => Ok(String::new()),
            Err(error) => Err(error),
        }
    }

    /// The identity of a file whose path may come to mean something else. An interrupt is identified by its devices,
    /// the directories beside the file; a process by its start time. Errors: the kernel's error, which shows if the
    /// file is gone.
    pub(super) fn identity(&self, path: &str) -> io::Result<Option<String>> {
        if let Some(pid) = pid_of(path) {
            return Process::try_read(self, pid).map(|it| Some(it.start_ticks.to_string()));
        }
        let Some(directory) = path.strip_suffix("/smp_affinity_list") else { return Ok(None) };
        let mut names = self.try_list(directory.as_ref())?;
        names.retain(|name| !IRQ_FILES.contains(&name.as_str()));
        Ok(Some(names.join(" ")))
    }
}
