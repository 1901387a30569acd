//! `mcp`: a server of the Model Context Protocol on standard input and output. Each tool executes this program with
//! `--json`, so the server offers nothing that the command line does not.
//!
//! The protocol is written by hand; docs/mcp.md says what the alternative costs.

mod child;
mod protocol;
mod tools;

use std::collections::VecDeque;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use serde_json::Value;

use host::terminal;
use measure::interrupt::Interrupt;
use measure::supervised::wait_for;
use model::values::exit_code;
use render::document::ErrorCode;

use child::Call;
use protocol::{LineBuffer, Message};
use tools::Invocation;

/// Longest time between two checks of the calls, ns. With pidfds it only serves a cancelled call that does not end.
const LOOK_NS: u64 = 1_000_000_000;
const LOOK_WITHOUT_PIDFD_NS: u64 = 20_000_000;
/// Most waiting calls. A client that asks for more has a mistake.
const WAITING_MAX: usize = 100;

/// Serves until standard input ends or a signal comes; then all sessions end as by ^C.
pub fn mcp() -> Result<u8> {
    let interrupt = Interrupt::catch()?;
    let mut server =
        Server { waiting: VecDeque::new(), running: Vec::new(), lines: LineBuffer::default() };
    let is_interrupted = server.serve(&interrupt)?;
    Ok(if is_interrupted { exit_code::INTERRUPTED } else { exit_code::SUCCESS })
}

struct Server {
    /// Calls that wait for another one to end, with the ids of their requests.
    waiting: VecDeque<(Value, Invocation)>,
    running: Vec<Call>,
    lines: LineBuffer,
}

impl Server {
    /// Returns whether a signal came.
    fn serve(&mut self, interrupt: &Interrupt) -> Result<bool> {
        let (mut is_open, mut is_interrupted) = (true, false);
        while is_open || !self.running.is_empty() {
            let has_input = self.wait(interrupt, is_open)?;
            is_interrupted |= interrupt.take();
            if has_input {
                // A client that no longer reads has ended, too.
                is_open = self.read().unwrap_or(false);
            }
            is_open &= !is_interrupted;
            if !is_open {
                self.waiting.clear();
                self.running.iter_mut().for_each(Call::cancel);
            }
            is_open &= self.look().is_ok();
        }
        Ok(is_interrupted)
    }

    /// Waits for a signal, a call or input. Returns whether there is input.
    fn wait(&self, interrupt: &Interrupt, is_open: bool) -> Result<bool> {
        let stdin = std::io::stdin();
        let mut all: Vec<BorrowedFd<'_>> = vec![interrupt.as_fd()];
        all.extend(is_open.then(|| stdin.as_fd()));
        for call in &self.running {
            all.push(call.stdout.as_fd());
            all.extend(call.pidfd.as_ref().map(|it| it.as_fd()));
        }
        let mut fds: Vec<PollFd<'_>> =
            all.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let has_pidfds = self.running.iter().all(|call| call.pidfd.is_some());
        wait_for(&mut fds, if has_pidfds { LOOK_NS } else { LOOK_WITHOUT_PIDFD_NS })?;
        Ok(is_open && !fds[1].revents().is_empty())
    }

    /// Reads and answers the available messages. Returns whether more may come.
    fn read(&mut self) -> Result<bool> {
        let mut buffer = [0; 1 << 16];
        let n = match rustix::io::read(std::io::stdin(), &mut buffer) {
            Err(Errno::INTR | Errno::AGAIN) => return Ok(true),
            n => n.context("cannot read standard input")?,
        };
        // The last line may lack its end.
        let bytes = if n == 0 { b"\n" } else { &buffer[..n] };
        for line in self.lines.push(bytes) {
            match line.map_or_else(|| Err(protocol::too_long()), |line| protocol::message(&line)) {
                Err(answer) => write(&answer)?,
                Ok(Message::Request { id, method, params }) => self.request(id, &method, params)?,
                Ok(Message::Notification { method, params }) => self.notice(&method, &params),
                Ok(Message::Response) => {}
            }
        }
        Ok(n > 0)
    }

    fn request(&mut self, id: Value, method: &str, mut params: Value) -> Result<()> {
        if method != "tools/call" {
            return write(&protocol::answer(id, method, &params));
        }
        let is_taken = self.running.iter().any(|call| call.id == id && !call.is_cancelled())
            || self.waiting.iter().any(|(other, _)| *other == id);
        if is_taken || self.waiting.len() >= WAITING_MAX {
            let why = if is_taken {
                "a request with this id is not answered yet"
            } else {
                "too many calls wait"
            };
            return write(&protocol::error(id, protocol::INVALID_PARAMS, why));
        }
        let arguments = match params.get_mut("arguments").map(Value::take) {
            None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
            Some(arguments) => arguments,
        };
        let tool = params["name"].as_str().unwrap_or_default();
        match tools::invocation(tool, arguments) {
            None => {
                let why = format!("there is no tool {tool:?}");
                write(&protocol::error(id, protocol::INVALID_PARAMS, &why))
            }
            Some(Err(why)) => write(&protocol::result(id, tools::wrong_arguments(why))),
            Some(Ok(asked)) => {
                self.waiting.push_back((id, asked));
                self.start()
            }
        }
    }

    /// Starts the calls that need not wait: read-only ones, and one that measures.
    fn start(&mut self) -> Result<()> {
        let mut left = VecDeque::new();
        while let Some((id, asked)) = self.waiting.pop_front() {
            let is_busy = self.running.iter().any(|call| call.is_measuring);
            let is_behind = left.iter().any(|(_, other): &(Value, Invocation)| other.is_measuring);
            if asked.is_measuring && (is_busy || is_behind) {
                left.push_back((id, asked));
                continue;
            }
            match Call::start(id.clone(), &asked) {
                Ok(call) => self.running.push(call),
                Err(error) => {
                    let (code, text) = (ErrorCode::of(&error), format!("{error:#}"));
                    let answer = tools::mistake(code, text, exit_code::ERROR);
                    write(&protocol::result(id, answer))?;
                }
            }
        }
        self.waiting = left;
        Ok(())
    }

    /// Other notifications need nothing.
    fn notice(&mut self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            let id = &params["requestId"];
            self.waiting.retain(|(waiting, _)| waiting != id);
            self.running.iter_mut().filter(|call| call.id == *id).for_each(Call::cancel);
        }
    }

    /// Answers the ended calls, and starts waiting ones. A cancelled call gets no answer.
    fn look(&mut self) -> Result<()> {
        let ended: Vec<Call> = self.running.extract_if(.., Call::look).collect();
        for call in ended.into_iter().rev() {
            let (id, is_cancelled) = (call.id.clone(), call.is_cancelled());
            let answer = call.result();
            if !is_cancelled {
                write(&protocol::result(id, answer))?;
            }
        }
        self.start()
    }
}

/// Reads a client's messages and executes nothing.
#[cfg(any(test, stillwell_fuzz))]
pub fn read_only(bytes: &[u8]) {
    for line in LineBuffer::default().push(bytes).into_iter().flatten() {
        if let Ok(Message::Request { id, method, mut params }) = protocol::message(&line) {
            drop(protocol::answer(id, &method, &params));
            let arguments = params.get_mut("arguments").map(Value::take).unwrap_or_default();
            drop(tools::invocation(params["name"].as_str().unwrap_or_default(), arguments));
        }
    }
}

/// Writes a message as one line: JSON has no line end in it. Standard output is no terminal here.
fn write(message: &Value) -> Result<()> {
    let mut stdout = terminal::data();
    writeln!(stdout, "{message}").and_then(|()| stdout.flush()).context("cannot write an answer")
}
