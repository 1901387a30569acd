//! Waits for the end of a child.

use std::io;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::sys;

pub fn is_interruption(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Waits for the end of a child without reaping it.
pub fn wait_for_exit(pid: i32) {
    while sys::wait_for_exit(pid).is_err_and(|error| is_interruption(&error)) {}
}

pub fn pidfd(pid: i32) -> io::Result<std::os::fd::OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}
