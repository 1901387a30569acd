//! Putting back what the journal says: only what still holds what we wrote, in an order in which nothing undoes what
//! was put back before, going on past failures.

use std::io;

use anyhow::Result;

use crate::host::Host;
use crate::host::journal::{Item, Store};
use crate::host::knobs::Undo;
use crate::host::processes::pid_of;
use crate::host::shield::{self, ShieldPlan};

/// The kernel adjusts limits to one another, so one round may not be enough.
const ROUNDS: usize = 3;

/// What came of it.
#[derive(Debug, Default)]
pub struct Restoration {
    /// The shield that was taken away.
    pub lowered: Option<ShieldPlan>,
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

impl Restoration {
    /// Whether everything is as it was, except what belongs to somebody else now.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }
}

/// How a file stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileState {
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
pub fn restore(host: &Host, store: &mut Store) -> Result<Restoration> {
    restore_some(host, store, |_| true)
}

/// Takes the shield away, puts back the files that are wanted, and removes the journal if nothing is left in it.
///
/// # Errors
/// The journal cannot be written.
pub(super) fn restore_some(
    host: &Host,
    store: &mut Store,
    is_wanted: impl Fn(&Item) -> bool,
) -> Result<Restoration> {
    let mut result = Restoration::default();
    // First: while it is there, what it keeps off cannot go back to its CPUs.
    if let Some(raised) = store.journal.shield.clone() {
        result.failed = shield::lower(host, &raised);
        if result.failed.is_empty() {
            store.lowered()?;
            result.lowered = Some(raised);
        }
    }
    let items = store.journal.items.iter().filter(|item| is_wanted(item)).cloned().collect();
    let paths = restore_items(host, store, items, &mut result)?;
    if result.is_complete() {
        if paths.len() == store.journal.items.len() {
            store.remove()
        } else {
            store.forget(paths)
        }?;
    }
    Ok(result)
}

/// Returns which files these were.
fn restore_items(
    host: &Host,
    store: &mut Store,
    mut items: Vec<Item>,
    result: &mut Restoration,
) -> Result<Vec<String>> {
    let paths: Vec<String> = items.iter().map(|item| item.kept.path.clone()).collect();
    items.sort_by_key(|item| item.file.undo);
    let standings: Vec<FileState> = items.iter().map(|item| standing(host, item)).collect();
    let brings_cpus = items.iter().zip(&standings).any(|(item, standing)| {
        matches!(item.file.undo, Undo::Smt | Undo::Cpus) && *standing == FileState::Ours
    });
    let mut ours = Vec::new();
    for (item, standing) in items.into_iter().zip(standings) {
        let path = item.kept.path.clone();
        match standing {
            FileState::Original => {
                // Others that are put back may change it.
                ours.push((item, false));
            }
            FileState::Ours => ours.push((item, true)),
            // The files of a CPU come back with it.
            FileState::Missing if brings_cpus => ours.push((item, true)),
            FileState::Missing | FileState::Replaced => result.gone.push(path),
            FileState::Foreign(now) => {
                let old = item.kept.old.trim_end().to_owned();
                result.foreign.push(Foreign { path, now, old });
            }
        }
    }
    if ours.iter().any(|(_, is_changed)| *is_changed) {
        store.restoring(ours.iter().map(|(item, _)| item.kept.path.clone()).collect())?;
    }
    put_back(host, ours, result);
    Ok(paths)
}

fn put_back(host: &Host, ours: Vec<(Item, bool)>, result: &mut Restoration) {
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
    let holds_old = |item: &Item, now: &str| host.is_still(item.file.format, &item.kept.old, now);
    let is_back = |item: &Item| now(host, item).is_none_or(|now| holds_old(item, &now));
    host.wait_until(|| {
        let mut items = ours.iter().zip(&errors);
        items.all(|((item, _), error)| error.is_some() || is_back(item))
    });
    for ((item, is_changed), error) in ours.into_iter().zip(errors) {
        let path = item.kept.path.clone();
        match now(host, &item) {
            None => result.gone.push(path),
            Some(now) if holds_old(&item, &now) => {
                result.restored.extend(is_changed.then_some(path));
            }
            // It moved with a CPU, and the kernel lets nobody move it: EPERM since Linux 6.12, EIO before.
            Some(now)
                if !item.is_written
                    && error.as_ref().is_some_and(|error| is_unmovable(&path, error)) =>
            {
                let old = item.kept.old.trim_end().to_owned();
                result.foreign.push(Foreign { path, now, old });
            }
            Some(now) => {
                let why = error.map_or(format!("it still holds {now:?}"), |e| explain(&path, &e));
                result.failed.push((path, why));
            }
        }
    }
}

/// Whether the kernel answers so for an interrupt (kernel/irq/proc.c) or a thread of its own (`PF_NO_SETAFFINITY` in
/// `__sched_setaffinity()`) that nobody may move.
pub(super) fn is_unmovable(path: &str, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::EIO | libc::EPERM) => path.starts_with("proc/irq/"),
        Some(libc::EINVAL) => pid_of(path).is_some(),
        _ => false,
    }
}

/// The kernel's answer, and what is behind it where that is known.
pub(super) fn explain(path: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        // `store_no_turbo()` in drivers/cpufreq/intel_pstate.c; whoever is not root fails when the file is opened: EACCES.
        Some(libc::EPERM) if path.ends_with("/no_turbo") => {
            format!("{error}: turbo is off in the BIOS, or the processor has none")
        }
        _ => error.to_string(),
    }
}

/// What a file holds; `None` also when it is about something else by now.
fn now(host: &Host, item: &Item) -> Option<String> {
    let is_same = host.identity(&item.kept.path) == item.kept.identity;
    host.read_item(item).filter(|_| is_same)
}

pub(super) fn standing(host: &Host, item: &Item) -> FileState {
    let Some(now) = host.read_item(item) else { return FileState::Missing };
    if host.identity(&item.kept.path) != item.kept.identity {
        return FileState::Replaced;
    }
    if item.file.format.same(&now, &item.kept.old) {
        return FileState::Original;
    }
    let is_ours = item.is_restoring
        || item.is_pending
        || item.ours.iter().any(|ours| host.is_still(item.file.format, ours, &now));
    if is_ours { FileState::Ours } else { FileState::Foreign(now) }
}
