//! The lines of a journal, and the state that they add up to.

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::knobs::{File, Knob, knob};
use crate::shield::ShieldPlan;

pub(super) const VERSION: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum JournalEntry {
    /// A session starts to tune.
    Begin(Begin),
    /// Files that the kernel will change when the knob is turned, with their values before.
    Keep { knob: String, files: Vec<SavedFile> },
    /// A write that is about to happen.
    Change { knob: String, path: String, old: String, new: String, identity: Option<String> },
    /// Values of files that the kernel changed after a knob was turned, or that a failed restoration has left.
    Seen { files: Vec<(String, String)> },
    /// The tuning is complete.
    Done,
    /// A shield that is about to be made, or whose knobs a tuning takes over.
    Raise(ShieldPlan),
    /// The shield is gone.
    Lowered,
    /// Files that were restored and need no more care.
    Forgotten { paths: Vec<String> },
    /// Files that wait for an offline CPU.
    Waiting { paths: Vec<String> },
    /// Files that are about to be restored. Until they are seen, Stillwell may have written any value to them.
    Restoring { paths: Vec<String> },
}

/// The version of a line that begins a session, whatever else a newer version has in it. `None` in another line.
pub(super) fn version_of(line: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct AnyEntry {
        begin: AnyBegin,
    }
    #[derive(Deserialize)]
    struct AnyBegin {
        version: u32,
    }
    serde_json::from_slice(line).ok().map(|AnyEntry { begin: AnyBegin { version } }| version)
}

/// A file and its original value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedFile {
    /// Path below the root.
    pub path: String,
    pub old: String,
    /// Identity of the subject, if the path may come to mean another one: an interrupt's devices, a process's start
    /// time.
    pub identity: Option<String>,
}

/// The session that tunes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    pub(super) version: u32,
    pub(super) boot_id: String,
    /// The process that turns the knobs.
    pub pid: u32,
    /// Start time of this process in clock ticks since boot (proc_pid_stat(5), field 22).
    pub start_ticks: u64,
    /// Whether the process restores the knobs itself when its benchmark ends.
    pub scoped: bool,
    pub user_id: u32,
    /// Start time of the session, in seconds since 1970.
    pub time_s: i64,
    #[serde(default)]
    pub online: String,
}

/// A file that Stillwell changed, or that the kernel changed with it.
#[derive(Clone, Debug)]
pub struct Item {
    /// The knob that may write the file.
    pub knob: &'static Knob,
    /// The file's row in the table of the knob.
    pub file: &'static File,
    /// The path and the original value.
    pub kept: SavedFile,
    /// Values that Stillwell has written or seen since.
    pub ours: Vec<String>,
    /// Whether Stillwell wrote the file. If not, the file only changes together with others.
    pub is_written: bool,
    /// Whether a knob that changes the file is being turned. If so, any value in it counts as ours.
    pub is_pending: bool,
    /// Whether Stillwell has begun to restore the file. If so, any value in it counts as ours.
    pub is_restoring: bool,
    /// Whether the file waits for its offline CPU. The kernel chooses the value when the CPU comes.
    pub is_waiting: bool,
}

/// All changes to the machine.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// The sessions that tuned, oldest first.
    pub begun: Vec<Begin>,
    /// The changed files, in the order of the changes.
    pub items: Vec<Item>,
    pub shield: Option<ShieldPlan>,
    /// Whether the last session finished.
    pub is_done: bool,
}

impl Journal {
    /// Whether an owner died before it restored its changes. The caller must hold the lock: a session that tunes only
    /// for a benchmark holds it until its end.
    pub fn is_stale(&self) -> bool {
        let is_left = |last: &Begin| !self.is_done || last.scoped || self.only_waits();
        self.begun.last().is_some_and(is_left)
    }

    /// Whether everything that is left waits for offline CPUs.
    fn only_waits(&self) -> bool {
        self.shield.is_none()
            && !self.items.is_empty()
            && self.items.iter().all(|item| item.is_waiting)
    }

    /// Whether the journal lists no change.
    pub fn is_untouched(&self) -> bool {
        self.items.is_empty() && self.shield.is_none()
    }

    /// Whether a knob that changes other files is being turned.
    pub fn is_pending(&self) -> bool {
        self.items.iter().any(|item| item.is_pending)
    }

    /// The item of a path: the last one, if the path has had several subjects.
    pub fn item(&self, path: &str) -> Option<&Item> {
        self.items.iter().rfind(|item| item.kept.path == path)
    }

    /// Updates the state with one more line. Errors: the line does not belong there. Whoever finds no session in a journal
    /// takes it for empty, so each change needs one.
    pub(super) fn take(&mut self, entry: JournalEntry) -> Result<()> {
        let has_begun = matches!(entry, JournalEntry::Begin(_)) || !self.begun.is_empty();
        ensure!(has_begun, "it does not begin with a session");
        match entry {
            JournalEntry::Begin(begin) => {
                ensure!(begin.version == VERSION, "it is of version {}", begin.version);
                self.begun.push(begin);
                self.is_done = false;
            }
            JournalEntry::Keep { knob, files } => {
                for kept in files {
                    self.add(&knob, kept)?.is_pending = true;
                }
            }
            JournalEntry::Change { knob, path, old, new, identity } => {
                let item = self.add(&knob, SavedFile { path, old, identity })?;
                item.ours.push(new);
                item.is_written = true;
            }
            JournalEntry::Seen { files } => {
                self.items.iter_mut().for_each(|item| item.is_pending = false);
                for (path, value) in files {
                    let item = self.items.iter_mut().rfind(|item| item.kept.path == path);
                    let item = item.with_context(|| format!("{path:?} was seen but not kept"))?;
                    item.ours.push(value);
                    (item.is_restoring, item.is_waiting) = (false, false);
                }
            }
            JournalEntry::Done => self.is_done = true,
            JournalEntry::Raise(raised) => {
                self.shield = Some(raised);
                self.is_done = false;
            }
            JournalEntry::Lowered => self.shield = None,
            JournalEntry::Forgotten { paths } => {
                self.items.retain(|item| !paths.contains(&item.kept.path));
            }
            JournalEntry::Waiting { paths } => {
                for item in &mut self.items {
                    item.is_waiting |= paths.contains(&item.kept.path);
                }
            }
            JournalEntry::Restoring { paths } => {
                for item in &mut self.items {
                    item.is_restoring |= paths.contains(&item.kept.path);
                }
            }
        }
        Ok(())
    }

    /// Adds a file. The first original stays, unless the path now means another subject.
    fn add(&mut self, name: &str, kept: SavedFile) -> Result<&mut Item> {
        let knob = knob(name).with_context(|| {
            format!(
                "there is no knob {name:?}; if another version of Stillwell tuned, run the `stillwell system reset` of \
                 that version"
            )
        })?;
        let path = &kept.path;
        let file = knob.file(path);
        let file = file.with_context(|| format!("{path:?} is no file of the knob {name:?}"))?;
        let is_same = |item: &Item| item.kept.path == *path && item.kept.identity == kept.identity;
        let index = self.items.iter().position(is_same);
        let index = index.unwrap_or_else(|| {
            self.items.push(Item {
                knob,
                file,
                kept,
                ours: Vec::new(),
                is_written: false,
                is_pending: false,
                is_restoring: false,
                is_waiting: false,
            });
            self.items.len() - 1
        });
        Ok(&mut self.items[index])
    }
}
