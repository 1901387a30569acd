//! Watches one untimed run: its output, what outlives it, and its system calls that an honest program need not make. It
//! runs in a separate process, with the user's rights.
#![expect(clippy::disallowed_methods, reason = "starts a command, and reads what it leaves")]

mod memory;
mod paths;
mod sockets;
mod tracer;

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags};

use crate::child_run::pidfd;
use crate::clock::monotonic_ns;
use crate::digest::{digest, digest_of_file};
use crate::fresh::make_fresh;
use crate::prepared::is_telling;
use crate::supervised::wait_for;
use crate::survivors::SurvivorWatch;
use crate::wire::RowId;
use host::open_regular;
use host::sys::{self, CallListener};
use model::prose::prose;
use model::words::reason;
use record::fair_play::{RunFacts, WatchRequest};
use tracer::CallTracer;

/// Longest time between two readings of the clock, ns.
const LOOK_NS: u64 = 20_000_000;
/// The shell is the parent of an undercover run. It does not exec the program, because something follows.
const UNDERCOVER: &str = "\"$@\"; exit $?";
/// Variables by which a run sees that it is measured.
const OVERT: [(&str, &str); 3] = [
    ("STILLWELL_ITERATION", "0"),
    ("HYPERFINE_ITERATION", "0"),
    ("STILLWELL_PADDING", "xxxxxxxxxxxxxxxx"),
];

/// Runs a command and watches it. Errors: it cannot be started, or its output cannot be read.
pub fn watch(request: &WatchRequest) -> Result<RunFacts> {
    let directory = match &request.directory {
        Some(directory) => PathBuf::from(directory),
        None => std::env::current_dir().context("there is no current directory")?,
    };
    if let Some(source) = &request.copy_of {
        make_fresh(Path::new(source), &directory)?;
    }
    let name = if request.is_overt { c"stillwell-run" } else { c"sh" };
    rustix::thread::set_name(name).ok();
    let mut survivors = SurvivorWatch::begin(true);
    let out = Path::new(&request.folder).join("out");
    let command = command(request, &directory, &out)?;
    let mut facts = RunFacts::default();
    if survivors.is_none() {
        facts.unseen.insert("processes that outlive a run: this kernel cannot adopt them".into());
    }
    if request.is_traced {
        traced(request, &directory, command, &mut facts, survivors.as_mut())?;
    } else {
        run(command, request, &mut facts, survivors.as_mut())?;
    }
    facts.stdout = digest(open_regular(&out).context("the output is gone")?)?;
    facts.files = request.files.iter().map(|file| digest_of_file(&directory.join(file))).collect();
    if let Some(validate) = &request.validate {
        let mut hook = Command::new("sh");
        hook.args(["-c", validate]).current_dir(&directory).stdin(open_regular(&out)?);
        hook.stdout(Stdio::null()).stderr(Stdio::null());
        facts.is_valid = Some(hook.status().context("cannot execute sh")?.success());
    }
    Ok(facts)
}

/// Runs a command without tracing. If it cannot be started, the exit status is a shell's.
fn run(
    mut command: Command,
    request: &WatchRequest,
    facts: &mut RunFacts,
    survivors: Option<&mut SurvivorWatch>,
) -> Result<()> {
    match command.spawn() {
        Ok(child) => ended(child.id().cast_signed(), request, facts, survivors),
        Err(error) if error.kind() == ErrorKind::NotFound => facts.exit = 127,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => facts.exit = 126,
        Err(error) => {
            let program = request.argv.first().map_or("", String::as_str);
            return Err(error).with_context(|| format!("cannot start {program:?}"));
        }
    }
    Ok(())
}

fn command(request: &WatchRequest, directory: &Path, out: &Path) -> Result<Command> {
    let mut command = if request.is_overt {
        let mut command = Command::new(request.argv.first().context("there is no program")?);
        command.args(&request.argv[1..]).envs(OVERT);
        command
    } else {
        let mut command = Command::new("sh");
        command.args(["-c", UNDERCOVER, "sh"]).args(&request.argv);
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_telling(name.as_bytes())) {
            command.env_remove(name);
        }
        command
    };
    command.envs(request.environment.iter().map(|(name, value)| (name, value)));
    let stdin = match &request.input {
        Some(input) => {
            let opened = File::open(input).map_err(reason);
            Stdio::from(opened.map_err(|why| prose![Input " {input}: {why}"])?)
        }
        None => Stdio::null(),
    };
    let stdout = File::create(out).with_context(|| format!("cannot write {}", out.display()))?;
    command.stdin(stdin).stdout(stdout).stderr(Stdio::null());
    command.current_dir(directory).process_group(0);
    Ok(command)
}

/// Waits for the end of a run, and ends what it left behind.
fn ended(
    pid: i32,
    request: &WatchRequest,
    facts: &mut RunFacts,
    survivors: Option<&mut SurvivorWatch>,
) {
    let end_ns = monotonic_ns().saturating_add(request.timeout_ns);
    let handle = pidfd(pid);
    while !sys::has_exited(pid) {
        if monotonic_ns() > end_ns {
            facts.timed_out = true;
            sys::signal_group(pid, libc::SIGKILL);
        }
        let mut fds: Vec<_> = handle.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        wait_for(&mut fds, LOOK_NS).ok();
    }
    if let Ok((exit, usage)) = sys::reap(pid) {
        facts.exit = exit;
        facts.cpu_us = usage.user_us + usage.sys_us;
    }
    let id = RowId { step: 0, arm: 0, block: None };
    facts.survivors = survivors.and_then(|watch| watch.after_run(id, pid, false));
}

/// Runs a command whose system calls a thread watches.
fn traced(
    request: &WatchRequest,
    directory: &Path,
    mut command: Command,
    facts: &mut RunFacts,
    mut survivors: Option<&mut SurvivorWatch>,
) -> Result<()> {
    let refused = |why: &str| format!("its system calls cannot be watched: {why}");
    if sys::ARCHITECTURE.is_none() {
        facts.unseen.insert(refused("not on this kind of processor"));
    }
    let (ours, theirs) = UnixStream::pair().context("cannot make a socket")?;
    let mut tracer = CallTracer::new(request, directory);
    let is_over = Arc::new(AtomicBool::new(false));
    let is_over_there = Arc::clone(&is_over);
    sys::stop_at(&mut command, &tracer::calls(), OwnedFd::from(theirs));
    let thread = std::thread::spawn(move || {
        let listener = CallListener::receive(&ours);
        if let Ok(Some(listener)) = &listener {
            follow(listener, &mut tracer, &is_over_there);
        }
        tracer
    });
    let started = command.spawn();
    // The command holds the other end of the socket.
    drop(command);
    let is_started = match started {
        Ok(child) => {
            ended(child.id().cast_signed(), request, facts, survivors.as_deref_mut());
            true
        }
        Err(error) => {
            facts.unseen.insert(refused(&error.to_string()));
            false
        }
    };
    is_over.store(true, Ordering::Relaxed);
    let tracer = thread.join().ok().context("the thread that watches system calls failed")?;
    let (acts, unseen) = tracer.finish();
    facts.acts = acts;
    facts.unseen.extend(unseen);
    if is_started {
        return Ok(());
    }
    // If the kernel allows no tracer, the rest is still observed.
    let out = Path::new(&request.folder).join("out");
    run(self::command(request, directory, &out)?, request, facts, survivors)
}

/// Checks each call and lets it continue, until the run and all that it left have ended.
fn follow(listener: &CallListener, tracer: &mut CallTracer, is_over: &AtomicBool) {
    loop {
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        wait_for(&mut fds, LOOK_NS).ok();
        let events = fds[0].revents();
        if events.contains(PollFlags::IN) {
            match listener.next() {
                Ok(Some(call)) => {
                    tracer.look(call);
                    listener.let_go_on(call);
                }
                Ok(None) => {}
                Err(_) => return,
            }
        } else if events.contains(PollFlags::HUP) || is_over.load(Ordering::Relaxed) {
            return;
        }
    }
}
