//! A knob: a row of the table, and the code that reads and compares it.

use crate::Host;
use crate::knobs::machine::Machine;
use crate::value_format::Format;
use model::prose::Prose;

#[derive(Debug)]
pub struct Knob {
    /// Name on the command line and in the journal.
    pub name: &'static str,
    pub group: Group,
    /// The noise that the knob removes; one sentence.
    pub noise: &'static str,
    /// Files that the knob may write, and files that change with them. Empty for a row that is only reported.
    pub files: &'static [File],
    /// The rights or features that writing needs.
    pub needs: &'static str,
    /// The evidence that the knob helps and can be restored.
    pub sure: Confidence,
    /// Whether `tune` turns the knob if the user names none. A machine counts as tuned even if other rows are not set.
    pub by_default: bool,
    /// The function that reads the knob.
    pub(super) look: fn(&Knob, &Machine<'_>) -> Reading,
}

/// The subject of a knob.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Clock frequency, idle states, power.
    Frequency,
    /// CPUs, and the programs and interrupts that run on them.
    Topology,
    /// Periodic work of the kernel.
    Kernel,
    /// Memory and address space.
    Memory,
}

/// The evidence for a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// We saw it work on a machine.
    Tested,
    /// We read it in the kernel's source or documentation.
    Documented,
}

/// A file of a knob, or a pattern for several files.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Path below the root. In a component, `#` stands for a number and `*` for any name.
    pub path: &'static str,
    pub format: Format,
    /// Place in the order of restoring.
    pub undo: Undo,
}

/// The order in which files are restored. It is not the reverse order of tuning: restoring turbo or the governor
/// changes files of later classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Undo {
    Workqueues,
    Turbo,
    /// The switch of each policy. The global switch sets it too, and the kernel refuses it while the global one is off.
    PolicyTurbo,
    Governor,
    /// The governor's own settings, which come with it.
    Tunables,
    Energy,
    Limits,
    Irqs,
    Settings,
    Daemons,
}

/// The state of a knob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The value is good.
    Fine { now: String },
    /// `tune` can change it.
    NotTuned { now: String, wanted: String },
    /// The value is bad, but `tune` cannot change it here.
    CannotSet { why: String },
    /// This machine does not have it.
    Absent { why: String },
    /// Stillwell only shows it. It gives `advice` if another value would be better.
    Reported { now: String, advice: Option<Prose> },
}

/// A write to a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Setting {
    /// Below the root.
    pub path: String,
    /// The present value.
    pub now: String,
    /// The value to write.
    pub wanted: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    pub state: State,
    /// The writes of `tune`, in this order. Empty unless the knob is not tuned.
    pub settings: Vec<Setting>,
    /// Files that the kernel changes with these writes. The journal saves them first.
    pub companions: Vec<String>,
    /// Whether companions were looked for.
    pub has_companions: bool,
}

impl Knob {
    /// Reads the knob on a machine. It never fails and never writes.
    pub fn read(&self, machine: &Machine<'_>) -> Reading {
        let mut reading = (self.look)(self, machine);
        let sealed = reading.settings.iter().find_map(|setting| machine.sealed_by(&setting.path));
        if let Some(mount) = sealed {
            let why = format!("{mount} is mounted read-only here, as in a container");
            reading = Reading::only(State::CannotSet { why });
        }
        reading
    }

    /// The row of a path, or `None` if this knob may not write it.
    pub fn file(&self, path: &str) -> Option<&'static File> {
        self.files.iter().find(|file| file.matches(path))
    }

    /// Compares existing files with the values that they should hold. `absent`: the reason if all are missing.
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
        Reading { state, settings, companions: Vec::new(), has_companions: false }
    }
}

impl Reading {
    /// A reading with nothing to write.
    pub(super) fn only(state: State) -> Self {
        Self { state, settings: Vec::new(), companions: Vec::new(), has_companions: false }
    }

    pub(super) fn absent(why: impl Into<String>) -> Self {
        Self::only(State::Absent { why: why.into() })
    }

    pub(crate) fn cannot(why: impl Into<String>) -> Self {
        Self::only(State::CannotSet { why: why.into() })
    }

    pub(super) fn reported(now: impl Into<String>) -> Self {
        Self::only(State::Reported { now: now.into(), advice: None })
    }

    pub(super) fn advised(now: impl Into<String>, advice: impl Into<Prose>) -> Self {
        Self::only(State::Reported { now: now.into(), advice: Some(advice.into()) })
    }

    /// Adds files to save before anything is written.
    pub(super) fn keeping(mut self, companions: impl IntoIterator<Item = String>) -> Self {
        if !self.settings.is_empty() {
            self.companions.extend(companions);
            self.has_companions = true;
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

pub(super) fn distinct<'a>(values: impl Iterator<Item = &'a String>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for value in values {
        if !seen.contains(&value.as_str()) {
            seen.push(value);
        }
    }
    seen.join(", ")
}
