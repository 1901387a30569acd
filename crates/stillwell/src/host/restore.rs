//! Putting back what the journal says: only what still holds what we wrote, in an order in which nothing undoes what
//! was put back before, going on past failures.

use std::io;

use anyhow::Result;

use crate::host::Host;
use crate::host::journal::{Item, Store};
use crate::host::knobs::Undo;

/// The kernel adjusts limits to one another, so one round may not be enough.
const ROUNDS: usize = 3;

/// What came of it.
#[derive(Debug, Default)]
pub struct Restored {
    /// Files that hold again what they held, though they had been changed.
    pub restored: Vec<String>,
    /// Files that somebody else has changed since; they are left alone.
    pub foreign: Vec<Foreign>,
    /// Files that are gone, or that now belong to another device.
    pub gone: Vec<String>,
    /// Files that could not be put back, and why.
    pub failed: Vec<(String, String)>,
}

/// A file that somebody else has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Below the root.
    pub path: String,
    /// What it holds.
    pub now: String,
    /// What it held at first.
    pub old: String,
}

impl Restored {
    /// Whether everything is as it was, except what belongs to somebody else now.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

/// How a file stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// As at first.
    Original,
    /// As we left it, or as the kernel made it because of us.
    Ours,
    /// Somebody else's.
    Foreign(String),
    /// Not there.
    Missing,
    /// There, but about something else.
    Replaced,
}

/// Puts everything back and removes the journal, unless something could not be put back.
///
/// # Errors
/// The journal cannot be written.
pub fn restore(host: &Host, store: &mut Store) -> Result<Restored> {
    let mut items = store.journal.items.clone();
    items.sort_by_key(|item| item.file.undo);
    let standings: Vec<Standing> = items.iter().map(|item| standing(host, item)).collect();
    let brings_cpus = items.iter().zip(&standings).any(|(item, standing)| {
        matches!(item.file.undo, Undo::Smt | Undo::Cpus) && *standing == Standing::Ours
    });
    let mut result = Restored::default();
    let mut ours = Vec::new();
    for (item, standing) in items.into_iter().zip(standings) {
        let path = item.kept.path.clone();
        match standing {
            Standing::Original => {
                // Others that are put back may change it.
                ours.push((item, false));
            }
            Standing::Ours => ours.push((item, true)),
            // The files of a CPU come back with it.
            Standing::Missing if brings_cpus => ours.push((item, true)),
            Standing::Missing | Standing::Replaced => result.gone.push(path),
            Standing::Foreign(now) => {
                let old = item.kept.old.trim_end().to_owned();
                result.foreign.push(Foreign { path, now, old });
            }
        }
    }
    if ours.iter().any(|(_, is_changed)| *is_changed) {
        store.restoring(ours.iter().map(|(item, _)| item.kept.path.clone()).collect())?;
    }
    put_back(host, ours, &mut result);
    if result.is_complete() {
        store.remove()?;
    }
    Ok(result)
}

fn put_back(host: &Host, ours: Vec<(Item, bool)>, result: &mut Restored) {
    let mut errors: Vec<Option<io::Error>> = ours.iter().map(|_| None).collect();
    for round in 0..ROUNDS {
        let mut is_quiet = true;
        for (index, (item, _)) in ours.iter().enumerate() {
            match now(host, item) {
                Some(now) if item.file.format.same(&now, &item.kept.old) => {
                    // What was written a moment before somebody was killed may not be shown yet.
                    let is_due = item.is_written && item.file.undo == Undo::Limits && round == 0;
                    if !is_due {
                        continue;
                    }
                }
                None => continue,
                Some(_) => is_quiet = false,
            }
            let written = host.write_knob(item.knob, &item.kept.path, &item.kept.old);
            errors[index] = written.err();
        }
        if is_quiet {
            break;
        }
    }
    let is_back =
        |item: &Item| now(host, item).is_none_or(|now| item.file.format.same(&now, &item.kept.old));
    host.wait_until(|| {
        let mut items = ours.iter().zip(&errors);
        items.all(|((item, _), error)| error.is_some() || is_back(item))
    });
    for ((item, is_changed), error) in ours.into_iter().zip(errors) {
        let path = item.kept.path.clone();
        match now(host, &item) {
            None => result.gone.push(path),
            Some(now) if item.file.format.same(&now, &item.kept.old) => {
                result.restored.extend(is_changed.then_some(path));
            }
            // It moved with a CPU, and the kernel lets nobody move it: EPERM since Linux 6.12, EIO before.
            Some(now) if !item.is_written && error.as_ref().is_some_and(is_unmovable) => {
                let old = item.kept.old.trim_end().to_owned();
                result.foreign.push(Foreign { path, now, old });
            }
            Some(now) => {
                let why =
                    error.map_or(format!("it still holds {now:?}"), |error| error.to_string());
                result.failed.push((path, why));
            }
        }
    }
}

/// Whether the kernel answers so for an interrupt that nobody may move (kernel/irq/proc.c).
pub(super) fn is_unmovable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EPERM))
}

fn now(host: &Host, item: &Item) -> Option<String> {
    host.read_item(item)
}

pub(super) fn standing(host: &Host, item: &Item) -> Standing {
    let Some(now) = now(host, item) else { return Standing::Missing };
    if host.identity(&item.kept.path) != item.kept.identity {
        return Standing::Replaced;
    }
    if item.file.format.same(&now, &item.kept.old) {
        return Standing::Original;
    }
    let is_ours = item.is_restoring
        || item.is_pending
        || item.ours.iter().any(|ours| item.file.format.is_still(ours, &now));
    if is_ours { Standing::Ours } else { Standing::Foreign(now) }
}
