//! The guardian: a process that turns the knobs and holds one end of a socket. When the other end closes, by whatever
//! means (also by `kill -9` of the front end), it puts everything back. It is a session leader and ignores ^C and the
//! end of the terminal, so nothing that ends the front end ends it too.
//!
//! It is told names of knobs and numbers of CPUs, never a path: it may have rights that the one who asks has not.

mod front_end;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::host::journal::{Store, asking_user};
use crate::host::knobs::{Knob, Machine, State, bench_cpus, knobs};
use crate::host::restore::{Restoration, restore};
use crate::host::shield::{self, Isolation, ShieldPlan, place};
use crate::host::tune::{self, KnobPlan, KnobResult};
use crate::sys;
use crate::values::{exit_code, name_cpus};

pub use front_end::Guardian;

/// Longest wake-up while a benchmark runs, µs, as in the knob `idle-states`.
const LATENCY_US: i32 = 10;
/// A request names knobs and CPUs.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// What the front end asks for, in one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardianRequest {
    /// CPUs of the benchmark.
    pub cpus: Option<Vec<usize>>,
    /// Names of knobs; `None` for the usual ones.
    pub knobs: Option<Vec<String>>,
    /// Whether they are asked for by `--tune`, and not only those that belong to a shield.
    #[serde(default)]
    pub tunes: bool,
    /// A shield.
    #[serde(default)]
    pub isolate: Option<shield::ShieldRequest>,
    /// When it was asked, in seconds since 1970.
    pub time_s: i64,
}

/// What may follow.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GuardianOrder {
    /// Puts this process into the shield.
    Enter(i32),
}

/// What came of it, in one line: once the knobs are turned, and once more when they are put back.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// Turned; what could not be, and other things the user should know.
    Turned { n_set: usize, notes: Vec<String>, isolation: Option<Box<Isolation>> },
    /// It is in the shield.
    Entered,
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
    let mut held = match begin(&host, &mut reader) {
        Ok((held, answer)) => {
            answer_with(&mut socket, &answer);
            held
        }
        Err(error) => {
            answer_with(&mut socket, &Answer::Refused(format!("{error:#}")));
            return Ok(exit_code::ERROR);
        }
    };
    let mut line = String::new();
    while (&mut reader).take(REQUEST_BYTES_MAX).read_line(&mut line).is_ok_and(|n| n > 0) {
        let answer = match serde_json::from_str(&line) {
            Ok(GuardianOrder::Enter(pid)) => enter(&host, &held, &socket, pid),
            Err(error) => Err(error.to_string()),
        };
        answer_with(&mut socket, &answer.map_or_else(Answer::Refused, |()| Answer::Entered));
        line.clear();
    }
    let restored = match held.extent {
        Extent::All => restore(&host, &mut held.store)?,
        Extent::Shield => shield::take_down(&host, &mut held.store)?,
        Extent::Nothing => Restoration::default(),
    };
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
    Ok(if restored.is_complete() { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

/// What a guardian holds while it lives.
struct GuardianState {
    store: Store,
    _latency: Option<std::fs::File>,
    extent: Extent,
    raised: Option<ShieldPlan>,
}

/// What it puts back.
enum Extent {
    /// Everything.
    All,
    /// Its shield; somebody has tuned the machine for longer.
    Shield,
    /// The shield is somebody else's.
    Nothing,
}

/// Only root, or the user of the process, may have it put somewhere.
fn enter(host: &Host, held: &GuardianState, socket: &UnixStream, pid: i32) -> Result<(), String> {
    let raised = held.raised.as_ref().ok_or("there is no shield")?;
    let peer = rustix::net::sockopt::socket_peercred(socket).map_err(|error| error.to_string())?;
    let status = Host::new("/").read(format!("proc/{pid}/status")).unwrap_or_default();
    let owner = super::gaps::status_value(&status, "Uid")
        .and_then(|ids| ids.split_ascii_whitespace().next()?.parse().ok());
    if !peer.uid.is_root() && owner != Some(peer.uid.as_raw()) {
        return Err(format!("process {pid} is not yours"));
    }
    shield::enter(host, raised, pid)
}

/// That nobody listens any more is what we are for.
fn answer_with(socket: &mut UnixStream, answer: &Answer) {
    if let Ok(mut line) = serde_json::to_vec(answer) {
        line.push(b'\n');
        socket.write_all(&line).ok();
    }
}

fn begin(host: &Host, reader: &mut BufReader<UnixStream>) -> Result<(GuardianState, Answer)> {
    let mut line = String::new();
    reader.take(REQUEST_BYTES_MAX).read_line(&mut line)?;
    let request: GuardianRequest = serde_json::from_str(&line).context("this is no request")?;
    let mut store = Store::open(host)?;
    let mut notes = Vec::new();
    let mut extent = Extent::All;
    if !store.journal.begun.is_empty() {
        if store.journal.is_stale() {
            let restored = restore(host, &mut store)?;
            ensure!(
                restored.is_complete(),
                "what an earlier stillwell has left cannot be put back"
            );
            notes.push(format!(
                "an earlier stillwell was killed; {} files were put back first",
                restored.restored.len()
            ));
        } else {
            ensure!(
                request.isolate.is_some() && !request.tunes,
                "`stillwell system tune` has tuned this machine already; leave ⟦tune⟧ out, or run `stillwell system reset` first"
            );
            extent = Extent::Shield;
        }
    }
    if let (Extent::Shield, Some(raised)) = (&extent, store.journal.shield.clone()) {
        return borrow(host, store, &request, raised, notes);
    }
    let placement = request.isolate.as_ref().map(|isolate| place(host, isolate.cpus.as_deref()));
    let (placement, no_place) = match placement {
        Some(Err(why)) if request.isolate.as_ref().is_some_and(|i| i.cpus.is_none()) => {
            (None, Some(why))
        }
        other => (other.transpose().map_err(|why| anyhow!("{why}"))?, None),
    };
    let wanted = placement.as_ref().map(|placement| placement.shielded.clone());
    let knobs = wanted_knobs(&request, &extent)?;
    let bench = bench_cpus(host, wanted.as_deref().or(request.cpus.as_deref()));
    let bench = bench.map_err(|why| anyhow!("{why}"))?;
    store.begin(host, true, asking_user(), request.time_s)?;
    let mut planned = tune::plan(&Machine::new(host, bench), &knobs);
    let latency = hold_latency(host, &mut planned);
    let turned = tune::turn(host, &mut store, planned)?;
    notes.extend(unset(&turned, request.tunes));
    let n_set = turned.iter().map(|knob| knob.n_set).sum();
    let (mut raised, mut isolation) = (None, no_place.map(Isolation::none));
    if let (Some(placement), Some(isolate)) = (placement, &request.isolate) {
        let names = knobs.iter().map(|knob| knob.name.to_owned()).collect();
        let in_force = shield::put_in_force(host, &mut store, &placement, names, isolate)?;
        (raised, isolation) = (Some(in_force.0), Some(in_force.1));
    }
    let answer = Answer::Turned { n_set, notes, isolation: isolation.map(Box::new) };
    Ok((GuardianState { store, _latency: latency, extent, raised }, answer))
}

/// The knobs of `--tune`, and those that belong to a shield. Those that somebody has turned for longer are left to him.
fn wanted_knobs(request: &GuardianRequest, extent: &Extent) -> Result<Vec<&'static Knob>> {
    let asked = match (request.tunes || request.isolate.is_none(), &request.knobs) {
        (true, knobs) => tune::select(knobs.as_deref(), &[]).map_err(|why| anyhow!("{why}"))?,
        (false, _) => Vec::new(),
    };
    let of_shield = request.isolate.is_some() && matches!(extent, Extent::All);
    let is_wanted = |knob: &&'static Knob| {
        asked.iter().any(|asked| asked.name == knob.name)
            || (of_shield && shield::KNOBS.contains(&knob.name))
    };
    Ok(knobs().filter(is_wanted).collect())
}

/// What could not be set. What nobody has asked for by name and what this machine does not have is no news.
fn unset(turned: &[KnobResult], tunes: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for knob in turned {
        let name = knob.knob.name;
        if let (State::CannotSet { why }, true) = (&knob.state, tunes) {
            notes.push(format!("{name} cannot be set: {why}"));
        }
        notes.extend(knob.failed.iter().map(|(setting, why)| {
            format!("{name}: cannot write {:?} to /{}: {why}", setting.wanted, setting.path)
        }));
    }
    notes
}

/// Uses the shield of `stillwell shield on`.
fn borrow(
    host: &Host,
    store: Store,
    request: &GuardianRequest,
    mut raised: ShieldPlan,
    notes: Vec<String>,
) -> Result<(GuardianState, Answer)> {
    if let Some(asked) = request.isolate.as_ref().and_then(|isolate| isolate.cpus.clone()) {
        let is_inside = asked.iter().all(|cpu| raised.cpus.contains(cpu));
        ensure!(
            is_inside,
            "there is a shield of {} already; choose CPUs of it, or run `stillwell shield off` first",
            name_cpus(&raised.cpus)
        );
        raised.bound = asked;
    }
    let isolation = shield::verify(host, &raised, Vec::new());
    let expected =
        Isolation { partition: shield::expected_partition(&raised), ..isolation.clone() };
    if let Some(why) = shield::Watch::new(host, &expected).and_then(|watch| watch.lost()) {
        return Err(anyhow!(
            "the shield of {} was lost: {why}; run `stillwell shield off`, and on again",
            name_cpus(&raised.cpus)
        ));
    }
    let isolation = Some(Box::new(isolation));
    let held =
        GuardianState { store, _latency: None, extent: Extent::Nothing, raised: Some(raised) };
    Ok((held, Answer::Turned { n_set: 0, notes, isolation }))
}

/// The kernel keeps CPUs out of deep idle states as long as a descriptor is open, and forgets it with the process
/// (Documentation/power/pm_qos_interface.rst): better than files that have to be put back.
fn hold_latency(host: &Host, planned: &mut Vec<KnobPlan>) -> Option<std::fs::File> {
    let is_wanted = |planned: &KnobPlan| {
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
