//! The standard streams of a child.

use std::ffi::{CStr, c_int};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The source or the destination of one of a child's standard streams.
#[derive(Clone, Copy, Debug)]
pub enum ChildStdio<'a> {
    /// The stream of the launcher.
    Inherit,
    /// An open descriptor.
    Fd(BorrowedFd<'a>),
    /// A file that each child opens for reading, so that each starts at its beginning.
    Read(&'a CStr),
    /// A file that each child creates or truncates.
    Write(&'a CStr),
}

/// Makes a standard descriptor one for another file; `None` where a call failed.
///
/// # Safety
/// It replaces `target`, so the process must be a child that is about to exec.
pub(super) unsafe fn redirect(stdio: ChildStdio<'_>, target: c_int) -> Option<()> {
    let (opened, keep) = match stdio {
        ChildStdio::Inherit => return Some(()),
        ChildStdio::Fd(fd) => (fd.as_raw_fd(), true),
        // SAFETY: the path ends with a NUL.
        ChildStdio::Read(path) => (unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) }, false),
        ChildStdio::Write(path) => {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            // SAFETY: as above.
            (unsafe { libc::open(path.as_ptr(), flags, 0o666) }, false)
        }
    };
    // SAFETY: the caller lets `target` be replaced, and `opened` is closed only if this function opened it.
    unsafe {
        if opened < 0 || (opened != target && libc::dup2(opened, target) < 0) {
            return None;
        }
        if !keep && opened != target {
            libc::close(opened);
        }
    }
    Some(())
}
