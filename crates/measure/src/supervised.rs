//! A user's command that this program waits for, as nice(1) does. The command has the terminal, Stillwell passes its
//! status on, and the kernel ends it when this program ends. In between, this program is executed again, for the calls
//! that a child must make on itself.
#![expect(clippy::disallowed_methods, reason = "this module starts a command")]

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::child_run::pidfd;
use crate::programs;
use crate::signal_pipe::{SignalPipe, heeded};
use host::{
    environment_as_caller, environment_for, invoking_user, is_caller_unknown, sys, terminal,
};
use model::values::exit_code;
use model::words::in_words;

/// `argv[0]` that makes this program become a command.
pub(super) const ARGV0: &str = "stillwell-become";
/// Runs the command as the user who called sudo.
const AS_CALLER: &str = "as-caller";
const AS_WE_ARE: &str = "as-we-are";
/// Longest time between two calls of `look`, ns.
pub const LOOK_NS: u64 = 1_000_000_000;
/// The time without pidfds (Linux before 5.3), when the parent polls for the child's end.
const LOOK_WITHOUT_PIDFD_NS: u64 = 10_000_000;

/// Becomes the command; returns only on failure.
pub fn serve() -> ExitCode {
    let failed = become_command(std::env::args_os().skip(1));
    terminal::say(in_words(&failed));
    ExitCode::from(exit_code::ERROR)
}

fn become_command(mut arguments: impl Iterator<Item = OsString>) -> anyhow::Error {
    let parent = arguments.next();
    let as_whom = arguments.next();
    let is_callers = as_whom.as_deref() == Some(OsStr::new(AS_CALLER));
    let user = is_callers.then(invoking_user).flatten();
    let environment = environment_for(user.as_ref());
    let program = arguments.next().unwrap_or_default();
    if let Some(user) = user
        && let Err(error) = sys::become_user_for_good(&user)
    {
        return anyhow::Error::from(error).context("cannot become the user who called sudo");
    }
    // After the change of the user, which clears the signal.
    sys::signal_me_when_my_parent_ends(Signal::KILL);
    // The parent may have ended before that call.
    if parent != Some(sys::parent().to_string().into()) {
        return anyhow!("whoever wanted {} executed has ended", program.display());
    }
    let error = Command::new(&program).args(arguments).env_clear().envs(environment).exec();
    anyhow::Error::from(error).context(format!("cannot execute {}", program.display()))
}

/// Executes this program again as the user who called sudo, for a verb that needs no root rights. Returns if this
/// process already has that user. Errors: the kernel does not allow it.
pub fn become_caller() -> Result<()> {
    let Some(user) = invoking_user() else { return Ok(()) };
    let environment = environment_as_caller(&user);
    sys::become_user_for_good(&user).context("cannot become the user who called sudo")?;
    execute_again(environment)
}

/// Executes this program again as plain root, if `--as-root` replaced an unknown caller. All of its processes then
/// belong to root too. Errors: the kernel does not allow it.
pub fn forget_unknown_caller() -> Result<()> {
    if is_caller_unknown() { execute_again(environment_for(None)) } else { Ok(()) }
}

fn execute_again(environment: Vec<(OsString, OsString)>) -> Result<()> {
    let mut arguments = std::env::args_os();
    let mut again = Command::new(sys::own_program());
    again.arg0(arguments.next().unwrap_or_default()).args(arguments);
    Err(again.env_clear().envs(environment).exec()).context("cannot execute this program again")
}

/// Whether a command can be found. Errors: it cannot be found; the message says why.
pub fn check(command: &[OsString], as_caller: bool) -> Result<()> {
    let program = command.first().map(|program| program.as_bytes()).unwrap_or_default();
    let run_as = invoking_user().filter(|_| as_caller);
    programs::find_here(program, run_as.as_ref()).map_err(|why| anyhow!("{why}"))?;
    Ok(())
}

/// Runs a command to its end. The terminal's signals reach it directly; SIGTERM and SIGHUP are passed on. Calls `look`
/// at intervals.
pub fn run(
    command: &[OsString],
    as_caller: bool,
    look: impl FnMut() -> Result<()>,
) -> Result<ExitStatus> {
    // Handlers, because exec resets them for the command. A signal that our caller ignores stays ignored, also in the
    // command, as nohup and a script's background job expect.
    let unheeded = Arc::new(AtomicBool::new(false));
    for signal in heeded([SIGINT, SIGQUIT]) {
        signal_hook::flag::register(signal, Arc::clone(&unheeded))
            .context("cannot catch signals")?;
    }
    let pipe = SignalPipe::catch(&heeded([SIGTERM, SIGHUP]))?;
    let mut child = prepared(command, as_caller)
        .spawn()
        .with_context(|| format!("cannot execute {}", command[0].display()))?;
    let drain = || {
        pipe.take();
    };
    wait(&mut child, pipe.as_fd(), drain, look)
}

/// A command that the kernel ends with this program. It is not started yet.
pub fn prepared(command: &[OsString], as_caller: bool) -> Command {
    let mut prepared = Command::new(sys::own_program());
    if !as_caller {
        sys::run_as_ourselves(&mut prepared);
    }
    prepared
        .arg0(ARGV0)
        .arg(std::process::id().to_string())
        .arg(if as_caller { AS_CALLER } else { AS_WE_ARE })
        .args(command);
    prepared
}

/// Waits for the command's end. When `signals` becomes readable, drains it and asks the command to end. Calls `look` at
/// intervals. Errors: it cannot be waited for, or `look` failed.
pub fn wait(
    child: &mut Child,
    signals: BorrowedFd<'_>,
    mut drain: impl FnMut(),
    mut look: impl FnMut() -> Result<()>,
) -> Result<ExitStatus> {
    let pidfd = pidfd(child.id().cast_signed());
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for the command")? {
            return Ok(status);
        }
        let mut fds = vec![PollFd::from_borrowed_fd(signals, PollFlags::IN)];
        fds.extend(pidfd.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        wait_for(&mut fds, if pidfd.is_some() { LOOK_NS } else { LOOK_WITHOUT_PIDFD_NS })?;
        if !fds[0].revents().is_empty() {
            drain();
            kill_process(Pid::from_child(child), Signal::TERM).ok();
        }
        look()?;
    }
}

/// The status as a shell reports it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

/// Waits until a descriptor is ready, or for the time limit.
pub fn wait_for(fds: &mut [PollFd<'_>], limit_ns: u64) -> Result<()> {
    let limit = Timespec::try_from(Duration::from_nanos(limit_ns))?;
    match poll(fds, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error).context("cannot wait"),
    }
}
