//! The actions under a fault, as the command line does them, and what the user is told.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

use super::machines::knobs;
use super::*;
use crate::guardian::{self, GuardianRequest};
use crate::restore::{self, Aftermath, Reset, Restoration};
use crate::shield::ShieldRequest;
use crate::shielding;

/// CPU 1 is for the benchmark. CPU 3 is on its core.
const BENCH: usize = 1;

/// A user's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultVerb {
    Tune,
    Services,
    Reset,
    ShieldOn,
    ShieldOff,
    RunTune,
    RunIsolate,
}

/// Output for the user at the end.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) exit_code: u8,
    pub(super) text: String,
}

impl FaultVerb {
    pub(super) const ALL: [Self; 7] = [
        Self::Tune,
        Self::Services,
        Self::Reset,
        Self::ShieldOn,
        Self::ShieldOff,
        Self::RunTune,
        Self::RunIsolate,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tune => "`system tune`",
            Self::Services => "`system tune --only services`",
            Self::Reset => "`system reset`",
            Self::ShieldOn => "`shield on`",
            Self::ShieldOff => "`shield off`",
            Self::RunTune => "`run --tune`",
            Self::RunIsolate => "`run --isolate`",
        }
    }

    /// Whether a guardian acts for a front end.
    pub(super) fn has_guardian(self) -> bool {
        matches!(self, Self::RunTune | Self::RunIsolate)
    }

    /// Whether the changes are meant to stay.
    pub(super) fn stays(self) -> bool {
        matches!(self, Self::Tune | Self::Services | Self::ShieldOn)
    }

    /// Prepares the machine without a fault.
    pub(super) fn prepare(self, machine: &str, host: &Host) {
        match self {
            Self::Reset => {
                let knobs = knobs_of(self, machine);
                unlocked(|| tune::apply(host, vec![BENCH], &knobs, 0)).unwrap();
            }
            Self::ShieldOff => {
                unlocked(|| shielding::session::on(host, &request(), 0)).ok();
            }
            _ => {}
        }
    }

    pub(super) fn act(self, machine: &str, host: &Host) -> Told {
        match self {
            Self::Tune | Self::Services => {
                match tune::apply(host, vec![BENCH], &knobs_of(self, machine), 0) {
                    Ok(tuned) => Told::of(tuned.turned.iter().all(KnobResult::is_good), &[]),
                    Err(error) => Told::failed(&error),
                }
            }
            Self::Reset => match restore::reset(host) {
                Ok(Reset::Restored(restored)) => Told::restored(&restored, restored.is_over()),
                Ok(_) => Told::of(true, &[]),
                Err(error) => Told::failed(&error),
            },
            Self::ShieldOn => Told::made(shielding::session::on(host, &request(), 0)),
            Self::ShieldOff => match shielding::session::off(host) {
                Ok(Some(restored)) => Told::restored(&restored, restored.is_complete()),
                Ok(None) => match shielding::session::off_strays(host) {
                    Ok(_) => Told::of(true, &[]),
                    Err(error) => Told::failed(&error),
                },
                Err(error) => Told::failed(&error),
            },
            Self::RunTune | Self::RunIsolate => run(host, self, machine),
        }
    }
}

fn knobs_of(verb: FaultVerb, machine: &str) -> Vec<&'static Knob> {
    let names = match verb {
        FaultVerb::Services => &["irqbalance", "services"],
        _ => knobs(machine),
    };
    tune::select(Some(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()), &[])
        .unwrap()
}

fn request() -> ShieldRequest {
    ShieldRequest { cpus: None, balanced: false, hidden_siblings: Vec::new() }
}

/// A front end that asks for a guardian and ends at once. The guardian does everything before it looks at the socket
/// again, so one thread can be both.
fn run(host: &Host, verb: FaultVerb, machine: &str) -> Told {
    let tunes = verb == FaultVerb::RunTune;
    let knobs = || knobs_of(verb, machine).iter().map(|knob| knob.name.to_owned()).collect();
    let request = GuardianRequest {
        cpus: tunes.then(|| vec![BENCH]),
        knobs: tunes.then(knobs),
        tunes,
        isolate: (!tunes).then(request),
        time_s: 0,
    };
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut line = serde_json::to_vec(&request).unwrap();
    line.push(b'\n');
    (&ours).write_all(&line).unwrap();
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let reader = BufReader::new(ours.try_clone().unwrap());
    fault::front_end_is(ours);
    guardian::attend(host, theirs).unwrap();
    let answers: Vec<serde_json::Value> = reader
        .lines()
        .map_while(Result::ok)
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    heard(&answers)
}

/// The front end's view of the answers.
fn heard(answers: &[serde_json::Value]) -> Told {
    let last = answers.last().expect("the guardian answers");
    if let Some(failed) = last.get("Failed") {
        let aftermath: Aftermath = serde_json::from_value(failed["aftermath"].clone()).unwrap();
        let text = format!("{}; {}", failed["why"], aftermath.sentence());
        return Told { exit_code: 2, text };
    }
    let left: Vec<(String, String)> =
        serde_json::from_value(last["Restored"]["left"].clone()).unwrap();
    Told::of(left.is_empty(), &left)
}

impl Told {
    fn of(is_good: bool, left: &[(String, String)]) -> Self {
        let text = match left {
            [] => String::new(),
            left => Aftermath::Left(left.to_vec()).sentence(),
        };
        Self { exit_code: u8::from(!is_good), text }
    }

    fn failed(error: &anyhow::Error) -> Self {
        Self { exit_code: 2, text: format!("{error:#}") }
    }

    fn made<T>(made: anyhow::Result<T>) -> Self {
        match made {
            Ok(_) => Self::of(true, &[]),
            Err(error) => Self::failed(&error),
        }
    }

    /// The command line prints each reason with the files that it concerns.
    fn restored(restored: &Restoration, is_good: bool) -> Self {
        Self::of(is_good, &restored.failed)
    }
}
