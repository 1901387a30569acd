//! Failures of a worker, with everything that a message needs. `render::failure::worker` writes the messages.

use std::time::Duration;

use host::sys::Stage;

/// Characters of a line or a request that a message shows.
const SHOWN_CHARS_MAX: usize = 200;

/// A failed request. Except after [`FailureCause::ErrorAnswer`], the whole process group is gone, and the worker takes
/// no further requests.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkerFailure {
    /// The request; `None` before or at the worker's first line.
    pub request: Option<String>,
    pub what: FailureCause,
    pub output_tail: OutputTail,
}

#[derive(Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// The program does not exist or cannot be executed: the whole reason.
    NoProgram(String),
    /// The process could not be set up as requested, or could not execute the program.
    Start { stage: Stage, errno: i32 },
    Died {
        /// Exit status, or minus the signal. `None` if the fork server of a forked worker is gone.
        exit: Option<i32>,
    },
    /// The worker closed its pipe and ran on. Stillwell killed it.
    HungUp,
    /// The worker did not answer in time. Stillwell killed it.
    TimedOut(Duration),
    /// The line is no answer to the request.
    Rubbish {
        /// The beginning of the line, escaped.
        line: String,
        why: AnswerFault,
    },
    /// The worker speaks another version of the protocol.
    WrongVersion(String),
    /// The text of the answer `error TEXT`. The worker is ready for the next request.
    ErrorAnswer(String),
    /// The process ended without a line of the protocol and without a sign of failure: with status 0, or with a usage
    /// message. Most such programs are not benchmark programs.
    NotAWorker { exit: i32 },
    /// ^C, SIGTERM or SIGHUP came.
    Interrupted,
    /// A system call of Stillwell failed.
    System { what: &'static str, errno: i32 },
    /// The worker had failed before, so Stillwell sent nothing.
    Over,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// The line does not have the form of the protocol.
    Form,
    /// The line is longer than the protocol allows, or there are too many lines.
    TooLong,
    /// The line came without a request.
    Unasked,
    /// The time in it is longer than the time between request and answer.
    LongerThanPossible,
    /// More and more loops took far longer than the times in the answers.
    FarTooShort,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputTail {
    pub stdout: String,
    pub stderr: String,
}

/// The beginning of a line or a request for a message, with control characters escaped.
pub fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect()
}
