//! A knob: a row of the table, and how it is read and compared.

use crate::host::Host;
use crate::host::knobs::format::Format;
use crate::host::knobs::machine::Machine;

/// One row of the table.
#[derive(Debug)]
pub struct Knob {
    /// Its name on the command line and in the journal.
    pub name: &'static str,
    /// Where it is shown.
    pub group: Group,
    /// What noise it removes; one sentence.
    pub noise: &'static str,
    /// The files that it may write, and those that change when it writes. Empty for a row that is only reported.
    pub files: &'static [File],
    /// What writing it needs.
    pub needs: &'static str,
    /// How sure we are that it helps and is put back.
    pub sure: Confidence,
    /// Whether `tune` turns it without being asked for it by name. A row that is not wanted by default is no reason to
    /// call a machine "not tuned".
    pub by_default: bool,
    /// Reads it.
    pub(super) look: fn(&Knob, &Machine<'_>) -> Reading,
}

/// What a knob is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Clock frequency, idle states, power.
    Frequency,
    /// CPUs, and what runs on them.
    Topology,
    /// What the kernel does from time to time.
    Kernel,
    /// Memory and address space.
    Memory,
}

/// How sure we are of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Seen on a machine.
    Tested,
    /// Read in the kernel's source or documentation.
    Documented,
}

/// Files of a knob.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Path below the root. `#` in a component stands for a number, `*` for any name.
    pub path: &'static str,
    /// What it holds.
    pub format: Format,
    /// When it is put back.
    pub undo: Undo,
}

/// The order in which files are put back. Not the reverse of the order of tuning: bringing CPUs back, the turbo or the
/// governor changes files of the later classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undo {
    Workqueues,
    /// The whole machine's switch, and then single CPUs that had been offline before.
    Smt,
    Cpus,
    Turbo,
    /// The switch of each policy: the kernel refuses it while the global one is off, and sets it with that.
    PolicyTurbo,
    Governor,
    Energy,
    Limits,
    Irqs,
    Settings,
    Daemons,
}

/// How a knob stands.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// As it should be.
    Fine { now: String },
    /// `tune` can change it.
    NotTuned { now: String, wanted: String },
    /// It should be different, but cannot be set here.
    CannotSet { why: String },
    /// This machine does not have it.
    Absent { why: String },
    /// Only shown; `advice` when something could be better.
    Reported { now: String, advice: Option<String> },
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Setting {
    /// Below the root.
    pub path: String,
    /// What is in it.
    pub now: String,
    /// What is to be written.
    pub wanted: String,
}

/// A knob as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// In words.
    pub state: State,
    /// What `tune` would write, in this order; empty unless it is not tuned.
    pub settings: Vec<Setting>,
    /// Files that change by themselves when that is written, so they are saved before.
    pub companions: Vec<String>,
}

impl Knob {
    /// Reads it on a machine. Never fails and never writes.
    pub fn read(&self, machine: &Machine<'_>) -> Reading {
        let mut reading = (self.look)(self, machine);
        let sealed = reading.settings.iter().find_map(|setting| machine.sealed_by(&setting.path));
        if let Some(mount) = sealed {
            let why = format!("{mount} is mounted read-only here, as in a container");
            reading = Reading::only(State::CannotSet { why });
        }
        reading
    }

    /// The row of a path; `None` when this knob has no business with it.
    pub fn file(&self, path: &str) -> Option<&'static File> {
        self.files.iter().find(|file| file.matches(path))
    }

    /// A reading of files that should hold these values. Files that do not exist are left out; `absent` says why none
    /// of them may exist.
    pub(super) fn compare(
        &self,
        host: &Host,
        wanted: impl IntoIterator<Item = (String, String)>,
        absent: &str,
    ) -> Reading {
        let (mut all, mut settings) = (Vec::new(), Vec::new());
        let mut unreadable = None;
        for (path, wanted) in wanted {
            let file = self.file(&path).expect("a knob wants something of its own files only");
            let Some(now) = host.read_knob(file.format, &path) else {
                unreadable = unreadable.or_else(|| host.exists(&path).then_some(path));
                continue;
            };
            let is_fine = file.format.same(&now, &wanted);
            let setting = Setting { path, now, wanted };
            all.push(setting.clone());
            settings.extend((!is_fine).then_some(setting));
        }
        let state = match (all.is_empty(), settings.is_empty()) {
            (true, _) if let Some(path) = unreadable => State::CannotSet {
                why: format!("/{path} is there and cannot be read; some files only root may read"),
            },
            (true, _) => State::Absent { why: absent.to_owned() },
            (_, true) => State::Fine { now: distinct(all.iter().map(|s| &s.now)) },
            _ => State::NotTuned {
                now: distinct(all.iter().map(|s| &s.now)),
                wanted: distinct(settings.iter().map(|s| &s.wanted)),
            },
        };
        Reading { state, settings, companions: Vec::new() }
    }
}

impl Reading {
    /// Nothing to write.
    pub(super) fn only(state: State) -> Self {
        Self { state, settings: Vec::new(), companions: Vec::new() }
    }

    pub(super) fn absent(why: impl Into<String>) -> Self {
        Self::only(State::Absent { why: why.into() })
    }

    pub(super) fn cannot(why: impl Into<String>) -> Self {
        Self::only(State::CannotSet { why: why.into() })
    }

    pub(super) fn reported(now: impl Into<String>, advice: Option<&str>) -> Self {
        Self::only(State::Reported { now: now.into(), advice: advice.map(str::to_owned) })
    }

    /// Saves these before anything is written.
    pub(super) fn keeping(mut self, companions: impl IntoIterator<Item = String>) -> Self {
        if !self.settings.is_empty() {
            self.companions.extend(companions);
        }
        self
    }
}

impl File {
    pub(super) fn matches(&self, path: &str) -> bool {
        let (mut patterns, mut parts) = (self.path.split('/'), path.split('/'));
        loop {
            match (patterns.next(), parts.next()) {
                (None, None) => return true,
                (Some(pattern), Some(part)) if component_matches(pattern, part) => {}
                _ => return false,
            }
        }
    }
}

fn component_matches(pattern: &str, part: &str) -> bool {
    if pattern == "*" {
        return !matches!(part, "" | "." | "..");
    }
    let Some((before, after)) = pattern.split_once('#') else { return pattern == part };
    let number = part.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    number.is_some_and(|n| (1..=9).contains(&n.len()) && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Each value once, in order.
pub(super) fn distinct<'a>(values: impl Iterator<Item = &'a String>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for value in values {
        if !seen.contains(&value.as_str()) {
            seen.push(value);
        }
    }
    seen.join(", ")
}
