//! The parts of a trace that the perf crate lacks: the CPU's counter, one buffer for several events, and a tracefs that
//! is not mounted.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::checked;

#[cfg(target_arch = "x86_64")]
pub fn read_cycle_counter() -> u64 {
    // SAFETY: every x86-64 CPU has it. Where PR_SET_TSC forbids it, the kernel ends the process by a signal
    // (prctl(2)).
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Sends the records of a perf event to another one's buffer. Both must be on the same CPU. The types of the perf crate
/// do not lend their descriptors (`AsFd`), so the events themselves are borrowed for the call. Errors: see ioctl
/// `PERF_EVENT_IOC_SET_OUTPUT` in perf_event_open(2).
pub fn share_perf_buffer(event: &impl AsRawFd, buffer_of: &impl AsRawFd) -> io::Result<()> {
    /// `_IO('$', 5)`.
    const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;
    let (event, buffer_of) = (event.as_raw_fd(), buffer_of.as_raw_fd());
    // SAFETY: the call takes two numbers and no memory, and closes neither. A number that is no event is an error.
    checked(unsafe { libc::ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, buffer_of) })
}

/// Sets the period of a sampling event, and of all copies that are inherited from now on. Errors: see ioctl
/// `PERF_EVENT_IOC_PERIOD` in perf_event_open(2).
pub fn set_sample_period(event: &impl AsRawFd, period: u64) -> io::Result<()> {
    /// `_IOW('$', 4, __u64)`.
    const PERF_EVENT_IOC_PERIOD: libc::Ioctl = 0x4008_2404_u32 as libc::Ioctl;
    // SAFETY: the number lives until the call returns; the kernel copies it.
    checked(unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_PERIOD, &raw const period) })
}

/// The descriptor of a perf event, to wait for. The types of the perf crate do not lend it (`AsFd`).
pub fn descriptor_of<'event>(event: &'event impl AsRawFd) -> BorrowedFd<'event> {
    // SAFETY: the event owns the descriptor, and is borrowed as long as the descriptor.
    unsafe { BorrowedFd::borrow_raw(event.as_raw_fd()) }
}

/// Lets a tracepoint event record only what passes a filter, for example `pid > 12`. Errors: EINVAL for a filter that
/// the kernel cannot read, or an event that is no tracepoint.
pub fn filter_tracepoint(event: &impl AsRawFd, filter: &str) -> io::Result<()> {
    /// `_IOW('$', 6, char *)`.
    const PERF_EVENT_IOC_SET_FILTER: libc::Ioctl = 0x4008_2406_u32 as libc::Ioctl;
    let filter = std::ffi::CString::new(filter)?;
    // SAFETY: the filter ends with a NUL and lives until the call returns; the kernel copies it.
    checked(unsafe { libc::ioctl(event.as_raw_fd(), PERF_EVENT_IOC_SET_FILTER, filter.as_ptr()) })
}

/// Mounts tracefs at /sys/kernel/tracing for this thread alone. The thread gets mounts of its own, which end with it.
/// Errors: EPERM without CAP_SYS_ADMIN, ENODEV if the kernel has no tracefs.
pub fn mount_tracefs_for_this_thread() -> io::Result<()> {
    // SAFETY: the call takes no memory. It changes which mounts this thread sees, and no descriptors.
    checked(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    // Later mounts must not reach the other threads and processes.
    mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE)?;
    mount(c"tracefs", c"/sys/kernel/tracing", c"tracefs", libc::MS_NOSUID | libc::MS_NODEV)
}

fn mount(source: &CStr, target: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    let (source, target) = (source.as_ptr(), target.as_ptr());
    // SAFETY: the strings end with a NUL, and there are no data.
    checked(unsafe { libc::mount(source, target, kind.as_ptr(), flags, std::ptr::null()) })
}
