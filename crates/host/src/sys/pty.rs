//! Pseudo-terminals.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

use rustix::fs::OFlags;
use rustix::io::FdFlags;

use super::checked;

/// Opens a pseudo-terminal of this size: the side that reads what a program writes, without waiting, and the terminal
/// for the program. It becomes the controlling terminal of no process. Errors: there is no devpts, or there are too
/// many of them.
pub fn open_pty(columns: u16, rows: u16) -> io::Result<(OwnedFd, OwnedFd)> {
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut reader, mut terminal) = (-1, -1);
    // SAFETY: all pointers are valid or null, and the C library writes two descriptors that nobody else owns yet.
    let (reader, terminal) = unsafe {
        let (name, modes) = (std::ptr::null_mut(), std::ptr::null());
        checked(libc::openpty(&raw mut reader, &raw mut terminal, name, modes, &raw const size))?;
        (OwnedFd::from_raw_fd(reader), OwnedFd::from_raw_fd(terminal))
    };
    for fd in [&reader, &terminal] {
        rustix::io::fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    }
    rustix::fs::fcntl_setfl(&reader, OFlags::RDWR | OFlags::NONBLOCK)?;
    Ok((reader, terminal))
}
