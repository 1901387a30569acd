//! Failures of a worker, with everything that a message needs. `render::failure::worker` writes the messages.

use std::time::Duration;

use crate::sys::Stage;

/// Characters of a line or a request that are kept for a message.
const SHOWN_CHARS_MAX: usize = 200;

/// A request that was not answered as it should have been. Except after [`FailureCause::ErrorAnswer`] the process is gone, with
/// its whole group, and the worker takes no further requests.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkerFailure {
    /// The request; `None` while the worker's first line was awaited, or before.
    pub request: Option<String>,
    /// The cause.
    pub what: FailureCause,
    /// Last lines of standard output and error of the process.
    pub output_tail: OutputTail,
}

/// The ways in which it can go wrong.
#[derive(Debug, PartialEq, Eq)]
pub enum FailureCause {
    /// There is no such program, or it cannot be executed: the whole reason.
    NoProgram(String),
    /// The process could not be set up as asked, or not execute the program.
    Start {
        /// The step.
        stage: Stage,
        /// Its error.
        errno: i32,
    },
    /// The process ended.
    Died {
        /// Exit status, or minus the signal. `None` if unknown: the fork server of a forked worker is gone.
        exit: Option<i32>,
    },
    /// It closed its pipe and went on. It was killed.
    HungUp,
    /// It did not answer in time. It was killed.
    TimedOut(Duration),
    /// The line is no answer to the request.
    Rubbish {
        /// The beginning of the line, escaped.
        line: String,
        /// Why it is none.
        why: AnswerFault,
    },
    /// It speaks another version of the protocol.
    WrongVersion(String),
    /// It answered `error TEXT`: this is the text. The worker is ready for the next request.
    ErrorAnswer(String),
    /// It ended without a word of the protocol, and not as if it had failed: with status 0, or with a usage message.
    /// Most often it is a program that is no benchmark program.
    NotAWorker {
        /// Exit status.
        exit: i32,
    },
    /// ^C, SIGTERM or SIGHUP came.
    Interrupted,
    /// The system refused something here.
    System {
        /// The operation that failed.
        what: &'static str,
        /// The error.
        errno: i32,
    },
    /// The worker had failed before, so nothing was sent.
    Over,
}

/// Why a line is rubbish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// It is not of the form that the protocol says.
    Form,
    /// It is longer than the protocol allows, or there are too many lines.
    TooLong,
    /// It came though nothing was asked.
    Unasked,
    /// It says that the loops took longer than there was time between request and answer.
    LongerThanPossible,
}

/// The end of a process's output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputTail {
    /// To standard output.
    pub stdout: String,
    /// To standard error.
    pub stderr: String,
}

/// The beginning of a line or a request as it can be shown: control characters escaped.
pub fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect()
}
