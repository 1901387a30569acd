//! Tasks: which there are, where they may run, and giving them back the CPUs that somebody had bound them to.

use serde::{Deserialize, Serialize};

use crate::host::{Host, format_cpu_list, parse_cpu_list};

/// A kernel thread, and one that the kernel lets nobody bind (include/linux/sched.h).
const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// CPUs that tasks were bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Masks(pub Vec<Mask>);

/// One task that was bound to CPUs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    /// Its thread id.
    pub tid: i32,
    /// When it started, in clock ticks since boot: the number may be used again.
    pub start_ticks: u64,
    /// CPUs it could use.
    pub cpus: String,
}

/// A task as it is now.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) tid: i32,
    pub(super) start_ticks: u64,
    pub(super) cpus: Vec<usize>,
    flags: u64,
}

impl Task {
    pub(super) fn is_kernel_thread(&self) -> bool {
        self.flags & PF_KTHREAD != 0
    }

    /// Whether it could run elsewhere: most kernel threads belong to a CPU.
    pub(super) fn is_movable(&self) -> bool {
        self.flags & PF_NO_SETAFFINITY == 0
    }
}

/// All threads of all processes that can be read.
pub(super) fn all(host: &Host) -> Vec<Task> {
    let is_number = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
    let processes = host.list("proc").into_iter().filter(is_number);
    let threads = processes.flat_map(|pid| {
        let directory = format!("proc/{pid}/task");
        host.list(&directory).into_iter().map(move |tid| format!("{directory}/{tid}"))
    });
    threads.filter_map(|directory| read(host, &directory)).collect()
}

/// One task; the directory is that of a thread.
fn read(host: &Host, directory: &str) -> Option<Task> {
    let stat = host.read(format!("{directory}/stat"))?;
    // The name in field 2 may have blanks and parentheses (proc_pid_stat(5)).
    let (before, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split(' ').collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return None;
    }
    let status = host.read(format!("{directory}/status"))?;
    let cpus = crate::host::gaps::status_value(&status, "Cpus_allowed_list")?;
    Some(Task {
        tid: before.split(' ').next()?.parse().ok()?,
        flags: fields.get(6)?.parse().ok()?,
        start_ticks: fields.get(19)?.parse().ok()?,
        cpus: parse_cpu_list(cpus).ok()?,
    })
}

/// Tasks that are bound to fewer CPUs than there are, and may be bound again.
pub(super) fn bound(host: &Host, online: &[usize]) -> Masks {
    let is_bound = |task: &Task| task.is_movable() && task.cpus != online;
    let masks = all(host).into_iter().filter(is_bound).map(|task| Mask {
        tid: task.tid,
        start_ticks: task.start_ticks,
        cpus: format_cpu_list(&task.cpus),
    });
    Masks(masks.collect())
}

/// Binds tasks again to what they were bound to, as far as it is within these CPUs. Tasks that have ended are passed
/// over, and so are those that are as they should be.
pub(super) fn bind_again(host: &Host, masks: &Masks, within: Option<&[usize]>) {
    for mask in &masks.0 {
        let mut wanted = parse_cpu_list(&mask.cpus).unwrap_or_default();
        wanted.retain(|cpu| within.is_none_or(|within| within.contains(cpu)));
        // Every thread has such a directory, though only leaders are listed (proc(5)).
        let now = read(host, &format!("proc/{0}/task/{0}", mask.tid));
        let Some(now) = now.filter(|now| now.start_ticks == mask.start_ticks) else { continue };
        if wanted.is_empty() || now.cpus == wanted {
            continue;
        }
        crate::host::kill_point();
        // One that has just ended, or that the kernel lets nobody bind, stays as it is.
        host.bind_task(mask.tid, &wanted).ok();
    }
}

impl Host {
    /// sched_setaffinity(2); only on the machine that is running.
    fn bind_task(&self, tid: i32, cpus: &[usize]) -> std::io::Result<()> {
        if self.root != std::path::Path::new("/") {
            return Ok(());
        }
        let mut set = rustix::thread::CpuSet::new();
        cpus.iter()
            .filter(|&&cpu| cpu < rustix::thread::CpuSet::MAX_CPU)
            .for_each(|&cpu| set.set(cpu));
        rustix::thread::sched_setaffinity(rustix::process::Pid::from_raw(tid), &set)?;
        Ok(())
    }
}
