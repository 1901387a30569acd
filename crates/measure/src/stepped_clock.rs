//! A clock that goes on by the same step at each reading. A framework that chooses its iterations by the clock then chooses
//! the same number in each run, so that their instructions can be compared.
//!
//! The kernel stops each reading and asks this process (seccomp_unotify(2)). It sees only readings by system call: valgrind
//! hides the vDSO, by which a program reads the clock otherwise. What is no clock of the machine, as the CPU time of a thread,
//! goes on in the same steps.
//!
//! Random numbers (getrandom(2)) are the same in each run too. They seed the hash tables of many languages, in which a search
//! takes longer or shorter with them.
#![expect(clippy::disallowed_methods, reason = "this module starts a command")]

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags};

use crate::child_run::pidfd;
use crate::supervised::{exit_code, wait_for};
use host::sys::{self, CallListener, StoppedCall};
use host::terminal;
use host::user_files::replace;
use model::harness::CLOCK_STEP_NS;
use model::values::exit_code::ERROR;
use model::words::in_words;
use stats::Stream;

/// `argv[0]` that makes this program run a command with such a clock.
pub(super) const ARGV0: &str = "stillwell-stepped-clock";
/// The first argument if the command must have the clock.
const NEEDED: &str = "needed";
/// Longest time between two looks at the command without pidfds (Linux before 5.3), ns.
const LOOK_NS: u64 = 10_000_000;
const NS_PER_S: u64 = 1_000_000_000;
const DAY_S: u64 = 86_400;
/// The kernel interrupts no shorter request (getrandom(2)).
const RANDOM_BYTES_MAX: u64 = 256;

/// The command line that executes a command under this program. `file` gets the number of the clock's readings. If the clock is
/// not needed, the command is executed also where the kernel gives it none.
pub fn wrapped(file: Vec<u8>, is_needed: bool, argv: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let needed = if is_needed { NEEDED } else { "" };
    [ARGV0.into(), needed.into(), file].into_iter().chain(argv).collect()
}

/// Runs the command, and passes its status on.
pub fn serve() -> ExitCode {
    match run(std::env::args_os().skip(1)) {
        Ok(status) => ExitCode::from(exit_code(status)),
        Err(error) => {
            terminal::say(in_words(&error));
            ExitCode::from(ERROR)
        }
    }
}

fn run(mut words: impl Iterator<Item = OsString>) -> Result<ExitStatus> {
    let is_needed = words.next().is_some_and(|word| word == OsStr::new(NEEDED));
    let file = words.next().unwrap_or_default();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    let (ours, theirs) = UnixStream::pair().context("cannot make a socket")?;
    sys::stop_at(&mut command, &calls(), OwnedFd::from(theirs));
    let refused = "cannot answer the program's readings of the clock";
    let mut child = match command.spawn() {
        // The kernel is older than 5.0, or a container has such a listener already.
        Err(_) if !is_needed => return without_clock(&command),
        spawned => spawned.context(refused)?,
    };
    // The command holds the other end of the socket.
    drop(command);
    let listener = CallListener::receive(&ours).context(refused)?.context(refused)?;
    let ended = pidfd(child.id().cast_signed());
    let mut clock = SteppedClock::start();
    loop {
        let mut fds = vec![PollFd::new(&listener, PollFlags::IN)];
        fds.extend(ended.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        wait_for(&mut fds, LOOK_NS)?;
        if fds[0].revents().contains(PollFlags::IN) {
            if let Some(call) = listener.next().context(refused)? {
                clock.answer(&listener, call).context(refused)?;
            }
        } else if let Some(status) = child.try_wait().context("cannot wait for the command")? {
            replace(file.as_ref(), 0o600, clock.n_readings.to_string().as_bytes())
                .with_context(|| format!("cannot write {}", file.display()))?;
            return Ok(status);
        }
    }
}

/// Executes the command in place of this process, with the machine's clock.
fn without_clock(command: &Command) -> Result<ExitStatus> {
    let mut plain = Command::new(command.get_program());
    Err(plain.args(command.get_args()).exec()).context("cannot execute the program")
}

/// The system calls that read a clock.
fn calls() -> Vec<libc::c_long> {
    let mut calls = vec![libc::SYS_clock_gettime, libc::SYS_gettimeofday, libc::SYS_getrandom];
    #[cfg(target_arch = "x86_64")]
    calls.push(libc::SYS_time);
    calls
}

/// The readings so far, and when each clock began.
struct SteppedClock {
    random: Stream,
    n_readings: u64,
    /// Whole days, so that the runs of a session read the same times: criterion seeds its random numbers with one.
    begins_s: HashMap<u64, u64>,
}

impl SteppedClock {
    fn start() -> Self {
        Self { random: Stream::new(0), n_readings: 0, begins_s: HashMap::new() }
    }

    fn answer(&mut self, listener: &CallListener, call: StoppedCall) -> std::io::Result<()> {
        if call.number == libc::SYS_getrandom {
            return self.answer_getrandom(listener, call);
        }
        let is_gettime = call.number == libc::SYS_clock_gettime;
        let (clock, address) = match call.arguments {
            [clock, address, ..] if is_gettime => (clock, address),
            [address, ..] => (0, address),
        };
        // time(2) returns its value in a register, and programs read it for a date.
        let is_seconds = !is_gettime && call.number != libc::SYS_gettimeofday;
        if !call.is_native || address == 0 || is_seconds {
            listener.let_go_on(call);
            return Ok(());
        }
        let ns = self.next_ns(clock);
        let part = if is_gettime { ns % NS_PER_S } else { ns % NS_PER_S / 1000 };
        let words = [ns / NS_PER_S, part].map(u64::to_ne_bytes);
        listener.answer(call, address, words.as_flattened(), 0)
    }

    /// Answers with the same numbers in each run.
    fn answer_getrandom(
        &mut self,
        listener: &CallListener,
        call: StoppedCall,
    ) -> std::io::Result<()> {
        let [address, n_bytes, ..] = call.arguments;
        if !call.is_native || address == 0 || n_bytes > RANDOM_BYTES_MAX {
            listener.let_go_on(call);
            return Ok(());
        }
        let bytes: Vec<u8> =
            (0..n_bytes.div_ceil(8)).flat_map(|_| self.random.next_u64().to_ne_bytes()).collect();
        listener.answer(call, address, &bytes[..n_bytes as usize], n_bytes.cast_signed())
    }

    /// The next reading of a clock, ns. The readings begin before the machine's time, because a program may wait for a time
    /// that it has read.
    fn next_ns(&mut self, clock: u64) -> u64 {
        self.n_readings += 1;
        let begins_s = *self.begins_s.entry(clock).or_insert_with(|| {
            let now_s = now_s(clock);
            now_s - now_s % DAY_S
        });
        begins_s * NS_PER_S + self.n_readings * CLOCK_STEP_NS
    }
}

/// The seconds of the machine's clock with this number.
fn now_s(clock: u64) -> u64 {
    const REALTIME: u64 = 0;
    const REALTIME_COARSE: u64 = 5;
    match clock {
        REALTIME | REALTIME_COARSE => {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
        }
        _ => crate::clock::monotonic_ns() / NS_PER_S,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reading_is_a_step_later() {
        let mut clock = SteppedClock::start();
        let readings: Vec<u64> = [1, 1, 4, 1].map(|it| clock.next_ns(it)).to_vec();
        assert_eq!(readings[1] - readings[0], CLOCK_STEP_NS);
        assert_eq!(readings[3] - readings[1], 2 * CLOCK_STEP_NS);
        assert_eq!(readings[0] % NS_PER_S, CLOCK_STEP_NS);
    }
}
