//! The guardian: a process that turns the knobs and holds one end of a socket. When the other end closes, by whatever
//! means (also by `kill -9` of the front end), it puts everything back. It is a session leader and ignores ^C and the
//! end of the terminal, so nothing that ends the front end ends it too.
//!
//! It is told names of knobs and numbers of CPUs, never a path: it may have rights that the one who asks has not.
#![expect(
    clippy::disallowed_methods,
    reason = "this process turns the knobs, and this module starts it"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::journal::{Store, asking_user};
use crate::host::knobs::{Machine, State, bench_cpus};
use crate::host::restore::restore;
use crate::host::tune::{self, Planned};
use crate::sys;

/// Longest wake-up while a benchmark runs, µs, as in the knob `idle-states`.
const LATENCY_US: i32 = 10;
/// A request names knobs and CPUs.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// What the front end asks for, in one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// CPUs of the benchmark.
    pub cpus: Option<Vec<usize>>,
    /// Names of knobs; `None` for the usual ones.
    pub knobs: Option<Vec<String>>,
    /// When it was asked, in seconds since 1970.
    pub time_s: i64,
}

/// What came of it, in one line: once the knobs are turned, and once more when they are put back.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// Turned; what could not be, and other things the user should know.
    Turned { n_set: usize, notes: Vec<String> },
    /// Put back; what could not be.
    Restored { notes: Vec<String> },
    /// Nothing was changed, because.
    Refused(String),
}

/// Serves the front end on standard input until it is closed. The value is an exit code.
///
/// # Errors
/// Standard input is no socket.
pub fn serve(root: &Path) -> Result<u8> {
    sys::ignore_what_ends_a_session();
    // Fails for the leader of a process group, whose terminal is not ours to leave.
    rustix::process::setsid().ok();
    rustix::thread::set_name(c"stillwell-guard").ok();
    let is_lent = super::invoking_user().is_some();
    ensure!(
        root == Path::new("/") || !is_lent,
        "rights of somebody else are for this machine only"
    );
    let host = Host::new(root);
    let mut socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut reader = BufReader::new(socket.try_clone()?);
    let (mut store, _latency) = match begin(&host, &mut reader) {
        Ok((store, latency, answer)) => {
            answer_with(&mut socket, &answer);
            (store, latency)
        }
        Err(error) => {
            answer_with(&mut socket, &Answer::Refused(format!("{error:#}")));
            return Ok(2);
        }
    };
    // Whatever else comes is not for us; its end is.
    while reader.read(&mut [0; 64]).is_ok_and(|n| n > 0) {}
    let restored = restore(&host, &mut store)?;
    let mut notes: Vec<String> = restored
        .failed
        .iter()
        .map(|(path, why)| format!("cannot put back /{path}: {why}"))
        .collect();
    notes.extend(restored.foreign.iter().map(|foreign| {
        format!(
            "left alone: /{} holds {:?}, which stillwell did not write",
            foreign.path, foreign.now
        )
    }));
    answer_with(&mut socket, &Answer::Restored { notes });
    Ok(u8::from(!restored.is_complete()))
}

/// That nobody listens any more is what we are for.
fn answer_with(socket: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        socket.write_all(&line).ok();
    }
}

fn begin(
    host: &Host,
    reader: &mut BufReader<UnixStream>,
) -> Result<(Store, Option<std::fs::File>, Answer)> {
    let mut line = String::new();
    reader.take(REQUEST_BYTES_MAX).read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line).context("this is no request")?;
    let knobs = tune::select(request.knobs.as_deref(), &[]).map_err(|why| anyhow!("{why}"))?;
    let bench = bench_cpus(host, request.cpus.as_deref()).map_err(|why| anyhow!("{why}"))?;
    let mut store = Store::open(host)?;
    let mut notes = Vec::new();
    if !store.journal.begun.is_empty() {
        ensure!(
            store.journal.is_stale(),
            "`stillwell system tune` has tuned this machine already; leave --tune out, or run `stillwell system reset` first"
        );
        let restored = restore(host, &mut store)?;
        ensure!(restored.is_complete(), "what an earlier stillwell has left cannot be put back");
        notes.push(format!(
            "an earlier stillwell was killed; {} files were put back first",
            restored.restored.len()
        ));
    }
    store.begin(host, true, asking_user(), request.time_s)?;
    let mut planned = tune::plan(&Machine::new(host, bench), &knobs);
    let latency = hold_latency(host, &mut planned);
    let turned = tune::turn(host, &mut store, planned)?;
    for knob in &turned {
        let name = knob.knob.name;
        if let State::CannotSet { why } = &knob.state {
            notes.push(format!("{name} cannot be set: {why}"));
        }
        notes.extend(knob.failed.iter().map(|(setting, why)| {
            format!("{name}: cannot write {:?} to /{}: {why}", setting.wanted, setting.path)
        }));
    }
    let n_set = turned.iter().map(|knob| knob.n_set).sum();
    Ok((store, latency, Answer::Turned { n_set, notes }))
}

/// The kernel keeps CPUs out of deep idle states as long as a descriptor is open, and forgets it with the process
/// (Documentation/power/pm_qos_interface.rst): better than files that have to be put back.
fn hold_latency(host: &Host, planned: &mut Vec<Planned>) -> Option<std::fs::File> {
    let is_wanted = |planned: &Planned| {
        planned.knob.name == "idle-states" && !planned.reading.settings.is_empty()
    };
    if !planned.iter().any(is_wanted) {
        return None;
    }
    let path = host.below_root("dev/cpu_dma_latency".as_ref());
    let mut file = std::fs::OpenOptions::new().write(true).open(path).ok()?;
    file.write_all(&LATENCY_US.to_ne_bytes()).ok()?;
    planned.retain(|planned| !is_wanted(planned));
    Some(file)
}

/// A guardian as the front end sees it. The knobs are put back when this is dropped.
#[derive(Debug)]
pub struct Guardian {
    child: Child,
    socket: UnixStream,
    reader: BufReader<UnixStream>,
    /// Files that were changed.
    pub n_set: usize,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Guardian {
    /// Starts one and has it turn the knobs: as we are when we are root (or when the machine is a directory), and else
    /// through whatever gives rights without asking.
    ///
    /// # Errors
    /// Nobody gives the rights, or the guardian refuses.
    pub fn start(root: &Path, request: &Request) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let (socket, theirs) =
            UnixStream::pair().context("cannot make a socket for the guardian")?;
        let is_allowed = rustix::process::geteuid().is_root() || root != Path::new("/");
        let mut command = if is_allowed {
            Command::new("/proc/self/exe")
        } else {
            let Some(lender) = lender() else { bail!("{}", without_rights(&program)) };
            let mut command = Command::new(lender[0]);
            command.args(&lender[1..]).arg(&program);
            command
        };
        command.args(["system", "guard", "--host-root"]).arg(root);
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null());
        let child = command.spawn().context("cannot start the guardian")?;
        // It holds their end of the socket, and with that open here nobody would see them end.
        drop(command);
        let reader = BufReader::new(socket.try_clone()?);
        let mut guardian = Self { child, socket, reader, n_set: 0, notes: Vec::new() };
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        guardian.socket.write_all(&line).ok();
        match guardian.receive()? {
            Answer::Turned { n_set, notes } => (guardian.n_set, guardian.notes) = (n_set, notes),
            Answer::Refused(why) => bail!("cannot tune: {why}"),
            Answer::Restored { .. } => bail!("the guardian answered out of turn"),
        }
        Ok(guardian)
    }

    /// Has it put everything back, and waits for that. Returns what the user should know.
    ///
    /// # Errors
    /// The guardian died.
    pub fn end(mut self) -> Result<Vec<String>> {
        self.socket.shutdown(std::net::Shutdown::Write).ok();
        match self.receive()? {
            Answer::Restored { notes } => Ok(notes),
            Answer::Turned { .. } | Answer::Refused(_) => {
                bail!("the guardian answered out of turn")
            }
        }
    }

    fn receive(&mut self) -> Result<Answer> {
        let mut line = String::new();
        self.reader.read_line(&mut line).ok();
        serde_json::from_str(&line).with_context(|| {
            "the guardian ended unexpectedly; `stillwell system reset` puts back what it has changed"
        })
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.socket.shutdown(std::net::Shutdown::Write).ok();
        self.child.wait().ok();
    }
}

/// What gives the rights of root without asking for a password.
fn lender() -> Option<&'static [&'static str]> {
    const LENDERS: &[&[&str]] = &[&["sudo", "-n"], &["doas", "-n"]];
    LENDERS.iter().copied().find(|lender| {
        let mut command = Command::new(lender[0]);
        command.args(&lender[1..]).arg("true");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn without_rights(program: &Path) -> String {
    let program = program.display();
    format!(
        "only root may tune, and neither sudo nor doas gives the rights without a password; run `sudo {program} run --tune …` \
         (the commands still run as you), or `sudo {program} system tune` before and `sudo {program} system reset` after"
    )
}
