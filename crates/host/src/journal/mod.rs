//! The journal records each change to the machine and the value before it. It is on disk before the change, so a
//! later run can restore the machine after any crash (the crate's README describes the file).
//!
//! The journal is in `/run`, which a reboot clears together with the changes. The file belongs to the user who may
//! write the knobs. Stillwell refuses a journal that another user could have written, because restoring writes its
//! values.

mod entries;
mod trust;

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, flock, openat, renameat};
use rustix::io::Errno;

pub use entries::{Begin, Item, Journal, SavedFile};
pub use trust::{Distrusted, Newer};

use crate::knobs::Knob;
use crate::processes::Process;
use crate::shield::ShieldPlan;
use crate::{Host, fault};
use model::words::json_error;

use entries::{JournalEntry, VERSION, version_of};
use trust::{check_owner, not_opened};

const NAME: &str = "journal";
/// Paths of the journal and its directory below the root.
const PATH: &str = "run/stillwell/journal";
const DIRECTORY: &str = "run/stillwell";
/// Limit on the journal. It has a few MiB on a machine with thousands of interrupts.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// The journal's locked directory. Only one session can tune a machine at a time.
#[derive(Debug)]
pub struct Store {
    directory: OwnedFd,
    shown: PathBuf,
    pub journal: Journal,
    /// Length of the whole lines. A torn line may follow, until the next one is written.
    n_bytes: u64,
    _lock: OwnedFd,
}

impl Store {
    /// Locks the journal and reads it. Sets aside the journal of an earlier boot, because the reboot undid the changes.
    /// Errors: another session is tuning, the journal cannot be written, or it is not to be trusted. Without /proc, a
    /// journal of an earlier boot could not be recognised.
    pub fn open(host: &Host) -> Result<Self> {
        let boot_id = host.try_boot_id().context("cannot tell this boot from an earlier one")?;
        ensure!(
            !boot_id.is_empty() || !host.is_this_machine(),
            "cannot change this machine without /proc; mount it: mount -t proc proc /proc"
        );
        let shown = host.below_root(DIRECTORY.as_ref());
        let directory = open_directory(host).map_err(|error| {
            let otherwise = format!("cannot keep a journal in {}; run as root", shown.display());
            not_opened(error, &shown, otherwise)
        })?;
        check_owner(&directory, 0o700, FileType::Directory)
            .with_context(|| Distrusted(shown.clone()))?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = fault::changes(format!("{DIRECTORY}/lock"))
            .and_then(|()| Ok(openat(&directory, "lock", flags, Mode::from_raw_mode(0o600))?))
            .map_err(|error| {
                let lock = shown.join("lock");
                not_opened(error, &lock, format!("cannot open {}", lock.display()))
            })?;
        let locked = fault::reads(DIRECTORY)
            .and_then(|()| Ok(flock(&lock, FlockOperation::NonBlockingLockExclusive)?));
        match locked {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                bail!("another stillwell is tuning this machine{}", holder(&directory, &shown))
            }
            Err(error) => return Err(error).context("cannot lock the journal"),
        }
        let journal = Journal::default();
        let mut store = Self { directory, shown, journal, n_bytes: 0, _lock: lock };
        store.load(&boot_id)?;
        Ok(store)
    }

    fn load(&mut self, boot_id: &str) -> Result<()> {
        let Some((journal, n_bytes)) = read(&self.directory, &self.shown)? else { return Ok(()) };
        if n_bytes == 0 {
            // The first line could not be written, or its writer was killed: nothing has been changed.
            return self.remove();
        }
        if journal.begun.iter().any(|begin| begin.boot_id != boot_id) {
            let aside = "journal.of-another-boot";
            return fault::changes(PATH)
                .and_then(|()| Ok(renameat(&self.directory, NAME, &self.directory, aside)?))
                .context("cannot set the journal of another boot aside");
        }
        (self.journal, self.n_bytes) = (journal, n_bytes);
        Ok(())
    }

    /// Notes that a session starts to tune.
    pub fn begin(&mut self, host: &Host, scoped: bool, user_id: u32, time_s: i64) -> Result<()> {
        let pid = std::process::id();
        let start_ticks = start_ticks(pid).unwrap_or(0);
        let boot_id = host.try_boot_id().context("cannot tell this boot from a later one")?;
        let version = VERSION;
        let online = host.read("sys/devices/system/cpu/online").unwrap_or_default();
        let begin = Begin { version, boot_id, pid, start_ticks, scoped, user_id, time_s, online };
        self.append(JournalEntry::Begin(begin))
    }

    /// Notes the files that the kernel will change when the knob is turned. Errors: the journal cannot be written. The
    /// caller must then not turn the knob.
    pub fn keep(&mut self, knob: &Knob, files: Vec<SavedFile>) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        self.append(JournalEntry::Keep { knob: knob.name.into(), files })
    }

    /// Notes a write before it happens. Errors: the journal cannot be written. The caller must then not change the
    /// file.
    pub fn change(&mut self, knob: &Knob, kept: SavedFile, new: &str) -> Result<()> {
        let SavedFile { path, old, identity } = kept;
        let (knob, new) = (knob.name.into(), new.to_owned());
        self.append(JournalEntry::Change { knob, path, old, new, identity })
    }

    /// Notes the present values of files. Any later change comes from another program.
    pub fn saw(&mut self, files: Vec<(String, String)>) -> Result<()> {
        if files.is_empty() && !self.journal.is_pending() {
            Ok(())
        } else {
            self.append(JournalEntry::Seen { files })
        }
    }

    /// Notes that tuning has finished.
    pub fn done(&mut self) -> Result<()> {
        self.append(JournalEntry::Done)
    }

    /// Notes that a benchmark's session on a machine that is tuned for longer has ended: the tuning goes on.
    pub fn resume(&mut self) {
        let begun = &self.journal.begun;
        let lasting = match begun.last() {
            Some(last) if last.scoped => begun.iter().rfind(|begin| !begin.scoped).cloned(),
            _ => None,
        };
        if let Some(lasting) = lasting {
            self.note(JournalEntry::Begin(lasting));
            self.note(JournalEntry::Done);
        }
    }

    /// Notes the files that are about to be restored.
    pub fn restoring(&mut self, paths: Vec<String>) {
        if !paths.is_empty() {
            self.note(JournalEntry::Restoring { paths });
        }
    }

    /// Notes files that wait for offline CPUs.
    pub fn waiting(&mut self, paths: Vec<String>) {
        if !paths.is_empty() {
            self.note(JournalEntry::Waiting { paths });
        }
    }

    /// Notes the shield that is about to be made. Errors: the journal cannot be written. The caller must then not make
    /// the shield.
    pub fn raise(&mut self, raised: &ShieldPlan) -> Result<()> {
        self.append(JournalEntry::Raise(raised.clone()))
    }

    pub fn lowered(&mut self) {
        self.note(JournalEntry::Lowered);
    }

    /// Notes that these files were restored, while others were not.
    pub fn forget(&mut self, paths: Vec<String>) {
        if !paths.is_empty() {
            self.note(JournalEntry::Forgotten { paths });
        }
    }

    /// Removes the journal when everything is restored.
    pub fn remove(&mut self) -> Result<()> {
        let removed = fault::changes(PATH)
            .and_then(|()| Ok(rustix::fs::unlinkat(&self.directory, NAME, AtFlags::empty())?));
        match removed {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error)
                    .with_context(|| format!("cannot remove {}/{NAME}", self.shown.display()));
            }
            _ => {}
        }
        (self.journal, self.n_bytes) = (Journal::default(), 0);
        Ok(())
    }

    /// Notes a step of putting back. Without the line a later run only repeats the step or reports it, so a full disk
    /// does not stop the work.
    fn note(&mut self, entry: JournalEntry) {
        if self.append(entry.clone()).is_err() {
            self.journal.take(entry).expect("it adds no file");
        }
    }

    /// Appends a line, which is on disk when this returns.
    fn append(&mut self, entry: JournalEntry) -> Result<()> {
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        let written = self.open_for_appending().and_then(|file| {
            let line_bytes = line.len() as u64;
            if !entry.is_of_putting_back() {
                let needed = trust::to_put_back(&self.journal) + trust::for_entry(line_bytes);
                trust::reserve(&file, self.n_bytes + line_bytes + needed)?;
            }
            let mut file = std::fs::File::from(file);
            // A full disk takes a part of a line, and a kill may come in the middle.
            let (first, second) = line.split_at(if cfg!(test) { line.len() / 2 } else { 0 });
            for part in [first, second] {
                fault::changes(PATH)?;
                file.write_all(part)?;
            }
            fault::changes(PATH)?;
            file.sync_all()
        });
        written.with_context(|| format!("cannot write the journal in {}", self.shown.display()))?;
        self.n_bytes += line.len() as u64;
        self.journal.take(entry)
    }

    /// Opens the journal and cuts off a failed or killed writer's unfinished line, so the next line does not become its
    /// end.
    fn open_for_appending(&self) -> std::io::Result<OwnedFd> {
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        fault::changes(PATH)?;
        let file = openat(&self.directory, NAME, flags, Mode::from_raw_mode(0o600))?;
        if rustix::fs::fstat(&file)?.st_size.cast_unsigned() > self.n_bytes {
            fault::changes(PATH)?;
            rustix::fs::ftruncate(&file, self.n_bytes)?;
            // The cut gave up the reserved space.
            trust::reserve(&file, self.n_bytes + trust::to_put_back(&self.journal)).ok();
        }
        Ok(file)
    }
}

/// Reads the journal without the lock, for `status`. Errors: the journal cannot be read, or is not to be trusted.
pub fn look(host: &Host) -> Result<Option<Journal>> {
    let shown = host.below_root(DIRECTORY.as_ref());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened =
        fault::reads(DIRECTORY).and_then(|()| Ok(openat(CWD, &shown, flags, Mode::empty())?));
    let directory = match opened {
        Ok(directory) => directory,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let otherwise = format!("cannot read {}; run as root", shown.display());
            return Err(not_opened(error, &shown, otherwise));
        }
    };
    let journal = read(&directory, &shown)?.map(|(journal, _)| journal);
    let boot_id = host.try_boot_id().context("cannot tell this boot from an earlier one")?;
    Ok(journal.filter(|journal| journal.begun.iter().all(|begin| begin.boot_id == boot_id)))
}

/// Whether there is a journal of an earlier boot, whose changes the reboot has undone.
pub fn is_of_another_boot(host: &Host) -> Result<bool> {
    Ok(look(host)?.is_none() && host.exists(format!("run/stillwell/{NAME}")))
}

/// Whether the process that began the session still runs. A new process with the same id does not count.
pub fn is_alive(begin: &Begin) -> bool {
    start_ticks(begin.pid) == Some(begin.start_ticks)
}

/// Whether that process is stopped, so it neither continues nor ends.
pub fn is_stopped(begin: &Begin) -> bool {
    is_alive(begin)
        && Process::read(&Host::new("/"), begin.pid).is_some_and(|process| process.is_stopped)
}

/// Names the process that holds the lock, if the journal tells it.
fn holder(directory: &OwnedFd, shown: &Path) -> String {
    let journal = read(directory, shown).ok().flatten().map(|(journal, _)| journal);
    match journal.as_ref().and_then(|journal| journal.begun.last()) {
        Some(begin) if is_stopped(begin) => {
            format!(": process {0}, which is stopped; `kill -CONT {0}` lets it go on", begin.pid)
        }
        Some(begin) if is_alive(begin) => format!(": process {}; wait for its end", begin.pid),
        _ => "; `stillwell system status` says which; wait for its end".to_owned(),
    }
}

/// Reads the journal, and the number of bytes in its complete lines.
fn read(directory: &OwnedFd, shown: &Path) -> Result<Option<(Journal, u64)>> {
    let shown = shown.join(NAME);
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened =
        fault::reads(PATH).and_then(|()| Ok(openat(directory, NAME, flags, Mode::empty())?));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(not_opened(error, &shown, format!("cannot read {}", shown.display())));
        }
    };
    let distrusted = || Distrusted(shown.clone());
    check_owner(&file, 0o600, FileType::RegularFile).with_context(distrusted)?;
    let mut bytes = Vec::new();
    let file = std::fs::File::from(file);
    fault::reads(PATH)
        .and_then(|()| file.take(JOURNAL_BYTES_MAX).read_to_end(&mut bytes))
        .with_context(|| format!("cannot read {}", shown.display()))?;
    // A kill cut off the text after the last newline. The change that it describes had not been made.
    bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
    let mut journal = Journal::default();
    let lines = || bytes.split_inclusive(|&byte| byte == b'\n');
    if let Some(version) = lines().filter_map(version_of).find(|&version| version > VERSION) {
        return Err(anyhow!("it is of version {version}").context(Newer(shown)));
    }
    for (index, line) in lines().enumerate() {
        let entry = serde_json::from_slice(line).map_err(|error| anyhow!(json_error(&error)));
        entry
            .and_then(|entry| journal.take(entry))
            .with_context(|| format!("line {}", index + 1))
            .with_context(distrusted)?;
    }
    Ok(Some((journal, bytes.len() as u64)))
}

/// Opens `/run/stillwell`, and creates it if necessary. The last component may not be a symbolic link.
fn open_directory(host: &Host) -> std::io::Result<OwnedFd> {
    for (path, mode) in [("run", 0o755), (DIRECTORY, 0o700)] {
        fault::changes(path)?;
        match rustix::fs::mkdir(host.below_root(path.as_ref()), Mode::from_raw_mode(mode)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    fault::reads(DIRECTORY)?;
    Ok(openat(CWD, host.below_root(DIRECTORY.as_ref()), flags, Mode::empty())?)
}

/// Start time of a process. `None` once it has ended, even before its parent reaps it.
fn start_ticks(pid: u32) -> Option<u64> {
    let process = Process::read(&Host::new("/"), pid).filter(|process| !process.has_ended);
    process.map(|process| process.start_ticks)
}

/// The user who asked. Under sudo, doas or pkexec it is the caller of that program, not root.
pub fn asking_user() -> u32 {
    crate::invoking_user().map_or_else(|| rustix::process::getuid().as_raw(), |user| user.uid)
}
