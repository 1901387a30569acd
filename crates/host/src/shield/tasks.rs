//! Lists tasks and their CPUs, and restores the CPU masks that users gave to them.

use serde::{Deserialize, Serialize};

use crate::Host;
use crate::processes::{self, Process, Thread};
use model::values::{format_cpu_list, parse_cpu_list};
use model::words::reason;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mask {
    pub tid: i32,
    /// Start time in clock ticks since boot. The kernel may use the thread id again.
    pub start_ticks: u64,
    pub cpus: String,
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) tid: i32,
    pub(super) process: Process,
    pub(super) cpus: Vec<usize>,
}

/// All threads of all readable processes.
pub(super) fn all(host: &Host) -> Vec<Task> {
    let threads = processes::threads(host);
    threads.filter_map(|thread| read(host, thread.process, thread.thread)).collect()
}

/// A thread by its own number. Every thread has such a directory, although /proc lists only leaders (proc(5)).
pub(super) fn read_task(host: &Host, tid: u32) -> Option<Task> {
    read(host, tid, tid)
}

fn read(host: &Host, process: u32, thread: u32) -> Option<Task> {
    let place = Thread { process, thread }.directory();
    let process = Process::read_at(host, &place).filter(|process| !process.has_ended)?;
    let cpus = processes::allowed_cpus(host, &format!("{place}/status"))?;
    Some(Task { tid: thread.cast_signed(), process, cpus: parse_cpu_list(&cpus).ok()? })
}

/// Movable tasks that are bound to fewer CPUs than are online.
pub(super) fn bound(host: &Host, online: &[usize]) -> Vec<Mask> {
    let is_bound = |task: &Task| task.process.is_movable() && task.cpus != online;
    let masks = all(host).into_iter().filter(is_bound).map(|task| Mask {
        tid: task.tid,
        start_ticks: task.process.start_ticks,
        cpus: format_cpu_list(&task.cpus),
    });
    masks.collect()
}

/// Restores the CPU masks of tasks, limited to the CPUs `within`, except for ended tasks and those with the right mask.
/// Returns the masks that could not be restored, with reasons.
pub(super) fn bind_again(
    host: &Host,
    masks: &[Mask],
    within: Option<&[usize]>,
) -> Vec<(String, String)> {
    let mut left = Vec::new();
    for mask in masks {
        let mut wanted = parse_cpu_list(&mask.cpus).unwrap_or_default();
        wanted.retain(|cpu| within.is_none_or(|within| within.contains(cpu)));
        let is_it = |now: &Task| now.process.start_ticks == mask.start_ticks;
        let Some(now) = read_task(host, mask.tid.cast_unsigned()).filter(is_it) else { continue };
        if wanted.is_empty() || now.cpus == wanted {
            continue;
        }
        match host.bind_task(mask.tid, &wanted) {
            // The task has just ended, or the kernel fixes its CPUs. Both are harmless.
            Err(error) if !matches!(error.raw_os_error(), Some(libc::ESRCH | libc::EINVAL)) => {
                left.push((format!("proc/{}/status", mask.tid), reason(error)));
            }
            _ => {}
        }
    }
    left
}

impl Host {
    /// Calls sched_setaffinity(2), but only on the running machine.
    fn bind_task(&self, tid: i32, cpus: &[usize]) -> std::io::Result<()> {
        #[cfg(test)]
        if !self.is_this_machine() {
            let bind = || super::fake::fake_bind(self, tid, cpus);
            return crate::fault::by_kernel(format!("proc/{tid}/status"), bind);
        }
        if !self.is_this_machine() {
            return Ok(());
        }
        crate::sys::bind(rustix::process::Pid::from_raw(tid), cpus)
    }
}
