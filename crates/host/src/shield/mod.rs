//! The shield: CPUs that run only the benchmark.
//!
//! A shield uses the machine's best mechanism: a version 2 control group partition, version 1 sets of CPUs, or CPUs that the
//! kernel was booted to leave alone.
//!
//! The journal records the shield before the first write. Removing it looks at the machine, not at the journal, to see
//! how far the setup came. So a kill at any point is safe (docs/isolation.md).

mod explain;
#[cfg(test)]
mod fake;
mod group;
mod isolation;
mod neighbours;
mod place;
mod site;
mod systemd;
mod tasks;
#[cfg(test)]
mod tests;
mod verify;
mod version1;
mod version2;

use crate::Host;
use model::values::format_cpu_list;
use model::words::reason;

pub use explain::no_shield_without_rights;
pub use isolation::{Isolation, ShieldKind, ShieldPlan, ShieldRequest};
pub use place::{Placement, place};
pub use site::{Site, find};
pub use tasks::Mask;
pub use verify::{Watch, expected_partition, verify};

/// Names of the groups: the partition or the benchmark's set, the set for everything else, and the groups of our
/// systemd units.
const OURS: &[&str] = &[
    "stillwell",
    "stillwell-user",
    "stillwell-system",
    "stillwell.slice",
    "stillwell-shield.service",
];

/// Knobs against noise that comes from no task: interrupts, deferred work, kernel timers.
pub const KNOBS: &[&str] = &["irqbalance", "irqs", "workqueues", "watchdog-cpus"];

/// Plans a shield for these CPUs and writes nothing. The second value says why there is no better kind.
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
        ..ShieldPlan::default()
    };
    prepare(host, &site, &mut raised);
    why.extend(placement.notes.iter().cloned());
    (raised, why)
}

/// Records the state that the shield's end will have to restore.
pub(crate) fn prepare(host: &Host, site: &Site, raised: &mut ShieldPlan) {
    match raised.how {
        ShieldKind::Partition => version2::plan(host, site, raised),
        ShieldKind::DelegatedPartition => version2::plan_delegated(host, site, raised),
        ShieldKind::Cpusets => version1::plan(host, site, raised),
        ShieldKind::Boot | ShieldKind::Affinity => {}
    }
}

/// Makes the shield and returns notes for the user. The journal must already have it. Errors: the shield cannot be
/// made, with the reason. [`lower`] removes the parts that were made.
pub fn raise(host: &Host, raised: &ShieldPlan) -> Result<Vec<String>, String> {
    let site = find(host);
    match raised.how {
        ShieldKind::Partition => version2::raise(host, &site, raised),
        ShieldKind::DelegatedPartition => version2::raise_delegated(host, &site, raised),
        ShieldKind::Cpusets => version1::raise(host, &site, raised),
        ShieldKind::Boot | ShieldKind::Affinity => Ok(Vec::new()),
    }
}

/// Removes the existing parts of the shield. Returns each part that is left, and why.
pub fn lower(host: &Host, raised: &ShieldPlan) -> Vec<(String, String)> {
    let site = find(host);
    match raised.how {
        ShieldKind::Partition => version2::lower(host, &site, raised),
        ShieldKind::DelegatedPartition => version2::lower_delegated(host, &site, raised),
        ShieldKind::Cpusets => version1::lower(host, &site, raised),
        ShieldKind::Boot | ShieldKind::Affinity => Vec::new(),
    }
}

/// Moves a process into the shield. Errors: the kernel refuses, with an explanation.
pub fn enter(host: &Host, raised: &ShieldPlan, pid: i32) -> Result<(), String> {
    let site = find(host);
    let Some(path) = group_of(&site, raised.how) else { return Ok(()) };
    let procs = format!("{path}/cgroup.procs");
    let cpus = format_cpu_list(&raised.cpus);
    host.write_group(&procs, &pid.to_string())
        .map_err(reason)
        .map_err(|why| format!("cannot put process {pid} on the shielded CPUs {cpus}: {why}"))
}

/// The directory of the commands' group.
pub(crate) fn group_of(site: &Site, how: ShieldKind) -> Option<String> {
    match how {
        ShieldKind::Partition => version2::local(site),
        ShieldKind::DelegatedPartition => version2::delegated(site),
        ShieldKind::Cpusets => version1::user(site),
        ShieldKind::Boot | ShieldKind::Affinity => None,
    }
}

/// The slice and the service whose group is used if systemd manages the groups.
pub(super) const SLICE: &str = "stillwell.slice";
pub(super) const SERVICE: &str = "stillwell-shield.service";
