//! The one way to open files that a user names, and those that Stillwell keeps in a user's directories.
//!
//! Under sudo, doas and pkexec each is opened with the caller's rights, by a descriptor of its directory. A link in the
//! file's place is refused then, and so is anything but a regular file. So a benchmark's link leads nowhere that its
//! user could not write to, and a FIFO hangs nothing (docs/security.md).
#![expect(clippy::disallowed_methods, reason = "this is where files of the user are opened")]

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use rustix::fs::{
    Access, AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, accessat, fchmod, fstat,
    fstatfs, mkdirat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use crate::sys::{has_files_of_another, with_files_of};
use crate::{invoking_user, links, user_of_files};

/// Calls `act` with the caller's file rights. The front end and the launcher have them anyway; a verb that changes the
/// machine does not.
fn as_caller<T>(act: impl FnOnce() -> T) -> T {
    match invoking_user().filter(|_| !has_files_of_another()) {
        Some(user) => with_files_of(&user, act),
        None => act(),
    }
}

/// Opens a path. Errors: the kernel's answer, or with another user's file rights the path is in /proc.
fn open_outside_proc(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    refuse_proc(openat(CWD, path, flags, Mode::empty())?)
}

fn refuse_proc(file: OwnedFd) -> io::Result<OwnedFd> {
    // The kernel compares the effective user with the owner of files in /proc/sys, whoever opens files
    // (`test_perm()` in fs/proc/proc_sysctl.c).
    if has_files_of_another() && fstatfs(&file)?.f_type == PROC_SUPER_MAGIC {
        return Err(Errno::ACCESS.into());
    }
    Ok(file)
}

/// Why a temporary file or directory cannot be made, and the remedy. The kernel's answer follows.
pub fn no_temporary() -> String {
    let place = std::env::temp_dir();
    format!("cannot make temporary files in {}; TMPDIR can name another directory", place.display())
}

/// A directory that stays the same one, even if another takes its name.
#[derive(Debug)]
pub struct UserDirectory(OwnedFd);

impl UserDirectory {
    /// Opens a directory. Errors: there is none, or the caller may not open it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        as_caller(|| open_outside_proc(path, flags)).map(Self).map_err(explained)
    }

    /// The directory of a file, and the file's name in it. Errors: see [`UserDirectory::open`]; or the path has no
    /// name.
    pub fn of(path: &Path) -> io::Result<(Self, &OsStr)> {
        // `.`, `..` and `/` are directories.
        let name = path.file_name().ok_or_else(|| refusal(FileType::Directory))?;
        Ok((Self::open(directory_of(path))?, name))
    }

    /// The directory of a file that is going to be written, and its name in it. With `follows`, and without lent
    /// rights, a link in the file's place is followed. Errors: another user's link in a directory that everybody may
    /// write to; or see [`UserDirectory::open`].
    pub fn to_write(path: &Path, follows: bool) -> io::Result<(Self, OsString)> {
        let open = || -> io::Result<_> {
            let (directory, name) = links::walk(path, follows && !has_files_of_another())?;
            Ok((Self(refuse_proc(directory)?), name))
        };
        as_caller(open).map_err(explained)
    }

    /// Checks, before anything is measured, that a file can be made or replaced. Errors: the user may not write to the
    /// directory, the name is too long, or with lent rights there is something else than a regular file.
    pub fn check_place(&self, name: &OsStr) -> io::Result<()> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) | Err(Errno::NOENT) => {}
            Err(error) => return Err(explained(error.into())),
        }
        if let Some(refused) = self.refused(name).filter(|_| has_files_of_another()) {
            return Err(refused);
        }
        // With `AT_EACCESS` the kernel checks the user that the thread opens files as (`do_faccessat()` in fs/open.c).
        match accessat(&self.0, ".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS) {
            Err(error @ (Errno::ACCESS | Errno::PERM | Errno::ROFS)) => {
                Err(explained(error.into()))
            }
            _ => Ok(()),
        }
    }

    /// Opens a regular file. It never waits: a FIFO is opened at once, and refused. Errors: the kernel's answer, or it
    /// is no regular file.
    pub fn open_file(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
        let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        as_caller(|| {
            let no_link = OFlags::NOFOLLOW;
            let flags = if has_files_of_another() { flags | no_link } else { flags };
            let opened = openat(&self.0, name, flags, Mode::from_raw_mode(mode));
            let file = opened.map_err(|error| match error {
                // A link is followed without this flag, so here it is a ring of links.
                Errno::LOOP if !flags.contains(OFlags::NOFOLLOW) => io::Error::from(error),
                Errno::LOOP | Errno::NXIO | Errno::ISDIR => {
                    self.refused(name).unwrap_or(error.into())
                }
                error => error.into(),
            })?;
            match FileType::from_raw_mode(fstat(&file)?.st_mode) {
                FileType::RegularFile => Ok(file.into()),
                other => Err(refusal(other)),
            }
        })
        .map_err(explained)
    }

    /// The error about a file that is no regular one.
    fn refused(&self, name: &OsStr) -> Option<io::Error> {
        let found = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let found = FileType::from_raw_mode(found.st_mode);
        (found != FileType::RegularFile).then(|| refusal(found))
    }

    /// Writes a file under another name, and renames it when it is complete. An existing file is replaced, and keeps
    /// its mode if it is of the same user; anything but a regular file is refused. Errors: the kernel's answer, or the
    /// error of `write`.
    pub fn replace<E: From<io::Error>>(
        &self,
        name: &OsStr,
        mode: u32,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(refused) = self.refused(name) {
            return Err(refused.into());
        }
        let part = format!(".stillwell-{:016x}", RandomState::new().hash_one(name));
        let part = OsStr::new(&part);
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        let mut file = self.open_file(part, flags, mode)?;
        let put = || -> Result<(), E> {
            write(&mut file)?;
            let old = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
            let named = as_caller(|| {
                // By the mode of another user's file, that user could write to this one.
                if let Ok(old) = old
                    && old.st_uid == fstat(&file)?.st_uid
                {
                    fchmod(&file, Mode::from_raw_mode(old.st_mode & 0o777))?;
                }
                renameat(&self.0, part, &self.0, name)
            });
            named.map_err(|error| explained(error.into()))?;
            Ok(())
        };
        let done = put();
        if done.is_err() {
            as_caller(|| unlinkat(&self.0, part, AtFlags::empty())).ok();
        }
        done
    }
}

pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses a path if [`UserDirectory::to_write`] would refuse a link on it. Other errors come when it is opened.
pub fn refuse_strange_links(path: &Path) -> io::Result<()> {
    as_caller(|| links::walk(path, true)).map(drop).or_else(|error| match error.raw_os_error() {
        Some(_) => Ok(()),
        None => Err(error),
    })
}

/// Opens a regular file for writing, with more flags. A link in its place is refused. Errors: see
/// [`UserDirectory::open_file`].
pub fn open_to_write(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    let (directory, name) = UserDirectory::to_write(path, false)?;
    directory.open_file(&name, flags | OFlags::WRONLY | OFlags::NOFOLLOW, mode)
}

/// Makes a new file. Anything in its place, even a link, stays. Errors: `AlreadyExists`; or see
/// [`UserDirectory::open_file`].
pub fn create_new(path: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
    open_to_write(path, flags | OFlags::CREATE | OFlags::EXCL, mode)
}

/// Replaces a whole file ([`UserDirectory::replace`]).
pub fn replace(path: &Path, mode: u32, text: &[u8]) -> io::Result<()> {
    let (directory, name) = UserDirectory::to_write(path, false)?;
    directory.replace(&name, mode, |file| {
        io::Write::write_all(file, text)?;
        file.sync_all()
    })
}

/// Makes a directory and its missing parents. An existing one keeps its mode.
pub fn make_directories(path: &Path, mode: u32) -> io::Result<()> {
    as_caller(|| DirBuilder::new().recursive(true).mode(mode).create(path)).map_err(explained)
}

/// Makes a directory that must not exist yet.
pub fn make_new_directory(path: &Path, mode: u32) -> io::Result<()> {
    let (directory, name) = UserDirectory::to_write(path, false)?;
    let made = as_caller(|| mkdirat(&directory.0, name.as_os_str(), Mode::from_raw_mode(mode)));
    made.map_err(|error| explained(error.into()))
}

/// Opens a regular file for reading. It never waits: `O_NONBLOCK` opens a FIFO without a writer (open(2)), and the type
/// is refused afterwards. With lent rights (sudo, doas, pkexec) the file is opened as the caller, and a link in its
/// place is refused. Errors: the kernel's answer, or the path names something else than a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let (directory, name) = UserDirectory::of(path)?;
    directory.open_file(name, OFlags::RDONLY, 0)
}

/// Most that is read of a whole file: a suite, a manifest, a list. None is nearly so long, but one with a hole is.
const WHOLE_MIB_MAX: u64 = 64;

/// Reads a whole regular file, or a pipe that this process was given: `<(…)` of a shell, `/dev/stdin`. A link is
/// followed, as the caller may follow it. It does not wait for the writer of a FIFO, and reads no device. Errors: the
/// kernel's answer, or the file is of another kind, or longer than any that belongs here.
pub fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read_limited(path, WHOLE_MIB_MAX)
}

/// [`read_whole`] with a limit in MiB.
pub fn read_limited(path: &Path, mib_max: u64) -> io::Result<Vec<u8>> {
    let bytes_max = mib_max << 20;
    let mut bytes = Vec::new();
    let n_bytes = open_to_read(path)?.take(bytes_max + 1).read_to_end(&mut bytes)? as u64;
    if n_bytes > bytes_max {
        let text = format!(
            "it is longer than {mib_max} MiB, and no file that belongs here is: name another"
        );
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// [`read_whole`] for text. Errors: see there; or it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_whole(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text: it is not UTF-8"))
}

/// Opens a file for reading, as [`read_whole`] does.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    // Opening the pipe of a descriptor does not wait for its writer, but reading it does.
    let is_descriptor = is_descriptor(path);
    let waits = if is_descriptor { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC | waits;
    as_caller(|| {
        let file = open_outside_proc(path, flags)?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file.into()),
            FileType::Fifo if is_descriptor => Ok(file.into()),
            other => Err(refusal(other)),
        }
    })
    .map_err(explained)
}

/// Whether a path names a descriptor of this process.
fn is_descriptor(path: &Path) -> bool {
    let parents = ["/dev/fd", "/proc/self/fd"].map(Path::new);
    path == Path::new("/dev/stdin") || path.parent().is_some_and(|it| parents.contains(&it))
}

/// The name of a kind of file that is not regular.
fn name_of(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::Symlink => "a link",
        _ => "a device",
    }
}

fn refusal(kind: FileType) -> io::Error {
    let text = format!("it is {}, and only a regular file is possible here", name_of(kind));
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// What is at a path where a new file is to be made, and what to do. Only a regular file may be one to remove.
pub fn in_the_way(path: &Path) -> String {
    let found = as_caller(|| statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW));
    match found.map(|found| FileType::from_raw_mode(found.st_mode)) {
        Ok(kind) if kind != FileType::RegularFile => {
            format!("is {}, not a new file; choose another name", name_of(kind))
        }
        _ => "exists already; choose another name or remove it".into(),
    }
}

/// Whose rights were missing for a file, and what to do. `None` if they were this process's.
pub fn whose_rights() -> Option<String> {
    user_of_files().map(|uid| {
        format!(
            "files are opened as user {uid}, who called sudo, doas or pkexec: name a place that this user may use"
        )
    })
}

/// Adds to a permission error whose rights were missing.
fn explained(error: io::Error) -> io::Error {
    match whose_rights() {
        Some(whose) if error.kind() == io::ErrorKind::PermissionDenied => {
            io::Error::new(error.kind(), format!("{error}; {whose}"))
        }
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let whole = folder.path().join("file");
        File::create(&whole).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&whole, &link).unwrap();
        open_regular(&whole).unwrap();
        // Without lent rights a link is followed.
        open_regular(&link).unwrap();
        let ring = folder.path().join("ring");
        std::os::unix::fs::symlink("ring", &ring).unwrap();
        let error = open_regular(&ring).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::LOOP.raw_os_error()), "{error}");
        let only = |what: &str| format!("it is {what}, and only a regular file is possible here");
        for (path, what) in [
            (fifo.as_path(), "a FIFO"),
            (folder.path(), "a directory"),
            (Path::new(".."), "a directory"),
            (Path::new("/dev/null"), "a device"),
        ] {
            assert_eq!(open_regular(path).unwrap_err().to_string(), only(what));
            let written = open_to_write(path, OFlags::APPEND, 0);
            assert!(written.is_err(), "{}", path.display());
        }
        let here = PathBuf::from(".");
        for (path, what) in [(&fifo, "a FIFO"), (&link, "a link"), (&here, "a directory")] {
            assert_eq!(replace(path, 0o600, b"x").unwrap_err().to_string(), only(what));
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole_and_keeps_its_mode() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace(&path, 0o600, b"old").unwrap();
        let (directory, name) = UserDirectory::of(&path).unwrap();
        let failed = directory.replace(name, 0o666, |file| {
            io::Write::write_all(file, b"half")?;
            Err(io::Error::other("no"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no");
        assert_eq!(io::read_to_string(open_regular(&path).unwrap()).unwrap(), "old");
        replace(&path, 0o666, b"new").unwrap();
        assert_eq!(io::read_to_string(open_regular(&path).unwrap()).unwrap(), "new");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }
}
