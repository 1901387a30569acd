//! The table of faults: for each verb and each of three machines, every call by which Stillwell reads or changes the
//! machine or its journal fails once, or the processes die there. Afterwards everything is as before, or the journal
//! has what is left and the user is told. A reset without a fault then puts everything back.
//!
//! [`crate::fault`] counts the calls: reading a file, listing a directory, asking for a file, writing a value; each
//! step of a journal line.

mod machines;
mod verbs;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

use super::*;
use crate::fault::{self, Fault, FaultPoints};
use crate::fixture::expand;
use crate::restore::{self, Reset};
use machines::MACHINES;
use verbs::{FaultVerb, Told};

const ERRORS: [i32; 5] = [libc::EIO, libc::ENOSPC, libc::EPERM, libc::EBUSY, libc::EMFILE];
const LASTING_ERRORS: [i32; 3] = [libc::EIO, libc::ENOSPC, libc::EFBIG];
/// Makes the test try every error at every call.
const ALL: &str = "STILLWELL_TEST_ALL_FAULTS";

/// The faults of a call: each death at each change, and the next error of the lists, once and lasting.
///
/// Stillwell does not tell the errors of a reading call apart: all but those of [`is_gone`](crate::is_gone) mean that
/// the file exists. So each such call gets one, once and lasting in turns. A process that dies before such a call leaves
/// the same as one that dies before the next change.
fn faults(verb: FaultVerb, at: usize, kind: FaultPoints) -> Vec<Fault> {
    let once = Fault::Once(ERRORS[at % ERRORS.len()]);
    let lasting = Fault::Lasting(LASTING_ERRORS[at % LASTING_ERRORS.len()]);
    let mut faults = match (std::env::var_os(ALL), kind) {
        (Some(_), _) => {
            let lasting = LASTING_ERRORS.map(Fault::Lasting);
            ERRORS.map(Fault::Once).into_iter().chain(lasting).collect()
        }
        (None, FaultPoints::Changes) => vec![once, lasting],
        (None, FaultPoints::All) => {
            return vec![if at.is_multiple_of(2) { once } else { lasting }];
        }
    };
    faults.push(Fault::Dies);
    if verb.has_guardian() {
        faults.extend([Fault::FrontEndDies, Fault::BothDie]);
    }
    faults
}

/// A machine with the imitation of the kernel, and its files.
struct Fixture {
    _directory: TempDir,
    root: std::path::PathBuf,
    before: BTreeMap<String, Vec<u8>>,
}

impl Fixture {
    fn new(name: &str) -> Self {
        let (directory, host) = expand(&machines::text(name));
        let host = kernel::with_kernel(host);
        let before = kernel::files(&host.root);
        Self { root: host.root, _directory: directory, before }
    }

    fn host(&self) -> Host {
        let mut host = Host::new(&self.root);
        host.kernel = Some(kernel::answer);
        host
    }
}

/// Whether a file is as before, but for the white space around it. Lists of tasks have no order.
fn is_same(path: &str, before: &[u8], now: &[u8]) -> bool {
    let lines = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).trim().to_owned();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if path.ends_with("/tasks") {
            lines.sort_unstable();
        }
        lines
    };
    before == now || lines(before) == lines(now)
}

/// The files that are not as before.
fn changed(fixture: &Fixture) -> Vec<String> {
    let now = kernel::files(&fixture.root);
    let is_changed = |path: &&String| match (fixture.before.get(*path), now.get(*path)) {
        (Some(before), Some(now)) => !is_same(path, before, now),
        _ => true,
    };
    let paths: BTreeSet<&String> = fixture.before.keys().chain(now.keys()).collect();
    paths.into_iter().filter(is_changed).cloned().collect()
}

/// The end of a cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Everything is as before, and there is no journal.
    PutBack,
    /// The verb succeeded without the file, and the journal has its changes.
    Done,
    /// The journal has what is left, and the user is told.
    Kept,
    /// The journal has what is left. All processes that could tell have died.
    Dead,
}

struct Row {
    verb: FaultVerb,
    machine: &'static str,
    n_calls: usize,
    /// The number of cells with each end.
    ends: [usize; 4],
    /// Faults of the others.
    wrong: Vec<String>,
}

impl Row {
    fn shown(&self) -> String {
        let [put_back, done, kept, dead] = self.ends;
        let (name, n_wrong) = (self.verb.name(), self.wrong.len());
        let n_cells = self.ends.iter().sum::<usize>() + n_wrong;
        format!(
            "| {name} | {} | {} | {n_cells} | {put_back} | {done} | {kept} | {dead} | {n_wrong} |",
            self.machine, self.n_calls
        )
    }
}

/// Acts under a fault, and returns what the user was told; `None` if this process died. The lock may be held as in
/// [`unlocked`].
fn act(row: &Row, host: &Host, at: u64, fault: Fault) -> (Option<Told>, Vec<FaultPoints>) {
    loop {
        fault::arm(FaultPoints::All, at, fault);
        let told = catch_unwind(AssertUnwindSafe(|| row.verb.act(row.machine, host)));
        let passed = fault::disarm();
        match told {
            Ok(told) if told.text.contains("another stillwell is tuning") => {}
            Ok(told) => return (Some(told), passed),
            Err(panic) if panic.downcast_ref() == Some(&fault::DEAD) => return (None, passed),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn without_fault(verb: FaultVerb, machine: &'static str, host: &Host) -> Told {
    let row = Row { verb, machine, n_calls: 0, ends: [0; 4], wrong: Vec::new() };
    act(&row, host, u64::MAX, Fault::Dies).0.expect("nothing dies")
}

/// Tries one cell. The error is what is wrong with it.
fn cell(fixture: &Fixture, row: &Row, at: u64, fault: Fault) -> Result<End, String> {
    let verb = row.verb;
    verb.prepare(row.machine, &fixture.host());
    let (told, _) = act(row, &fixture.host(), at, fault);
    let left = changed(fixture);
    let journal = fixture.root.join("run/stillwell/journal");
    let has_journal = std::fs::metadata(&journal).is_ok_and(|file| file.len() > 0);
    let end = match &told {
        _ if left.is_empty() && !journal.exists() => return Ok(End::PutBack),
        _ if left.is_empty() && !has_journal => Ok(End::PutBack),
        _ if !has_journal => Err(format!("{left:?} are left without a journal")),
        None => Ok(End::Dead),
        Some(_) if fault == Fault::FrontEndDies => Ok(End::Dead),
        Some(told) if verb.stays() && told.exit_code < 2 => Ok(End::Done),
        Some(told) if told.exit_code == 0 => Err(format!("{left:?} are left, exit code 0")),
        Some(told) if is_named(told) => Ok(End::Kept),
        Some(told) => Err(format!("{left:?} are left and not named: {}", told.text)),
    };
    match unlocked(|| restore::reset(&fixture.host())) {
        Ok(Reset::Restored(restored)) if !restored.is_over() || !restored.foreign.is_empty() => {
            return Err(format!("a reset has left something: {restored:?}"));
        }
        Ok(_) => {}
        Err(error) => return Err(format!("no reset is possible: {error:#}")),
    }
    let left = changed(fixture);
    if !left.is_empty() || journal.exists() {
        return Err(format!("after a reset {left:?} are left; told: {told:?}"));
    }
    end
}

/// Whether the user is told which file is left, what puts it back, or that the journal cannot be read.
fn is_named(told: &Told) -> bool {
    let names = ["cannot put back /", "stillwell system reset", "run/stillwell"];
    names.iter().any(|name| told.text.contains(name))
}

/// Fills a row: every fault at every call.
fn fill(row: &mut Row) {
    let mut fixture = Fixture::new(row.machine);
    row.verb.prepare(row.machine, &fixture.host());
    let (told, passed) = act(row, &fixture.host(), u64::MAX, Fault::Dies);
    assert!(told.is_some_and(|told| told.exit_code == 0), "{}", row.shown());
    unlocked(|| restore::reset(&fixture.host())).unwrap();
    assert_eq!(changed(&fixture), [""; 0], "{}", row.shown());
    row.n_calls = passed.len();
    for (at, kind) in passed.into_iter().enumerate() {
        for fault in faults(row.verb, at, kind) {
            match cell(&fixture, row, at as u64, fault) {
                Ok(end) => row.ends[end as usize] += 1,
                Err(why) => {
                    row.wrong
                        .push(format!("{}, {:?}, {fault:?} at {at}: {why}", row.machine, row.verb));
                    fixture = Fixture::new(row.machine);
                }
            }
        }
    }
}

/// Its guardian ends in order, so what `system tune` has changed stays for the next session.
#[test]
fn a_session_with_a_shield_leaves_the_tuning_of_before() {
    for machine in MACHINES {
        let mut fixture = Fixture::new(machine);
        let host = fixture.host();
        FaultVerb::Reset.prepare(machine, &host);
        let before = std::mem::replace(&mut fixture.before, kernel::files(&host.root));
        for verb in [FaultVerb::RunIsolate, FaultVerb::RunIsolate, FaultVerb::ShieldOff] {
            let told = without_fault(verb, machine, &host);
            assert_eq!(told.exit_code, 0, "{machine}, {verb:?}: {told:?}");
            assert_eq!(changed(&fixture), [""; 0], "{machine}, {verb:?}");
        }
        let told = without_fault(FaultVerb::RunTune, machine, &host).text;
        assert!(told.contains("has tuned this machine already"), "{told}");
        assert_eq!(without_fault(FaultVerb::Reset, machine, &host).exit_code, 0, "{machine}");
        fixture.before = before;
        assert_eq!(changed(&fixture), [""; 0], "{machine}");
    }
}

/// A shield turns some knobs of `system tune`. If both are there, the shield's end leaves them to the tuning.
#[test]
fn a_tuning_takes_over_what_a_shield_has_turned() {
    for machine in MACHINES {
        let tuned = Fixture::new(machine);
        FaultVerb::Reset.prepare(machine, &tuned.host());
        let mut fixture = Fixture::new(machine);
        let host = fixture.host();
        FaultVerb::ShieldOff.prepare(machine, &host);
        FaultVerb::Reset.prepare(machine, &host);
        let before = std::mem::replace(&mut fixture.before, kernel::files(&tuned.root));
        let told = without_fault(FaultVerb::ShieldOff, machine, &host);
        assert_eq!(told.exit_code, 0, "{machine}: {told:?}");
        assert_eq!(changed(&fixture), [""; 0], "{machine}");
        assert_eq!(without_fault(FaultVerb::Reset, machine, &host).exit_code, 0, "{machine}");
        fixture.before = before;
        assert_eq!(changed(&fixture), [""; 0], "{machine}");
    }
}

#[test]
fn whatever_fails_the_machine_is_put_back_or_the_user_is_told() {
    let all = FaultVerb::ALL.iter().flat_map(|verb| MACHINES.map(|machine| (*verb, machine)));
    let mut rows: Vec<Row> = all
        .map(|(verb, machine)| Row { verb, machine, n_calls: 0, ends: [0; 4], wrong: Vec::new() })
        .collect();
    rows.par_iter_mut().for_each(fill);
    println!(
        "| verb | machine | calls | cells | put back | done without it | kept and named | killed, kept | failed |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{}", row.shown()));
    let sum = |number: &dyn Fn(&Row) -> usize| rows.iter().map(number).sum::<usize>();
    let ends: Vec<usize> = (0..4).map(|end| sum(&|row| row.ends[end])).collect();
    let n_wrong = sum(&|row| row.wrong.len());
    let shown: Vec<String> = ends.iter().map(usize::to_string).collect();
    println!(
        "| all | | {} | {} | {} | {n_wrong} |",
        sum(&|row| row.n_calls),
        ends.iter().sum::<usize>() + n_wrong,
        shown.join(" | ")
    );
    let wrong: Vec<&str> = rows.iter().flat_map(|row| &row.wrong).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
    // No kind of end is missing from the table.
    assert!(ends.iter().all(|n| *n > 0), "{ends:?}");
}
