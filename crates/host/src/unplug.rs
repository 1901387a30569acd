//! CPUs that are unplugged by name (`--only siblings`, `--only smt`): what other programs lose with them, and how they
//! get it back.
//!
//! The kernel takes an unplugged CPU out of every version 1 set for good, and moves the tasks of a set that becomes
//! empty to its parent (`hotplug_update_tasks_legacy()` in kernel/cgroup/cpuset.c). A task that was bound to that CPU
//! alone may then run anywhere (`select_fallback_rq()` in kernel/sched/core.c).

use serde::{Deserialize, Serialize};

use crate::absent::Waiting;
use crate::cgroup::groups;
use crate::files::{Foreign, is_gone};
use crate::knobs::{Knob, Setting};
use crate::mounts::{self, Mount};
use crate::processes::Process;
use crate::shield::{Mask, Masks, Task, bind_again, bound, read_task};
use crate::{Host, read_cpu_table};
use model::values::{format_cpu_list, parse_cpu_list, read_cpu_list};
use model::words::reason;

const CPU: &str = "sys/devices/system/cpu";
/// Enough for a set with a hundred thousand threads.
const TASKS_BYTES_MAX: u64 = 1 << 20;

/// Losses of other programs by unplugged CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unplugged {
    pub cpus: Vec<usize>,
    /// Groups of other programs with one of these CPUs, parents first.
    pub sets: Vec<CpuSet>,
    /// CPU masks of users' tasks.
    pub masks: Masks,
}

/// A control group with CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CpuSet {
    /// The file with the group's CPUs.
    pub path: String,
    pub cpus: String,
    /// The kind of partition, if it is one (version 2).
    pub partition: Option<String>,
    /// The group's tasks with their start times, if it has no other CPU and the kernel moves them away.
    pub tasks: Vec<(i32, u64)>,
}

/// Parts that could not be put back.
#[derive(Debug, Default)]
pub struct Unrestored {
    /// Files that another program wrote since.
    pub foreign: Vec<Foreign>,
    /// Files that the kernel refused, with the reason.
    pub failed: Vec<(String, String)>,
    /// Sets with a CPU that is still offline.
    pub waiting: Vec<Waiting>,
}

impl Unplugged {
    /// Adds what a later unplugging takes. Earlier notes stay.
    pub fn merge(&mut self, later: Self) {
        self.cpus.extend(later.cpus);
        self.cpus.sort_unstable();
        self.cpus.dedup();
        for set in later.sets {
            if self.sets.iter().all(|known| known.path != set.path) {
                self.sets.push(set);
            }
        }
        self.sets.sort_by_key(|set| set.path.matches('/').count());
        for mask in later.masks.0 {
            let is_known =
                |known: &Mask| (known.tid, known.start_ticks) == (mask.tid, mask.start_ticks);
            if !self.masks.0.iter().any(is_known) {
                self.masks.0.push(mask);
            }
        }
    }

    /// Takes the masks that a shield noted before it narrowed them.
    pub fn prefer(&mut self, earlier: &Masks) {
        for mask in &mut self.masks.0 {
            let is_it =
                |known: &&Mask| (known.tid, known.start_ticks) == (mask.tid, mask.start_ticks);
            if let Some(known) = earlier.0.iter().find(is_it) {
                mask.cpus.clone_from(&known.cpus);
            }
        }
    }
}

/// The CPUs that these writes of a knob unplug.
pub fn goes(host: &Host, knob: &Knob, settings: &[Setting]) -> Vec<usize> {
    let is_off = |setting: &&Setting| matches!(setting.wanted.as_str(), "0" | "off" | "1");
    let mut gone = Vec::new();
    if knob.name == "smt" && settings.iter().any(|setting| is_off(&setting)) {
        let table = read_cpu_table(host, None);
        let second =
            table.iter().filter(|row| row.online && row.siblings.first() != Some(&row.cpu));
        gone.extend(second.map(|row| row.cpu));
    }
    if knob.name == "siblings" {
        gone.extend(settings.iter().filter_map(|setting| cpu_of(&setting.path)));
    }
    gone
}

/// The CPU of a path like `sys/devices/system/cpu/cpu3/online`.
fn cpu_of(path: &str) -> Option<usize> {
    path.strip_prefix(CPU)?.strip_prefix("/cpu")?.split('/').next()?.parse().ok()
}

/// Notes what other programs have of these CPUs. It writes nothing.
pub fn look(host: &Host, gone: &[usize]) -> Unplugged {
    let mut sets: Vec<CpuSet> =
        hierarchies(host).iter().flat_map(|mount| sets_of(host, mount, gone)).collect();
    sets.sort_by_key(|set| set.path.matches('/').count());
    let mut masks = bound(host, &online(host));
    // The knob `kthreads` and the companions of a knob cover the kernel's threads.
    masks.0.retain(|mask| {
        let place = format!("proc/{}", mask.tid);
        Process::read_at(host, &place).is_some_and(|process| !process.is_kernel_thread())
    });
    Unplugged { cpus: gone.to_vec(), sets, masks }
}

fn online(host: &Host) -> Vec<usize> {
    let online = host.read(format!("{CPU}/online"));
    online.and_then(|list| read_cpu_list(&list)).unwrap_or_default()
}

/// The mounted hierarchies of control groups that may have CPUs.
fn hierarchies(host: &Host) -> Vec<Mount> {
    let mut mounts = mounts::read(host);
    mounts.retain(|mount| {
        mount.fs_type == "cgroup2"
            || mount.fs_type == "cgroup" && mount.options.iter().any(|option| option == "cpuset")
    });
    mounts
}

/// The groups of other programs with one of these CPUs.
fn sets_of(host: &Host, mount: &Mount, gone: &[usize]) -> Vec<CpuSet> {
    let mut sets = Vec::new();
    for group in groups(host, mount.relative_point()) {
        // Sets that were mounted as a separate file system have names without a prefix.
        let names = ["cpuset.cpus", "cpus"];
        let path =
            names.map(|name| format!("{group}/{name}")).into_iter().find(|path| host.exists(path));
        let Some(path) = path else { continue };
        let text = host.read(&path).unwrap_or_default();
        let Some(cpus) = read_cpu_list(&text) else { continue };
        let partition = host.read(format!("{group}/cpuset.cpus.partition"));
        let partition = partition.filter(|kind| matches!(kind.as_str(), "root" | "isolated"));
        if !cpus.iter().any(|cpu| gone.contains(cpu)) {
            continue;
        }
        let is_emptied = mount.fs_type == "cgroup" && cpus.iter().all(|cpu| gone.contains(cpu));
        let tasks = if is_emptied { tasks_of(host, &group) } else { Vec::new() };
        sets.push(CpuSet { path, cpus: text, partition, tasks });
    }
    sets
}

fn tasks_of(host: &Host, group: &str) -> Vec<(i32, u64)> {
    let tasks = host.read_long(format!("{group}/tasks"), TASKS_BYTES_MAX).unwrap_or_default();
    let tasks = tasks.lines().filter_map(|line| line.parse::<u32>().ok());
    tasks
        .filter_map(|tid| Some((tid.cast_signed(), read_task(host, tid)?.process.start_ticks)))
        .collect()
}

/// Puts back what other programs lost, when the CPUs are online again: sets, then their tasks, then masks, because a
/// write to a set changes the masks of its tasks.
pub fn put_back(host: &Host, unplugged: &Unplugged) -> Unrestored {
    let mut left = Unrestored::default();
    for set in &unplugged.sets {
        put_back_set(host, unplugged, set, &mut left);
    }
    let mut masks = Masks::default();
    for mask in &unplugged.masks.0 {
        let is_it = |task: &Task| task.process.start_ticks == mask.start_ticks;
        let Some(now) = read_task(host, mask.tid.cast_unsigned()).filter(is_it) else { continue };
        if is_of_kernel(host, unplugged, mask, &now.cpus) {
            masks.0.push(mask.clone());
        } else {
            let path = format!("proc/{}/status", mask.tid);
            let (now, old) = (format_cpu_list(&now.cpus), mask.cpus.clone());
            left.foreign.push(Foreign { path, now, old });
        }
    }
    left.failed.extend(bind_again(host, &masks, None));
    left
}

fn put_back_set(host: &Host, unplugged: &Unplugged, set: &CpuSet, left: &mut Unrestored) {
    // A group that is gone needs nothing.
    let Some(text) = host.read(&set.path) else { return };
    let parse = |text: &str| read_cpu_list(text).unwrap_or_default();
    let (now, old) = (parse(&text), parse(&set.cpus));
    let group = set.path.rsplit_once('/').map_or("", |(group, _)| group);
    if now != old {
        let kept: Vec<usize> =
            old.iter().copied().filter(|cpu| !unplugged.cpus.contains(cpu)).collect();
        if now != kept && !now.is_empty() {
            let (path, old) = (set.path.clone(), set.cpus.clone());
            left.foreign.push(Foreign { path, now: text, old });
            return;
        }
        let online = online(host);
        let cpus: Vec<usize> = old
            .iter()
            .copied()
            .filter(|cpu| unplugged.cpus.contains(cpu) && !online.contains(cpu))
            .collect();
        if !cpus.is_empty() {
            left.waiting.push(Waiting { path: set.path.clone(), cpus });
            return;
        }
        if let Err(error) = host.write_set(&set.path, &set.cpus) {
            left.failed.push((set.path.clone(), reason(error)));
            return;
        }
    }
    for (tid, start_ticks) in &set.tasks {
        let is_it = |task: &Task| task.process.start_ticks == *start_ticks;
        let is_here = read_task(host, tid.cast_unsigned()).is_some_and(|task| is_it(&task));
        if is_here && is_in_parent(host, *tid, group) {
            let file = format!("{group}/tasks");
            match host.write_set(&file, &tid.to_string()) {
                // A task that has just ended is no error.
                Err(error) if !is_gone(&error) => left.failed.push((file, reason(error))),
                _ => {}
            }
        }
    }
    let file = format!("{group}/cpuset.cpus.partition");
    if let Some(kind) = &set.partition
        && host.read(&file).is_some_and(|now| now.starts_with(&format!("{kind} invalid")))
        && let Err(error) = host.write_set(&file, kind)
    {
        left.failed.push((file, reason(error)));
    }
}

/// Whether a task is in a parent of its group, where the kernel moves the tasks of a set without CPUs.
fn is_in_parent(host: &Host, tid: i32, group: &str) -> bool {
    let Some(now) = host.read(format!("proc/{tid}/cpuset")) else { return true };
    let mounts = hierarchies(host);
    let mut inside = mounts.iter().filter_map(|mount| group.strip_prefix(mount.relative_point()));
    inside.any(|group| {
        group != now
            && (now == "/" || group.strip_prefix(&now).is_some_and(|rest| rest.starts_with('/')))
    })
}

/// Whether the kernel itself may have given a task this mask: all CPUs of its set, or of the machine, with or without
/// the unplugged ones.
fn is_of_kernel(host: &Host, unplugged: &Unplugged, mask: &Mask, now: &[usize]) -> bool {
    let list = |path: &str| host.read(path).and_then(|list| read_cpu_list(&list));
    let mut whole = vec![parse_cpu_list(&mask.cpus).unwrap_or_default(), online(host)];
    whole.extend(list(&format!("{CPU}/possible")));
    if let Some(group) = host.read(format!("proc/{}/cpuset", mask.tid)) {
        for mount in hierarchies(host) {
            let files = ["cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus", "cpus"];
            let point = mount.relative_point();
            whole.extend(files.iter().filter_map(|file| {
                list(&format!("{point}{}/{file}", group.trim_end_matches('/')))
            }));
        }
    }
    whole.iter().any(|whole| {
        let without = whole.iter().filter(|cpu| !unplugged.cpus.contains(cpu));
        whole == now || without.eq(now)
    })
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod tests {
    use super::*;
    use crate::fixture::expand;

    const MACHINE: &str = "proc/self/mountinfo = 1 2 0:3 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
        sys/devices/system/cpu/online = 0-3\n\
        sys/devices/system/cpu/possible = 0-3\n\
        sys/fs/cgroup/cpuset/cpuset.cpus = 0-3\n\
        sys/fs/cgroup/cpuset/tasks =\n\
        sys/fs/cgroup/cpuset/docker/cpuset.cpus = 2-3\n\
        sys/fs/cgroup/cpuset/docker/tasks = 78\n\
        sys/fs/cgroup/cpuset/docker/one/cpuset.cpus = 3\n\
        sys/fs/cgroup/cpuset/docker/one/tasks = 77\n\
        sys/fs/cgroup/cpuset/low/cpuset.cpus = 0-1\n\
        proc/77/cpuset = /docker/one\n\
        proc/77/stat = 77 (a b) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n\
        proc/77/task/77/stat = 77 (a b) S 1 77 77 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n\
        proc/77/task/77/status = Cpus_allowed_list:\\t3\n";

    fn set(host: &Host, path: &str, value: &str) {
        std::fs::write(host.root.join(path), format!("{value}\n")).unwrap();
    }

    #[test]
    fn sets_of_others_come_back_with_their_tasks() {
        let (_directory, host) = expand(MACHINE);
        let unplugged = look(&host, &[3]);
        let point = "sys/fs/cgroup/cpuset/docker";
        let paths: Vec<&str> = unplugged.sets.iter().map(|set| set.path.as_str()).collect();
        assert_eq!(paths, [format!("{point}/cpuset.cpus"), format!("{point}/one/cpuset.cpus")]);
        assert_eq!(unplugged.sets[1].tasks, [(77, 500)]);
        assert!(unplugged.masks.0.iter().any(|mask| mask.tid == 77 && mask.cpus == "3"));
        // The kernel empties one set, moves its task to the parent, and narrows the other.
        set(&host, &format!("{point}/cpuset.cpus"), "2");
        set(&host, &format!("{point}/one/cpuset.cpus"), "");
        set(&host, &format!("{point}/one/tasks"), "");
        set(&host, "proc/77/cpuset", "/docker");
        let left = put_back(&host, &unplugged);
        assert!(left.foreign.is_empty() && left.failed.is_empty(), "{left:?}");
        let read = |path: &str| host.read(format!("{point}/{path}")).unwrap();
        assert_eq!(
            [read("cpuset.cpus"), read("one/cpuset.cpus"), read("one/tasks")],
            ["2-3", "3", "77"]
        );
    }

    #[test]
    fn what_others_changed_meanwhile_is_theirs() {
        let (_directory, host) = expand(MACHINE);
        let unplugged = look(&host, &[3]);
        set(&host, "sys/fs/cgroup/cpuset/docker/cpuset.cpus", "1-2");
        set(&host, "proc/77/task/77/status", "Cpus_allowed_list:\t1");
        let left = put_back(&host, &unplugged);
        let foreign: Vec<(&str, &str)> =
            left.foreign.iter().map(|it| (it.path.as_str(), it.now.as_str())).collect();
        assert_eq!(
            foreign,
            [("sys/fs/cgroup/cpuset/docker/cpuset.cpus", "1-2"), ("proc/77/status", "1")]
        );
    }

    #[test]
    fn only_sets_of_control_groups_are_written() {
        let (_directory, host) = expand(MACHINE);
        for path in
            ["etc/tasks", "sys/fs/cgroup/cpuset/docker/memory.max", "sys/fs/cgroup/cpuset/../cpus"]
        {
            assert!(host.write_set(path, "1").is_err(), "{path}");
        }
    }

    #[test]
    fn the_first_note_stays() {
        let mask = |cpus: &str| Masks(vec![Mask { tid: 1, start_ticks: 2, cpus: cpus.into() }]);
        let mut first = Unplugged { cpus: vec![3], sets: Vec::new(), masks: mask("3") };
        first.merge(Unplugged { cpus: vec![1], sets: Vec::new(), masks: mask("0-3") });
        assert_eq!((first.cpus.clone(), first.masks.clone()), (vec![1, 3], mask("3")));
        first.prefer(&mask("2-3"));
        assert_eq!(first.masks, mask("2-3"));
    }
}
