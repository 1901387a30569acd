//! The parent's half of the worker protocol (docs/worker-protocol.md): a process is started, asked, timed from outside,
//! and ended. One [`Worker`] is one process; sessions keep the workers of all arms alive together.
//!
//! The protocol runs in the front end's measuring thread. The kernel kills a child when the *thread* that made it ends
//! (prctl(2), PR_SET_PDEATHSIG), so no worker outlives the session, not even in a long loop after `kill -9`. A worker
//! has eight descriptors open here, nine with a pidfd.

mod answer;
mod channel;
mod failure;
mod fork_server;
mod output;
mod proc_files;
mod process;
mod requests;
mod slice;
#[cfg(test)]
mod tests;
mod text;

use std::ffi::CString;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::rc::Rc;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};

use crate::interrupt::Interrupt;
use crate::prepared::{PADDING_VARIABLE, c_string, environment};
use crate::programs;
use crate::wire::Bytes;
use host::sys::{Attributes, CStrings, ChildStdio, Environment, LaunchError, Launcher};

use channel::{Channel, ChannelError, WaitLimits, wait_for_end};
use output::WorkerOutput;
use proc_files::ProcFiles;
use process::WorkerProcess;

pub use answer::WorkerFacts;
pub use failure::{AnswerFault, FailureCause, OutputTail, WorkerFailure};
pub use fork_server::ForkServer;
pub use requests::requests_of_a_run;
pub use slice::Slice;

/// The argument that makes a program a worker.
pub const WORKER_ARGUMENT: &str = "--stillwell-worker=";
/// Time limit for the start and for requests that run none of the user's code. It also ends the wait for a program that
/// is no worker.
const LIMIT: Duration = Duration::from_secs(60);
/// Time for a worker to end after `quit`.
const QUIT_LIMIT: Duration = Duration::from_secs(5);
/// Time for a process to end after it has closed its pipes: the kernel closes them first (kernel/exit.c, do_exit).
const EXIT_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct WorkerLaunch {
    /// Program and arguments. Stillwell searches the PATH of `environment` and adds the worker's argument.
    pub argv: Vec<Bytes>,
    /// The whole environment as `NAME=VALUE`, the padding included.
    pub environment: Vec<Bytes>,
    /// Attributes that the process sets on itself.
    pub attributes: Attributes,
}

/// The time limit for an answer, and the events that end the wait earlier.
#[derive(Clone, Debug, Default)]
pub struct RequestLimits {
    /// Limit for each request. Without it, only requests that run the user's code may take more than a minute.
    pub timeout: Option<Duration>,
    /// ^C, SIGTERM or SIGHUP. If it arrives between requests, it ends the next one.
    pub interrupt: Option<Rc<Interrupt>>,
}

#[derive(Debug)]
pub struct WorkerExit {
    /// Exit status, or minus the signal; `None` if unknown.
    pub exit: Option<i32>,
    /// Whether Stillwell killed the worker because it did not end in time.
    pub killed: bool,
    pub output_tail: OutputTail,
}

/// A running worker. Dropping it kills its process group.
#[derive(Debug)]
pub struct Worker {
    channel: Channel,
    process: WorkerProcess,
    files: ProcFiles,
    facts: Option<WorkerFacts>,
    request_limits: RequestLimits,
    /// Whether the worker has failed and is gone.
    over: bool,
}

/// Reads a line as each answer that a worker may give.
#[cfg(any(test, feature = "fixtures"))]
pub fn read_as_every_answer(line: &[u8]) {
    drop((answer::hello(line), answer::benchmark(line), answer::meta(line), answer::time(line)));
    drop((answer::number(line, b"memory"), answer::error(line), failure::shown(line)));
}

impl Worker {
    /// Starts the process and returns when it executes the program; [`Worker::hello`] waits for its first line.
    pub fn start(
        launcher: &mut Launcher,
        launch: &WorkerLaunch,
        request_limits: &RequestLimits,
    ) -> Result<Self, WorkerFailure> {
        let failed =
            |what| WorkerFailure { request: None, what, output_tail: OutputTail::default() };
        let refused = |what, error: std::io::Error| {
            failed(FailureCause::System { what, errno: error.raw_os_error().unwrap_or(0) })
        };
        let path =
            programs::find(&launch.argv[0], &launch.environment, launch.attributes.run_as.as_ref())
                .map_err(|why| failed(FailureCause::NoProgram(why)))?;
        let (channel, theirs) = Channel::open().map_err(|e| refused("make pipes", e))?;
        let output = WorkerOutput::open().map_err(|e| refused("make files for its output", e))?;
        let null = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| refused("open /dev/null", error.into()))?;
        let kept = theirs.fds();
        let [requests, answers] = kept.map(|fd| fd.as_raw_fd());
        let argument = format!("{WORKER_ARGUMENT}{requests},{answers}").into_bytes();
        let words = launch.argv.iter().chain([&argument]);
        let argv = CStrings::new(words.map(|word| c_string(word)));
        let base = environment(&launch.environment);
        let mut all = Environment::new(PADDING_VARIABLE);
        let all = all.assemble(&base, std::iter::empty::<CString>(), None);
        let (stdout, stderr) = output.fds();
        let stdio = [null.as_fd(), stdout, stderr].map(ChildStdio::Fd);
        let launched = launcher
            .launch(&c_string(&path), &argv, all, stdio, &launch.attributes, &kept)
            .map_err(|LaunchError { stage, errno }| failed(FailureCause::Start { stage, errno }))?;
        Ok(Self::new(channel, WorkerProcess::child(launched.pid, output), request_limits))
    }

    fn new(channel: Channel, process: WorkerProcess, request_limits: &RequestLimits) -> Self {
        let files = ProcFiles::open(process.pid());
        let request_limits = request_limits.clone();
        Self { channel, process, files, facts: None, request_limits, over: false }
    }

    #[cfg(test)]
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Waits for the first line, unless it has already arrived. Errors: the first line does not come, or is malformed.
    pub fn hello(&mut self) -> Result<&WorkerFacts, WorkerFailure> {
        if self.facts.is_none() {
            let line = self.exchange(None, b"", Some(LIMIT), true)?;
            let facts = answer::hello(&line).map_err(|error| match error {
                answer::GreetingError::Rubbish => self.rubbish(None, &line, AnswerFault::Form),
                answer::GreetingError::Version(version) => {
                    self.end_by(None, FailureCause::WrongVersion(version))
                }
            })?;
            self.facts = Some(facts);
        }
        Ok(self.facts.as_ref().expect("set just now"))
    }

    pub fn n_threads(&self) -> Option<u32> {
        self.files.status().n_threads
    }

    /// Asks the worker to end, waits for that, and kills the rest of its process group. A worker may end by itself
    /// after `list`; that is no error. Errors: ^C came, or the worker's answer was malformed. The worker has ended
    /// then, too.
    pub fn quit(mut self) -> Result<WorkerExit, WorkerFailure> {
        if self.over {
            return Err(self.end_by(Some("quit"), FailureCause::Over));
        }
        let limits = WaitLimits::new(Some(QUIT_LIMIT), self.request_limits.interrupt.as_deref());
        let process = &mut self.process;
        let asked = self.channel.silence();
        let asked = asked.and_then(|()| self.channel.send(b"quit\n", process, &limits));
        let answer = asked.and_then(|()| self.channel.line(process, &limits));
        let answer = match answer {
            Ok(line) if line == b"bye" => self.channel.silence(),
            Ok(line) => Err(ChannelError::Rubbish(line, AnswerFault::Form)),
            Err(broken) => Err(broken),
        };
        let in_time = match answer {
            Ok(()) | Err(ChannelError::Gone) => wait_for_end(process, &limits),
            Err(ChannelError::TimedOut) => Ok(false),
            Err(broken) => Err(broken),
        };
        let in_time =
            in_time.map_err(|broken| self.broken(Some("quit"), broken, Some(QUIT_LIMIT)))?;
        let exit = self.process.finish();
        Ok(WorkerExit { exit, killed: !in_time, output_tail: self.process.output_tail() })
    }

    /// Sends a request and returns the first line of the answer. `None` waits for the worker's very first line.
    fn exchange(
        &mut self,
        request: Option<&str>,
        payload: &[u8],
        limit: Option<Duration>,
        is_one_line: bool,
    ) -> Result<Vec<u8>, WorkerFailure> {
        if self.over {
            return Err(self.end_by(request, FailureCause::Over));
        }
        let limit = self.request_limits.timeout.or(limit);
        let limits = WaitLimits::new(limit, self.request_limits.interrupt.as_deref());
        let (channel, process) = (&mut self.channel, &mut self.process);
        let sent = request.map_or(Ok(()), |request| {
            let bytes = [request.as_bytes(), b"\n", payload].concat();
            channel.silence().and_then(|()| channel.send(&bytes, process, &limits))
        });
        let line = sent.and_then(|()| channel.line(process, &limits)).and_then(|line| {
            if is_one_line { channel.nothing_left().map(|()| line) } else { Ok(line) }
        });
        process.trim_output();
        let line = line.map_err(|broken| self.broken(request, broken, limit))?;
        self.without_error(request, line)
    }

    fn next_line(
        &mut self,
        request: Option<&str>,
        limit: Option<Duration>,
    ) -> Result<Vec<u8>, WorkerFailure> {
        let limit = self.request_limits.timeout.or(limit);
        let limits = WaitLimits::new(limit, self.request_limits.interrupt.as_deref());
        let line = self.channel.line(&mut self.process, &limits);
        let line = line.map_err(|broken| self.broken(request, broken, limit))?;
        self.without_error(request, line)
    }

    fn without_error(
        &self,
        request: Option<&str>,
        line: Vec<u8>,
    ) -> Result<Vec<u8>, WorkerFailure> {
        match answer::error(&line) {
            Some(text) => Err(self.failure(request, FailureCause::ErrorAnswer(text))),
            None => Ok(line),
        }
    }

    fn rubbish(&mut self, request: Option<&str>, line: &[u8], why: AnswerFault) -> WorkerFailure {
        self.end_by(request, FailureCause::Rubbish { line: failure::shown(line), why })
    }

    /// The failure for a missing answer.
    fn broken(
        &mut self,
        request: Option<&str>,
        broken: ChannelError,
        limit: Option<Duration>,
    ) -> WorkerFailure {
        let what = broken.into_cause(limit, || self.how_it_died());
        self.end_by(request, what)
    }

    fn how_it_died(&mut self) -> FailureCause {
        let limits = WaitLimits::new(Some(EXIT_LIMIT), None);
        if wait_for_end(&mut self.process, &limits) != Ok(true) {
            return FailureCause::HungUp;
        }
        let exit = self.process.finish();
        match exit {
            Some(status)
                if self.facts.is_none() && is_no_worker(status, &self.process.output_tail()) =>
            {
                FailureCause::NotAWorker { exit: status }
            }
            _ => FailureCause::Died { exit },
        }
    }

    /// Ends the process and returns the failure.
    fn end_by(&mut self, request: Option<&str>, what: FailureCause) -> WorkerFailure {
        self.process.finish();
        self.over = true;
        self.failure(request, what)
    }

    fn failure(&self, request: Option<&str>, what: FailureCause) -> WorkerFailure {
        let request = request.map(|request| failure::shown(request.as_bytes()));
        WorkerFailure { request, what, output_tail: self.process.output_tail() }
    }
}

/// Whether a process that ended before its first line is no worker at all: it did its usual work, or did not know the
/// argument.
fn is_no_worker(status: i32, output_tail: &OutputTail) -> bool {
    let lines = || output_tail.stderr.lines().chain(output_tail.stdout.lines());
    let is_usage = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        line.starts_with("usage") || line.contains(WORKER_ARGUMENT.trim_end_matches('='))
    };
    status == 0 || (status > 0 && lines().any(is_usage))
}
