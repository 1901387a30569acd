//! Load on purpose: processes that are always ready to run. Each is another instance of this program, killed by the
//! kernel when its parent ends (PR_SET_PDEATHSIG).
#![expect(clippy::disallowed_methods, reason = "this module starts the busy processes")]

mod kinds;

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags};
use rustix::process::Signal;

use crate::clock::monotonic_ns;
use crate::interrupt::Interrupt;
use crate::supervised::{self, LOOK_NS, wait_for};
use host::{sys, terminal};
use model::spec::load::LoadKind;
use model::values::{exit_code, format_cpu_list, parse_cpu_list};
use model::words::in_words;

pub fn serve() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let mode = arguments.next().unwrap_or_default();
    if mode == END {
        return ExitCode::SUCCESS;
    }
    sys::signal_me_when_my_parent_ends(Signal::KILL);
    // The parent may have ended before that call.
    let parent = arguments.next().and_then(|pid| pid.into_string().ok()?.parse().ok());
    if parent != Some(sys::parent()) {
        return ExitCode::FAILURE;
    }
    let failed = busy(&mut arguments);
    // A failed write to standard error cannot be reported anywhere.
    terminal::say(in_words(&failed));
    ExitCode::from(exit_code::ERROR)
}

/// Runs a load. Returns only on failure.
fn busy(arguments: &mut impl Iterator<Item = OsString>) -> anyhow::Error {
    let mut word = || arguments.next().and_then(|word| word.into_string().ok()).unwrap_or_default();
    let (kind, cpus) = (word(), word());
    let Some(kind) = LoadKind::named(&kind) else {
        return anyhow::anyhow!("there is no kind {kind:?} of load");
    };
    rustix::thread::set_name(c"stillwell-load").ok();
    let cpus_known = parse_cpu_list(&cpus).unwrap_or_default();
    if !cpus_known.is_empty()
        && let Err(error) = sys::bind(None, &cpus_known)
    {
        return anyhow::Error::from(error).context(format!("cannot be busy on CPUs {cpus}"));
    }
    let ready = || {
        std::io::stdout().write_all(b"\n").and_then(|()| std::io::stdout().flush()).ok();
    };
    anyhow::Error::from(kinds::be_busy(kind, ready))
        .context(format!("a load of kind {} ended", kind.name()))
}

/// A set of busy processes. Dropping it kills them.
#[derive(Debug)]
pub struct Load {
    cpus: Option<Vec<usize>>,
    workers: Vec<(LoadKind, Child)>,
}

impl Load {
    /// Starts `n` processes, the kinds in turn. All are busy when this returns. Errors: a process cannot start, or
    /// cannot run its kind of load.
    pub fn start(n: u32, kinds: &[LoadKind], cpus: Option<Vec<usize>>) -> Result<Self> {
        let mut load = Self { cpus, workers: Vec::new() };
        for &kind in kinds.iter().cycle().take(n as usize) {
            let child = load.spawn(kind)?;
            load.workers.push((kind, child));
        }
        for (kind, child) in &mut load.workers {
            await_ready(*kind, child)?;
        }
        Ok(load)
    }

    fn spawn(&self, kind: LoadKind) -> Result<Child> {
        let cpus = self.cpus.as_deref().map(format_cpu_list).unwrap_or_default();
        Command::new(sys::own_program())
            .arg0(ARGV0)
            .args([BUSY, &std::process::id().to_string(), &kind.name(), &cpus])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            // ^C must not end the load before the command, which may handle it.
            .process_group(0)
            .spawn()
            .context("cannot make a busy process")
    }

    /// Restarts processes that have ended. Errors: a process cannot be restarted.
    fn refill(&mut self) -> Result<()> {
        for index in 0..self.workers.len() {
            let (kind, child) = &mut self.workers[index];
            let (kind, has_ended) = (*kind, child.try_wait().is_ok_and(|status| status.is_some()));
            if has_ended {
                let mut child = self.spawn(kind)?;
                await_ready(kind, &mut child)?;
                self.workers[index] = (kind, child);
            }
        }
        Ok(())
    }

    /// Keeps the load up until an interrupt or the time limit (ns). Returns true at the time limit. Errors: a process
    /// has ended and cannot be restarted.
    pub fn go_on(&mut self, limit_ns: Option<u64>, interrupt: &Interrupt) -> Result<bool> {
        let end_ns = limit_ns.map(|limit_ns| monotonic_ns().saturating_add(limit_ns));
        loop {
            let left_ns = end_ns.map_or(LOOK_NS, |end_ns| end_ns.saturating_sub(monotonic_ns()));
            if left_ns == 0 {
                return Ok(true);
            }
            wait_for(&mut [PollFd::new(interrupt, PollFlags::IN)], left_ns.min(LOOK_NS))?;
            if interrupt.take() {
                return Ok(false);
            }
            self.refill()?;
        }
    }

    /// Runs a command under the load (as the user who called sudo if `as_caller`) and returns its exit status.
    pub fn around(&mut self, command: &[OsString], as_caller: bool) -> Result<ExitStatus> {
        supervised::run(command, as_caller, || self.refill())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for (_, child) in &mut self.workers {
            child.kill().ok();
        }
        for (_, child) in &mut self.workers {
            child.wait().ok();
        }
    }
}

fn await_ready(kind: LoadKind, child: &mut Child) -> Result<()> {
    let stdout = child.stdout.take();
    let n_read = stdout.map_or(Ok(0), |mut stdout| stdout.read(&mut [0])).unwrap_or(0);
    if n_read == 0 {
        // The process has already printed the reason.
        bail!("a load of kind {} cannot be made", kind.name());
    }
    Ok(())
}

/// Checks that CPUs are in the list of those that are `online` or `present`. Errors: the first one that is not.
pub fn check_cpus(cpus: &[usize], list: &str, kind: &str) -> Result<()> {
    let known = parse_cpu_list(list).unwrap_or_default();
    let missing = cpus.iter().find(|cpu| !known.contains(cpu));
    ensure!(
        missing.is_none(),
        "--cpus: CPU {} is not one of those that are {kind} ({list})",
        missing.unwrap_or(&0)
    );
    Ok(())
}

pub const ARGV0: &str = "stillwell-load";
/// First argument of a process that runs a load.
pub const BUSY: &str = "busy";
/// First argument of a process that exits at once.
pub const END: &str = "end";
