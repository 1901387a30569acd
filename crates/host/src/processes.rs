//! Processes and kernel threads in `/proc` (proc_pid_stat(5), proc_pid_status(5)).

use std::io;

use crate::Host;
use crate::files::READ_BYTES_MAX;
use crate::gaps::status_value;

/// `PF_KTHREAD` (include/linux/sched.h). An unreadable `/proc/PID/exe` is no proof: it may be another user's process.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `PF_NO_SETAFFINITY`: sched_setaffinity(2) refuses such a thread, for example one that belongs to one CPU.
const NOT_MOVABLE: u64 = 0x0400_0000;
/// The parent of all other kernel threads.
const KTHREADD: u32 = 2;
/// Longest list of children that is read. The kernel has at most four million processes (proc_sys_kernel(5),
/// `pid_max`).
const CHILDREN_BYTES_MAX: u64 = 32 << 20;

/// The fields of `/proc/PID/stat`.
#[derive(Debug)]
pub struct Process {
    /// Name, as in `ps -o comm`.
    pub name: String,
    /// The process that made it, or that adopted it.
    pub parent: u32,
    pub group: u32,
    pub session: u32,
    flags: u64,
    /// The CPU of the last run. `None` in a shorter text.
    pub cpu: Option<usize>,
    /// Start time in clock ticks since boot. Together with the process id, which the kernel reuses, it identifies a
    /// process.
    pub(super) start_ticks: u64,
    /// Whether a signal or a tracer has stopped it.
    pub is_stopped: bool,
    /// Whether it runs, or waits for a CPU.
    pub is_runnable: bool,
    /// Whether it is a zombie: it has ended, and its parent has not waited for it.
    pub has_ended: bool,
}

impl Process {
    /// Reads a process. `None` if it does not exist.
    pub fn read(host: &Host, pid: u32) -> Option<Self> {
        Self::read_at(host, &format!("proc/{pid}"))
    }

    /// Every visible process of the machine, with its number.
    pub fn all(host: &Host) -> impl Iterator<Item = (u32, Self)> {
        let pids = host.list("proc").into_iter().filter_map(|name| name.parse::<u32>().ok());
        pids.filter_map(move |pid| Some((pid, Self::read(host, pid)?)))
    }

    /// The children of a thread, by its directory. The list may lack some while others end (proc_tid_children(5)).
    /// `None` if the kernel has no such lists.
    pub fn children(host: &Host, directory: &str) -> Option<Vec<u32>> {
        let list = host.read_long(format!("{directory}/children"), CHILDREN_BYTES_MAX)?;
        Some(list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }

    /// Reads a process. Errors: the kernel's error, or the file is not as proc_pid_stat(5) says.
    pub(super) fn try_read(host: &Host, pid: u32) -> io::Result<Self> {
        let stat = host.try_read(format!("proc/{pid}/stat").as_ref(), READ_BYTES_MAX)?;
        Self::parse(&stat).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Reads the directory of a process or a thread.
    pub fn read_at(host: &Host, directory: &str) -> Option<Self> {
        Self::parse(&host.read(format!("{directory}/stat"))?)
    }

    /// Parses the text. The name in field 2 may contain blanks and parentheses.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let (start, rest) = stat.rsplit_once(") ")?;
        let (_, name) = start.split_once('(')?;
        let field = |number: usize| rest.split(' ').nth(number - 3);
        Some(Self {
            name: name.to_owned(),
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            session: field(6)?.parse().ok()?,
            flags: field(9)?.parse().ok()?,
            cpu: field(39).and_then(|cpu| cpu.parse().ok()),
            start_ticks: field(22)?.parse().ok()?,
            is_stopped: rest.starts_with(['T', 't']),
            is_runnable: rest.starts_with('R'),
            has_ended: rest.starts_with(['Z', 'X']),
        })
    }

    /// The text for [`Process::parse`] without names of this machine: names of threads contain names of disks.
    pub(super) fn without_names(&self) -> String {
        let name = if self.is_of_interrupt() { "irq/" } else { "thread" };
        let (flags, start_ticks) = (self.flags, self.start_ticks);
        format!("0 ({name}) S 0 0 0 0 -1 {flags}{} {start_ticks}", " 0".repeat(12))
    }

    pub(super) fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0 && !self.has_ended
    }

    /// Whether sched_setaffinity(2) may move it. Most kernel threads belong to one CPU.
    pub(super) fn is_movable(&self) -> bool {
        self.flags & NOT_MOVABLE == 0
    }

    /// Whether it is the thread of an interrupt, which the kernel moves with the interrupt
    /// (`irq_thread_check_affinity()` in kernel/irq/manage.c).
    fn is_of_interrupt(&self) -> bool {
        self.name.starts_with("irq/")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    pub process: u32,
    pub thread: u32,
}

impl Thread {
    /// The thread's directory. Every thread has one, though /proc lists only leaders (proc(5)).
    pub fn directory(self) -> String {
        format!("proc/{}/task/{}", self.process, self.thread)
    }
}

/// Every visible thread of the machine. Any of them may end before it is read.
pub fn threads(host: &Host) -> impl Iterator<Item = Thread> {
    let numbers =
        |path: String| host.list(path).into_iter().filter_map(|name| name.parse::<u32>().ok());
    numbers("proc".into()).flat_map(move |process| {
        numbers(format!("proc/{process}/task")).map(move |thread| Thread { process, thread })
    })
}

/// The affinity files of the movable kernel threads. `None` if they are not visible.
pub(super) fn movable_kernel_threads(host: &Host) -> Option<Vec<String>> {
    // In a container, process 2 is another program.
    Process::read(host, KTHREADD).filter(Process::is_kernel_thread)?;
    let children = Process::children(host, &format!("proc/{KTHREADD}/task/{KTHREADD}"))?;
    let is_movable = |pid: &u32| {
        Process::read(host, *pid).is_some_and(|process| {
            process.is_kernel_thread() && process.is_movable() && !process.is_of_interrupt()
        })
    };
    let pids = std::iter::once(KTHREADD).chain(children).filter(is_movable);
    Some(pids.map(|pid| format!("proc/{pid}/status")).collect())
}

pub(super) fn pid_of(path: &str) -> Option<u32> {
    path.strip_prefix("proc/")?.strip_suffix("/status")?.parse().ok()
}

pub(super) fn allowed_cpus(host: &Host, path: &str) -> Option<String> {
    allowed_in(&host.read(path)?)
}

/// The allowed CPUs of the process of such a file, as a list. Errors: the kernel's error, or the file does not say it.
pub(super) fn try_allowed_cpus(host: &Host, path: &str) -> io::Result<String> {
    let status = host.try_read(path.as_ref(), READ_BYTES_MAX)?;
    allowed_in(&status).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn allowed_in(status: &str) -> Option<String> {
    status_value(status, "Cpus_allowed_list").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_blanks_and_parentheses() {
        let stat = "7 (a) b (c) S 2 0 0 0 -1 69238848 0 0 0 0 0 3 0 0 20 0 1 0 25 0 0";
        let process = Process::parse(stat).unwrap();
        assert_eq!((process.name.as_str(), process.start_ticks), ("a) b (c", 25));
        assert!(process.is_kernel_thread() && !process.is_movable());
        let again = Process::parse(&process.without_names()).unwrap();
        assert_eq!((again.flags, again.start_ticks), (69238848, 25));
        for torn in ["", "7 (a", "7 (a) S 2", "7 (a) S 2 0 0 0 -1 x 0 0 0 0 0 3 0 0 20 0 1 0 25"] {
            assert!(Process::parse(torn).is_none(), "{torn:?}");
        }
    }
}
