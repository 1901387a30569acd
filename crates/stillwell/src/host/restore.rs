//! Restores the files in the journal. It restores only files that still hold Stillwell's value. The order ensures
//! that no step undoes an earlier one. It continues after a failure.

use std::io;

use anyhow::Result;

use crate::host::Host;
use crate::host::absent::{self, Waiting};
use crate::host::journal::{Item, Store};
use crate::host::knobs::Undo;
use crate::host::processes::pid_of;
use crate::host::shield::{self, ShieldPlan};
use crate::host::unplug;
use crate::values::{name_cpus, read_cpu_list};
use crate::words::reason;

/// One round may not be enough, because the kernel adjusts limits to one another.
const ROUNDS: usize = 3;

/// The outcome of a restoration.
#[derive(Debug, Default)]
pub struct Restoration {
    /// The removed shield.
    pub lowered: Option<ShieldPlan>,
    /// Changed files that hold their original value again.
    pub restored: Vec<String>,
    /// Files that another program has changed since. Stillwell leaves them alone.
    pub foreign: Vec<Foreign>,
    /// Files that no longer exist, or that now belong to another device.
    pub gone: Vec<String>,
    /// Files that wait for a CPU that is offline. They stay in the journal.
    pub waiting: Vec<Waiting>,
    /// Files that could not be restored, and the reasons.
    pub failed: Vec<(String, String)>,
}

/// A file that another program has changed.
#[derive(Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Path below the root.
    pub path: String,
    /// Current value.
    pub now: String,
    /// Original value.
    pub old: String,
}

impl Foreign {
    /// Says that it was changed after an earlier tuning, and was tuned again.
    pub fn between_two_tunes(&self) -> String {
        format!(
            "/{} was changed to {:?} by somebody else since it was tuned, and is tuned again; `stillwell system reset` puts \
             back {:?}",
            self.path, self.now, self.old
        )
    }
}

impl Restoration {
    /// True if everything is restored that can be restored now, except files that another program has changed.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Sentences about the files that wait, one for each list of CPUs.
    pub fn waits(&self) -> Vec<String> {
        let mut lists: Vec<&[usize]> =
            self.waiting.iter().map(|file| file.cpus.as_slice()).collect();
        lists.sort_unstable();
        lists.dedup();
        let sentence = |cpus: &[usize]| {
            let n_files = self.waiting.iter().filter(|file| file.cpus == cpus).count();
            let (are, files) = (
                if cpus.len() == 1 { "is" } else { "are" },
                if n_files == 1 { "file waits" } else { "files wait" },
            );
            format!(
                "{} {are} offline: {n_files} {files} for that; `stillwell system reset` puts them back when it is online again",
                name_cpus(cpus)
            )
        };
        lists.into_iter().map(sentence).collect()
    }

    /// True if nothing waits either.
    pub fn is_over(&self) -> bool {
        self.is_complete() && self.waiting.is_empty()
    }
}

/// The state of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// It has its original value.
    Original,
    /// It has Stillwell's value, or a value that the kernel set in consequence.
    Ours,
    /// It has another program's value.
    Foreign(String),
    /// It does not exist.
    Missing,
    /// It exists, but belongs to something else.
    Replaced,
}

/// Restores everything. Removes the journal unless a file could not be restored.
///
/// # Errors
/// The journal cannot be written.
pub fn restore(host: &Host, store: &mut Store) -> Result<Restoration> {
    restore_some(host, store, |_| true)
}

/// Removes the shield and restores the knobs that were turned for it. Other knobs stay as they are.
///
/// # Errors
/// The journal cannot be written.
pub fn take_down(host: &Host, store: &mut Store) -> Result<Restoration> {
    let knobs = store.journal.shield.as_ref().map(|raised| raised.knobs.clone());
    let knobs = knobs.unwrap_or_default();
    restore_some(host, store, |item| knobs.iter().any(|name| name == item.knob.name))
}

/// Removes the shield and restores the selected files. Removes the journal if it is then empty.
///
/// # Errors
/// The journal cannot be written.
pub(super) fn restore_some(
    host: &Host,
    store: &mut Store,
    is_wanted: impl Fn(&Item) -> bool,
) -> Result<Restoration> {
    let mut result = Restoration::default();
    // The shield goes first: while it exists, tasks and interrupts cannot return to its CPUs.
    if let Some(raised) = store.journal.shield.clone() {
        let cache = shield::give_cache_back(host, &raised);
        result.foreign = foreign(cache.foreign);
        result.failed = cache.failed;
        result.failed.extend(shield::lower(host, &raised));
        if result.failed.is_empty() {
            store.lowered();
            result.lowered = Some(raised);
        }
    }
    let items = store.journal.items.iter().filter(|item| is_wanted(item)).cloned().collect();
    let paths = restore_items(host, store, items, &mut result)?;
    let is_whole = paths.len() == store.journal.items.len();
    // Sets of CPUs take only CPUs that are online, and a write to a set changes the masks of its tasks.
    if let Some(unplugged) = store.journal.unplugged.clone().filter(|_| is_whole) {
        let left = unplug::put_back(host, &unplugged);
        result.foreign.extend(foreign(left.foreign));
        if left.failed.is_empty() && left.waiting.is_empty() {
            store.plugged();
        }
        result.waiting.extend(left.waiting);
        result.failed.extend(left.failed);
    }
    if result.is_complete() {
        let waiting: Vec<String> = result.waiting.iter().map(|file| file.path.clone()).collect();
        if is_whole && result.waiting.is_empty() && store.journal.unplugged.is_none() {
            store.remove()?;
        } else {
            store.forget(paths.into_iter().filter(|path| !waiting.contains(path)).collect());
            store.waiting(waiting);
        }
    }
    Ok(result)
}

fn foreign(files: Vec<(String, String, String)>) -> Vec<Foreign> {
    files.into_iter().map(|(path, now, old)| Foreign { path, now, old }).collect()
}

/// Restores these files and returns their paths.
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
    let brings_tunables = items
        .iter()
        .zip(&standings)
        .any(|(item, standing)| item.file.undo == Undo::Governor && *standing == FileState::Ours);
    let mut ours = Vec::new();
    for (item, standing) in items.into_iter().zip(standings) {
        let path = item.kept.path.clone();
        match standing {
            FileState::Original => {
                // Restoring other files may change it.
                ours.push((item, false));
            }
            FileState::Ours => ours.push((item, true)),
            // The files of a CPU return with the CPU.
            FileState::Missing if brings_cpus => ours.push((item, true)),
            FileState::Missing if brings_tunables && item.file.undo == Undo::Tunables => {
                ours.push((item, true));
            }
            FileState::Missing if let Some(waiting) = absent::of_path(host, &path) => {
                result.waiting.push(waiting);
            }
            FileState::Missing | FileState::Replaced => result.gone.push(path),
            FileState::Foreign(now) => {
                let old = item.kept.old.trim_end().to_owned();
                result.foreign.push(Foreign { path, now, old });
            }
        }
    }
    if ours.iter().any(|(_, is_changed)| *is_changed) {
        store.restoring(ours.iter().map(|(item, _)| item.kept.path.clone()).collect());
    }
    let begin = store.journal.begun.first();
    let online_before = begin.and_then(|begin| read_cpu_list(&begin.online)).unwrap_or_default();
    put_back(host, ours, &online_before, result);
    Ok(paths)
}

fn put_back(
    host: &Host,
    ours: Vec<(Item, bool)>,
    online_before: &[usize],
    result: &mut Restoration,
) {
    let mut errors: Vec<Option<io::Error>> = ours.iter().map(|_| None).collect();
    for round in 0..ROUNDS {
        let mut is_quiet = true;
        for (index, (item, _)) in ours.iter().enumerate() {
            match now(host, item) {
                Some(now) if item.file.format.same(&now, &item.kept.old) => {
                    // The kernel may not show a write from just before a kill yet.
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
        let now = now(host, &item);
        let left_out = now
            .as_deref()
            .and_then(|now| {
                let file = (path.as_str(), item.file.format);
                absent::left_out(host, file, &item.kept.old, now, online_before)
            })
            .or_else(|| absent::of_path(host, &path).filter(|_| now.is_none()));
        if let Some(waiting) = left_out {
            result.waiting.push(waiting);
            continue;
        }
        match now {
            None => result.gone.push(path),
            Some(now) if holds_old(&item, &now) => {
                result.restored.extend(is_changed.then_some(path));
            }
            // It moved with a CPU, and the kernel refuses to move it: EPERM since Linux 6.12, EIO before.
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

/// Tells if the error means an interrupt (kernel/irq/proc.c) or a kernel thread that cannot be moved
/// (`PF_NO_SETAFFINITY` in `__sched_setaffinity()`).
pub(super) fn is_unmovable(path: &str, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::EIO | libc::EPERM) => path.starts_with("proc/irq/"),
        Some(libc::EINVAL) => pid_of(path).is_some(),
        _ => false,
    }
}

/// Describes the kernel's error, and its cause if known.
pub(super) fn explain(path: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        // `store_no_turbo()` in drivers/cpufreq/intel_pstate.c. A user without root fails at open instead: EACCES.
        Some(libc::EPERM) if path.ends_with("/no_turbo") => {
            format!("{}: turbo is off in the BIOS, or the processor has none", reason(error))
        }
        Some(libc::EROFS) => {
            let mount = path.split('/').next().unwrap_or(path);
            format!("/{mount} is mounted read-only; run `mount -o remount,rw /{mount}` first")
        }
        _ => reason(error),
    }
}

/// Returns the content of a file. `None` also when the file now belongs to something else.
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
        || item.is_waiting
        || item.is_pending
        || item.ours.iter().any(|ours| host.is_still(item.file.format, ours, &now));
    if is_ours { FileState::Ours } else { FileState::Foreign(now) }
}
