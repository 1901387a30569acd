//! The protocol between front end and launcher: length-prefixed postcard frames over one socket, with one outstanding
//! request.

use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::valgrind::{CountTask, Uncounted};
use crate::value::ValueTask;
use host::sys::{Stage, User};
use host::{Gap, WakeTracepoint};
use model::values::metric::Metric;
use model::values::{MemoryPolicy, Sched};
use record::Survivors;

/// A path, argument or environment entry: any bytes but NUL.
pub type Bytes = Vec<u8>;

#[derive(Debug, Serialize, Deserialize)]
pub enum LauncherRequest {
    /// Sent first, once.
    Open(Box<LauncherSettings>),
    /// Sent second, once: the destination of the rows.
    Keep(RowDestination),
    Batch(Batch),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LauncherSettings {
    pub timeout_ns: Option<u64>,
    /// Whether to read `/proc/PID/schedstat` and to open perf events.
    pub evidence: bool,
    /// Whether valgrind counts the instructions of the runs.
    pub has_valgrind: bool,
    /// Whether the memory of all processes of a run is counted, in a control group of their own.
    pub tree_memory: bool,
    /// The tracepoint at which a task becomes ready, if tracefs can be read.
    pub wake: Option<WakeTracepoint>,
    pub launcher_cpus: Option<Vec<usize>>,
    pub affinity: Option<Vec<usize>>,
    /// Copies of a command that are one run, with the CPUs of each, which may be none of its own. Empty for one copy.
    pub copies: Vec<Vec<usize>>,
    pub memory: Option<MemoryPolicy>,
    pub nice: Option<i32>,
    pub sched: Option<Sched>,
    pub no_aslr: bool,
    /// User of runs and hooks, if not our own.
    pub run_as: Option<User>,
    /// The user as whom the launcher opens files, if not our own. `--as-root` does not change it.
    pub files_of: Option<User>,
    /// Destination of the samples; `None` without a profile.
    pub sampling: Option<SamplingSettings>,
    /// Whether the processes that a run leaves are ended and counted, to keep the runs of a campaign honest.
    pub ends_survivors: bool,
    /// Whether the launcher and the padding variable have neutral names.
    pub is_undercover: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplingSettings {
    /// The file to append samples to.
    pub file: Bytes,
    /// Mean CPU time between two samples, ns.
    pub period_ns: u64,
    /// Bytes of the stack that are copied with each sample.
    pub stack_bytes: u32,
    /// Whether the copies become larger if code that a run compiles needs it.
    pub stacks_grow: bool,
    pub seed: u64,
    /// Number of the system call tracepoint; `None` if unknown.
    pub system_calls: Option<u64>,
}

/// The record that the launcher appends rows to.
#[derive(Debug, Serialize, Deserialize)]
pub struct RowDestination {
    pub record: Bytes,
    pub columns: Vec<String>,
    pub clock_origin_ns: u64,
}

/// A piece of the schedule, short enough that the front end can draw and decide in between.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Batch {
    /// Environments, referred to by index.
    pub environments: Vec<Vec<Bytes>>,
    /// Commands, referred to by index.
    pub commands: Vec<Command>,
    pub jobs: Vec<Job>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    pub path: Bytes,
    /// All arguments, the program's name first.
    pub argv: Vec<Bytes>,
    pub environment: u32,
    /// Working directory; `None`: this process's.
    pub directory: Option<Bytes>,
    /// Standard input; `None` is /dev/null.
    pub stdin: Option<Bytes>,
    pub stdout: StdoutTarget,
    pub stderr: StderrTarget,
    /// The exit statuses that count as success, a signal as 128 + its number. `None`: every exit, timeouts included.
    pub accept: Option<Vec<i32>>,
    pub value: Option<ValueTask>,
    /// How to count the instructions of each run, if not by an event of all runs.
    pub count: Option<CountTask>,
}

impl Command {
    /// Whether a run with this exit is a success.
    pub fn accepts(&self, exit: i32, timed_out: bool) -> bool {
        let shell_exit = if exit < 0 { 128 - exit } else { exit };
        self.accept.as_ref().is_none_or(|list| !timed_out && list.contains(&shell_exit))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StdoutTarget {
    Null,
    Pipe,
    /// A pseudo-terminal with so many columns and rows.
    Tty(u16, u16),
    Inherit,
    File(Bytes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StderrTarget {
    Null,
    /// Kept until the run has ended, so a failure can show its last lines.
    Keep,
    /// To the terminal.
    Inherit,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Job {
    pub command: u32,
    /// The row of a run; `None` for a hook.
    pub row: Option<RowId>,
    /// Value of the iteration variables; `None`: no such variables.
    pub iteration: Option<String>,
    /// Bytes of padding in the environment; `None`: no such variable.
    pub padding_bytes: Option<u32>,
    /// Python's hash seed; `None`: no such variable.
    pub hash_seed: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowId {
    pub step: u32,
    pub arm: u32,
    /// Block; `None` for a warm-up.
    pub block: Option<u32>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum LauncherReply {
    /// The evidence is open.
    Opened(LauncherReport),
    /// The record is open; the session can begin.
    Ready,
    /// The session cannot begin.
    Refused(String),
    /// The batch is done, or stopped early.
    Done(BatchResult),
}

/// Metrics that the launcher can and cannot collect.
#[derive(Debug, Serialize, Deserialize)]
pub struct LauncherReport {
    /// Metrics that can be collected, beyond the constant ones.
    pub metrics: Vec<Metric>,
    /// Evidence that this machine does not provide.
    pub gaps: Vec<Gap>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct BatchResult {
    /// Jobs that ran to their end; `stop` is about the next one.
    pub n_done: u32,
    /// Commands with too much standard error to keep on every run.
    pub loud_commands: Vec<u32>,
    /// The launcher's own peak resident set so far. No later child's `ru_maxrss` can be below it.
    pub maxrss_floor_kib: u64,
    /// Time spent so far on reading the kernel's counts between runs; `None` when the launcher reads none.
    pub evidence_ns: Option<u64>,
    pub survivors: Vec<Survivors>,
    /// Why the batch stopped early.
    pub stop: Option<BatchStop>,
}

#[derive(Debug, Serialize, Deserialize)]
pub enum BatchStop {
    /// The front end asked for it; the interrupted run has no row.
    Interrupted,
    /// The exit was not acceptable. The row, if the job has one, is in the record.
    Failed {
        /// Exit status or minus the signal.
        exit: i32,
        timed_out: bool,
        stderr: Bytes,
    },
    /// The run printed no value. Its row is in the record.
    NoValue { why: String, stderr: Bytes },
    /// The instructions of the run were not counted. Its row is in the record.
    NotCounted {
        /// Exit status or minus the signal.
        exit: i32,
        uncounted: Uncounted,
        stderr: Bytes,
    },
    /// The child failed before it executed the program.
    Launch { stage: Stage, errno: i32 },
    /// The row could not be appended.
    Record { error: String, line: Bytes },
}

/// A longer frame is a mistake, not a request.
const FRAME_BYTES_MAX: u32 = 1 << 30;

/// Sends one value. Errors: the other side is gone.
pub fn send<T: Serialize>(mut to: impl Write, value: &T) -> io::Result<()> {
    let body = postcard::to_stdvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|length| *length <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("the request is too long"))?;
    let mut frame = Vec::with_capacity(4 + body.len());
    frame.extend(length.to_le_bytes());
    frame.extend(body);
    to.write_all(&frame)
}

/// Receives one value. Errors: `UnexpectedEof` when the other side is gone.
pub fn receive<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > FRAME_BYTES_MAX {
        return Err(io::Error::other("a frame of impossible length"));
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    postcard::from_bytes(&body).map_err(io::Error::other)
}
