//! What was changed on the machine and what was there before: written and on disk before each change, so that it can be
//! put back whoever dies (docs/machine.md describes the file).
//!
//! `/run` is gone after a reboot, as are the changes. The file belongs to the user who may write the knobs; one that
//! somebody else could have written is refused, because putting it back means writing what it says.

mod entries;

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, openat};
use rustix::io::Errno;

pub use entries::{Begin, Item, Journal, SavedFile};

use crate::host::Host;
use crate::host::knobs::Knob;
use crate::host::processes::Process;
use crate::host::shield::ShieldPlan;

use entries::{JournalEntry, VERSION};

const NAME: &str = "journal";
/// A journal of a machine with thousands of interrupts has a few MiB.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// The directory of the journal, locked: there is one who tunes at a time, machine-wide.
#[derive(Debug)]
pub struct Store {
    directory: OwnedFd,
    shown: PathBuf,
    /// What the journal says.
    pub journal: Journal,
    _lock: OwnedFd,
}

impl Store {
    /// Locks the journal and reads it. One of another boot is set aside: what it says is no longer so.
    ///
    /// # Errors
    /// Somebody else is tuning; it may not be written; or it is not to be trusted.
    pub fn open(host: &Host) -> Result<Self> {
        let shown = host.below_root("run/stillwell".as_ref());
        let directory = open_directory(host).with_context(|| {
            format!("cannot keep a journal in {}; run as root", shown.display())
        })?;
        check_owner(&directory, 0o700, FileType::Directory)
            .with_context(|| format!("{} is not to be trusted", shown.display()))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&directory, "lock", flags, Mode::from_raw_mode(0o600))
            .with_context(|| format!("cannot open {}/lock", shown.display()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => bail!(
                "another stillwell is tuning this machine; `stillwell system status` says which; wait for its end"
            ),
            Err(error) => return Err(error).context("cannot lock the journal"),
        }
        let mut store = Self { directory, shown, journal: Journal::default(), _lock: lock };
        store.load(&boot_id(host))?;
        Ok(store)
    }

    fn load(&mut self, boot_id: &str) -> Result<()> {
        let Some((journal, n_bytes)) = read(&self.directory, &self.shown)? else { return Ok(()) };
        if journal.begun.iter().any(|begin| begin.boot_id != boot_id) {
            rustix::fs::renameat(&self.directory, NAME, &self.directory, "journal.of-another-boot")
                .context("cannot set the journal of another boot aside")?;
            return Ok(());
        }
        // A torn last line must not become the beginning of the next one.
        let file = self.open_for_appending().context("cannot open the journal")?;
        rustix::fs::ftruncate(&file, n_bytes).context("cannot repair the journal")?;
        self.journal = journal;
        Ok(())
    }

    /// Notes that somebody starts to tune.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(&mut self, host: &Host, scoped: bool, user_id: u32, time_s: i64) -> Result<()> {
        let pid = std::process::id();
        let start_ticks = start_ticks(pid).unwrap_or(0);
        let boot_id = boot_id(host);
        let begin = Begin { version: VERSION, boot_id, pid, start_ticks, scoped, user_id, time_s };
        self.append(JournalEntry::Begin(begin))
    }

    /// Notes what is about to change by itself.
    ///
    /// # Errors
    /// It cannot be written: then the knob may not be turned.
    pub fn keep(&mut self, knob: &Knob, files: Vec<SavedFile>) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        self.append(JournalEntry::Keep { knob: knob.name.into(), files })
    }

    /// Notes what is about to be written.
    ///
    /// # Errors
    /// It cannot be written: then the file may not be changed.
    pub fn change(&mut self, knob: &Knob, kept: SavedFile, new: &str) -> Result<()> {
        let SavedFile { path, old, identity } = kept;
        let (knob, new) = (knob.name.into(), new.to_owned());
        self.append(JournalEntry::Change { knob, path, old, new, identity })
    }

    /// Notes what has changed by itself; from now on anything else is somebody else's doing.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn saw(&mut self, files: Vec<(String, String)>) -> Result<()> {
        if files.is_empty() && !self.journal.is_pending() {
            Ok(())
        } else {
            self.append(JournalEntry::Seen { files })
        }
    }

    /// Notes that tuning came to its end.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn done(&mut self) -> Result<()> {
        self.append(JournalEntry::Done)
    }

    /// Notes what is about to be put back.
    ///
    /// # Errors
    /// It cannot be written: then nothing may be put back.
    pub fn restoring(&mut self, paths: Vec<String>) -> Result<()> {
        if paths.is_empty() { Ok(()) } else { self.append(JournalEntry::Restoring { paths }) }
    }

    /// Notes which shield is about to be made.
    ///
    /// # Errors
    /// It cannot be written: then it may not be made.
    pub fn raise(&mut self, raised: &ShieldPlan) -> Result<()> {
        self.append(JournalEntry::Raise(raised.clone()))
    }

    /// Notes that there is no shield any more.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn lowered(&mut self) -> Result<()> {
        self.append(JournalEntry::Lowered)
    }

    /// Notes that these were put back, while others were not.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget(&mut self, paths: Vec<String>) -> Result<()> {
        if paths.is_empty() { Ok(()) } else { self.append(JournalEntry::Forgotten { paths }) }
    }

    /// Nothing is left to put back.
    ///
    /// # Errors
    /// It cannot be removed.
    pub fn remove(&mut self) -> Result<()> {
        self.journal = Journal::default();
        crate::host::kill::kill_point();
        match rustix::fs::unlinkat(&self.directory, NAME, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error).context("cannot remove the journal"),
        }
    }

    /// On disk before it returns.
    fn append(&mut self, entry: JournalEntry) -> Result<()> {
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        crate::host::kill::kill_point();
        let written = self.open_for_appending().and_then(|file| {
            let mut file = std::fs::File::from(file);
            // Only tests can be killed in the middle of a line on purpose.
            let (first, second) = line.split_at(if cfg!(test) { line.len() / 2 } else { 0 });
            file.write_all(first)?;
            crate::host::kill::kill_point();
            file.write_all(second)?;
            file.sync_all()
        });
        written.with_context(|| format!("cannot write the journal in {}", self.shown.display()))?;
        crate::host::kill::kill_point();
        self.journal.take(entry)
    }

    fn open_for_appending(&self) -> std::io::Result<OwnedFd> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.directory, NAME, flags, Mode::from_raw_mode(0o600))?)
    }
}

/// What the journal says, without the lock; for `status`.
///
/// # Errors
/// It may not be read, or is not to be trusted.
pub fn look(host: &Host) -> Result<Option<Journal>> {
    let shown = host.below_root("run/stillwell".as_ref());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = match openat(CWD, &shown, flags, Mode::empty()) {
        Ok(directory) => directory,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read {}; run as root", shown.display()));
        }
    };
    let journal = read(&directory, &shown)?.map(|(journal, _)| journal);
    let boot_id = boot_id(host);
    Ok(journal.filter(|journal| journal.begun.iter().all(|begin| begin.boot_id == boot_id)))
}

/// Whether the process that began is still there, and is the same one.
pub fn is_alive(begin: &Begin) -> bool {
    start_ticks(begin.pid) == Some(begin.start_ticks)
}

/// The journal and the bytes of its whole lines.
fn read(directory: &OwnedFd, shown: &Path) -> Result<Option<(Journal, u64)>> {
    let shown = shown.join(NAME);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(directory, NAME, flags, Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", shown.display()));
        }
    };
    let distrusted = || {
        format!(
            "{} is not to be trusted, so nothing was put back; look at it, then remove it or reboot",
            shown.display()
        )
    };
    check_owner(&file, 0o600, FileType::RegularFile).with_context(distrusted)?;
    let mut bytes = Vec::new();
    let file = std::fs::File::from(file);
    file.take(JOURNAL_BYTES_MAX).read_to_end(&mut bytes).with_context(distrusted)?;
    // What follows the last newline was being written when somebody was killed, and nothing had been changed yet.
    bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
    let mut journal = Journal::default();
    for (index, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let entry = serde_json::from_slice(line).map_err(anyhow::Error::from);
        entry
            .and_then(|entry| journal.take(entry))
            .with_context(|| format!("line {}", index + 1))
            .with_context(distrusted)?;
    }
    Ok(Some((journal, bytes.len() as u64)))
}

/// `/run/stillwell`, made if need be. The last component may be no link.
fn open_directory(host: &Host) -> std::io::Result<OwnedFd> {
    let run = host.below_root("run".as_ref());
    for (path, mode) in [(run.clone(), 0o755), (run.join("stillwell"), 0o700)] {
        match rustix::fs::mkdir(&path, Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(CWD, run.join("stillwell"), flags, Mode::empty())?)
}

/// Only the user that we are may have been able to write it.
fn check_owner(fd: &OwnedFd, mode: u32, kind: FileType) -> Result<()> {
    let stat = rustix::fs::fstat(fd)?;
    let user = rustix::process::geteuid().as_raw();
    ensure!(FileType::from_raw_mode(stat.st_mode) == kind, "it is not a {kind:?}");
    ensure!(stat.st_uid == user, "it belongs to user {}, not to {user}", stat.st_uid);
    let found = stat.st_mode & 0o7777;
    ensure!(found == mode, "its mode is {found:o}, not {mode:o}");
    Ok(())
}

fn boot_id(host: &Host) -> String {
    host.read("proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// Of a process of this machine; `None` also for one that has ended and was not waited for yet.
fn start_ticks(pid: u32) -> Option<u64> {
    let process = Process::read(&Host::new("/"), pid).filter(|process| !process.has_ended);
    process.map(|process| process.start_ticks)
}

/// Who asked: under sudo, doas or pkexec not root, but the person who called that.
pub fn asking_user() -> u32 {
    crate::host::invoking_user().map_or_else(|| rustix::process::getuid().as_raw(), |user| user.uid)
}
