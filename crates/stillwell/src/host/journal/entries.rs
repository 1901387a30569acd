//! The lines of a journal, and what they say together.

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::host::knobs::{File, Knob, knob};
use crate::host::shield::ShieldPlan;

/// Of the format of the journal.
pub(super) const VERSION: u32 = 1;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum JournalEntry {
    /// Somebody starts to tune.
    Begin(Begin),
    /// These files change by themselves when the knob is turned.
    Keep { knob: String, files: Vec<SavedFile> },
    /// This is about to be written.
    Change { knob: String, path: String, old: String, new: String, identity: Option<String> },
    /// What these files hold after a knob was turned, though nobody wrote that.
    Seen { files: Vec<(String, String)> },
    /// All that was asked for has been tried.
    Done,
    /// This shield is about to be made.
    Raise(ShieldPlan),
    /// There is none any more.
    Lowered,
    /// These were put back, and are nobody's concern any more.
    Forgotten { paths: Vec<String> },
    /// These are about to be put back: whatever they hold from now on is our doing.
    Restoring { paths: Vec<String> },
}

/// A file as it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedFile {
    /// Below the root.
    pub path: String,
    /// All bytes.
    pub old: String,
    /// What the file is about, where its path may come to mean something else: the devices of an interrupt, the start
    /// of a process.
    pub identity: Option<String>,
}

/// Who tunes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    pub(super) version: u32,
    pub(super) boot_id: String,
    /// Process that turns the knobs.
    pub pid: u32,
    /// When it started, in clock ticks since boot (proc_pid_stat(5), field 22).
    pub start_ticks: u64,
    /// Whether it puts them back itself when what it was started for is over.
    pub scoped: bool,
    /// Who asked for it.
    pub user_id: u32,
    /// Seconds since 1970.
    pub time_s: i64,
}

/// A file that was changed, or that changed by itself.
#[derive(Clone, Debug)]
pub struct Item {
    /// The knob that is allowed to write it.
    pub knob: &'static Knob,
    /// Its row in the table.
    pub file: &'static File,
    /// What was there first, and where.
    pub kept: SavedFile,
    /// What we have written or seen since.
    pub ours: Vec<String>,
    /// Whether it was written; if not, it only changes with others.
    pub is_written: bool,
    /// Whether a knob is being turned that changes it: whatever it holds now is our doing.
    pub is_pending: bool,
    /// Whether putting it back has begun.
    pub is_restoring: bool,
}

/// All that is changed on the machine.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    /// Who has tuned; the first one is the oldest.
    pub begun: Vec<Begin>,
    /// What, in order.
    pub items: Vec<Item>,
    /// The shield.
    pub shield: Option<ShieldPlan>,
    /// Whether the last one came to its end.
    pub is_done: bool,
}

impl Journal {
    /// Whether its owner is gone without having put back what it should have. To be asked under the lock: whoever
    /// tunes only while something runs holds it all the time.
    pub fn is_stale(&self) -> bool {
        !self.is_done || self.begun.last().is_some_and(|begin| begin.scoped)
    }

    /// Whether a knob is being turned that changes other files.
    pub fn is_pending(&self) -> bool {
        self.items.iter().any(|item| item.is_pending)
    }

    /// The item of a path; of several that were about different things, the last.
    pub fn item(&self, path: &str) -> Option<&Item> {
        self.items.iter().rfind(|item| item.kept.path == path)
    }

    /// The state after one more line.
    pub(super) fn take(&mut self, entry: JournalEntry) -> Result<()> {
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
                    item.with_context(|| format!("{path:?} was seen but not kept"))?
                        .ours
                        .push(value);
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
            JournalEntry::Restoring { paths } => {
                for item in &mut self.items {
                    item.is_restoring |= paths.contains(&item.kept.path);
                }
            }
        }
        Ok(())
    }

    /// Whoever comes later does not replace the original, unless the path has come to mean something else.
    fn add(&mut self, name: &str, kept: SavedFile) -> Result<&mut Item> {
        let knob = knob(name).with_context(|| format!("there is no knob {name:?}"))?;
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
            });
            self.items.len() - 1
        });
        Ok(&mut self.items[index])
    }
}
