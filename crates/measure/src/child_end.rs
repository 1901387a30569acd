//! Waits for the end of a child.

use std::io;

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use host::sys;

pub fn is_interruption(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::Interrupted
}

/// Waits for the end of a child without reaping it. A background child that the terminal stops, because it reads from
/// it or changes it, would wait for ever: it is killed with its group, and the stop signal is returned.
pub fn wait_for_exit(pid: i32) -> Option<i32> {
    let mut stopped_by = None;
    loop {
        match sys::wait_for_exit(pid) {
            Ok(Some(signal)) if is_of_terminal(signal) => {
                stopped_by = Some(signal);
                sys::signal_group(pid, libc::SIGKILL);
            }
            // The process that stopped it may continue it.
            Ok(Some(_)) => {}
            Ok(None) => return stopped_by,
            Err(error) if is_interruption(&error) => {}
            Err(_) => return stopped_by,
        }
    }
}

/// Whether a child has ended or is stopped by the terminal. [`wait_for_exit`] still sees the stop.
pub fn has_ended_or_stopped(pid: i32) -> bool {
    sys::has_exited(pid) || sys::stopped_by(pid).is_some_and(is_of_terminal)
}

/// Whether this signal is for background processes of a terminal (termios(3), TOSTOP).
fn is_of_terminal(signal: i32) -> bool {
    matches!(signal, libc::SIGTTIN | libc::SIGTTOU)
}

pub fn pidfd(pid: i32) -> io::Result<std::os::fd::OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}
