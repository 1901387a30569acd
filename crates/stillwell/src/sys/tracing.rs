//! What a trace needs beyond the perf crate: a counter of the CPU, one buffer for several events, and tracefs where nobody
//! has mounted it.

use std::ffi::CStr;
use std::io;
use std::os::fd::RawFd;

/// The time stamp counter.
#[cfg(target_arch = "x86_64")]
pub fn read_cycle_counter() -> u64 {
    // SAFETY: every x86-64 has it; a process may read it unless PR_SET_TSC forbids it, which ends the process and is
    // nothing that happens to us unasked.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Sends the records of a perf event to the buffer of another one. Both must be of the same CPU.
///
/// # Errors
/// As ioctl `PERF_EVENT_IOC_SET_OUTPUT`, perf_event_open(2).
pub fn share_perf_buffer(event: RawFd, buffer_of: RawFd) -> io::Result<()> {
    /// `_IO('$', 5)`.
    const PERF_EVENT_IOC_SET_OUTPUT: libc::Ioctl = 0x2405;
    // SAFETY: takes two descriptors and no memory.
    let result = unsafe { libc::ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, buffer_of) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Mounts tracefs at /sys/kernel/tracing for this thread alone: it gets mounts of its own, and they are gone when it ends.
///
/// # Errors
/// It takes CAP_SYS_ADMIN, and a kernel with tracefs.
pub fn mount_tracefs_for_this_thread() -> io::Result<()> {
    // SAFETY: changes which mounts this thread sees, and nothing in memory.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // What is mounted from here on must not reach the others.
    mount(c"none", c"/", c"", libc::MS_REC | libc::MS_PRIVATE)?;
    mount(c"tracefs", c"/sys/kernel/tracing", c"tracefs", libc::MS_NOSUID | libc::MS_NODEV)
}

fn mount(what: &CStr, at: &CStr, kind: &CStr, flags: libc::c_ulong) -> io::Result<()> {
    // SAFETY: three strings that end with a zero byte; no data.
    let result =
        unsafe { libc::mount(what.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
