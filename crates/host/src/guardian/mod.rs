//! The guardian: a process that turns the knobs and restores them when the front end ends.
//!
//! The guardian holds one end of a socket. The kernel closes the other end however the front end dies, even after `kill -9`. The
//! guardian is a session leader, blocks all signals that can be blocked and raises its limits, so it survives the
//! events that end the front end.
//!
//! The front end sends names of knobs and numbers of CPUs, but never a path: the guardian may have more rights.

mod front_end;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context as _, Error, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};

use crate::files::Foreign;
use crate::journal::{Store, asking_user};
use crate::knobs::{Knob, Machine, State, bench_cpus, knobs};
use crate::restore::{Aftermath, Extent, put_back, restore, undo};
use crate::shield::{self, Isolation, Placement, ShieldPlan, place};
use crate::tune::{self, KnobPlan, KnobResult};
use crate::{Host, fault, shielding, sys};
use model::prose::prose;
use model::values::{exit_code, name_cpus};
use model::words::{in_words, reason};

pub use front_end::Guardian;

/// Longest wake-up time while a benchmark runs, µs, as in the knob `idle-states`.
const LATENCY_US: i32 = 10;
/// Limit on a request, which has only names of knobs and numbers of CPUs.
const REQUEST_BYTES_MAX: u64 = 1 << 20;

/// The front end's request, in one line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardianRequest {
    pub cpus: Option<Vec<usize>>,
    /// Names of knobs; `None` selects the default ones.
    pub knobs: Option<Vec<String>>,
    /// Whether `--tune` requests the knobs. If not, only the shield needs its own knobs.
    #[serde(default)]
    pub tunes: bool,
    #[serde(default)]
    pub isolate: Option<shield::ShieldRequest>,
    /// Time of the request, in seconds since 1970.
    pub time_s: i64,
}

/// Orders that may follow the request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GuardianOrder {
    /// Move this process into the shield.
    Enter(i32),
}

/// The guardian's answer, in one line: one after turning the knobs, one after each order and one at the end.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// The knobs are turned. The notes list knobs that could not be set, and other news for the user.
    Turned { n_set: usize, notes: Vec<String>, isolation: Option<Box<Isolation>> },
    /// Why the knobs or the shield cannot be had. The aftermath tells whether the attempt changed anything, and whether
    /// that is put back.
    Failed { why: String, aftermath: Aftermath },
    /// The process is inside the shield.
    Entered,
    /// Why the order is refused. Everything stays as it is.
    Refused(String),
    /// The session is over, and everything is restored but `left`: files with reasons. The notes list other news.
    Restored { notes: Vec<String>, left: Vec<(String, String)> },
}

/// Serves the front end on standard input until it closes. Returns an exit code. Errors: standard input is not a
/// socket.
pub fn serve(root: &Path) -> Result<u8> {
    sys::survive();
    rustix::thread::set_name(c"stillwell-guard").ok();
    let is_lent = super::invoking_user().is_some();
    ensure!(
        root == Path::new("/") || !is_lent,
        "rights of somebody else are for this machine only"
    );
    let socket = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    attend(&Host::new(root), socket)
}

/// Serves the front end at the other end of this socket.
pub(super) fn attend(host: &Host, mut socket: UnixStream) -> Result<u8> {
    let mut reader = BufReader::new(socket.try_clone()?);
    let mut held = match begin(host, &mut reader) {
        Ok((held, answer)) => {
            send(&mut socket, &answer);
            held
        }
        Err((error, aftermath)) => {
            send(&mut socket, &Answer::Failed { why: in_words(&error), aftermath });
            return Ok(exit_code::ERROR);
        }
    };
    let mut line = String::new();
    while (&mut reader).take(REQUEST_BYTES_MAX).read_line(&mut line).is_ok_and(|n| n > 0) {
        let answer = match serde_json::from_str(&line) {
            Ok(GuardianOrder::Enter(pid)) => enter(host, &held, &socket, pid),
            Err(error) => Err(reason(error)),
        };
        send(&mut socket, &answer.map_or_else(Answer::Refused, |()| Answer::Entered));
        line.clear();
    }
    let restored = put_back(host, &mut held.store, &held.extent);
    let mut notes = restored.waits();
    notes.extend(restored.foreign.iter().map(|foreign| {
        format!(
            "left alone: /{} holds {:?}, which stillwell did not write",
            foreign.path, foreign.now
        )
    }));
    let is_over = restored.is_over();
    send(&mut socket, &Answer::Restored { notes, left: restored.failed });
    Ok(if is_over { exit_code::SUCCESS } else { exit_code::CHECK_FAILED })
}

struct GuardianState {
    store: Store,
    _latency: Option<std::fs::File>,
    extent: Extent,
    raised: Option<ShieldPlan>,
}

/// Moves a process into the shield. Only root and the owner of the process may ask for it.
fn enter(host: &Host, held: &GuardianState, socket: &UnixStream, pid: i32) -> Result<(), String> {
    let peer = rustix::net::sockopt::socket_peercred(socket).map_err(reason)?;
    let status = Host::new("/").read(format!("proc/{pid}/status")).unwrap_or_default();
    if !may_move(peer.uid.as_raw(), &status) {
        return Err(format!("process {pid} is not yours"));
    }
    let raised = held.raised.as_ref().ok_or("there is no shield")?;
    shield::enter(host, raised, pid)
}

/// Whether a user may move a process, by the process's `/proc/PID/status`.
fn may_move(uid: u32, status: &str) -> bool {
    let owner = super::gaps::status_value(status, "Uid");
    let owner = owner.and_then(|ids| ids.split_ascii_whitespace().next()?.parse().ok());
    uid == 0 || owner == Some(uid)
}

/// Sends a line. It ignores errors: the guardian outlives its front end on purpose, and the front end notices a guardian
/// that has ended when no answer comes.
fn send(socket: &mut UnixStream, message: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(message) {
        line.push(b'\n');
        socket.write_all(&line).ok();
    }
}

/// Does what the front end requests. An error comes with what the attempt has left.
fn begin(
    host: &Host,
    reader: &mut BufReader<UnixStream>,
) -> Result<(GuardianState, Answer), (Error, Aftermath)> {
    let unchanged = |error: Error| (error, Aftermath::Unchanged);
    let request = read_request(reader).map_err(unchanged)?;
    let mut store = Store::open(host).map_err(unchanged)?;
    let mut notes = Vec::new();
    let mut is_shared = false;
    if store.journal.is_stale() {
        let restored = restore(host, &mut store);
        if !restored.is_complete() {
            let error = anyhow!("what an earlier stillwell has left comes first");
            return Err((error, Aftermath::of(&restored)));
        }
        if !restored.restored.is_empty() || restored.waiting.is_empty() {
            notes.push("what an earlier stillwell has left was put back first".into());
        }
        notes.extend(restored.waits());
    } else if !store.journal.begun.is_empty() {
        is_shared = true;
        if request.isolate.is_none() || request.tunes {
            return Err(unchanged(anyhow!(prose![
                "`stillwell system tune` has tuned this machine already; leave " Tune
                " out, or run `stillwell system reset` first"
            ])));
        }
        if let Some(raised) = store.journal.shield.clone() {
            return borrow(host, store, &request, raised, notes).map_err(unchanged);
        }
    }
    let wanted = choose(host, &request, is_shared).map_err(unchanged)?;
    let extent = if is_shared { Extent::Shield(Vec::new()) } else { Extent::All };
    match change(host, &mut store, &request, wanted, notes) {
        Ok((_latency, raised, answer)) => {
            Ok((GuardianState { store, _latency, extent, raised }, answer))
        }
        Err(error) => {
            let aftermath = undo(host, &mut store, &extent);
            Err((error, aftermath))
        }
    }
}

fn read_request(reader: &mut BufReader<UnixStream>) -> Result<GuardianRequest> {
    let mut line = String::new();
    reader.take(REQUEST_BYTES_MAX).read_line(&mut line)?;
    serde_json::from_str(&line).context("this is no request")
}

struct Wanted {
    knobs: Vec<&'static Knob>,
    bench: Vec<usize>,
    /// The place of a shield, or why there is none.
    placement: Option<Result<Placement, String>>,
}

/// Chooses knobs and CPUs, without changing anything.
fn choose(host: &Host, request: &GuardianRequest, is_shared: bool) -> Result<Wanted> {
    let placement = match &request.isolate {
        None => None,
        Some(isolate) => match place(host, isolate.cpus.as_deref(), &isolate.hidden_siblings) {
            Err(why) if isolate.cpus.is_some() => return Err(anyhow!(why)),
            other => Some(other),
        },
    };
    let shielded = match &placement {
        Some(Ok(placement)) => Some(placement.shielded.as_slice()),
        _ => None,
    };
    let bench = bench_cpus(host, shielded.or(request.cpus.as_deref()))?;
    // A session that has tuned the machine for longer keeps its knobs.
    let knobs = if is_shared { Vec::new() } else { wanted_knobs(request)? };
    Ok(Wanted { knobs, bench, placement })
}

/// Turns the knobs and makes the shield. Errors: the journal cannot be written, or a part of a shield cannot be taken
/// away. The caller puts everything back. The result holds the limit on idle states and the shield.
fn change(
    host: &Host,
    store: &mut Store,
    request: &GuardianRequest,
    wanted: Wanted,
    mut notes: Vec<String>,
) -> Result<(Option<std::fs::File>, Option<ShieldPlan>, Answer)> {
    store.begin(host, true, asking_user(), request.time_s)?;
    let mut planned = tune::plan(&Machine::new(host, wanted.bench), &wanted.knobs);
    let latency = hold_latency(host, &mut planned);
    let turned = tune::turn(host, store, planned)?;
    notes.extend(unset(&turned, request.tunes));
    let n_set = turned.iter().map(|knob| knob.n_set).sum();
    let (raised, isolation) = match (wanted.placement, &request.isolate) {
        (Some(Ok(placement)), Some(isolate)) => {
            let names = wanted.knobs.iter().map(|knob| knob.name.to_owned()).collect();
            let in_force = shielding::put_in_force(host, store, &placement, names, isolate)?;
            (Some(in_force.0), Some(Box::new(in_force.1)))
        }
        (Some(Err(why)), _) => (None, Some(Box::new(Isolation::none(why)))),
        _ => (None, None),
    };
    Ok((latency, raised, Answer::Turned { n_set, notes, isolation }))
}

/// The knobs of `--tune` and of a shield.
fn wanted_knobs(request: &GuardianRequest) -> Result<Vec<&'static Knob>> {
    let asked = match request.tunes || request.isolate.is_none() {
        true => tune::select(request.knobs.as_deref(), &[]).map_err(|why| anyhow!(why))?,
        false => Vec::new(),
    };
    let is_wanted = |knob: &&'static Knob| {
        asked.iter().any(|asked| asked.name == knob.name)
            || (request.isolate.is_some() && shield::KNOBS.contains(&knob.name))
    };
    Ok(knobs().filter(is_wanted).collect())
}

/// The knobs that could not be set, without those that the user did not request or this machine lacks.
fn unset(turned: &[KnobResult], tunes: bool) -> Vec<String> {
    let mut notes = Vec::new();
    for knob in turned {
        let name = knob.knob.name;
        notes.extend(knob.foreign.iter().map(Foreign::between_two_tunes));
        if let (State::CannotSet { why }, true) = (&knob.state, tunes) {
            notes.push(format!("{name} cannot be set: {why}"));
        }
        notes.extend(knob.failed.iter().map(|(setting, why)| {
            format!("{name}: cannot write {:?} to /{}: {why}", setting.wanted, setting.path)
        }));
    }
    notes
}

/// Uses the shield that `stillwell shield on` made.
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

/// Keeps CPUs out of deep idle states while a descriptor is open. The kernel drops this limit when the process ends
/// (Documentation/power/pm_qos_interface.rst); files would have to be restored.
fn hold_latency(host: &Host, planned: &mut Vec<KnobPlan>) -> Option<std::fs::File> {
    let is_wanted = |planned: &KnobPlan| {
        planned.knob.name == "idle-states" && !planned.reading.settings.is_empty()
    };
    if !planned.iter().any(is_wanted) {
        return None;
    }
    let path = host.below_root("dev/cpu_dma_latency".as_ref());
    fault::changes("dev/cpu_dma_latency").ok()?;
    #[expect(clippy::disallowed_methods, reason = "a device of the kernel")]
    let mut file = std::fs::OpenOptions::new().write(true).open(path).ok()?;
    file.write_all(&LATENCY_US.to_ne_bytes()).ok()?;
    planned.retain(|planned| !is_wanted(planned));
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::may_move;

    #[test]
    fn only_root_and_the_owner_may_move_a_process() {
        // Real, effective, saved and file system ids: a setuid program of user 7.
        let status = "Name:\tx\nUid:\t7\t0\t0\t0\nGid:\t8\t8\t8\t8";
        assert_eq!([0, 7, 8, 9].map(|uid| may_move(uid, status)), [true, true, false, false]);
        // The process has ended.
        assert!(!may_move(7, ""));
    }
}
