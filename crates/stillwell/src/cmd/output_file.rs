//! Files that a verb writes. A file is complete or not there at all.

use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Result, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::NamedTempFile;

use crate::host::{invoking_user, with_their_files};
use crate::sys::{User, with_files_of};
use crate::terminal;

/// Refuses a file whose directory does not exist.
///
/// # Errors
/// The directory does not exist, or the path is a directory.
pub fn check_path(option: &str, path: &Path) -> Result<()> {
    let (shown, directory) = (path.display(), directory_of(path));
    let shown_directory = directory.display();
    ensure!(directory.is_dir(), "{option} {shown}: there is no directory {shown_directory}");
    ensure!(!path.is_dir(), "{option} {shown}: it is a directory");
    Ok(())
}

/// The directory of a file.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file as a whole: it is complete or not there at all. A file whose name ends with .gz is compressed.
///
/// # Errors
/// The file cannot be written, or `export` fails.
pub fn write_one(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path.extension().is_some_and(|extension| extension == "gz") {
        return write_plain(path, |to| {
            let mut gzip = GzEncoder::new(to, Compression::default());
            export(&mut gzip)?;
            gzip.finish()?;
            Ok(())
        });
    }
    write_plain(path, export)
}

/// Writes a file that must not exist yet.
///
/// # Errors
/// As [`write_one`], or the file exists.
pub fn write_new(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    ensure!(path.symlink_metadata().is_err(), io::Error::from(io::ErrorKind::AlreadyExists));
    write_one(path, export)
}

fn write_plain(path: &Path, export: impl Fn(&mut dyn Write) -> Result<()>) -> Result<()> {
    if path == Path::new("-") {
        let mut stdout = BufWriter::new(terminal::data());
        export(&mut stdout)?;
        return Ok(stdout.flush()?);
    }
    // A device or a pipe (/dev/null, /dev/stdout) is written to, not replaced.
    if path.metadata().is_ok_and(|meta| !meta.is_file()) {
        let mut file = BufWriter::new(std::fs::OpenOptions::new().write(true).open(path)?);
        export(&mut file)?;
        return Ok(file.flush()?);
    }
    refuse_strange_link(path)?;
    // A link is followed, not replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.into());
    let file = with_their_files(|| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        tempfile::Builder::new().permissions(mode).tempfile_in(directory_of(path))
    });
    // The message of tempfile names the temporary file.
    let file = file.map_err(|error| io::Error::from(error.kind()))?;
    let mut buffer = BufWriter::new(file);
    export(&mut buffer)?;
    let file: NamedTempFile = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
    // A user who made the temporary file may not replace another user's file by root's rights.
    let maker = invoking_user().filter(|user| is_owner(file.as_file(), user));
    match maker {
        Some(user) => with_files_of(&user, || file.persist(path))?,
        None => file.persist(path)?,
    };
    Ok(())
}

fn is_owner(file: &std::fs::File, user: &User) -> bool {
    file.metadata().is_ok_and(|meta| meta.uid() == user.uid)
}

/// Refuses a link of another user in a directory that everybody may write to, such as /tmp. The kernel refuses to follow
/// it too (Documentation/admin-guide/sysctl/fs.rst, `protected_symlinks`), but only where this is turned on, and not when
/// the link is read.
fn refuse_strange_link(path: &Path) -> Result<()> {
    const STICKY_AND_OPEN: u32 = 0o1002;
    let Ok(link) = path.symlink_metadata() else { return Ok(()) };
    let Ok(directory) = directory_of(path).metadata() else { return Ok(()) };
    let is_open = directory.mode() & STICKY_AND_OPEN == STICKY_AND_OPEN;
    let own = invoking_user().map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.uid);
    let is_trusted = link.uid() == own || link.uid() == directory.uid();
    ensure!(
        !link.is_symlink() || !is_open || is_trusted,
        "it is a link of user {} in a directory that everybody may write to; remove it, or choose another name",
        link.uid()
    );
    Ok(())
}
