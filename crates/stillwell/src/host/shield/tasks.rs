//! Tasks: which there are, where they may run, and giving them back the CPUs that somebody had bound them to.

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::processes::{self, Process, Thread};
use crate::values::{format_cpu_list, parse_cpu_list};

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
    pub(super) process: Process,
    pub(super) cpus: Vec<usize>,
}

/// All threads of all processes that can be read.
pub(super) fn all(host: &Host) -> Vec<Task> {
    let threads = processes::threads(host);
    threads.filter_map(|thread| read(host, thread.process, thread.thread)).collect()
}

fn read(host: &Host, process: u32, thread: u32) -> Option<Task> {
    let place = Thread { process, thread }.directory();
    let process = Process::read_at(host, &place).filter(|process| !process.has_ended)?;
    let cpus = processes::allowed_cpus(host, &format!("{place}/status"))?;
    Some(Task { tid: thread.cast_signed(), process, cpus: parse_cpu_list(&cpus).ok()? })
}

/// Tasks that are bound to fewer CPUs than there are, and may be bound again.
pub(super) fn bound(host: &Host, online: &[usize]) -> Masks {
    let is_bound = |task: &Task| task.process.is_movable() && task.cpus != online;
    let masks = all(host).into_iter().filter(is_bound).map(|task| Mask {
        tid: task.tid,
        start_ticks: task.process.start_ticks,
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
        let number = mask.tid.cast_unsigned();
        let is_it = |now: &Task| now.process.start_ticks == mask.start_ticks;
        let Some(now) = read(host, number, number).filter(is_it) else { continue };
        if wanted.is_empty() || now.cpus == wanted {
            continue;
        }
        crate::host::kill::kill_point();
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
        crate::sys::bind(rustix::process::Pid::from_raw(tid), cpus)
    }
}
