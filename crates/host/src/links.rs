//! The way to a file that is going to be written. No link on it may be one that another user made in a directory that
//! everybody may write to, such as /tmp. With `protected_symlinks` (Documentation/admin-guide/sysctl/fs.rst) the kernel
//! refuses such a link too, but only in the place of the file.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC, Stat, fstat, fstatfs, openat,
    readlinkat, statat,
};
use rustix::io::Errno;

use crate::sys::file_owner;

/// Longest chain of links that the kernel follows (`MAXSYMLINKS`, include/linux/namei.h).
pub const LINKS_MAX: usize = 40;

/// The directory of a file, and its name there. With `follows` that name is not a link. Each directory is opened
/// below the one before it, so nobody can put a link in its place after the check. Errors: another user's link, as an
/// error without a number; or the kernel's error.
pub(super) fn walk(path: &Path, follows: bool) -> io::Result<(OwnedFd, OsString)> {
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open_start = |path: &Path| {
        let start = if path.is_absolute() { "/" } else { "." };
        openat(CWD, start, directory, Mode::empty())
    };
    let mut at = open_start(path)?;
    let mut rest = names_of(path);
    let mut n_links = 0;
    while let Some(name) = rest.pop() {
        let is_last = rest.is_empty();
        if !is_last {
            // A link in /proc, such as `/proc/1/root`, does not lead where its text says.
            let is_proc = fstatfs(&at)?.f_type == PROC_SUPER_MAGIC;
            let flags = if is_proc { directory } else { directory | OFlags::NOFOLLOW };
            let opened = openat(&at, name.as_os_str(), flags, Mode::empty());
            match opened {
                Ok(next) => {
                    at = next;
                    continue;
                }
                Err(Errno::NOTDIR | Errno::LOOP) if !is_proc => {}
                Err(error) => return Err(error.into()),
            }
        }
        let found = statat(&at, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW).ok();
        let is_link = |found: &Stat| FileType::from_raw_mode(found.st_mode) == FileType::Symlink;
        match found.filter(is_link) {
            Some(link) if follows || !is_last => check_owner(&name, &link, &fstat(&at)?)?,
            _ if is_last => return Ok((at, name)),
            _ => return Err(Errno::NOTDIR.into()),
        }
        n_links += 1;
        if n_links > LINKS_MAX {
            return Err(Errno::LOOP.into());
        }
        let target = readlinkat(&at, name.as_os_str(), Vec::new())?;
        let target = Path::new(OsStr::from_bytes(target.to_bytes()));
        let file = |path: &Path| {
            statat(&at, path, AtFlags::empty()).map(|found| (found.st_dev, found.st_ino))
        };
        // In /proc it is only the name that the open file once had.
        let is_proc = fstatfs(&at)?.f_type == PROC_SUPER_MAGIC;
        if is_proc && file(Path::new(&name)) != file(target) {
            return Err(Errno::NOENT.into());
        }
        if target.is_absolute() {
            at = open_start(target)?;
        }
        rest.extend(names_of(target));
    }
    Err(Errno::ISDIR.into())
}

/// The names of a path, the last one first.
fn names_of(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|name| *name != Component::RootDir);
    names.rev().map(|name| name.as_os_str().to_owned()).collect()
}

/// The rule of the kernel for its trailing links (`may_follow_link()` in fs/namei.c).
fn check_owner(name: &OsStr, link: &Stat, directory: &Stat) -> io::Result<()> {
    const STICKY_AND_OPEN: u32 = 0o1002;
    let is_open = directory.st_mode & STICKY_AND_OPEN == STICKY_AND_OPEN;
    if !is_open || link.st_uid == directory.st_uid || link.st_uid == file_owner() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "{} is a link of user {} in a directory that everybody may write to; remove it, or choose another name",
        name.display(),
        link.st_uid
    )))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests write their own files")]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, lchown, symlink};

    /// The number of the directory, and the name.
    fn place(path: &Path, follows: bool) -> io::Result<(u64, OsString)> {
        let (directory, name) = walk(path, follows)?;
        Ok((fstat(&directory)?.st_ino, name))
    }

    #[test]
    fn links_lead_to_a_directory_and_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("a/b")).unwrap();
        symlink(path("a/b"), path("d")).unwrap();
        symlink("../new", path("a/b/link")).unwrap();
        symlink("ring", path("ring")).unwrap();
        let number = |path: &Path| path.metadata().unwrap().ino();
        let new = (number(&path("a")), OsString::from("new"));
        assert_eq!(place(&path("d/link"), true).unwrap(), new);
        let link = (number(&path("a/b")), OsString::from("link"));
        assert_eq!(place(&path("d/link"), false).unwrap(), link);
        let here = (number(Path::new(".")), OsString::from("x"));
        for same in ["x", "./x", "/proc/self/cwd/x"] {
            assert_eq!(place(Path::new(same), true).unwrap(), here, "{same}");
        }
        for (name, expected) in
            [("ring", Errno::LOOP), ("none/x", Errno::NOENT), ("a/b/link/x", Errno::NOENT)]
        {
            let error = place(&path(name), true).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(expected.raw_os_error()), "{name}");
        }
        // Its link in /proc has the text "… (deleted)".
        let removed = std::fs::File::create(path("gone")).unwrap();
        std::fs::remove_file(path("gone")).unwrap();
        let open = format!("/proc/self/fd/{}", removed.as_raw_fd());
        let error = place(Path::new(&open), true).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(Errno::NOENT.raw_os_error()));
    }

    #[test]
    fn a_link_of_another_user_is_refused_wherever_it_is() {
        if file_owner() != 0 {
            // Only root makes links of other users.
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("open")).unwrap();
        for (link, to) in [("open/file", "new"), ("open/directory", ".."), ("own", "open/file")] {
            symlink(to, path(link)).unwrap();
        }
        for link in ["open/file", "open/directory"] {
            lchown(path(link), Some(54321), Some(54321)).unwrap();
        }
        let names = ["open/file", "own", "open/directory/new"];
        let n_refused =
            || names.into_iter().filter(|&name| walk(&path(name), true).is_err()).count();
        assert_eq!(n_refused(), 0);
        std::fs::set_permissions(path("open"), PermissionsExt::from_mode(0o1777)).unwrap();
        assert_eq!(n_refused(), 3);
    }
}
