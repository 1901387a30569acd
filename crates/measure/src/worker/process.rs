//! The process behind a worker: started, watched, ended with its whole group, and reaped.

use std::fmt::Debug;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::child_run::pidfd;
use crate::worker::failure::OutputTail;
use crate::worker::output::WorkerOutput;
use host::sys;

/// A process. Dropping this kills its whole group and reaps it.
#[derive(Debug)]
pub struct WorkerProcess {
    pid: i32,
    /// Becomes readable when the process ends. Linux before 5.3 has no pidfd, so the parent checks at intervals.
    pidfd: Option<OwnedFd>,
    origin: ProcessOrigin,
    is_finished: bool,
    /// Exit status, or minus the signal; `None` if it is unknown.
    exit: Option<i32>,
}

/// The parent of forked workers, which alone can reap them (wait4(2)).
pub trait Reaper: Debug {
    /// Waits for the end of a child: exit status, or minus the signal. `None` if the parent does not answer.
    fn reap(&self, pid: i32) -> Option<i32>;
}

#[derive(Debug)]
enum ProcessOrigin {
    /// A child of this process, with its output.
    Child(WorkerOutput),
    /// A child of another program, which reaps it on request.
    Forked(Rc<dyn Reaper>),
}

impl WorkerProcess {
    /// Takes a child of ours that leads its own process group.
    pub fn child(pid: i32, output: WorkerOutput) -> Self {
        Self::of(pid, ProcessOrigin::Child(output))
    }

    /// Takes a process that another program has forked and will not reap by itself.
    pub fn forked(pid: i32, server: Rc<dyn Reaper>) -> Self {
        Self::of(pid, ProcessOrigin::Forked(server))
    }

    fn of(pid: i32, origin: ProcessOrigin) -> Self {
        Self { pid, pidfd: pidfd(pid), origin, is_finished: false, exit: None }
    }

    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// The descriptor to poll for the end of the process.
    pub fn pidfd(&self) -> Option<BorrowedFd<'_>> {
        self.pidfd.as_ref().map(|pidfd| pidfd.as_fd())
    }

    /// Whether the process has ended; it may still have to be reaped. The end of a forked process without a pidfd is
    /// visible only as the end of its answers.
    pub fn has_ended(&self) -> bool {
        self.is_finished
            || match (&self.origin, &self.pidfd) {
                (ProcessOrigin::Child(_), _) => sys::has_exited(self.pid),
                (ProcessOrigin::Forked(_), Some(pidfd)) => is_readable(pidfd),
                (ProcessOrigin::Forked(_), None) => false,
            }
    }

    pub fn trim_output(&mut self) {
        if let ProcessOrigin::Child(output) = &mut self.origin {
            output.trim();
        }
    }

    pub fn output_tail(&self) -> OutputTail {
        match &self.origin {
            ProcessOrigin::Child(output) => output.output_tail(),
            ProcessOrigin::Forked(_) => OutputTail::default(),
        }
    }

    /// Ends the rest of the group, reaps the leader and returns its exit. Until then, the kernel gives the group's
    /// number to no other process.
    pub fn finish(&mut self) -> Option<i32> {
        if std::mem::replace(&mut self.is_finished, true) {
            return self.exit;
        }
        sys::signal_group(self.pid, libc::SIGKILL);
        self.exit = match &self.origin {
            // Only this function reaps the child, so it does not fail. A drop must not panic anyway.
            ProcessOrigin::Child(_) => sys::reap(self.pid).ok().map(|(exit, _)| exit),
            ProcessOrigin::Forked(server) => {
                // The process may not lead a group.
                Pid::from_raw(self.pid).map(|pid| kill_process(pid, Signal::KILL));
                server.reap(self.pid)
            }
        };
        self.exit
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.finish();
    }
}

fn is_readable(fd: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&at_once)).is_ok_and(|n_ready| n_ready > 0)
}
