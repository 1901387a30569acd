//! Version 2 control group partitions (Documentation/admin-guide/cgroup-v2.rst, "Cpuset").
//!
//! One write removes the tasks of all other groups and all movable kernel threads from the CPUs; no task has to be
//! moved, and removing the group undoes it. The write succeeds even when the kernel refuses the partition, so Stillwell
//! reads the file back.

use crate::Host;
use crate::shield::site::Site;
use crate::shield::tasks::{bind_again, bound};
use crate::shield::{SERVICE, SLICE, ShieldPlan, explain, neighbours};
use model::values::format_cpu_list;
use model::words::reason;

/// Our group below the root.
const GROUP: &str = "stillwell";
/// The usual path, for a machine whose control groups cannot be found now.
const USUAL_GROUP: &str = "sys/fs/cgroup/stillwell";
/// Limit on the wait for a process to leave the group, in polls of one millisecond.
const LOOKS_MAX: u32 = if cfg!(test) { 2 } else { 200 };
const LOOK: std::time::Duration = std::time::Duration::from_millis(1);

/// The group directly below the root.
pub(super) fn local(site: &Site) -> Option<String> {
    Some(format!("{}/{GROUP}", site.version_2.as_ref().ok()?))
}

pub(super) fn delegated(site: &Site) -> Option<String> {
    Some(format!("{}/{SLICE}/{SERVICE}", site.version_2.as_ref().ok()?))
}

/// The kernel's name for the kind of partition.
pub(super) fn kind(raised: &ShieldPlan) -> &'static str {
    if raised.balanced { "root" } else { "isolated" }
}

/// The CPUs for everything else.
pub(super) fn rest(host: &Host, raised: &ShieldPlan) -> Vec<usize> {
    host.online_cpus().into_iter().filter(|cpu| !raised.cpus.contains(cpu)).collect()
}

/// Records the state that Stillwell itself has to restore, before anything is written.
pub(super) fn plan(host: &Host, site: &Site, raised: &mut ShieldPlan) {
    let Ok(point) = &site.version_2 else { return };
    raised.switched_on = !has_controller(host, point);
    plan_delegated(host, site, raised);
}

/// Records this state if systemd switches the controller.
pub(super) fn plan_delegated(host: &Host, site: &Site, raised: &mut ShieldPlan) {
    if let Ok(point) = &site.version_2 {
        raised.neighbours = neighbours::neighbours(host, point);
    }
    if !site.keeps_masks() {
        raised.masks = bound(host, &host.online_cpus());
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
    if let Some(why) = neighbours::overlap(host, &point, &raised.cpus, true) {
        return Err(why);
    }
    let failed = |what: &str, error: std::io::Error| explain::cannot(what, &point, &error);
    let mut notes = Vec::new();
    // At its next reload systemd disables controllers that no unit needs, which ends the partition (seen with 252).
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

/// Makes a group a partition, and reads back whether the kernel accepted it.
fn partition(host: &Host, path: &str, raised: &ShieldPlan) -> Result<(), String> {
    let file = format!("{path}/cpuset.cpus.partition");
    let wanted = kind(raised);
    host.write_group(&file, wanted)
        .map_err(|error| explain::cannot("make a partition", path, &error))?;
    let now = host.read(&file).unwrap_or_default();
    if now == wanted { Ok(()) } else { Err(explain::refused(host, path, &now, &raised.cpus)) }
}

/// Makes a partition of a systemd service's group, which systemd delegates (Delegate=). Its parents are not partitions,
/// so each group on the path must reserve the CPUs (cpuset.cpus.exclusive, Linux 6.7).
pub(super) fn raise_delegated(
    host: &Host,
    site: &Site,
    raised: &ShieldPlan,
) -> Result<Vec<String>, String> {
    let point = site.version_2.clone()?;
    let (slice, path) = (format!("{point}/{SLICE}"), format!("{point}/{SLICE}/{SERVICE}"));
    if let Some(why) = neighbours::overlap(host, &point, &raised.cpus, false) {
        return Err(why);
    }
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

pub(super) fn lower(host: &Host, site: &Site, raised: &ShieldPlan) -> Vec<(String, String)> {
    let point = match &site.version_2 {
        Ok(point) => point,
        Err(why) => return vec![(USUAL_GROUP.into(), why.clone())],
    };
    let path = format!("{point}/{GROUP}");
    let mut left = Vec::new();
    if host.exists(&path) {
        // First: it frees the CPUs even if a later step fails.
        host.write_group(&format!("{path}/cpuset.cpus.partition"), "member").ok();
        if let Err(error) = empty_and_remove(host, &path, point) {
            left.push((path, reason(error)));
        }
    }
    if site.has_systemd
        && let Err(why) = host.stop_shield_service()
    {
        left.push((format!("{point}/{SLICE}/{SERVICE}"), why));
    }
    let control = format!("{point}/cgroup.subtree_control");
    if raised.switched_on
        && left.is_empty()
        && has_controller(host, point)
        && !is_used(host, point)
        && let Err(error) = host.write_group(&control, "-cpuset")
    {
        left.push((control, reason(error)));
    }
    left.extend(bind_again(host, &raised.masks, None));
    left.extend(neighbours::repair(host, &raised.neighbours));
    left
}

/// Whether another program's group uses the controller: it has CPUs, or passes the controller on to its own groups. The
/// kernel then keeps the controller on (EBUSY).
fn is_used(host: &Host, point: &str) -> bool {
    let groups = host.list(point).into_iter().filter(|name| !super::OURS.contains(&name.as_str()));
    let is_user = |name: String| {
        let group = format!("{point}/{name}");
        host.read(format!("{group}/cpuset.cpus")).is_some_and(|cpus| !cpus.is_empty())
            || has_controller(host, &group)
    };
    groups.into_iter().any(is_user)
}

/// Moves the processes of a group to the root and removes the group. A process that is ending takes a moment to leave.
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

/// Makes systemd remove its service. Processes in it keep running, and all programs may use the CPUs again at once.
pub(super) fn lower_delegated(
    host: &Host,
    site: &Site,
    raised: &ShieldPlan,
) -> Vec<(String, String)> {
    let point = match &site.version_2 {
        Ok(point) => point,
        Err(why) => return vec![(USUAL_GROUP.into(), why.clone())],
    };
    let path = format!("{point}/{SLICE}/{SERVICE}");
    if host.exists(&path) {
        host.write_group(&format!("{path}/cpuset.cpus.partition"), "member").ok();
    }
    let stopped = host.stop_shield_service().err();
    let mut left: Vec<(String, String)> = stopped.map(|why| (path, why)).into_iter().collect();
    left.extend(bind_again(host, &raised.masks, None));
    left.extend(neighbours::repair(host, &raised.neighbours));
    left
}
