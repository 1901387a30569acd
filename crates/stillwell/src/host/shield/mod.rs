//! The shield: CPUs on which nothing runs but what is put there. Made of what this machine has: a partition of control
//! groups (version 2), sets of CPUs (version 1), or CPUs that the kernel was booted to leave alone.
//!
//! What is about to be made is in the journal before the first write, and taking it away asks the machine and not the
//! journal how far it came: so it can be killed at any point (docs/isolation.md).

mod explain;
mod force;
mod group;
mod isolation;
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

use crate::host::Host;
use crate::values::format_cpu_list;

pub use explain::no_shield_without_rights;
pub use force::{put_in_force, strays, take_down};
pub use isolation::{Isolation, ShieldKind, ShieldPlan, ShieldRequest};
pub use place::{Placement, place};
pub use site::{Site, find};
pub use verify::{expected_partition, verify};
pub use watch::Watch;

use tasks::Masks;

/// Knobs that take away from the CPUs of a shield what no task is: interrupts, deferred work, timers of the kernel.
pub const KNOBS: &[&str] = &["irqbalance", "irqs", "workqueues", "watchdog-cpus"];

/// What is to be made for these CPUs. Nothing is written yet. The second value says why it is not something better.
pub fn plan(
    host: &Host,
    placement: &Placement,
    request: &ShieldRequest,
) -> (ShieldPlan, Vec<String>) {
    let site = find(host);
    let (how, mut why) = site.how(&placement.shielded);
    let mut raised = ShieldPlan {
        how,
        cpus: placement.shielded.clone(),
        bound: placement.bound.clone(),
        balanced: request.balanced,
        switched_on: false,
        masks: Masks::default(),
        knobs: Vec::new(),
    };
    if how == ShieldKind::Cpusets {
        version1::plan(host, &site, &mut raised, request.kernel_threads);
    } else {
        prepare(host, &mut raised);
    }
    why.extend(placement.notes.iter().cloned());
    (raised, why)
}

/// Finds out what a partition will have to undo.
fn prepare(host: &Host, raised: &mut ShieldPlan) {
    let site = find(host);
    match raised.how {
        ShieldKind::Partition => version2::plan(host, &site, raised),
        ShieldKind::DelegatedPartition => version2::plan_delegated(host, &site, raised),
        ShieldKind::Cpusets | ShieldKind::Boot | ShieldKind::Affinity => {}
    }
}

/// Makes it; to be called when it is in the journal. The value is what the user should know.
///
/// # Errors
/// Why it cannot be had; what was made until then is taken away by [`lower`].
pub fn raise(
    host: &Host,
    raised: &ShieldPlan,
    kernel_threads: bool,
) -> Result<Vec<String>, String> {
    let site = find(host);
    match raised.how {
        ShieldKind::Partition => version2::raise(host, &site, raised),
        ShieldKind::DelegatedPartition => version2::raise_delegated(host, &site, raised),
        ShieldKind::Cpusets => version1::raise(host, &site, raised, kernel_threads),
        ShieldKind::Boot | ShieldKind::Affinity => Ok(Vec::new()),
    }
}

/// Takes it away, as far as there is something of it. Returns what is left of it, and why.
pub fn lower(host: &Host, raised: &ShieldPlan) -> Vec<(String, String)> {
    let site = find(host);
    match raised.how {
        ShieldKind::Partition => version2::lower(host, &site, raised),
        ShieldKind::DelegatedPartition => version2::lower_delegated(host, &site, raised),
        ShieldKind::Cpusets => version1::lower(host, &site, raised),
        ShieldKind::Boot | ShieldKind::Affinity => Vec::new(),
    }
}

/// Puts a process there.
///
/// # Errors
/// The kernel's answer, in words.
pub fn enter(host: &Host, raised: &ShieldPlan, pid: i32) -> Result<(), String> {
    let site = find(host);
    let Some(path) = group_of(&site, raised.how) else { return Ok(()) };
    let procs = format!("{path}/cgroup.procs");
    let cpus = format_cpu_list(&raised.cpus);
    host.write_group(&procs, &pid.to_string())
        .map_err(|error| format!("cannot put process {pid} on the shielded CPUs {cpus}: {error}"))
}

/// The directory of the group that commands are in.
fn group_of(site: &Site, how: ShieldKind) -> Option<String> {
    match how {
        ShieldKind::Partition => Some(version2::local(site)?),
        ShieldKind::DelegatedPartition => Some(version2::delegated(site)?),
        ShieldKind::Cpusets => Some(version1::user(site)?),
        ShieldKind::Boot | ShieldKind::Affinity => None,
    }
}
