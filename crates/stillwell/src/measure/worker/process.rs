//! The process behind a worker: made, watched, ended with its whole group, reaped.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::measure::worker::failure::Said;
use crate::measure::worker::output::Output;
use crate::sys::{self, Usage};

/// A process of which the last trace goes when this is dropped.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    /// Becomes readable when the process ends. Linux before 5.3 has none; there the end is asked for now and then.
    pidfd: Option<OwnedFd>,
    output: Output,
    end: Option<End>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Exit status, or minus the signal; `None` if nobody can know.
    pub exit: Option<i32>,
    /// What wait4 says of it.
    pub usage: Option<Usage>,
}

impl Process {
    /// Takes a child of ours that leads its own process group.
    pub fn child(pid: i32, output: Output) -> Self {
        Self { pid, pidfd: pidfd(pid), output, end: None }
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What can be polled for its end.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(|pidfd| pidfd.as_fd())
    }

    /// Whether it has ended; it may still have to be reaped.
    pub fn has_ended(&self) -> bool {
        self.end.is_some() || sys::has_exited(self.pid)
    }

    /// Keeps its output short.
    pub fn trim_output(&mut self) {
        self.output.trim();
    }

    /// The end of what it wrote.
    pub fn said(&self) -> Said {
        self.output.said()
    }

    /// Ends the whole group, if there is anything left of it, and reaps. As long as the leader is not reaped, the
    /// group's number cannot be anybody else's.
    pub fn finish(&mut self) -> End {
        if let Some(end) = self.end {
            return end;
        }
        sys::signal_group(self.pid, libc::SIGKILL);
        let end = loop {
            match sys::reap(self.pid) {
                Ok((exit, usage)) => break End { exit: Some(exit), usage: Some(usage) },
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // Cannot be: it is a child of ours that nobody else reaps. A benchmark is no reason to panic in drop.
                Err(_) => break End { exit: None, usage: None },
            }
        };
        *self.end.insert(end)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.finish();
    }
}

fn pidfd(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}
