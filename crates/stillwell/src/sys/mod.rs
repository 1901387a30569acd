//! The only module with `unsafe`: the few system calls that rustix leaves out because they are not safe to call from
//! just anywhere. Each wrapper is safe to call from the rest of the program.
#![expect(unsafe_code, reason = "this is the one place for it")]
#![expect(clippy::disallowed_methods, reason = "this module is the operating system's edge")]

mod affinity;
mod rights;
mod signals;
mod spawn;
mod strings;
mod tracing;

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

pub use affinity::{bind, bound_cpus};
pub use rights::with_files_of;
pub use signals::{
    Alarm, ignore_what_ends_a_session, install_launcher_signals, is_ignored,
    stop_ignoring_children, take_stop_request,
};
pub use spawn::{
    Attributes, ChildStdio, LaunchError, Launched, Launcher, Policy, Stage, User,
    become_user_for_good,
};
pub use strings::{CStrings, Environment};
#[cfg(target_arch = "x86_64")]
pub use tracing::read_cycle_counter;
pub use tracing::{mount_tracefs_for_this_thread, share_perf_buffer};

/// Takes a descriptor that the parent process has left open for this one, by its number.
///
/// # Errors
/// It is one of the standard streams, or not open.
pub fn inherited_descriptor(number: i32) -> io::Result<OwnedFd> {
    if number <= libc::STDERR_FILENO {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: F_SETFD of any number is safe; a descriptor that is not open is EBADF.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nothing in this program owns it: it was there before the program started.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// What `wait4` says of a finished child.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// CPU time in user mode, µs.
    pub user_us: u64,
    /// CPU time in the kernel, µs.
    pub sys_us: u64,
    /// Peak resident set of the largest process, KiB.
    pub maxrss_kib: u64,
    /// Faults without input or output.
    pub minor_faults: u64,
    /// Faults with it.
    pub major_faults: u64,
    /// `ru_nvcsw`.
    pub voluntary_switches: u64,
    /// `ru_nivcsw`.
    pub involuntary_switches: u64,
}

/// Waits until the child has ended, without reaping it, so that its `/proc` entry stays readable.
///
/// # Errors
/// `EINTR` when a signal came first.
pub fn wait_for_exit(pid: i32) -> io::Result<()> {
    let mut siginfo = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: siginfo points to writable memory of the right size.
    let result = unsafe {
        libc::waitid(
            libc::P_PID,
            pid.cast_unsigned(),
            siginfo.as_mut_ptr(),
            libc::WEXITED | libc::WNOWAIT,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether the child has ended; it is not reaped.
pub fn has_exited(pid: i32) -> bool {
    let mut siginfo = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: siginfo points to writable memory of the right size; waitid leaves si_pid 0 if nothing has ended.
    unsafe {
        let result = libc::waitid(libc::P_PID, pid.cast_unsigned(), siginfo.as_mut_ptr(), flags);
        result != 0 || siginfo.assume_init().si_pid() != 0
    }
}

/// Reaps a child: its exit (status, or minus the signal) and its resource usage.
///
/// # Errors
/// `EINTR` when a signal came first; `ECHILD` when there is no such child.
pub fn reap(pid: i32) -> io::Result<(i32, Usage)> {
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are to writable memory of the right size.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    if reaped < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed above, and wait4 has filled it in.
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

/// Asks the kernel to send this process `signal` when its parent ends, however it ends.
pub fn signal_me_when_my_parent_ends(signal: i32) {
    // SAFETY: PR_SET_PDEATHSIG takes a plain integer.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal) };
}

/// The process that made this one; another one, once that has ended.
pub fn parent() -> i32 {
    // SAFETY: getppid cannot fail and takes nothing.
    unsafe { libc::getppid() }
}

/// Sends a signal to a whole process group; that the group has already ended is not an error.
pub fn signal_group(group: i32, signal: i32) {
    // SAFETY: kill has no memory arguments.
    unsafe { libc::kill(-group, signal) };
}

/// Gives the unwritten pages of program files back to the page cache and resets this process's peak resident set. A
/// child's `ru_maxrss` starts at its parent's peak (kernel: `setmax_mm_hiwater_rss` in fs/exec.c), so the launcher
/// makes its own as small as it can before it makes children.
///
/// A fault on a page of a file maps up to 15 neighbours too, but only within the same mapping (`filemap_map_pages` in
/// mm/filemap.c). A different flag on every second page keeps the kernel from seeing one mapping, so that only what is
/// used comes back: 0.8 instead of 2.0 MiB where this was written.
pub fn shrink_resident_set() {
    let Ok(smaps) = std::fs::read_to_string("/proc/self/smaps") else { return };
    let page_bytes = rustix::param::page_size();
    let mut mapping = None;
    for line in smaps.lines() {
        let mut fields = line.split_ascii_whitespace();
        match (fields.next(), fields.next()) {
            (Some("Anonymous:"), Some("0")) => {
                if let Some((start, len)) = mapping.take() {
                    // SAFETY: a private mapping of a file of which no page was ever written (none is anonymous):
                    // what is dropped here comes back from the file on the next access. DONTDUMP changes nothing
                    // but core files.
                    unsafe {
                        libc::madvise(start as *mut libc::c_void, len, libc::MADV_DONTNEED);
                        for page in (start..start + len).step_by(2 * page_bytes) {
                            libc::madvise(
                                page as *mut libc::c_void,
                                page_bytes,
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
