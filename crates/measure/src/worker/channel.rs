//! The parent's ends of a worker's two pipes. Neither blocks: every wait is a `poll` that the worker's end, ^C and the
//! deadline can end too.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::clock::monotonic_ns;
use crate::interrupt::Interrupt;
use crate::worker::failure::{AnswerFault, FailureCause, shown};
use crate::worker::process::WorkerProcess;

/// Most bytes of a line, including the newline.
pub const LINE_BYTES_MAX: usize = 65_536;
/// Interval at which the parent reads the worker's output while it waits for an answer.
const LOOK_NS: u64 = 50_000_000;
/// Interval at which the parent checks whether a process without a pidfd has ended.
const ASK_AGAIN_NS: u64 = 2_000_000;

#[derive(Debug)]
pub struct Channel {
    requests: OwnedFd,
    answers: OwnedFd,
    /// Bytes read so far; those before `start` were already returned.
    buffer: Vec<u8>,
    start: usize,
}

/// The worker's ends of the pipes.
#[derive(Debug)]
pub struct WorkerPipes {
    /// The end that the worker reads requests from.
    pub requests: OwnedFd,
    /// The end that the worker writes answers to.
    pub answers: OwnedFd,
}

/// Events other than an answer that end a wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitLimits<'a> {
    /// CLOCK_MONOTONIC.
    pub deadline_ns: Option<u64>,
    /// ^C and the like.
    pub interrupt: Option<&'a Interrupt>,
}

/// Why no answer came.
#[derive(Debug, PartialEq, Eq)]
pub enum ChannelError {
    /// The process has ended, or closed its end.
    Gone,
    TimedOut,
    Interrupted,
    Rubbish(Vec<u8>, AnswerFault),
    System(Errno),
}

impl ChannelError {
    /// The failure for a missing answer. `gone` asks for how the process ended.
    pub fn into_cause(
        self,
        limit: Option<Duration>,
        gone: impl FnOnce() -> FailureCause,
    ) -> FailureCause {
        match self {
            Self::Gone => gone(),
            Self::TimedOut => FailureCause::TimedOut(limit.unwrap_or_default()),
            Self::Interrupted => FailureCause::Interrupted,
            Self::Rubbish(line, why) => FailureCause::Rubbish { line: shown(&line), why },
            Self::System(error) => {
                FailureCause::System { what: "talk to it", errno: error.raw_os_error() }
            }
        }
    }
}

/// Events that ended a wait; none after a periodic wake-up.
#[derive(Debug, Default)]
struct Wakeup {
    interrupted: bool,
    ended: bool,
    late: bool,
}

impl WaitLimits<'_> {
    pub fn new(limit: Option<Duration>, interrupt: Option<&Interrupt>) -> WaitLimits<'_> {
        let ns = |limit: Duration| u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = limit.map(|limit| monotonic_ns().saturating_add(ns(limit)));
        WaitLimits { deadline_ns, interrupt }
    }

    pub fn left(&self) -> Option<Timespec> {
        let left_ns = self.deadline_ns?.saturating_sub(monotonic_ns());
        Timespec::try_from(Duration::from_nanos(left_ns)).ok()
    }
}

impl Wakeup {
    /// The error that ends the wait, if any. Only this consumes the interrupt, so one that comes with an answer ends
    /// the next wait.
    fn check(&self, limits: &WaitLimits<'_>) -> Result<(), ChannelError> {
        if self.interrupted {
            limits.interrupt.map(Interrupt::take);
            return Err(ChannelError::Interrupted);
        }
        if self.ended {
            return Err(ChannelError::Gone);
        }
        if self.late { Err(ChannelError::TimedOut) } else { Ok(()) }
    }
}

impl Channel {
    /// Makes both pipes. All four ends are FD_CLOEXEC: other workers do not get them.
    pub fn open() -> io::Result<(Self, WorkerPipes)> {
        let (their_requests, requests) = pipe_with(PipeFlags::CLOEXEC)?;
        let (answers, their_answers) = pipe_with(PipeFlags::CLOEXEC)?;
        // O_NONBLOCK belongs to one end, not to the pipe: the worker's ends block.
        fcntl_setfl(&requests, OFlags::NONBLOCK)?;
        fcntl_setfl(&answers, OFlags::NONBLOCK)?;
        let channel = Self { requests, answers, buffer: Vec::new(), start: 0 };
        Ok((channel, WorkerPipes { requests: their_requests, answers: their_answers }))
    }

    pub fn send(
        &mut self,
        mut bytes: &[u8],
        process: &mut WorkerProcess,
        limits: &WaitLimits<'_>,
    ) -> Result<(), ChannelError> {
        while !bytes.is_empty() {
            match rustix::io::write(&self.requests, bytes) {
                Ok(n_written) => bytes = &bytes[n_written..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let fd = Some((self.requests.as_fd(), PollFlags::OUT));
                    wait(fd, process, limits)?.check(limits)?;
                }
                Err(Errno::PIPE) => return Err(ChannelError::Gone),
                Err(error) => return Err(ChannelError::System(error)),
            }
        }
        Ok(())
    }

    /// The next line, without its newline. A complete line counts even if its sender has ended since.
    pub fn line(
        &mut self,
        process: &mut WorkerProcess,
        limits: &WaitLimits<'_>,
    ) -> Result<Vec<u8>, ChannelError> {
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(line);
            }
            let woken = wait(Some((self.answers.as_fd(), PollFlags::IN)), process, limits)?;
            let open = self.read_what_is_there();
            if let Some(line) = self.take_line()? {
                return Ok(line);
            }
            open?;
            woken.check(limits)?;
        }
    }

    /// Checks that no unrequested line has arrived.
    pub fn silence(&mut self) -> Result<(), ChannelError> {
        let open = self.read_what_is_there();
        self.nothing_left()?;
        open
    }

    /// Checks that nothing arrived together with the last line.
    pub fn nothing_left(&mut self) -> Result<(), ChannelError> {
        match &self.buffer[self.start..] {
            [] => Ok(()),
            rest => Err(ChannelError::Rubbish(rest.to_vec(), AnswerFault::Unasked)),
        }
    }

    #[cfg(test)]
    pub fn inodes(&self) -> Vec<(u64, u64)> {
        let stat = |fd: &OwnedFd| rustix::fs::fstat(fd).expect("an open descriptor has a status");
        [&self.requests, &self.answers].map(stat).map(|it| (it.st_dev, it.st_ino)).to_vec()
    }

    fn take_line(&mut self) -> Result<Option<Vec<u8>>, ChannelError> {
        let rest = &self.buffer[self.start..];
        let line = rest.iter().take(LINE_BYTES_MAX).position(|&byte| byte == b'\n');
        let Some(n_bytes) = line else {
            return if rest.len() < LINE_BYTES_MAX {
                Ok(None)
            } else {
                Err(ChannelError::Rubbish(rest.to_vec(), AnswerFault::TooLong))
            };
        };
        let line = rest[..n_bytes].to_vec();
        self.start += n_bytes + 1;
        if self.start == self.buffer.len() {
            self.buffer.clear();
            self.start = 0;
        }
        Ok(Some(line))
    }

    /// Reads until the pipe is empty, or the limit is exceeded.
    fn read_what_is_there(&mut self) -> Result<(), ChannelError> {
        self.buffer.drain(..std::mem::take(&mut self.start));
        let mut chunk = [0; 8192];
        while self.buffer.len() <= LINE_BYTES_MAX {
            match rustix::io::read(&self.answers, &mut chunk) {
                Ok(0) => return Err(ChannelError::Gone),
                Ok(n_bytes) => self.buffer.extend_from_slice(&chunk[..n_bytes]),
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(ChannelError::System(error)),
            }
        }
        Ok(())
    }
}

impl WorkerPipes {
    /// Both descriptors, in the order of the worker's argument.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.requests.as_fd(), self.answers.as_fd()]
    }
}

/// Waits for the end of the process. Returns whether it came in time.
pub fn wait_for_end(
    process: &mut WorkerProcess,
    limits: &WaitLimits<'_>,
) -> Result<bool, ChannelError> {
    while !process.has_ended() {
        match wait(None, process, limits)?.check(limits) {
            Err(ChannelError::TimedOut) => return Ok(false),
            Err(ChannelError::Interrupted) => return Err(ChannelError::Interrupted),
            _ => {}
        }
    }
    Ok(true)
}

fn wait(
    fd: Option<(BorrowedFd<'_>, PollFlags)>,
    process: &mut WorkerProcess,
    limits: &WaitLimits<'_>,
) -> Result<Wakeup, ChannelError> {
    let now_ns = monotonic_ns();
    let look_ns = if process.pidfd().is_some() { LOOK_NS } else { ASK_AGAIN_NS };
    let left_ns = limits.deadline_ns.map_or(look_ns, |deadline| deadline.saturating_sub(now_ns));
    let timeout = Timespec::try_from(Duration::from_nanos(left_ns.min(look_ns)));
    let mut fds = Vec::with_capacity(3);
    fds.extend(limits.interrupt.map(|it| PollFd::new(it, PollFlags::IN)));
    fds.extend(fd.map(|(fd, flags)| PollFd::from_borrowed_fd(fd, flags)));
    fds.extend(process.pidfd().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
    let n_ready = match poll(&mut fds, Some(&timeout.expect("50 ms fit"))) {
        Ok(n_ready) => n_ready,
        Err(Errno::INTR) => 0,
        Err(error) => return Err(ChannelError::System(error)),
    };
    let interrupted = limits.interrupt.is_some() && !fds[0].revents().is_empty();
    drop(fds);
    if n_ready == 0 {
        process.trim_output();
    }
    let late = limits.deadline_ns.is_some_and(|deadline| monotonic_ns() >= deadline);
    Ok(Wakeup { interrupted, ended: process.has_ended(), late })
}
