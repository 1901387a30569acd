//! Partitions of version 2 control groups (Documentation/admin-guide/cgroup-v2.rst, "Cpuset"). One write takes every
//! task of every other group and every kernel thread that can be elsewhere off the CPUs, and none has to be moved;
//! removing the group undoes all of it. The write succeeds also when the kernel refuses: it has to be read back.

use crate::host::Host;
use crate::host::shield::site::Site;
use crate::host::shield::tasks::{bind_again, bound};
use crate::host::shield::{ShieldPlan, explain, group};
use crate::values::{format_cpu_list, read_cpu_list};

/// Our group where nobody else has a say, and those of a service of ours where systemd has.
const GROUP: &str = "stillwell";
pub(super) const SLICE: &str = "stillwell.slice";
pub(super) const SERVICE: &str = "stillwell-shield.service";
/// How long a process may take to leave the group, in looks of a millisecond.
const LOOKS_MAX: u32 = 200;
const LOOK: std::time::Duration = std::time::Duration::from_millis(1);

/// The group below the root.
pub(super) fn local(site: &Site) -> Option<String> {
    Some(format!("{}/{GROUP}", site.version_2.as_ref().ok()?))
}

/// The group of the service.
pub(super) fn delegated(site: &Site) -> Option<String> {
    Some(format!("{}/{SLICE}/{SERVICE}", site.version_2.as_ref().ok()?))
}

/// What the kernel calls the kind of partition.
pub(super) fn kind(raised: &ShieldPlan) -> &'static str {
    if raised.balanced { "root" } else { "isolated" }
}

fn online(host: &Host) -> Vec<usize> {
    let online = host.read("sys/devices/system/cpu/online");
    online.and_then(|list| read_cpu_list(&list)).unwrap_or_default()
}

/// CPUs of everything else.
pub(super) fn rest(host: &Host, raised: &ShieldPlan) -> Vec<usize> {
    online(host).into_iter().filter(|cpu| !raised.cpus.contains(cpu)).collect()
}

/// Before anything is written: what has to be undone by hand.
pub(super) fn plan(host: &Host, site: &Site, raised: &mut ShieldPlan) {
    let Ok(point) = &site.version_2 else { return };
    raised.switched_on = !has_controller(host, point);
    plan_delegated(host, site, raised);
}

/// The same where systemd switches the controller.
pub(super) fn plan_delegated(host: &Host, site: &Site, raised: &mut ShieldPlan) {
    if !site.keeps_masks() {
        raised.masks = bound(host, &online(host));
    }
}

fn has_controller(host: &Host, point: &str) -> bool {
    let control = host.read(format!("{point}/cgroup.subtree_control")).unwrap_or_default();
    control.split_ascii_whitespace().any(|name| name == "cpuset")
}

/// Makes the partition below the root.
pub(super) fn raise(host: &Host, site: &Site, raised: &ShieldPlan) -> Result<Vec<String>, String> {
    let point = site.version_2.clone()?;
    let path = format!("{point}/{GROUP}");
    let failed = |what: &str, error: std::io::Error| explain::cannot(what, &point, &error);
    let mut notes = Vec::new();
    // At its next reload systemd switches off what none of its units asks for, and the partition is gone (seen with 252).
    if site.has_systemd
        && let Err(why) = host.start_shield_service(&format_cpu_list(&rest(host, raised)))
    {
        notes.push(format!("systemd may take the partition away when it is reloaded: {why}"));
    }
    if !has_controller(host, &point) {
        host.write_group(&format!("{point}/cgroup.subtree_control"), "+cpuset")
            .map_err(|error| failed("switch the cpuset controller on", error))?;
    }
    host.make_group(&path).map_err(|error| failed("make a group", error))?;
    let cpus = format_cpu_list(&raised.cpus);
    host.write_group(&format!("{path}/cpuset.cpus"), &cpus)
        .map_err(|error| failed("give CPUs to the group", error))?;
    partition(host, &path, raised)?;
    bind_again(host, &raised.masks, Some(&rest(host, raised)));
    Ok(notes)
}

/// Makes a partition of a group, and reads back whether it is one.
fn partition(host: &Host, path: &str, raised: &ShieldPlan) -> Result<(), String> {
    let file = format!("{path}/cpuset.cpus.partition");
    let wanted = kind(raised);
    host.write_group(&file, wanted)
        .map_err(|error| explain::cannot("make a partition", path, &error))?;
    let now = host.read(&file).unwrap_or_default();
    if now == wanted { Ok(()) } else { Err(explain::refused(host, path, &now, &raised.cpus)) }
}

/// Asks systemd for a service whose group is ours to write (its Delegate=), and makes a partition of that. Its parents
/// are no partitions, so the CPUs have to be set aside on the way to it (cpuset.cpus.exclusive, Linux 6.7).
pub(super) fn raise_delegated(
    host: &Host,
    site: &Site,
    raised: &ShieldPlan,
) -> Result<Vec<String>, String> {
    let point = site.version_2.clone()?;
    let (slice, path) = (format!("{point}/{SLICE}"), format!("{point}/{SLICE}/{SERVICE}"));
    let cpus = format_cpu_list(&raised.cpus);
    host.start_shield_service(&cpus)?;
    for group in [&slice, &path] {
        host.write_group(&format!("{group}/cpuset.cpus.exclusive"), &cpus)
            .map_err(|error| explain::cannot("set CPUs aside", group, &error))?;
    }
    partition(host, &path, raised)?;
    bind_again(host, &raised.masks, Some(&rest(host, raised)));
    Ok(Vec::new())
}

/// Takes it away.
pub(super) fn lower(host: &Host, site: &Site, raised: &ShieldPlan) -> Vec<(String, String)> {
    let Ok(point) = &site.version_2 else { return Vec::new() };
    let path = format!("{point}/{GROUP}");
    let mut left = Vec::new();
    if host.exists(&path) {
        // First of all: whatever else fails, the CPUs are everybody's again.
        host.write_group(&format!("{path}/cpuset.cpus.partition"), "member").ok();
        if let Err(error) = empty_and_remove(host, &path, point) {
            left.push((path, error.to_string()));
        }
    }
    if site.has_systemd
        && let Err(why) = host.stop_shield_service()
    {
        left.push((format!("{point}/{SLICE}/{SERVICE}"), why));
    }
    if raised.switched_on && left.is_empty() && has_controller(host, point) && !is_used(host, point)
    {
        // Somebody below may have switched it on too: then it stays (EBUSY).
        host.write_group(&format!("{point}/cgroup.subtree_control"), "-cpuset").ok();
    }
    bind_again(host, &raised.masks, None);
    left
}

/// Whether a group of somebody else's relies on the controller.
fn is_used(host: &Host, point: &str) -> bool {
    let groups = host.list(point).into_iter().filter(|name| !group::OURS.contains(&name.as_str()));
    let mut cpus = groups.filter_map(|name| host.read(format!("{point}/{name}/cpuset.cpus")));
    cpus.any(|cpus| !cpus.is_empty())
}

/// Moves what is in a group back to the root, and removes it. A process that was asked to leave while it ends takes a
/// moment.
pub(super) fn empty_and_remove(host: &Host, path: &str, point: &str) -> std::io::Result<()> {
    for look in 0.. {
        for pid in host.read(format!("{path}/cgroup.procs")).unwrap_or_default().lines() {
            host.write_group(&format!("{point}/cgroup.procs"), pid).ok();
        }
        match host.remove_group(path) {
            Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy && look < LOOKS_MAX => {
                #[expect(clippy::disallowed_methods, reason = "processes take a moment to leave")]
                std::thread::sleep(LOOK);
            }
            result => return result,
        }
    }
    Ok(())
}

/// Has systemd take its service away. Processes in it are not ended; the CPUs are everybody's again at once.
pub(super) fn lower_delegated(
    host: &Host,
    site: &Site,
    raised: &ShieldPlan,
) -> Vec<(String, String)> {
    let Ok(point) = &site.version_2 else { return Vec::new() };
    let path = format!("{point}/{SLICE}/{SERVICE}");
    if host.exists(&path) {
        host.write_group(&format!("{path}/cpuset.cpus.partition"), "member").ok();
    }
    let stopped = host.stop_shield_service();
    bind_again(host, &raised.masks, None);
    stopped.err().map(|why| (path, why)).into_iter().collect()
}
