//! Processes, and among them the threads of the kernel, as `/proc` shows them (proc_pid_stat(5), proc_pid_status(5)).

use crate::host::Host;
use crate::host::gaps::status_value;

/// `PF_KTHREAD` (include/linux/sched.h). That `/proc/PID/exe` cannot be read would also be so for somebody else's process.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// `PF_NO_SETAFFINITY`: sched_setaffinity(2) refuses it, as for threads that belong to one CPU.
const NOT_MOVABLE: u64 = 0x0400_0000;
/// The parent of all other threads of the kernel.
const KTHREADD: u32 = 2;
/// With 8192 CPUs some ten threads on each, and eight bytes for each of their numbers.
const CHILDREN_BYTES_MAX: u64 = 1 << 20;

/// What `/proc/PID/stat` says of a process.
#[derive(Debug)]
pub struct Process {
    /// As `ps -o comm` shows it.
    pub name: String,
    flags: u64,
    /// The CPU it ran on last; `None` in a text that ends before.
    pub cpu: Option<usize>,
    /// When it started, in clock ticks since boot. With the number it says which process is meant: numbers come again.
    pub(super) start_ticks: u64,
    /// Whether it is only still there because nobody has waited for it.
    pub(super) has_ended: bool,
}

impl Process {
    /// `None` when there is none.
    pub(super) fn read(host: &Host, pid: u32) -> Option<Self> {
        Self::read_at(host, &format!("proc/{pid}"))
    }

    /// Of the directory of a process, or a thread.
    pub fn read_at(host: &Host, directory: &str) -> Option<Self> {
        Self::parse(&host.read(format!("{directory}/stat"))?)
    }

    /// The name in field 2 may have blanks and parentheses.
    pub(super) fn parse(stat: &str) -> Option<Self> {
        let (start, rest) = stat.rsplit_once(") ")?;
        let (_, name) = start.split_once('(')?;
        let field = |number: usize| rest.split(' ').nth(number - 3);
        Some(Self {
            name: name.to_owned(),
            flags: field(9)?.parse().ok()?,
            cpu: field(39).and_then(|cpu| cpu.parse().ok()),
            start_ticks: field(22)?.parse().ok()?,
            has_ended: rest.starts_with(['Z', 'X']),
        })
    }

    /// As [`Process::parse`] reads it, without what only this machine has: names of disks are in those of threads.
    pub(super) fn without_names(&self) -> String {
        let name = if self.is_of_interrupt() { "irq/" } else { "thread" };
        let (flags, start_ticks) = (self.flags, self.start_ticks);
        format!("0 ({name}) S 0 0 0 0 -1 {flags}{} {start_ticks}", " 0".repeat(12))
    }

    /// Whether it is a thread of the kernel.
    pub(super) fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0 && !self.has_ended
    }

    /// Whether it may be bound: most threads of the kernel belong to a CPU.
    pub(super) fn is_movable(&self) -> bool {
        self.flags & NOT_MOVABLE == 0
    }

    /// The kernel itself has the thread of an interrupt follow it (`irq_thread_check_affinity()` in kernel/irq/manage.c).
    fn is_of_interrupt(&self) -> bool {
        self.name.starts_with("irq/")
    }
}

/// A thread, and the process it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Number of the process.
    pub process: u32,
    /// Its own.
    pub thread: u32,
}

impl Thread {
    /// What is known of it. Every thread has such a directory, though only leaders are listed (proc(5)).
    pub fn directory(self) -> String {
        format!("proc/{}/task/{}", self.process, self.thread)
    }
}

/// Every thread of the machine that may be seen. Any may have ended when it is looked at.
pub fn threads(host: &Host) -> impl Iterator<Item = Thread> {
    let numbers =
        |path: String| host.list(path).into_iter().filter_map(|name| name.parse::<u32>().ok());
    numbers("proc".into()).flat_map(move |process| {
        numbers(format!("proc/{process}/task")).map(move |thread| Thread { process, thread })
    })
}

/// The files that stand for the CPUs of those threads of the kernel that may be moved. `None` when they cannot be seen.
pub(super) fn movable_kernel_threads(host: &Host) -> Option<Vec<String>> {
    // In a container number 2 is something else.
    Process::read(host, KTHREADD).filter(Process::is_kernel_thread)?;
    let children = format!("proc/{KTHREADD}/task/{KTHREADD}/children");
    let children = host.read_long(children, CHILDREN_BYTES_MAX)?;
    let children = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    let is_movable = |pid: &u32| {
        Process::read(host, *pid).is_some_and(|process| {
            process.is_kernel_thread() && process.is_movable() && !process.is_of_interrupt()
        })
    };
    let pids = std::iter::once(KTHREADD).chain(children).filter(is_movable);
    Some(pids.map(|pid| format!("proc/{pid}/status")).collect())
}

/// The process of such a file.
pub(super) fn pid_of(path: &str) -> Option<u32> {
    path.strip_prefix("proc/")?.strip_suffix("/status")?.parse().ok()
}

/// The CPUs that the process of such a file may run on, as a list.
pub(super) fn allowed_cpus(host: &Host, path: &str) -> Option<String> {
    let status = host.read(path)?;
    status_value(&status, "Cpus_allowed_list").map(str::to_owned)
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
