//! Access to the files of a machine below a root: `/proc`, `/sys` and the like.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{CWD, Mode, OFlags, openat};

#[cfg(test)]
use crate::value_format::Format;
use crate::{fault, sys};
use model::values::{CPUS_MAX, read_cpu_list};
use model::words::reason;

/// The only access to `/proc`, `/sys` and the like. Paths are relative to a root: `/` in production, a directory of
/// captured files in tests.
#[derive(Clone, Debug)]
pub struct Host {
    pub(super) root: PathBuf,
    /// Log of the paths that were read.
    pub(super) touched: Option<PathLog>,
    /// Existing files that could not be read, while a caller watches.
    pub(super) unread: UnreadLog,
    /// The simulated kernel of a captured machine, which answers writes.
    #[cfg(test)]
    pub(super) kernel: Option<Kernel>,
    /// The simulated kernel's delayed effect, a moment after a write.
    #[cfg(test)]
    pub(super) moment: Option<fn(&Host)>,
}

/// Simulates a write to a file: format, path, value.
#[cfg(test)]
pub(super) type Kernel = fn(&Host, Format, &str, &str) -> io::Result<()>;

/// Limit for a read, enough for the relevant part of every kernel file. Without it, reading an unknown file might never
/// end.
pub(super) const READ_BYTES_MAX: u64 = 64 << 10;

/// /proc lists about ten kernel threads for each CPU. The rest is room for processes.
const LIST_ENTRIES_MAX: usize = 32 * CPUS_MAX;

impl Host {
    /// A machine whose files are below `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            touched: None,
            unread: UnreadLog::default(),
            #[cfg(test)]
            kernel: None,
            #[cfg(test)]
            moment: None,
        }
    }

    /// Whether the files belong to the machine that this program runs on.
    pub fn is_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Reads a file as text, without trailing white space. `None` if it cannot be read.
    pub fn read(&self, relative: impl AsRef<Path>) -> Option<String> {
        let mut text = self.read_long(relative, READ_BYTES_MAX)?;
        text.truncate(text.trim_end().len());
        Some(text)
    }

    /// Like [`Host::read`], for a file that may be longer than others.
    pub fn read_long(&self, relative: impl AsRef<Path>, bytes_max: u64) -> Option<String> {
        let relative = relative.as_ref();
        self.note(relative, self.try_read(relative, bytes_max)).ok()
    }

    /// Reads a file as text, with every byte. Errors: the kernel's error. [`is_gone`] tells a missing file from one
    /// that cannot be read just now.
    pub(super) fn try_read(&self, relative: &Path, bytes_max: u64) -> io::Result<String> {
        fault::reads(relative)?;
        self.with_rights(|| read_capped(&self.below_root(relative), bytes_max))
    }

    /// Reads with all rights of this process if the files are the machine's. A directory that the user named is read
    /// with the user's rights (docs/security.md).
    pub(super) fn with_rights<T>(&self, look: impl FnOnce() -> T) -> T {
        if self.is_this_machine() { sys::with_own_files(look) } else { look() }
    }

    /// Parses a file with one value. `None` if it cannot be read or parsed.
    pub fn read_value<T: std::str::FromStr>(&self, relative: impl AsRef<Path>) -> Option<T> {
        self.read(relative)?.parse().ok()
    }

    /// Reads a list of CPUs. `None` if the file cannot be read or is no such list.
    pub(super) fn read_cpus(&self, relative: impl AsRef<Path>) -> Option<Vec<usize>> {
        read_cpu_list(&self.read(relative)?)
    }

    /// The CPUs that are online. Empty if the kernel does not show them.
    pub(super) fn online_cpus(&self) -> Vec<usize> {
        self.read_cpus("sys/devices/system/cpu/online").unwrap_or_default()
    }

    /// The sorted names in a directory. Empty if it cannot be read.
    pub fn list(&self, relative: impl AsRef<Path>) -> Vec<String> {
        let relative = relative.as_ref();
        self.note(relative, self.try_list(relative)).unwrap_or_default()
    }

    /// The sorted names in a directory.
    pub(super) fn try_list(&self, relative: &Path) -> io::Result<Vec<String>> {
        fault::reads(relative)?;
        #[expect(clippy::disallowed_methods, reason = "this is where the machine is read")]
        let entries = self.with_rights(|| std::fs::read_dir(self.below_root(relative)))?;
        let names = entries.take(LIST_ENTRIES_MAX).flatten().map(|entry| entry.file_name());
        let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        names.sort();
        Ok(names)
    }

    pub fn exists(&self, relative: impl AsRef<Path>) -> bool {
        let relative = relative.as_ref();
        self.note(relative, self.try_exists(relative)).unwrap_or(false)
    }

    pub(super) fn try_exists(&self, relative: &Path) -> io::Result<bool> {
        fault::reads(relative)?;
        self.with_rights(|| self.below_root(relative).try_exists())
    }

    /// Begins to note existing files that cannot be read. Returns the notes so far.
    pub(super) fn begin_unread(&self) -> Option<Vec<Unread>> {
        self.unread.0.lock().unwrap_or_else(PoisonError::into_inner).replace(Vec::new())
    }

    /// Ends this, restores the notes in `outer`, and returns the new ones.
    pub(super) fn end_unread(&self, outer: Option<Vec<Unread>>) -> Vec<Unread> {
        let mut log = self.unread.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *log, outer).unwrap_or_default()
    }

    /// Notes an error that the caller treats as absence.
    fn note<T>(&self, relative: &Path, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && !is_absence(error)
            && let Some(log) = &mut *self.unread.0.lock().unwrap_or_else(PoisonError::into_inner)
        {
            log.push((relative.display().to_string(), reason_unread(error)));
        }
        result
    }

    pub(super) fn below_root(&self, relative: &Path) -> PathBuf {
        assert!(relative.is_relative(), "{} must be relative to the root", relative.display());
        if let Some(touched) = &self.touched {
            touched.add(relative);
        }
        self.root.join(relative)
    }
}

/// Reads the first `bytes_max` bytes of a file as text. A FIFO in place of a file yields none. Invalid UTF-8 is
/// replaced, because the cap may cut a character.
pub(super) fn read_capped(path: &Path, bytes_max: u64) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(openat(CWD, path, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// An existing file that could not be read: path below the root, and reason.
pub(super) type Unread = (String, String);

/// Whether an error means that a file is gone: it does not exist (ENOENT), or its device (ENODEV) or process (ESRCH,
/// for proc(5) files) has ended. Any other error may pass.
pub fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENODEV | libc::ESRCH))
}

/// Whether there is nothing to read: no file, or one without content.
fn is_absence(error: &io::Error) -> bool {
    let none = [libc::ENOTDIR, libc::EISDIR, libc::EOPNOTSUPP];
    is_gone(error) || error.raw_os_error().is_some_and(|errno| none.contains(&errno))
}

/// Why a file could not be read.
pub fn reason_unread(error: &io::Error) -> String {
    format!("it cannot be read: {}", reason(error))
}

#[derive(Clone, Debug, Default)]
pub(super) struct UnreadLog(Arc<Mutex<Option<Vec<Unread>>>>);

#[derive(Clone, Debug, Default)]
pub(super) struct PathLog(Arc<Mutex<BTreeSet<PathBuf>>>);

impl PathLog {
    pub(super) fn add(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
    }

    pub(super) fn paths(&self) -> BTreeSet<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A file that another program has written since.
#[derive(Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Path below the root.
    pub path: String,
    pub now: String,
    pub old: String,
}

impl Foreign {
    /// A sentence about a file that was changed after an earlier tuning, and was tuned again.
    pub fn between_two_tunes(&self) -> String {
        format!(
            "/{} was changed to {:?} by somebody else since it was tuned, and is tuned again; `stillwell system reset` puts \
             back {:?}",
            self.path, self.now, self.old
        )
    }
}
