//! A call of a tool: this program with `--json`, in its own process group.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};

use anyhow::{Context as _, Result, ensure};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};
use serde_json::Value;

use crate::cmd::mcp::tools::{self, Invocation};
use host::sys;
use measure::clock::monotonic_ns;
use measure::supervised;

/// Time of a cancelled session for its hooks and its record, ns.
const GRACE_NS: u64 = 15_000_000_000;

pub struct Call {
    /// The id of the request.
    pub id: Value,
    /// Whether the call times programs.
    pub is_measuring: bool,
    child: Child,
    group: Pid,
    /// Our end of the pipe.
    pub stdout: ChildStdout,
    /// Readable when the child ends; `None` before Linux 5.3.
    pub pidfd: Option<OwnedFd>,
    document: Vec<u8>,
    /// When the call was cancelled, ns.
    cancelled_ns: Option<u64>,
}

impl Call {
    /// Starts a call. The kernel ends it with this process.
    pub fn start(id: Value, asked: &Invocation) -> Result<Self> {
        let program = sys::own_path().context("cannot find this program")?.into_os_string();
        let words = asked.words.iter().map(|word| word.clone().into());
        let words: Vec<_> = std::iter::once(program).chain(words).collect();
        let mut command = supervised::prepared(&words, false);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0);
        if let Some(directory) = &asked.directory {
            let path = Path::new(directory);
            ensure!(path.is_dir(), "directory: there is no directory {directory}");
            command.current_dir(path);
        }
        let mut child = command.spawn().context("cannot execute this program")?;
        let stdout = child.stdout.take().context("the program has no output")?;
        rustix::io::ioctl_fionbio(&stdout, true).context("cannot set up a pipe")?;
        let group = Pid::from_child(&child);
        let pidfd = pidfd_open(group, PidfdFlags::empty()).ok();
        let is_measuring = asked.is_measuring;
        let document = Vec::new();
        Ok(Self { id, is_measuring, child, group, stdout, pidfd, document, cancelled_ns: None })
    }

    /// Interrupts the call like ^C. A session keeps its record.
    pub fn cancel(&mut self) {
        if self.cancelled_ns.is_none() {
            kill_process_group(self.group, Signal::INT).ok();
            self.cancelled_ns = Some(monotonic_ns());
        }
    }

    /// Whether the client has cancelled the call and waits for no answer.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled_ns.is_some()
    }

    /// Reads the new output, and kills a cancelled call after the grace period. Returns whether the call has ended.
    pub fn look(&mut self) -> bool {
        self.read();
        let is_late = |since_ns: u64| monotonic_ns() - since_ns > GRACE_NS;
        if self.cancelled_ns.is_some_and(is_late) {
            kill_process_group(self.group, Signal::KILL).ok();
        }
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.group), ended).is_ok_and(|status| status.is_some())
    }

    fn read(&mut self) {
        let mut buffer = [0; 1 << 16];
        loop {
            match rustix::io::read(&self.stdout, &mut buffer) {
                Ok(n) if n > 0 => self.document.extend_from_slice(&buffer[..n]),
                Err(Errno::INTR) => {}
                _ => return,
            }
        }
    }

    /// The result of an ended call. Also kills what a cancelled call left in its group.
    pub fn result(mut self) -> Value {
        if self.is_cancelled() {
            // The child is not reaped yet, so its group still has this number.
            kill_process_group(self.group, Signal::KILL).ok();
        }
        self.read();
        let status = self.child.wait().unwrap_or_default();
        tools::answer(&self.document, supervised::exit_code(status), &ended(status))
    }
}

fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("exited with {}", status.code().unwrap_or_default()),
    }
}
