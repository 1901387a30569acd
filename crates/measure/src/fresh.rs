//! Fresh copies of a directory, one for each run.
#![expect(clippy::disallowed_methods, reason = "copies and removes directories")]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, ioctl_ficlone, utimensat};

/// Replaces a directory by a copy of another, including file times. Files share their blocks until one changes, if the
/// file system supports it. Errors: a file cannot be read or written, or is neither a file, a directory nor a link.
pub fn make_fresh(source: &Path, copy: &Path) -> Result<()> {
    remove(copy).with_context(|| format!("cannot remove {}", copy.display()))?;
    copy_directory(source, copy)
}

fn copy_directory(source: &Path, copy: &Path) -> Result<()> {
    let cannot = || format!("cannot copy {}", source.display());
    let meta = fs::metadata(source).with_context(cannot)?;
    fs::create_dir(copy).with_context(|| format!("cannot make {}", copy.display()))?;
    for entry in fs::read_dir(source).with_context(cannot)? {
        let entry = entry.with_context(cannot)?;
        let (from, to) = (entry.path(), copy.join(entry.file_name()));
        let kind = entry.file_type().with_context(cannot)?;
        if kind.is_dir() {
            copy_directory(&from, &to)?;
        } else {
            let cannot = || format!("cannot copy {}", from.display());
            if kind.is_symlink() {
                symlink(fs::read_link(&from).with_context(cannot)?, &to).with_context(cannot)?;
            } else if kind.is_file() {
                copy_file(&from, &to).with_context(cannot)?;
            } else {
                bail!(
                    "cannot copy {}: it is neither a file, a directory nor a link",
                    from.display()
                );
            }
        }
    }
    fs::set_permissions(copy, meta.permissions()).with_context(cannot)?;
    keep_times(&meta, copy).with_context(cannot)
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let source = File::open(from)?;
    let meta = source.metadata()?;
    // Only the owner may read the file until it is complete. open(2) applies the umask.
    let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    if ioctl_ficlone(copy.as_fd(), source.as_fd()).is_err() {
        io::copy(&mut &source, &mut &copy)?;
    }
    copy.set_permissions(meta.permissions())?;
    keep_times(&meta, to)
}

fn keep_times(meta: &fs::Metadata, path: &Path) -> io::Result<()> {
    let time = |tv_sec, tv_nsec| Timespec { tv_sec, tv_nsec };
    let times = Timestamps {
        last_access: time(meta.atime(), meta.atime_nsec()),
        last_modification: time(meta.mtime(), meta.mtime_nsec()),
    };
    Ok(utimensat(CWD, path, &times, AtFlags::empty())?)
}

/// Removes a directory, even if a run has protected it.
fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            unprotect(directory);
            fs::remove_dir_all(directory)
        }
        removed => removed,
    }
}

fn unprotect(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).ok();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_directory).for_each(|entry| unprotect(&entry.path()));
}

/// Where copies of a directory go: preferably on a file system that can share files with it, otherwise among temporary
/// files.
pub fn place_of_copies(source: &Path) -> PathBuf {
    let temporary = std::env::temp_dir();
    let beside = source.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned));
    let places = [Some(temporary.clone()), beside].into_iter().flatten();
    let file = first_file(source);
    let can_share = |place: &PathBuf| {
        let Some(source) = file.as_deref().and_then(|file| File::open(file).ok()) else {
            return false;
        };
        tempfile::tempfile_in(place)
            .is_ok_and(|probe| ioctl_ficlone(probe.as_fd(), source.as_fd()).is_ok())
    };
    places.into_iter().find(can_share).unwrap_or(temporary)
}

fn first_file(directory: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    entries.find(|entry| entry.file_type().is_ok_and(|kind| kind.is_file())).map(|it| it.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_fresh_even_after_a_run_that_protected_it() {
        let folder = tempfile::tempdir().unwrap();
        let (source, copy) = (folder.path().join("source"), folder.path().join("copy"));
        fs::create_dir_all(source.join("sub")).unwrap();
        fs::write(source.join("sub/program"), "x").unwrap();
        fs::set_permissions(source.join("sub/program"), fs::Permissions::from_mode(0o755)).unwrap();
        symlink("sub/program", source.join("link")).unwrap();
        make_fresh(&source, &copy).unwrap();
        fs::write(copy.join("sub/cache"), "kept").unwrap();
        fs::write(copy.join("sub/program"), "changed").unwrap();
        fs::set_permissions(copy.join("sub"), fs::Permissions::from_mode(0o500)).unwrap();
        make_fresh(&source, &copy).unwrap();
        assert!(!copy.join("sub/cache").exists());
        assert_eq!(fs::read_to_string(copy.join("link")).unwrap(), "x");
        let meta = |path: &Path| fs::metadata(path.join("sub/program")).unwrap();
        assert_eq!(meta(&copy).permissions().mode() & 0o777, 0o755);
        assert_eq!(meta(&copy).mtime_nsec(), meta(&source).mtime_nsec());
    }
}
