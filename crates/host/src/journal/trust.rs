//! Checks that a file of the journal is ours. Putting back writes its values as root, so no other user may have written
//! it.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;

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
