//! Workers that a running program forks from itself: for functions of a REPL, a notebook or a test session, which no
//! fresh process could have.
//!
//! The program holds the other end of a Unix stream socket. One request is outstanding at a time:
//!
//! | request | answer | |
//! |---|---|---|
//! | `fork ARM`, with the worker's two pipe ends as SCM_RIGHTS: requests, answers | `pid PID` | makes a worker of this
//! arm |
//! | `reap PID` | `status N` | waits for its end: exit status, or minus the signal |
//!
//! `error TEXT` may answer either. Lines, texts and integers are the worker protocol's; only N may have a sign. The
//! program closes both descriptors after the fork, and its end of the socket in the worker. The worker should make
//! itself the leader of a process group: otherwise only the worker itself is killed, not its children.

use std::cell::{Cell, RefCell};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::rc::Rc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, send, sendmsg,
};

use crate::interrupt::Interrupt;
use crate::worker::channel::{Channel, ChannelError, LINE_BYTES_MAX, WaitLimits, WorkerPipes};
use crate::worker::failure::{self, AnswerFault, FailureCause, OutputTail, WorkerFailure};
use crate::worker::process::{Reaper, WorkerProcess};
use crate::worker::{EXIT_LIMIT, LIMIT, RequestLimits, Worker, answer, text};

/// The program that forks. It must outlive its workers, so they keep it alive.
#[derive(Debug)]
pub struct ForkServer {
    socket: OwnedFd,
    /// The bytes of the next line so far.
    buffer: RefCell<Vec<u8>>,
    /// Whether an answer is missing. The next line could be that answer, so the parent sends no more requests.
    lost: Cell<bool>,
}

impl ForkServer {
    pub fn new(socket: OwnedFd) -> Rc<Self> {
        Rc::new(Self { socket, buffer: RefCell::default(), lost: Cell::new(false) })
    }

    /// Makes a worker of an arm. Its output is the program's, so it is not captured. Errors: the program is gone,
    /// refuses, or does not answer.
    pub fn fork(
        self: &Rc<Self>,
        arm: &str,
        request_limits: &RequestLimits,
    ) -> Result<Worker, WorkerFailure> {
        let request = format!("fork {}", text::escape(arm));
        let failed = |what| WorkerFailure {
            request: Some(failure::shown(request.as_bytes())),
            what,
            output_tail: OutputTail::default(),
        };
        if self.lost.get() {
            return Err(failed(FailureCause::Over));
        }
        let (channel, theirs) = Channel::open().map_err(|error| {
            failed(FailureCause::System {
                what: "make pipes",
                errno: error.raw_os_error().unwrap_or(0),
            })
        })?;
        let limit = request_limits.timeout.or(Some(LIMIT));
        let limits = WaitLimits::new(limit, request_limits.interrupt.as_deref());
        let answer = self.send_ends(&request, &theirs).and_then(|()| self.line(&limits));
        // The worker's copies keep the pipes open from here on.
        drop(theirs);
        let line = answer.map_err(|broken| {
            self.lost.set(true);
            failed(broken.into_cause(limit, || FailureCause::Died { exit: None }))
        })?;
        if let Some(text) = answer::error(&line) {
            return Err(failed(FailureCause::ErrorAnswer(text)));
        }
        let pid = answer::number(&line, b"pid").and_then(|pid| i32::try_from(pid).ok());
        // kill(2) with 0, 1 or their negatives would kill this process or all others.
        let Some(pid) = pid.filter(|&pid| pid > 1) else {
            let line = failure::shown(&line);
            return Err(failed(FailureCause::Rubbish { line, why: AnswerFault::Form }));
        };
        Ok(Worker::new(
            channel,
            WorkerProcess::forked(pid, Rc::<Self>::clone(self)),
            request_limits,
        ))
    }

    fn send_ends(&self, request: &str, ends: &WorkerPipes) -> Result<(), ChannelError> {
        let fds = [ends.requests.as_fd(), ends.answers.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(&fds));
        assert!(fits, "the buffer is made for two descriptors");
        let line = [request.as_bytes(), b"\n"].concat();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        match sendmsg(&self.socket, &[IoSlice::new(&line)], &mut control, flags) {
            // A line is far shorter than a socket's buffer, which is empty: one request is outstanding at a time.
            Ok(n_sent) if n_sent == line.len() => Ok(()),
            Ok(_) => Err(ChannelError::System(Errno::MSGSIZE)),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(ChannelError::Gone),
            Err(error) => Err(ChannelError::System(error)),
        }
    }

    fn line(&self, limits: &WaitLimits<'_>) -> Result<Vec<u8>, ChannelError> {
        let mut buffer = self.buffer.borrow_mut();
        loop {
            if let Some(at) = buffer.iter().position(|&byte| byte == b'\n') {
                let line = buffer[..at].to_vec();
                buffer.drain(..=at);
                return Ok(line);
            }
            if buffer.len() >= LINE_BYTES_MAX {
                return Err(ChannelError::Rubbish(buffer.clone(), AnswerFault::TooLong));
            }
            let mut chunk = [0; 1024];
            // MSG_DONTWAIT, because O_NONBLOCK would affect the socket's owner too.
            match recv(&self.socket, &mut chunk, RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(Errno::CONNRESET) => return Err(ChannelError::Gone),
                Ok((n_bytes, _)) => buffer.extend_from_slice(&chunk[..n_bytes]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.wait(limits)?,
                Err(error) => return Err(ChannelError::System(error)),
            }
        }
    }

    fn wait(&self, limits: &WaitLimits<'_>) -> Result<(), ChannelError> {
        let timeout = limits.left();
        let mut fds = vec![PollFd::new(&self.socket, PollFlags::IN)];
        fds.extend(limits.interrupt.map(|it| PollFd::new(it, PollFlags::IN)));
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) if !fds[0].revents().is_empty() => Ok(()),
            Ok(0) => Err(ChannelError::TimedOut),
            Ok(_) => {
                limits.interrupt.map(Interrupt::take);
                Err(ChannelError::Interrupted)
            }
            Err(Errno::INTR) => Ok(()),
            Err(error) => Err(ChannelError::System(error)),
        }
    }
}

impl Reaper for ForkServer {
    fn reap(&self, pid: i32) -> Option<i32> {
        let request = format!("reap {pid}\n");
        if self.lost.get() {
            return None;
        }
        send(&self.socket, request.as_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT).ok()?;
        let line = self.line(&WaitLimits::new(Some(EXIT_LIMIT), None));
        let line = line.inspect_err(|_| self.lost.set(true)).ok()?;
        let status = line.strip_prefix(b"status ")?;
        let (sign, digits) = status.strip_prefix(b"-").map_or((1, status), |rest| (-1, rest));
        i32::try_from(text::integer(digits)?).ok().map(|value| sign * value)
    }
}
