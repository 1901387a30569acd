//! The launcher as seen from the front end: a process that answers one request at a time.
#![expect(clippy::disallowed_methods, reason = "this module starts the launcher")]

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::host::{Host, why_no_process};
use crate::measure::interrupt::Interrupt;
use crate::measure::job_mark::JobMark;
use crate::measure::launcher::ARGV0;
use crate::measure::wire::{
    self, Batch, BatchResult, LauncherReply, LauncherReport, LauncherRequest, LauncherSettings,
    RowDestination,
};
use crate::sys::{self, User};
use crate::words::reason;

/// The interval between requests to stop, until the launcher answers. The first request may arrive between two runs.
const REPEAT: Duration = Duration::from_millis(100);

/// Unanswered requests before the front end kills the launcher. They take ten seconds, five times as long as the
/// launcher gives a run.
const REQUESTS_MAX: u32 = 100;

/// Number of interrupts (^C or SIGTERM) that the running command survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptTolerance {
    /// A run ends at the first interrupt.
    None = 0,
    /// A hook that cleans up may finish; it ends at the second interrupt.
    Once = 1,
}

/// A running launcher. It ends when this is dropped, because the drop closes its socket.
#[derive(Debug)]
pub struct LauncherProcess {
    child: Child,
    socket: UnixStream,
    interrupt: Interrupt,
    /// The job that the launcher is at; `None` where the kernel has no memory for it.
    mark: Option<JobMark>,
    /// Whether ^C or SIGTERM came while the launcher got ready: the next runs must not start.
    was_interrupted: bool,
}

impl LauncherProcess {
    /// Starts the launcher; `enter` moves it to the place of its runs.
    ///
    /// # Errors
    /// The program cannot execute itself, or the launcher refuses the request.
    pub fn start(
        open: LauncherSettings,
        enter: impl FnOnce(u32) -> Result<()>,
    ) -> Result<(Self, LauncherReport)> {
        let interrupt = Interrupt::catch()?;
        // The launcher inherits the signal's disposition.
        sys::stop_ignoring_children();
        let (socket, theirs) =
            UnixStream::pair().context("cannot make a socket for the launcher")?;
        // A signal of the terminal goes to the whole process group, and the launcher is in ours until it has its own.
        let held = sys::HeldSignals::hold();
        let mark = JobMark::new().ok();
        let mut launcher = Command::new(sys::own_program());
        launcher
            .arg0(ARGV0)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            // Keep the launcher out of the terminal's process group: the front end decides how to react to ^C.
            .process_group(0);
        mark.as_ref().inspect(|mark| mark.hand_to(&mut launcher));
        let child = launcher.spawn();
        // The command holds the launcher's side of the socket. While it is open here, the launcher's end goes unseen.
        drop(launcher);
        drop(held);
        let child = child.map_err(|error| {
            anyhow!(
                "cannot start the launcher: {}; {}",
                reason(error),
                why_no_process(&Host::new("/"))
            )
        })?;
        let mut process = Self { child, socket, interrupt, mark, was_interrupted: false };
        enter(process.child.id())?;
        match process.get_ready(&LauncherRequest::Open(Box::new(open)))? {
            LauncherReply::Opened(opened) => Ok((process, opened)),
            LauncherReply::Refused(why) => bail!("the launcher cannot start: {why}"),
            LauncherReply::Done(_) | LauncherReply::Ready => {
                bail!("the launcher answered out of turn")
            }
        }
    }

    /// Whether the launcher has ended.
    pub fn has_ended(&mut self) -> bool {
        !self.child.try_wait().is_ok_and(|status| status.is_none())
    }

    /// The job of the last batch that began last; `None` if the batch has no hooks.
    pub fn last_job(&self) -> Option<u32> {
        self.mark.as_ref()?.get()
    }

    /// Starts another launcher if this one has ended. It is for hooks only: it has no settings of runs.
    ///
    /// # Errors
    /// As [`LauncherProcess::start`].
    pub fn revive(&mut self, run_as: Option<User>) -> Result<()> {
        if !self.has_ended() {
            return Ok(());
        }
        let settings = LauncherSettings { run_as, ..LauncherSettings::default() };
        let (mut process, _) = Self::start(settings, |_| Ok(()))?;
        process.was_interrupted |= self.take_interrupt();
        *self = process;
        Ok(())
    }

    /// The launcher's process id. All its children are runs or hooks.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sets the record that the rows go to.
    ///
    /// # Errors
    /// The launcher cannot open the record.
    pub fn keep(&mut self, keep: RowDestination) -> Result<()> {
        match self.get_ready(&LauncherRequest::Keep(keep))? {
            LauncherReply::Ready => Ok(()),
            LauncherReply::Refused(why) => bail!("the launcher cannot start: {why}"),
            LauncherReply::Done(_) | LauncherReply::Opened(_) => {
                bail!("the launcher answered out of turn")
            }
        }
    }

    /// Runs a batch. The second value says whether ^C or SIGTERM came meanwhile.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn run(
        &mut self,
        batch: Batch,
        tolerance: InterruptTolerance,
    ) -> Result<(BatchResult, bool)> {
        self.mark.as_ref().inspect(|mark| mark.clear());
        match self.ask(&LauncherRequest::Batch(batch), tolerance)? {
            (LauncherReply::Done(done), interrupted) => Ok((done, interrupted)),
            _ => bail!("the launcher answered out of turn"),
        }
    }

    /// Whether ^C or SIGTERM came since the last batch.
    pub fn take_interrupt(&mut self) -> bool {
        let came = self.interrupt.take();
        std::mem::take(&mut self.was_interrupted) || came
    }

    /// Makes a request that runs nothing. It takes no time, so ^C waits until it is answered.
    fn get_ready(&mut self, request: &LauncherRequest) -> Result<LauncherReply> {
        let (reply, interrupted) = self.ask(request, InterruptTolerance::None)?;
        self.was_interrupted = interrupted;
        Ok(reply)
    }

    fn ask(
        &mut self,
        request: &LauncherRequest,
        tolerance: InterruptTolerance,
    ) -> Result<(LauncherReply, bool)> {
        let sent = wire::send(&self.socket, request);
        sent.map_err(anyhow::Error::from).or_else(|_| self.explain_end())?;
        let mut n_interrupts = u32::from(std::mem::take(&mut self.was_interrupted));
        let (has_runs, mut n_requests) = (matches!(request, LauncherRequest::Batch(_)), 0);
        loop {
            let mut fds = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::from_borrowed_fd(self.interrupt.as_fd(), PollFlags::IN),
            ];
            let timeout = Timespec::try_from(REPEAT).expect("100 ms fit");
            let is_ending = n_interrupts > tolerance as u32;
            match poll(&mut fds, is_ending.then_some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for the launcher"),
            }
            let answered = !fds[0].revents().is_empty();
            n_interrupts += u32::from(self.interrupt.take());
            if answered {
                let reply = wire::receive(&self.socket);
                let reply = reply.map_err(anyhow::Error::from).or_else(|_| self.explain_end())?;
                return Ok((reply, n_interrupts > 0));
            }
            if n_interrupts > tolerance as u32 {
                let pid = Pid::from_child(&self.child);
                // Without a run there is nothing to end, but the launcher may hang.
                if n_requests >= REQUESTS_MAX {
                    kill_process(pid, Signal::KILL).ok();
                } else if has_runs {
                    kill_process(pid, Signal::TERM).ok();
                }
                n_requests += 1;
            }
        }
    }

    fn explain_end<T>(&mut self) -> Result<T> {
        let status = self.child.wait().context("cannot wait for the launcher")?;
        let why = match status.signal() {
            Some(libc::SIGKILL) => {
                ": a command or another program killed it, or the machine ran out of memory"
            }
            Some(libc::SIGHUP | libc::SIGQUIT | libc::SIGUSR1 | libc::SIGUSR2) => {
                ": a command or another program sent it this signal"
            }
            _ => "",
        };
        bail!("the launcher ended unexpectedly ({status}){why}")
    }
}

impl Drop for LauncherProcess {
    fn drop(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Both).ok();
        self.child.wait().ok();
    }
}
