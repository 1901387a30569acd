//! The standard streams of a child.

use std::ffi::{CStr, c_int};
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The source or the destination of a child's standard stream.
#[derive(Clone, Copy, Debug)]
pub enum ChildStdio<'a> {
    /// The stream of the launcher.
    Inherit,
    Fd(BorrowedFd<'a>),
    /// A file that each child opens for reading, from its beginning. Like the next one it is opened without waiting:
    /// the parent waits for the child, and would wait for ever at a FIFO.
    Read(&'a CStr),
    /// A file that each child creates or truncates.
    Write(&'a CStr),
}

/// Redirects a standard descriptor to another file; `None` if a call failed.
///
/// # Safety
/// The call replaces `target`, so the process must be a child that is about to exec.
pub(super) unsafe fn redirect(stdio: ChildStdio<'_>, target: c_int) -> Option<()> {
    let (opened, keep) = match stdio {
        ChildStdio::Inherit => return Some(()),
        ChildStdio::Fd(fd) => (fd.as_raw_fd(), true),
        ChildStdio::Read(path) => (open_at_once(path, libc::O_RDONLY)?, false),
        ChildStdio::Write(path) => {
            (open_at_once(path, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC)?, false)
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

/// Opens a file without waiting. Then a FIFO without a reader fails (open(2), ENXIO), and one without a writer is at
/// its end.
fn open_at_once(path: &CStr, flags: c_int) -> Option<c_int> {
    // SAFETY: the path ends with a NUL; the other calls take integers.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags | libc::O_NONBLOCK, 0o666);
        // The program's own reads and writes wait as usual.
        (fd >= 0 && libc::fcntl(fd, libc::F_SETFL, 0) >= 0).then_some(fd)
    }
}
