//! The file of the journal: whether it is ours, and its space. Putting back writes its values as root, so another user may not
//! have written it. `/run` is a small file system that others may fill. Each line of tuning reserves the space that
//! putting back will need, so putting back needs no new space.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use anyhow::{Result, anyhow, ensure};
use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};
use rustix::io::Errno;

use crate::fault;
use crate::journal::entries::{Journal, JournalEntry};

/// A file of the journal that another user could have written, or that is damaged.
#[derive(Debug)]
pub struct Distrusted(pub(super) PathBuf);

impl fmt::Display for Distrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is not to be trusted, so nothing was put back; look at it, then remove it or reboot",
            self.0.display()
        )
    }
}

/// A journal of a newer Stillwell. It is the only copy of the old values, so it must not be removed.
#[derive(Debug)]
pub struct Newer(pub(super) PathBuf);

impl fmt::Display for Newer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} was written by a newer Stillwell, so nothing was put back; run the `stillwell system reset` of that one",
            self.0.display()
        )
    }
}

/// The error about a file or directory that cannot be opened. Something of another kind in its place is not ours.
pub(super) fn not_opened(error: io::Error, shown: &Path, otherwise: String) -> anyhow::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => anyhow!("it is a link").context(Distrusted(shown.into())),
        Some(Errno::NOTDIR | Errno::ISDIR | Errno::NXIO) => {
            anyhow::Error::from(error).context(Distrusted(shown.into()))
        }
        _ => anyhow::Error::from(error).context(otherwise),
    }
}

/// Checks that only our own user can have written the file or directory.
pub(super) fn check_owner(fd: &OwnedFd, mode: u32, kind: FileType) -> Result<()> {
    let stat = fstat(fd)?;
    let user = rustix::process::geteuid().as_raw();
    let name = if kind == FileType::Directory { "directory" } else { "regular file" };
    ensure!(FileType::from_raw_mode(stat.st_mode) == kind, "it is no {name}");
    ensure!(stat.st_uid == user, "it belongs to user {}, not to {user}", stat.st_uid);
    let found = stat.st_mode & 0o7777;
    ensure!(found == mode, "its mode is {found:o}, not {mode:o}");
    Ok(())
}

/// Room for the lines without paths.
const FIXED_BYTES: u64 = 4096;
/// Lines of putting back that may name a file: about to be restored, restored, or waiting.
const N_LINES: u64 = 3;
/// Quotes and a comma.
const AROUND_PATH: u64 = 3;

/// Reserves the first `n_bytes` of a file without changing its length. Errors: the file system is full.
pub(super) fn reserve(file: impl AsFd, n_bytes: u64) -> io::Result<()> {
    fault::changes(super::PATH)?;
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, n_bytes) {
        // Not every file system can. Putting back then goes on without its lines.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The space that the lines of putting back need.
pub(super) fn to_put_back(journal: &Journal) -> u64 {
    let paths = journal.items.iter().map(|item| item.kept.path.len() as u64 + AROUND_PATH);
    FIXED_BYTES + N_LINES * paths.sum::<u64>()
}

/// Upper limit for the additional space that a line of this length makes necessary.
pub(super) fn for_entry(line_bytes: u64) -> u64 {
    N_LINES * line_bytes
}

impl JournalEntry {
    /// Whether the line may be left out when the file system is full.
    pub(super) fn is_of_putting_back(&self) -> bool {
        matches!(
            self,
            Self::Restoring { .. } | Self::Waiting { .. } | Self::Forgotten { .. } | Self::Lowered
        )
    }
}
