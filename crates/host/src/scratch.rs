//! Temporary directories. `kill -9` leaves them behind; the next process that makes one removes them.
//!
//! Other users may plant directories, links and files in the same place, and rename what is there. So a directory is
//! only removed by descriptors, and if it has a lock: a file of the directory's own name. Both must belong to this user,
//! and only this user may write to them, so no other user can have made the lock.
#![expect(clippy::disallowed_methods, reason = "lists what killed processes left")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, fstat, openat, unlinkat};
use rustix::io::Errno;
use tempfile::{Builder, TempDir};

use crate::Host;

/// Digits of the boot id in a name.
const BOOT_ID_DIGITS: usize = 8;

/// A temporary directory, which is removed when dropped. Its records are lost with it: after `kill -9` the next
/// process removes it.
#[derive(Debug)]
pub struct ScratchDirectory {
    directory: TempDir,
    /// The kernel releases it when the process ends (flock(2)). No child that has called exec has it.
    lock: OwnedFd,
}

impl ScratchDirectory {
    /// A directory in `TMPDIR`. Errors: see [`ScratchDirectory::new_in`].
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir())
    }

    /// A directory in `place`. The first one of a process removes what killed processes left there. Errors: it cannot
    /// be made.
    pub fn new_in(place: &Path) -> io::Result<Self> {
        static CLEANED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        // Programs that look for signs of a benchmark do not recognize the name. It has the boot id, because machines
        // may share the place but not the locks.
        let boot_id = Host::new("/").boot_id();
        let prefix = format!("run-{}-", boot_id.get(..BOOT_ID_DIGITS).unwrap_or_default());
        let made = Self::locked(place, &prefix)?;
        let is_first = || CLEANED.lock().is_ok_and(|mut it| it.insert(place.to_owned()));
        if !boot_id.is_empty() && is_first() {
            made.remove_left(place, &prefix).ok();
        }
        Ok(made)
    }

    fn locked(place: &Path, prefix: &str) -> io::Result<Self> {
        loop {
            let mut builder = Builder::new();
            // A build may run as another user, and finds its compilers here.
            builder.prefix(prefix).permissions(Permissions::from_mode(0o755));
            let directory = builder.tempdir_in(place)?;
            let path = directory.path();
            let lock = path.join(path.file_name().unwrap_or_default());
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let lock = openat(CWD, &lock, flags, Mode::RUSR | Mode::WUSR)?;
            // Before this call, another process may have found the directory unlocked. Without locks in the file
            // system no process removes it.
            let is_held =
                flock(&lock, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK);
            if !is_held && fstat(&lock)?.st_nlink > 0 {
                return Ok(Self { directory, lock });
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Removes the directories of this user in `place` whose processes are gone.
    fn remove_left(&self, place: &Path, prefix: &str) -> io::Result<()> {
        // With lent rights too, this is the user who made the other directories.
        let uid = fstat(&self.lock)?.st_uid;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let place = openat(CWD, place, flags, Mode::empty())?;
        for entry in fs::read_dir(path_of(&place))? {
            let name = entry?.file_name();
            if name.as_encoded_bytes().starts_with(prefix.as_bytes()) {
                remove_if_left(&place, &name, uid).ok();
            }
        }
        Ok(())
    }
}

/// The path of an open directory, even if another has taken its name.
fn path_of(directory: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", directory.as_raw_fd()).into()
}

/// Opens a file or directory, never through a link. Errors: the kernel's answer, or another user has it or may write
/// to it.
fn open_own(at: &OwnedFd, name: &OsStr, flags: OFlags, uid: u32) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(at, name, flags, Mode::empty())?;
    let found = fstat(&file)?;
    let is_ours = found.st_uid == uid && found.st_mode & 0o022 == 0;
    if is_ours { Ok(file) } else { Err(Errno::PERM.into()) }
}

/// Errors: it is not ours, a process holds its lock, or a part cannot be removed.
fn remove_if_left(place: &OwnedFd, name: &OsStr, uid: u32) -> io::Result<()> {
    let directory = open_own(place, name, OFlags::RDONLY | OFlags::DIRECTORY, uid)?;
    let lock = open_own(&directory, name, OFlags::RDWR, uid)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    let entries: Vec<_> = fs::read_dir(path_of(&directory))?.collect::<io::Result<_>>()?;
    // The lock comes last: a directory without one stays for ever.
    for entry in entries.iter().filter(|entry| entry.file_name() != name) {
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    unlinkat(&directory, name, AtFlags::empty())?;
    Ok(unlinkat(place, name, AtFlags::REMOVEDIR)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    fn made(place: &Path) -> ScratchDirectory {
        ScratchDirectory::new_in(place).unwrap()
    }

    /// The directory of a killed process.
    fn left(place: &Path) -> PathBuf {
        made(place).directory.keep()
    }

    fn remove_left(by: &ScratchDirectory) {
        let place = by.path().parent().unwrap();
        let name = by.path().file_name().unwrap().to_str().unwrap();
        by.remove_left(place, &name[..name.rfind('-').unwrap() + 1]).unwrap();
    }

    #[test]
    fn the_directory_of_a_killed_process_is_removed_and_what_it_links_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let kept = place.path().join("kept");
        fs::write(&kept, "").unwrap();
        let killed = left(place.path());
        fs::create_dir_all(killed.join("run/sub")).unwrap();
        fs::write(killed.join("run/sub/file"), "").unwrap();
        symlink(place.path(), killed.join("link")).unwrap();
        let [living, other] = [made(place.path()), made(place.path())];
        remove_left(&living);
        assert!(!killed.exists());
        assert!(living.path().exists() && other.path().exists() && kept.exists());
        drop([living, other]);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_another_user_planted_stays() {
        let place = tempfile::tempdir().unwrap();
        let own = made(place.path());
        let named = |end: &str| {
            let name = own.path().file_name().unwrap().to_str().unwrap();
            place.path().join(format!("{}{end}", &name[..name.len() - 6]))
        };
        // A link to a directory that could be removed, which has another name.
        let elsewhere = tempfile::tempdir().unwrap();
        let target = left(elsewhere.path());
        let link = place.path().join(target.file_name().unwrap());
        symlink(&target, &link).unwrap();
        // Another directory of this user that was renamed, one whose lock is a link, and no directory.
        let [renamed, linked, file] = ["rename", "linked", "a-file"].map(named);
        fs::create_dir(&renamed).unwrap();
        fs::write(renamed.join("lock"), "").unwrap();
        fs::create_dir(&linked).unwrap();
        symlink(target.join(target.file_name().unwrap()), linked.join(linked.file_name().unwrap()))
            .unwrap();
        fs::write(&file, "").unwrap();
        // A directory in which anybody may have made the lock.
        let open = left(place.path());
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        remove_left(&own);
        assert!([&target, &link, &renamed, &linked, &file, &open].iter().all(|it| it.exists()));
        // Another user's directory, and another user's lock. Only root can make them.
        let [theirs, lock] = [left(place.path()), left(place.path())];
        let lock_file = lock.join(lock.file_name().unwrap());
        if [&theirs, &lock_file].iter().all(|path| chown(path, Some(65534), None).is_ok()) {
            remove_left(&own);
            assert!(theirs.exists() && lock_file.exists());
        }
    }
}
