//! The only module with `unsafe`: system calls that have no safe function in rustix, or that signal handlers and children
//! before exec make.
//!
//! Every public function is safe to call with any arguments and from any thread: none causes undefined behaviour, and
//! none closes a descriptor that other code owns. A function that is meant for a process with one thread says so.
#![expect(unsafe_code, reason = "this is the one place for it")]
#![expect(clippy::disallowed_methods, reason = "this module is the operating system's edge")]

mod accounts;
mod affinity;
mod probe;
mod pty;
mod rights;
mod seccomp;
mod sharing;
mod signals;
mod spawn;
mod strings;
mod survival;
mod threads;
mod tracing;

use std::ffi::{OsStr, c_long};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, getppid, set_parent_process_death_signal,
    waitid,
};

pub use accounts::{Account, account_named, account_of, groups_of};
pub use affinity::{CpuMask, NodePolicy, bind, bound_cpus};
pub use probe::{CoreProbe, probe_core};
pub use pty::open_pty;
pub use rights::{
    User, become_user_for_good, file_owner, has_files_of_another, may_raise_priority, run_as,
    run_as_ourselves, take_files, with_files_of, with_own_files,
};
pub use seccomp::{ARCHITECTURE, CallListener, StoppedCall, stop_at};
pub use sharing::share_numbers;
pub use signals::{
    Alarm, HeldSignals, end_stop_requests, fail_at_file_size_limit, install_launcher_signals,
    is_ignored, is_stop_requested, let_signals_arrive, stop_ignoring_children, take_stop_request,
};
pub use spawn::{
    Attributes, ChildStdio, LaunchError, LaunchedChild, Launcher, SchedulingPolicy, Stage,
};
pub use strings::{CStrings, Environment, Envp};
pub use survival::survive;
pub use threads::{do_without_threads_if_refused, stack_problem};
#[cfg(target_arch = "x86_64")]
pub use tracing::read_cycle_counter;
pub use tracing::{
    descriptor_of, filter_tracepoint, mount_tracefs_for_this_thread, set_sample_period,
    share_perf_buffer,
};

/// Whether a system call succeeded, by its result; else the error that it has just left. Allocates nothing.
fn checked(result: impl Into<c_long>) -> io::Result<()> {
    if result.into() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The running file, even if its path has a newer one.
const RUNNING: &str = "/proc/self/exe";

/// This program, to execute it again. Without /proc it is the path that this process was executed by.
pub fn own_program() -> PathBuf {
    if Path::new(RUNNING).exists() { RUNNING.into() } else { executed_path() }
}

/// The path of this program, for other programs. Errors: there is no /proc, and the file is no longer where it was
/// executed.
pub fn own_path() -> io::Result<PathBuf> {
    std::env::current_exe().or_else(|_| executed_path().canonicalize())
}

/// The path that execve(2) got (getauxval(3), `AT_EXECFN`). This process never changes its directory.
fn executed_path() -> PathBuf {
    let path = Path::new(OsStr::from_bytes(rustix::param::linux_execfn().to_bytes()));
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// Duplicates a descriptor that the parent process left open for this one, by its number. No child inherits the
/// duplicate. The original stays open until the process ends, because other code might own it. Errors: InvalidInput for
/// a standard stream, EBADF if the number is not open.
pub fn inherited_descriptor(number: i32) -> io::Result<OwnedFd> {
    const FIRST: i32 = libc::STDERR_FILENO + 1;
    if number < FIRST {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: both calls take integers only, and fail with EBADF where the number is not open.
    let duplicate = unsafe {
        checked(libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC))?;
        libc::fcntl(number, libc::F_DUPFD_CLOEXEC, FIRST)
    };
    checked(duplicate)?;
    // SAFETY: fcntl has just opened it, so no other code owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(duplicate) })
}

/// Leaves a descriptor open in a command, under the same number. If it is closed before the start, the start fails.
pub fn leave_open(command: &mut Command, fd: BorrowedFd<'_>) {
    let number = fd.as_raw_fd();
    let leave_open = move || {
        // SAFETY: the call takes integers only.
        checked(unsafe { libc::fcntl(number, libc::F_SETFD, 0) })
    };
    // SAFETY: between fork and exec it makes one system call.
    unsafe { command.pre_exec(leave_open) };
}

impl Usage {
    /// Subtracts CPU time that was not the program's, µs.
    pub fn without(&mut self, cpu_us: u64) {
        let of_user_us = self.user_us.min(cpu_us);
        self.user_us -= of_user_us;
        self.sys_us = self.sys_us.saturating_sub(cpu_us - of_user_us);
    }
}

/// The resource usage of a child that has ended (wait4(2), getrusage(2)).
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub user_us: u64,
    pub sys_us: u64,
    /// Peak resident set of the largest process, KiB.
    pub maxrss_kib: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    /// `ru_nvcsw`.
    pub voluntary_switches: u64,
    /// `ru_nivcsw`.
    pub involuntary_switches: u64,
}

/// Waits until the child has ended, or a signal has stopped it: returns the number of that signal. It does not reap the
/// child, so its `/proc` entry stays readable. Errors: `EINTR` when a signal came first, `ECHILD` if there is no such
/// child.
pub fn wait_for_exit(pid: i32) -> io::Result<Option<i32>> {
    let status = wait_without_reaping(pid, WaitIdOptions::STOPPED)?;
    let signal = status.and_then(|status| status.stopping_signal());
    if signal.is_some() {
        // Each stop is reported once.
        waitid_of(pid, WaitIdOptions::STOPPED | WaitIdOptions::NOHANG)?;
    }
    Ok(signal)
}

/// The signal that has stopped a child, unless [`wait_for_exit`] has reported it.
pub fn stopped_by(pid: i32) -> Option<i32> {
    let options = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid_of(pid, options).ok()??.stopping_signal()
}

/// Whether the child has ended, or there is no such child. It does not reap it.
pub fn has_exited(pid: i32) -> bool {
    !matches!(wait_without_reaping(pid, WaitIdOptions::NOHANG), Ok(None))
}

fn wait_without_reaping(pid: i32, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    waitid_of(pid, options | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
}

fn waitid_of(pid: i32, options: WaitIdOptions) -> io::Result<Option<WaitIdStatus>> {
    let pid = Some(pid).filter(|&pid| pid > 0).and_then(Pid::from_raw).ok_or(Errno::CHILD)?;
    Ok(waitid(WaitId::Pid(pid), options)?)
}

/// Waits for the end of a child, whatever signals come, and reaps it. Returns its exit (the status, or minus the signal
/// that ended it) and its resource usage. Errors: `ECHILD` when there is no such child.
pub fn reap(pid: i32) -> io::Result<(i32, Usage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    let mut wait = || {
        // SAFETY: both pointers are to writable memory of the types that wait4 fills in.
        checked(unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) })
    };
    while let Err(error) = wait() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: wait4 has filled it in, and zeros are valid too.
    let usage = unsafe { usage.assume_init() };
    let us = |time: libc::timeval| {
        time.tv_sec.cast_unsigned() * 1_000_000 + time.tv_usec.cast_unsigned()
    };
    let exit =
        if libc::WIFSIGNALED(status) { -libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
    let usage = Usage {
        user_us: us(usage.ru_utime),
        sys_us: us(usage.ru_stime),
        maxrss_kib: usage.ru_maxrss.cast_unsigned(),
        minor_faults: usage.ru_minflt.cast_unsigned(),
        major_faults: usage.ru_majflt.cast_unsigned(),
        voluntary_switches: usage.ru_nvcsw.cast_unsigned(),
        involuntary_switches: usage.ru_nivcsw.cast_unsigned(),
    };
    Ok((exit, usage))
}

/// Asks the kernel to send this process a signal when its parent ends, however it ends.
pub fn signal_me_when_my_parent_ends(signal: Signal) {
    // Every kernel has it, and the signal is valid, so it cannot fail (prctl(2), PR_SET_PDEATHSIG).
    set_parent_process_death_signal(Some(signal)).ok();
}

/// The parent's process id: another process's once the parent has ended; 0 if the parent is outside of the PID
/// namespace.
pub fn parent() -> i32 {
    Pid::as_raw(getppid())
}

/// Sends a signal to a process group. A group that has already ended is no error. A number below 2 does nothing:
/// kill(2) would signal other processes.
pub fn signal_group(group: i32, signal: i32) {
    if group > 1 {
        // SAFETY: kill takes integers only.
        unsafe { libc::kill(-group, signal) };
    }
}

/// Pages per part into which a program's mapping is split.
const PAGES_OF_PART: usize = if cfg!(debug_assertions) { 8 } else { 1 };

/// Returns the unwritten pages of program files to the page cache and resets this process's peak resident set. A
/// child's `ru_maxrss` starts at its parent's peak (`setmax_mm_hiwater_rss` in fs/exec.c), so the launcher makes its
/// own small before it starts children. With several threads this does nothing.
///
/// A fault on a page of a file maps up to 15 neighbours too, but only within the same mapping (`filemap_map_pages` in
/// mm/filemap.c). A different flag on every second page splits the mapping, so only used pages return: 0.8 instead of
/// 2.0 MiB on the author's machine.
///
/// An unoptimised program has twice as many pages: this took 17 of the 46 ms of CPU time of a session, and the tests
/// have thousands. So its parts are larger: 29 ms, and a peak of 12 instead of 7 MiB.
pub fn shrink_resident_set() {
    // Another thread could write to a page, or map another one there, between the reading of smaps and madvise.
    let has_one_thread = std::fs::read_dir("/proc/self/task").is_ok_and(|it| it.count() == 1);
    let smaps = std::fs::read_to_string("/proc/self/smaps").ok().filter(|_| has_one_thread);
    let Some(smaps) = smaps else { return };
    let part_bytes = PAGES_OF_PART * rustix::param::page_size();
    let mut mapping = None;
    for line in smaps.lines() {
        let mut fields = line.split_ascii_whitespace();
        match (fields.next(), fields.next()) {
            (Some("Anonymous:"), Some("0")) => {
                if let Some((start, len)) = mapping.take() {
                    // SAFETY: no page of this read-only mapping of a file was ever written, as none is anonymous, and
                    // the only thread is here. So the next access brings the same bytes from the file. DONTDUMP
                    // changes core files only.
                    unsafe {
                        libc::madvise(start as *mut libc::c_void, len, libc::MADV_DONTNEED);
                        for part in (start..start + len).step_by(2 * part_bytes) {
                            libc::madvise(
                                part as *mut libc::c_void,
                                part_bytes.min(start + len - part),
                                libc::MADV_DONTDUMP,
                            );
                        }
                    }
                }
            }
            (Some(range), Some(permissions))
                if line.contains('/') && permissions.starts_with('r') =>
            {
                mapping = parse_range(range).filter(|_| !permissions.contains('w'));
            }
            (Some(range), Some(_)) if range.contains('-') => mapping = None,
            _ => {}
        }
    }
    // proc_pid_clear_refs(5): 5 resets the peak resident set ("high water mark"). Linux >= 4.0.
    std::fs::write("/proc/self/clear_refs", "5").ok();
}

/// `start-end` in hexadecimal → start and length.
fn parse_range(range: &str) -> Option<(usize, usize)> {
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    Some((start, usize::from_str_radix(end, 16).ok()?.checked_sub(start)?))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn an_inherited_descriptor_is_never_closed_twice() {
        let (mut reader, writer) = io::pipe().unwrap();
        let duplicate = inherited_descriptor(writer.as_raw_fd()).unwrap();
        assert_ne!(duplicate.as_raw_fd(), writer.as_raw_fd());
        drop(duplicate);
        // Its owner can still use the original: before it is dropped, the pipe has a writer.
        rustix::io::write(&writer, b"x").unwrap();
        drop(writer);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
        assert_eq!(inherited_descriptor(2).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        let error = inherited_descriptor(i32::MAX).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }

    #[test]
    fn numbers_of_no_child_are_no_child() {
        for pid in [0, -1, i32::MIN, i32::MAX] {
            assert_eq!(wait_for_exit(pid).unwrap_err().raw_os_error(), Some(libc::ECHILD));
            assert!(has_exited(pid));
        }
    }
}
