//! Version 1 sets of CPUs (Documentation/admin-guide/cgroup-v1/cpusets.rst), as `cset shield` made them: one for the
//! benchmark, and one for everything else. Stillwell moves the tasks of the root set into the second one. Tasks in
//! other programs' sets stay there.

use crate::Host;
use crate::shield::site::Site;
use crate::shield::tasks::{self, Task, bind_again};
use crate::shield::version2::{empty_and_remove, rest};
use crate::shield::{ShieldPlan, explain};
use model::values::{format_cpu_list, name_cpus};
use model::words::reason;

const USER: &str = "stillwell-user";
const SYSTEM: &str = "stillwell-system";
/// Limit on rounds of moving. Tasks create others while they are moved, so one round may not be enough.
const ROUNDS: usize = 10;

/// The benchmark's set.
pub(super) fn user(site: &Site) -> Option<String> {
    Some(format!("{}/{USER}", site.version_1.as_ref().ok()?))
}

/// The set for everything else.
pub(super) fn system(site: &Site) -> Option<String> {
    Some(format!("{}/{SYSTEM}", site.version_1.as_ref().ok()?))
}

/// Records task masks before anything is written, because moving a task binds it to all CPUs of its new set.
pub(super) fn plan(host: &Host, site: &Site, raised: &mut ShieldPlan) {
    let Ok(point) = &site.version_1 else { return };
    let all = host.read_cpus(format!("{point}/cpuset.cpus")).unwrap_or_default();
    raised.masks = tasks::bound(host, &all);
}

pub(super) fn raise(host: &Host, site: &Site, raised: &ShieldPlan) -> Result<Vec<String>, String> {
    let point = site.version_1.clone()?;
    let mut notes = Vec::new();
    let mems = host.read(format!("{point}/cpuset.mems")).unwrap_or_default();
    let rest = rest(host, raised);
    for (name, cpus) in [(USER, &raised.cpus), (SYSTEM, &rest)] {
        let path = format!("{point}/{name}");
        let failed = |what: &str, error| explain::cannot(what, &path, &error);
        host.make_group(&path).map_err(|error| failed("make a set", error))?;
        let list = format_cpu_list(cpus);
        // The kernel puts no task into a set without memory nodes.
        for (file, value) in [("cpuset.cpus", &list), ("cpuset.mems", &mems)] {
            let file = format!("{path}/{file}");
            host.write_group(&file, value).map_err(|error| failed("give CPUs to a set", error))?;
        }
        let now = host.read_cpus(format!("{path}/cpuset.cpus"));
        if now.as_ref() != Some(cpus) {
            return Err(format!("/{path} has CPUs {now:?} where {list} was written"));
        }
        // The kernel returns EINVAL if a set of another program has one of the CPUs.
        if host.write_group(&format!("{path}/cpuset.cpu_exclusive"), "1").is_err() && name == USER {
            notes.extend(explain::overlap(host, &point, &raised.cpus));
        }
    }
    move_all(host, &point, &format!("{point}/{SYSTEM}"));
    bind_again(host, &raised.masks, Some(&rest));
    if let Some(note) = left_behind(host, &point, raised) {
        notes.push(note);
    }
    Ok(notes)
}

/// Moves the tasks of the root set until no movable ones are left. Before Linux 5.16 a task that is ending cannot be
/// moved.
fn move_all(host: &Host, point: &str, to: &str) {
    let (from, to) = (format!("{point}/tasks"), format!("{to}/tasks"));
    for _ in 0..ROUNDS {
        let tasks = tasks::all(host).into_iter();
        let movable: Vec<i32> =
            tasks.filter(|task| task.process.is_movable()).map(|task| task.tid).collect();
        let inside = host.read_long(&from, TASKS_BYTES_MAX).unwrap_or_default();
        let inside = inside.lines().filter_map(|line| line.parse::<i32>().ok());
        let mut n_moved = 0;
        for tid in inside.filter(|tid| movable.contains(tid)) {
            n_moved += usize::from(host.write_group(&to, &tid.to_string()).is_ok());
        }
        if n_moved == 0 {
            return;
        }
    }
}

/// Enough for a machine with a hundred thousand threads.
const TASKS_BYTES_MAX: u64 = 1 << 20;

/// A note about the tasks that are still in the root set.
fn left_behind(host: &Host, point: &str, raised: &ShieldPlan) -> Option<String> {
    let inside = host.read_long(format!("{point}/tasks"), TASKS_BYTES_MAX).unwrap_or_default();
    let inside: Vec<i32> = inside.lines().filter_map(|line| line.parse().ok()).collect();
    let is_left = |task: &Task| {
        !task.process.is_kernel_thread()
            && inside.contains(&task.tid)
            && task.cpus.iter().any(|cpu| raised.cpus.contains(cpu))
    };
    let n_left = tasks::all(host).iter().filter(|task| is_left(task)).count();
    let what = if n_left == 1 { "task" } else { "tasks" };
    (n_left > 0)
        .then(|| format!("{n_left} {what} could not be moved off {}", name_cpus(&raised.cpus)))
}

pub(super) fn lower(host: &Host, site: &Site, raised: &ShieldPlan) -> Vec<(String, String)> {
    let point = match &site.version_1 {
        Ok(point) => point,
        Err(why) => return vec![(format!("sys/fs/cgroup/cpuset/{USER}"), why.clone())],
    };
    let mut left = Vec::new();
    for name in [USER, SYSTEM] {
        let path = format!("{point}/{name}");
        if !host.exists(&path) {
            continue;
        }
        for _ in 0..ROUNDS {
            let inside = host.read_long(format!("{path}/tasks"), TASKS_BYTES_MAX);
            let Some(inside) = inside else { continue };
            if inside.trim().is_empty() {
                break;
            }
            for tid in inside.lines() {
                host.write_group(&format!("{point}/tasks"), tid).ok();
            }
        }
        if let Err(error) = empty_and_remove(host, &path, point) {
            left.push((path, reason(error)));
        }
    }
    left.extend(bind_again(host, &raised.masks, None));
    left
}
