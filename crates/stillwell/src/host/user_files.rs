//! Files that a user names. They are opened with the rights of that user, so a link leads only to what the user may
//! open, and a FIFO or a device cannot hang the session.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat};

use crate::host::invoking_user;
use crate::sys::with_files_of;

/// Opens a regular file for reading. It never waits: `O_NONBLOCK` opens a FIFO without a writer (open(2)), and the type
/// is refused afterwards. With lent rights (sudo, doas, pkexec) the file is opened as the caller, and a link in its
/// place is refused.
///
/// # Errors
/// The kernel's answer, or the path names something else than a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match invoking_user() {
        Some(user) => with_files_of(&user, || {
            rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())
        })?,
        None => rustix::fs::open(path, flags, Mode::empty())?,
    };
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        other => Err(io::Error::new(io::ErrorKind::InvalidInput, refusal(other))),
    }
}

fn refusal(found: FileType) -> String {
    let name = match found {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::Symlink => "a link",
        _ => "a device",
    };
    format!("it is {name}; only a regular file is possible here")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_regular_file_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let whole = folder.path().join("file");
        File::create(&whole).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&whole, &link).unwrap();
        open_regular(&whole).unwrap();
        // Without lent rights a link is followed.
        open_regular(&link).unwrap();
        let refused = |path: &Path| open_regular(path).unwrap_err().to_string();
        assert_eq!(refused(&fifo), "it is a FIFO; only a regular file is possible here");
        assert_eq!(
            refused(folder.path()),
            "it is a directory; only a regular file is possible here"
        );
        assert_eq!(
            refused(Path::new("/dev/null")),
            "it is a device; only a regular file is possible here"
        );
    }
}
