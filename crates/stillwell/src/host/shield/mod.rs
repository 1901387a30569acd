//! The shield: CPUs on which nothing runs but what is put there. Made of what this machine has: a partition of control
//! groups (version 2), sets of CPUs (version 1), or CPUs that the kernel was booted to leave alone.
//!
//! What is about to be made is in the journal before the first write, and taking it away asks the machine and not the
//! journal how far it came: so it can be killed at any point (docs/isolation.md).

mod explain;
mod force;
mod group;
mod place;
mod site;
mod systemd;
mod tasks;
#[cfg(test)]
mod tests;
mod verify;
mod version1;
mod version2;
mod watch;

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::values::format_cpu_list;

pub use explain::no_shield_without_rights;
pub use force::{put_in_force, strays, take_down};
pub use place::{Placement, place};
pub use site::{Site, find};
pub use verify::{expected_partition, verify};
pub use watch::Watch;

use tasks::Masks;

/// Knobs that take away from the CPUs of a shield what no task is: interrupts, deferred work, timers of the kernel.
pub const KNOBS: &[&str] = &["irqbalance", "irqs", "workqueues", "watchdog-cpus"];

/// What keeps others off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// A partition of version 2 control groups, directly below the root.
    Partition,
    /// The same in a service of systemd's that is delegated to us.
    DelegatedPartition,
    /// Sets of CPUs, version 1.
    Cpusets,
    /// `isolcpus=`.
    Boot,
    /// Nothing: the commands are bound to the CPUs, and others may use them too.
    Affinity,
}

impl How {
    /// In a sentence: the CPUs are kept free by …
    pub fn name(self) -> &'static str {
        match self {
            Self::Partition => "a cgroup v2 partition",
            Self::DelegatedPartition => "a cgroup v2 partition in a service of systemd's",
            Self::Cpusets => "cgroup v1 cpusets",
            Self::Boot => "isolcpus= at boot",
            Self::Affinity => "nothing",
        }
    }

    /// Whether anything keeps others off.
    pub fn is_shield(self) -> bool {
        self != Self::Affinity
    }
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The CPUs, whole cores if possible; `None`: the recommended ones.
    pub cpus: Option<Vec<usize>>,
    /// Whether kernel threads that can be moved are moved with version 1. A partition moves them by itself.
    #[serde(default)]
    pub kernel_threads: bool,
    /// Whether the scheduler is to spread threads over the CPUs, for commands with several.
    #[serde(default)]
    pub balanced: bool,
}

/// A shield as the journal has it: what was about to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raised {
    /// Of what.
    pub how: How,
    /// The CPUs.
    pub cpus: Vec<usize>,
    /// The CPUs that commands are to have.
    pub bound: Vec<usize>,
    /// Whether the scheduler spreads threads over them.
    pub balanced: bool,
    /// Whether the controller was switched on for it, which has to be undone.
    pub switched_on: bool,
    /// Tasks that somebody had bound to CPUs, where the kernel forgets that.
    pub masks: Masks,
    /// The knobs that were turned for it.
    pub knobs: Vec<String>,
}

/// What is in force, as the machine says after it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Isolation {
    /// What keeps others off.
    pub how: How,
    /// CPUs that are kept free, as a list.
    pub cpus: String,
    /// CPUs of these that the commands have.
    pub bound: String,
    /// What the kernel calls the partition: `isolated` (no load balancing) or `root`.
    pub partition: Option<String>,
    /// CPUs of everything else, as the kernel shows them.
    pub others: Option<String>,
    /// Tasks of other programs that may still run there.
    pub n_tasks_left: u32,
    /// Kernel threads that could be elsewhere and may still run there.
    pub n_kernel_threads_left: u32,
    /// Interrupts of devices that may still go there.
    pub n_irqs_left: u32,
    /// What could not be had, and why; whole sentences.
    pub notes: Vec<String>,
}

impl Isolation {
    /// There is none, because.
    pub fn none(why: String) -> Self {
        Self {
            how: How::Affinity,
            cpus: String::new(),
            bound: String::new(),
            partition: None,
            others: None,
            n_tasks_left: 0,
            n_kernel_threads_left: 0,
            n_irqs_left: 0,
            notes: vec![why],
        }
    }

    /// The CPUs of the commands.
    pub fn bound_cpus(&self) -> Vec<usize> {
        crate::values::parse_cpu_list(&self.bound).unwrap_or_default()
    }

    /// The CPUs that are kept free.
    pub fn shielded_cpus(&self) -> Vec<usize> {
        crate::values::parse_cpu_list(&self.cpus).unwrap_or_default()
    }
}

/// What is to be made for these CPUs. Nothing is written yet. The second value says why it is not something better.
pub fn plan(host: &Host, placement: &Placement, request: &Request) -> (Raised, Vec<String>) {
    let site = find(host);
    let (how, mut why) = site.how(&placement.shielded);
    let mut raised = Raised {
        how,
        cpus: placement.shielded.clone(),
        bound: placement.bound.clone(),
        balanced: request.balanced,
        switched_on: false,
        masks: Masks::default(),
        knobs: Vec::new(),
    };
    if how == How::Cpusets {
        version1::plan(host, &site, &mut raised, request.kernel_threads);
    } else {
        prepare(host, &mut raised);
    }
    why.extend(placement.notes.iter().cloned());
    (raised, why)
}

/// Finds out what a partition will have to undo.
fn prepare(host: &Host, raised: &mut Raised) {
    let site = find(host);
    match raised.how {
        How::Partition => version2::plan(host, &site, raised),
        How::DelegatedPartition => version2::plan_delegated(host, &site, raised),
        How::Cpusets | How::Boot | How::Affinity => {}
    }
}

/// Makes it; to be called when it is in the journal. The value is what the user should know.
///
/// # Errors
/// Why it cannot be had; what was made until then is taken away by [`lower`].
pub fn raise(host: &Host, raised: &Raised, kernel_threads: bool) -> Result<Vec<String>, String> {
    let site = find(host);
    match raised.how {
        How::Partition => version2::raise(host, &site, raised),
        How::DelegatedPartition => version2::raise_delegated(host, &site, raised),
        How::Cpusets => version1::raise(host, &site, raised, kernel_threads),
        How::Boot | How::Affinity => Ok(Vec::new()),
    }
}

/// Takes it away, as far as there is something of it. Returns what is left of it, and why.
pub fn lower(host: &Host, raised: &Raised) -> Vec<(String, String)> {
    let site = find(host);
    match raised.how {
        How::Partition => version2::lower(host, &site, raised),
        How::DelegatedPartition => version2::lower_delegated(host, &site, raised),
        How::Cpusets => version1::lower(host, &site, raised),
        How::Boot | How::Affinity => Vec::new(),
    }
}

/// Puts a process there.
///
/// # Errors
/// The kernel's answer, in words.
pub fn enter(host: &Host, raised: &Raised, pid: i32) -> Result<(), String> {
    let site = find(host);
    let Some(path) = group_of(&site, raised.how) else { return Ok(()) };
    let procs = format!("{path}/cgroup.procs");
    let cpus = format_cpu_list(&raised.cpus);
    host.write_group(&procs, &pid.to_string())
        .map_err(|error| format!("cannot put process {pid} on the shielded CPUs {cpus}: {error}"))
}

/// The directory of the group that commands are in.
fn group_of(site: &Site, how: How) -> Option<String> {
    match how {
        How::Partition => Some(version2::local(site)?),
        How::DelegatedPartition => Some(version2::delegated(site)?),
        How::Cpusets => Some(version1::user(site)?),
        How::Boot | How::Affinity => None,
    }
}
