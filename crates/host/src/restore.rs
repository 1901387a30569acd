//! Restores the files in the journal that still hold Stillwell's value, in an order in which no step undoes an earlier
//! one. It continues after a failure.
//!
//! Whatever cannot be read is not gone: it stays in the journal, and so does everything that depends on it.

use std::io;

use anyhow::Result;

use crate::absent;
use crate::files::{Foreign, is_gone, reason_unread};
use crate::journal::{self, Distrusted, Item, Newer, Store};
use crate::knobs::Undo;
use crate::processes::pid_of;
use crate::{Host, shield};
use model::values::read_cpu_list;
use model::words::{in_words, reason};

pub use outcome::{Aftermath, Restoration};

mod outcome;

/// One round may not be enough, because the kernel adjusts limits to one another.
const ROUNDS: usize = 3;

/// The part of the changes that a session puts back.
#[derive(Debug)]
pub enum Extent {
    All,
    /// The shield, and these knobs that were turned for it. Another session has tuned the machine for longer.
    Shield(Vec<String>),
    /// Nothing. The shield belongs to another session.
    Nothing,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FileState {
    Original,
    /// Stillwell's value, or a value that the kernel set in consequence.
    Ours,
    /// Another program's value.
    Foreign(String),
    Missing,
    /// The file exists, but belongs to something else.
    Replaced,
    /// The file exists and cannot be read, for this reason.
    Unreadable(String),
}

/// The outcome of [`reset`].
#[derive(Debug)]
pub enum Reset {
    /// There is no journal, or one without a whole line.
    Nothing,
    /// The journal is of an earlier boot, and is set aside.
    OfAnotherBoot,
    Restored(Box<Restoration>),
}

/// Restores what the journal lists. Errors: another session is tuning, or the journal cannot be read.
pub fn reset(host: &Host) -> Result<Reset> {
    try_reset(host).map_err(|error| match error.is::<Distrusted>() || error.is::<Newer>() {
        // They have other remedies.
        true => error,
        false => error.context("nothing was put back; run `stillwell system reset` again"),
    })
}

fn try_reset(host: &Host) -> Result<Reset> {
    if journal::is_of_another_boot(host)? {
        // Opening sets it aside.
        Store::open(host)?;
        return Ok(Reset::OfAnotherBoot);
    }
    if journal::look(host)?.is_none() {
        return Ok(Reset::Nothing);
    }
    let mut store = Store::open(host)?;
    if store.journal.begun.is_empty() {
        return Ok(Reset::Nothing);
    }
    Ok(Reset::Restored(Box::new(restore(host, &mut store))))
}

/// Restores everything. Removes the journal unless something could not be restored.
pub fn restore(host: &Host, store: &mut Store) -> Restoration {
    put_back(host, store, &Extent::All)
}

/// Removes the shield and restores the knobs that were turned for it. Other knobs stay as they are.
pub fn take_down(host: &Host, store: &mut Store) -> Restoration {
    let raised = store.journal.shield.as_ref();
    let knobs = raised.map(|raised| raised.knobs.clone()).unwrap_or_default();
    put_back(host, store, &Extent::Shield(knobs))
}

/// Undoes a change that failed in the middle.
pub fn undo(host: &Host, store: &mut Store, extent: &Extent) -> Aftermath {
    let is_untouched = store.journal.is_untouched();
    let restored = put_back(host, store, extent);
    if matches!(extent, Extent::Shield(_)) && !store.journal.begun.is_empty() {
        // The tuning that goes on is whole. Without the line the next session only puts it back.
        store.done().ok();
    }
    if is_untouched && restored.is_complete() {
        Aftermath::Unchanged
    } else {
        Aftermath::of(&restored)
    }
}

/// Puts back a part of the changes. Removes the journal if nothing is left in it.
pub(super) fn put_back(host: &Host, store: &mut Store, extent: &Extent) -> Restoration {
    let mut result = Restoration::default();
    let of_shield = match extent {
        Extent::All => None,
        Extent::Shield(knobs) => Some(knobs),
        Extent::Nothing => return result,
    };
    let is_wanted =
        |item: &Item| of_shield.is_none_or(|knobs| knobs.iter().any(|name| name == item.knob.name));
    lower_shield(host, store, &mut result);
    let items = store.journal.items.iter().filter(|item| is_wanted(item)).cloned().collect();
    let (paths, unread) = host.watched(|| restore_items(host, store, items, &mut result));
    result.failed.extend(unread);
    let is_whole = paths.len() == store.journal.items.len();
    let waiting: Vec<String> = result.waiting.iter().map(|file| file.path.clone()).collect();
    if is_whole && result.is_over() {
        if let Err(error) = store.remove() {
            result.failed.push(("run/stillwell/journal".into(), in_words(&error)));
        }
    } else if result.is_complete() {
        store.forget(paths.into_iter().filter(|path| !waiting.contains(path)).collect());
        store.waiting(waiting);
        if of_shield.is_some() {
            store.resume();
        }
    } else {
        store.waiting(waiting.clone());
        note_left(host, store, &waiting);
    }
    result
}

/// Notes the values that a failed restoration has left. From now on any other value is another program's.
fn note_left(host: &Host, store: &mut Store, waiting: &[String]) {
    let (mut left, mut unread) = (Vec::new(), Vec::new());
    for item in &store.journal.items {
        let path = item.kept.path.clone();
        let is_open = item.is_restoring || item.is_pending || item.is_waiting;
        if !is_open || waiting.contains(&path) {
            continue;
        }
        match content(host, item) {
            Ok(Content::Text(now)) => left.push((path, now)),
            Ok(Content::Replaced) => {}
            // A file that is gone may come back with any value.
            Ok(Content::Gone) | Err(_) => unread.push(path),
        }
    }
    store.restoring(unread);
    // Without the line any value counts as ours, as before.
    store.saw(left).ok();
}

/// The shield goes first: while it exists, tasks and interrupts cannot return to its CPUs.
fn lower_shield(host: &Host, store: &mut Store, result: &mut Restoration) {
    let Some(raised) = store.journal.shield.clone() else { return };
    let (left, unread) = host.watched(|| shield::lower(host, &raised));
    result.failed.extend(left);
    result.failed.extend(unread);
    if result.failed.is_empty() {
        store.lowered();
        result.lowered = Some(raised);
    }
}

/// A file that is put back.
struct OwnItem {
    item: Item,
    /// Whether it holds our value, or is expected to. Restoring other files may change the rest.
    is_changed: bool,
}

/// Restores these files and returns their paths.
fn restore_items(
    host: &Host,
    store: &mut Store,
    mut items: Vec<Item>,
    result: &mut Restoration,
) -> Vec<String> {
    let paths: Vec<String> = items.iter().map(|item| item.kept.path.clone()).collect();
    items.sort_by_key(|item| item.file.undo);
    let standings: Vec<FileState> = items.iter().map(|item| standing(host, item)).collect();
    let brings_tunables = items
        .iter()
        .zip(&standings)
        .any(|(item, it)| item.file.undo == Undo::Governor && *it == FileState::Ours);
    let (mut ours, mut unreadable) = (Vec::new(), Vec::new());
    for (item, standing) in items.into_iter().zip(standings) {
        let path = item.kept.path.clone();
        match standing {
            FileState::Original => ours.push(OwnItem { item, is_changed: false }),
            FileState::Ours => ours.push(OwnItem { item, is_changed: true }),
            FileState::Missing if brings_tunables && item.file.undo == Undo::Tunables => {
                ours.push(OwnItem { item, is_changed: true });
            }
            FileState::Missing | FileState::Unreadable(_)
                if let Some(waiting) = absent::waiting_for(host, &item.kept.path) =>
            {
                result.waiting.push(waiting);
            }
            FileState::Missing | FileState::Replaced => result.gone.push(path),
            FileState::Unreadable(why) => {
                // Restoring other files may change it, and that is then ours too.
                unreadable.push(path.clone());
                result.failed.push((path, why));
            }
            FileState::Foreign(now) => {
                let old = item.kept.old.trim_end().to_owned();
                result.foreign.push(Foreign { path, now, old });
            }
        }
    }
    if ours.iter().any(|it| it.is_changed) {
        let paths = ours.iter().map(|it| it.item.kept.path.clone());
        store.restoring(paths.chain(unreadable).collect());
    }
    let begin = store.journal.begun.first();
    let online_before = begin.and_then(|begin| read_cpu_list(&begin.online)).unwrap_or_default();
    let errors = write_back(host, &ours);
    for (own, error) in ours.iter().zip(errors) {
        judge(host, own, error, &online_before, result);
    }
    paths
}

/// Writes the original values until all files hold them, and returns the last error of each.
fn write_back(host: &Host, ours: &[OwnItem]) -> Vec<Option<io::Error>> {
    let mut errors: Vec<Option<io::Error>> = ours.iter().map(|_| None).collect();
    for round in 0..ROUNDS {
        let mut is_quiet = true;
        for (index, OwnItem { item, .. }) in ours.iter().enumerate() {
            match content(host, item) {
                Ok(Content::Text(now)) if item.file.format.same(&now, &item.kept.old) => {
                    // The kernel may not show a write from just before a kill yet.
                    let is_due = item.is_written && item.file.undo == Undo::Limits && round == 0;
                    if !is_due {
                        continue;
                    }
                }
                Ok(Content::Text(_)) => is_quiet = false,
                Ok(Content::Gone | Content::Replaced) => continue,
                Err(_) => {
                    is_quiet = false;
                    continue;
                }
            }
            let written = host.write_knob(item.knob, &item.kept.path, &item.kept.old);
            errors[index] = written.err();
        }
        if is_quiet {
            break;
        }
    }
    let is_back = |item: &Item| match content(host, item) {
        Ok(Content::Text(now)) => host.is_still(item.file.format, &item.kept.old, &now),
        Ok(Content::Gone | Content::Replaced) => true,
        Err(_) => false,
    };
    host.wait_until(|| {
        let mut items = ours.iter().zip(&errors);
        items.all(|(own, error)| error.is_some() || is_back(&own.item))
    });
    errors
}

/// Checks a file after it was written.
fn judge(
    host: &Host,
    OwnItem { item, is_changed }: &OwnItem,
    error: Option<io::Error>,
    online_before: &[usize],
    result: &mut Restoration,
) {
    let path = item.kept.path.clone();
    let old = || item.kept.old.trim_end().to_owned();
    let now = match content(host, item) {
        Ok(Content::Text(now)) => now,
        other => {
            if let Some(waiting) = absent::waiting_for(host, &path) {
                result.waiting.push(waiting);
            } else if let Err(error) = other {
                result.failed.push((path, reason_unread(&error)));
            } else {
                result.gone.push(path);
            }
            return;
        }
    };
    // The kernel derives no other value from a write that failed.
    let is_back = item.file.format.same(&item.kept.old, &now)
        || (error.is_none() && host.is_still(item.file.format, &item.kept.old, &now));
    let file = (path.as_str(), item.file.format);
    if let Some(waiting) = absent::left_out(host, file, &item.kept.old, &now, online_before) {
        result.waiting.push(waiting);
    } else if is_back {
        result.restored.extend(is_changed.then_some(path));
    } else if !item.is_written && error.as_ref().is_some_and(|error| is_unmovable(&path, error)) {
        // It moved with a CPU, and the kernel refuses to move it: EPERM since Linux 6.12, EIO before.
        result.foreign.push(Foreign { path, now, old: old() });
    } else {
        let why = error.map_or(format!("it still holds {now:?}"), |e| explain(&path, &e));
        result.failed.push((path, why));
    }
}

/// Whether the error means an interrupt (kernel/irq/proc.c) or a kernel thread that cannot be moved
/// (`PF_NO_SETAFFINITY` in `__sched_setaffinity()`).
pub(super) fn is_unmovable(path: &str, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::EIO | libc::EPERM) => path.starts_with("proc/irq/"),
        Some(libc::EINVAL) => pid_of(path).is_some(),
        _ => false,
    }
}

/// The kernel's error, and its cause if known.
pub(super) fn explain(path: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        // `store_no_turbo()` in drivers/cpufreq/intel_pstate.c. A user without root fails at open instead: EACCES.
        Some(libc::EPERM) if path.ends_with("/no_turbo") => {
            format!("{}: turbo is off in the BIOS, or the processor has none", reason(error))
        }
        // `perf_event_max_sample_rate_handler()` in kernel/events/core.c.
        Some(libc::EINVAL) if path.ends_with("/perf_event_max_sample_rate") => {
            format!("{}: kernel.perf_cpu_time_max_percent is 0 or 100", reason(error))
        }
        Some(libc::EROFS) => {
            let mount = path.split('/').next().unwrap_or(path);
            format!("/{mount} is mounted read-only; run `mount -o remount,rw /{mount}` first")
        }
        _ => reason(error),
    }
}

/// Content at the path of a file in the journal.
enum Content {
    Text(String),
    Gone,
    /// The file belongs to something else.
    Replaced,
}

/// Reads a file in the journal. Errors: it cannot be read just now.
fn content(host: &Host, item: &Item) -> io::Result<Content> {
    let read = || Ok((host.read_item(item)?, host.identity(&item.kept.path)?));
    match read() {
        Ok((now, identity)) if identity == item.kept.identity => Ok(Content::Text(now)),
        Ok(_) => Ok(Content::Replaced),
        Err(error) if is_gone(&error) => Ok(Content::Gone),
        Err(error) => Err(error),
    }
}

pub(super) fn standing(host: &Host, item: &Item) -> FileState {
    let now = match content(host, item) {
        Ok(Content::Text(now)) => now,
        Ok(Content::Gone) => return FileState::Missing,
        Ok(Content::Replaced) => return FileState::Replaced,
        Err(error) => return FileState::Unreadable(reason_unread(&error)),
    };
    if item.file.format.same(&now, &item.kept.old) {
        return FileState::Original;
    }
    let is_ours = item.is_restoring
        || item.is_waiting
        || item.is_pending
        || item.ours.iter().any(|ours| host.is_still(item.file.format, ours, &now));
    if is_ours { FileState::Ours } else { FileState::Foreign(now) }
}
