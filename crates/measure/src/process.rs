//! The launcher as the front end sees it: a process that answers one request at a time.
#![expect(clippy::disallowed_methods, reason = "this module starts the launcher")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use crate::interrupt::Interrupt;
use crate::job_mark::JobMark;
use crate::serve::ARGV0;
use crate::signal_pipe::SignalPipe;
use crate::wire::{
    self, Batch, BatchResult, BatchStop, LauncherReply, LauncherReport, LauncherRequest,
    LauncherSettings, RowDestination,
};
use host::sys::{self, User};
use host::{Host, Process, invoking_user, terminal, why_no_process};
use model::words::reason;

/// Interval between requests to stop, until the launcher answers. The first may arrive between two runs.
const REPEAT: Duration = Duration::from_millis(100);

/// Unanswered requests before the front end kills the launcher. They take ten seconds, five times as long as the
/// launcher gives a run.
const REQUESTS_MAX: u32 = 100;

/// Requests before another interrupt kills the launcher at once. timeout(1) sends its signal twice.
const REQUESTS_BEFORE_KILL: u32 = 3;

/// How long a launcher may be stopped before the user is told.
const PATIENCE: Duration = Duration::from_secs(2);

/// Number of interrupts (^C or SIGTERM) that the running command survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptTolerance {
    /// A run ends at the first interrupt.
    None = 0,
    /// A hook that cleans up may finish; it ends at the second interrupt.
    Once = 1,
}

/// A running launcher. Dropping this closes its socket, which ends it.
#[derive(Debug)]
pub struct LauncherProcess {
    child: Child,
    socket: UnixStream,
    interrupt: Interrupt,
    /// Readable after the launcher was stopped (SIGCHLD, sigaction(2)).
    changes: SignalPipe,
    /// The launcher's current job; `None` if the kernel has no memory for it.
    mark: Option<JobMark>,
    /// Whether ^C or SIGTERM came while the launcher got ready: the next runs must not start.
    was_interrupted: bool,
}

impl LauncherProcess {
    /// Starts the launcher; `enter` moves it to the place of its runs. Errors: the program cannot execute itself, or
    /// the launcher refuses the request.
    pub fn start(
        open: LauncherSettings,
        enter: impl FnOnce(u32) -> Result<()>,
    ) -> Result<(Self, LauncherReport)> {
        let interrupt = Interrupt::catch()?;
        // The launcher inherits the signal's disposition.
        sys::stop_ignoring_children();
        let changes = SignalPipe::catch(&[libc::SIGCHLD])?;
        let (socket, theirs) =
            UnixStream::pair().context("cannot make a socket for the launcher")?;
        // A terminal's signal goes to the whole process group, and the launcher is in ours until it has its own.
        let held = sys::HeldSignals::hold();
        let mark = JobMark::new().ok();
        let mut launcher = Command::new(sys::own_program());
        launcher
            .arg0(ARGV0)
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            // Outside the terminal's process group: the front end decides how to react to ^C.
            .process_group(0);
        mark.as_ref().inspect(|mark| mark.hand_to(&mut launcher));
        // The launcher opens counters and control groups as root before it takes the user's rights for files.
        sys::run_as_ourselves(&mut launcher);
        let child = launcher.spawn();
        // The command holds the launcher's side of the socket. While it is open here, the launcher's end goes unseen.
        drop(launcher);
        drop(held);
        let child = child.map_err(|error| not_started(&error))?;
        let mut process = Self { child, socket, interrupt, changes, mark, was_interrupted: false };
        enter(process.child.id())?;
        match process.get_ready(&LauncherRequest::Open(Box::new(open)))? {
            LauncherReply::Opened(opened) => Ok((process, opened)),
            _ => bail!("the launcher answered out of turn"),
        }
    }

    pub fn has_ended(&mut self) -> bool {
        !self.child.try_wait().is_ok_and(|status| status.is_none())
    }

    /// The last job that began in the last batch; `None` if the batch has no hooks.
    pub fn last_job(&self) -> Option<u32> {
        self.mark.as_ref()?.get()
    }

    /// Starts another launcher if this one has ended. It has no settings of runs, and is for hooks only. Errors: see
    /// [`LauncherProcess::start`].
    pub fn revive(&mut self, run_as: Option<User>) -> Result<()> {
        if !self.has_ended() {
            return Ok(());
        }
        let files_of = invoking_user();
        let settings = LauncherSettings { run_as, files_of, ..LauncherSettings::default() };
        let (mut process, _) = Self::start(settings, |_| Ok(()))?;
        process.was_interrupted |= self.take_interrupt();
        *self = process;
        Ok(())
    }

    /// The launcher's process id. All its children are runs or hooks.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sets the record for the rows. Errors: the launcher cannot open the record.
    pub fn keep(&mut self, keep: RowDestination) -> Result<()> {
        match self.get_ready(&LauncherRequest::Keep(keep))? {
            LauncherReply::Ready => Ok(()),
            _ => bail!("the launcher answered out of turn"),
        }
    }

    /// Runs a batch. The second value: whether ^C or SIGTERM came meanwhile. Errors: the launcher is gone.
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

    pub fn take_interrupt(&mut self) -> bool {
        let came = self.interrupt.take();
        std::mem::take(&mut self.was_interrupted) || came
    }

    /// Makes a request that runs nothing. It takes no time, so ^C waits until it is answered.
    fn get_ready(&mut self, request: &LauncherRequest) -> Result<LauncherReply> {
        let (reply, interrupted) = self.ask(request, InterruptTolerance::None)?;
        self.was_interrupted = interrupted;
        match reply {
            LauncherReply::Refused(why) => bail!("the launcher cannot start: {why}"),
            reply => Ok(reply),
        }
    }

    fn ask(
        &mut self,
        request: &LauncherRequest,
        tolerance: InterruptTolerance,
    ) -> Result<(LauncherReply, bool)> {
        let sent = wire::send(&self.socket, request);
        sent.map_err(Error::from).or_else(|_| self.explain_end())?;
        let mut n_interrupts = u32::from(std::mem::take(&mut self.was_interrupted));
        let (has_runs, mut n_requests) = (matches!(request, LauncherRequest::Batch(_)), 0);
        let (tolerance, mut stop) = (tolerance as u32, StopNotice::default());
        loop {
            let mut fds = [
                PollFd::new(&self.socket, PollFlags::IN),
                PollFd::new(&self.interrupt, PollFlags::IN),
                PollFd::new(&self.changes, PollFlags::IN),
            ];
            let wait = if n_interrupts > tolerance { Some(REPEAT) } else { stop.wait() };
            let wait = wait.map(|wait| Timespec::try_from(wait).expect("two seconds fit"));
            match poll(&mut fds, wait.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error).context("cannot wait for the launcher"),
            }
            let answered = !fds[0].revents().is_empty();
            let came = u32::from(self.interrupt.take());
            if answered {
                let reply = wire::receive(&self.socket);
                let reply = reply.map_err(Error::from).or_else(|_| self.explain_end())?;
                return Ok((reply, n_interrupts + came > 0));
            }
            stop.look(self.changes.take(), self.child.id());
            let is_again = came > 0 && n_requests >= REQUESTS_BEFORE_KILL;
            n_interrupts += came;
            if n_requests >= REQUESTS_MAX || is_again {
                return self.kill(has_runs).map(|reply| (reply, true));
            }
            if n_interrupts > tolerance {
                if has_runs {
                    let pid = Pid::from_child(&self.child);
                    kill_process(pid, Signal::TERM).ok();
                    // A stopped launcher takes no signal before it continues.
                    kill_process(pid, Signal::CONT).ok();
                }
                n_requests += 1;
            }
        }
    }

    /// Kills a launcher that does not answer, and its run. The reply says in which job it was interrupted.
    fn kill(&mut self, has_runs: bool) -> Result<LauncherReply> {
        kill_process(Pid::from_child(&self.child), Signal::KILL).ok();
        self.wait_for_end()?;
        ensure!(has_runs, "the launcher did not get ready before it was interrupted");
        Ok(LauncherReply::Done(BatchResult {
            n_done: self.last_job().unwrap_or(0),
            stop: Some(BatchStop::Interrupted),
            ..BatchResult::default()
        }))
    }

    /// Waits for the launcher's end, and ends its run: the kernel kills only the run's first process.
    fn wait_for_end(&mut self) -> Result<ExitStatus> {
        let status = self.child.wait().context("cannot wait for the launcher")?;
        self.mark.as_ref().inspect(|mark| sys::signal_group(mark.group(), libc::SIGKILL));
        Ok(status)
    }

    fn explain_end<T>(&mut self) -> Result<T> {
        let status = self.wait_for_end()?;
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

/// Why the launcher could not start. It is no lack of processes if its pipes had no descriptors; the caller names that
/// limit, as for every file.
fn not_started(error: &io::Error) -> Error {
    let what = format!("cannot start the launcher: {}", reason(error));
    match error.raw_os_error() {
        Some(libc::EMFILE) => anyhow!(what),
        _ => anyhow!("{what}; {}", why_no_process(&Host::new("/"))),
    }
}

/// State of a launcher that may be stopped.
#[derive(Debug, Default)]
struct StopNotice {
    is_stopped: bool,
    is_told: bool,
}

impl StopNotice {
    /// How long to wait for an answer before the next check; `None`: as long as it takes.
    fn wait(&self) -> Option<Duration> {
        (self.is_stopped && !self.is_told).then_some(PATIENCE)
    }

    /// Checks a launcher that has changed, or that was stopped before the wait.
    fn look(&mut self, has_changed: bool, launcher: u32) {
        if !has_changed && self.wait().is_none() {
            return;
        }
        let process = Process::read(&Host::new("/"), launcher);
        let is_stopped = process.is_some_and(|process| process.is_stopped);
        if is_stopped && self.is_stopped && !has_changed && !self.is_told {
            self.is_told = true;
            terminal::say(format_args!(
                "the launcher, the parent of the commands, is stopped, perhaps by one of them; `kill -CONT \
                 {launcher}` lets the session go on, ^C ends it"
            ));
        }
        self.is_stopped = is_stopped;
        self.is_told &= is_stopped;
    }
}

impl Drop for LauncherProcess {
    fn drop(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Both).ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_is_named_is_the_one_that_was_reached() {
        let said = |errno| not_started(&io::Error::from_raw_os_error(errno)).to_string();
        assert_eq!(said(libc::EMFILE), "cannot start the launcher: Too many open files");
        assert!(said(libc::EAGAIN).contains("unavailable; "), "{}", said(libc::EAGAIN));
    }
}
