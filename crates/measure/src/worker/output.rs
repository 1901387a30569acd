//! Standard output and error of a worker: two files in memory, of which only the end is kept.
//!
//! Unlike pipes, files need no reader. So a worker never blocks in a write, and its output during a slice does not wake
//! the parent, which would take the CPU from it. The parent checks the lengths of the files after each answer, and
//! every 50 ms while it waits, and shortens them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};

use crate::worker::failure::OutputTail;

/// The number of bytes from the end to show.
const TAIL_BYTES: usize = 4 << 10;
/// A longer file is emptied.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub struct WorkerOutput {
    stdout: TailFile,
    stderr: TailFile,
}

#[derive(Debug)]
struct TailFile {
    file: File,
    /// The end of the output before it was last emptied.
    before: Vec<u8>,
}

impl WorkerOutput {
    /// Makes the files. Errors: there is no memfd (Linux before 3.17), or no descriptor left.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            stdout: TailFile::open("stillwell-stdout")?,
            stderr: TailFile::open("stillwell-stderr")?,
        })
    }

    pub fn fds(&self) -> (BorrowedFd<'_>, BorrowedFd<'_>) {
        (self.stdout.file.as_fd(), self.stderr.file.as_fd())
    }

    /// Keeps the files short.
    pub fn trim(&mut self) {
        self.stdout.trim();
        self.stderr.trim();
    }

    pub fn output_tail(&self) -> OutputTail {
        let text = |captured: &TailFile| String::from_utf8_lossy(&captured.end()).into_owned();
        OutputTail { stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

impl TailFile {
    fn open(name: &str) -> io::Result<Self> {
        let file = memfd_create(name, MemfdFlags::CLOEXEC)?;
        // Append, so the program writes at the new end after the file is emptied.
        fcntl_setfl(&file, OFlags::APPEND)?;
        Ok(Self { file: file.into(), before: Vec::new() })
    }

    fn n_bytes(&self) -> u64 {
        self.file.metadata().map_or(0, |meta| meta.len())
    }

    fn trim(&mut self) {
        if self.n_bytes() > FILE_BYTES_MAX {
            self.before = self.end();
            self.file.set_len(0).ok();
        }
    }

    fn end(&self) -> Vec<u8> {
        let n_bytes = self.n_bytes();
        let mut tail = vec![0; TAIL_BYTES];
        // pread, because the program shares the offset.
        let from = n_bytes.saturating_sub(TAIL_BYTES as u64);
        let n_read = self.file.read_at(&mut tail, from).unwrap_or(0);
        tail.truncate(n_read);
        let n_missing = TAIL_BYTES - n_read;
        let before = &self.before[self.before.len().saturating_sub(n_missing)..];
        [before, &tail].concat()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut output = WorkerOutput::open().unwrap();
        let mut file = output.stdout.file.try_clone().unwrap();
        file.write_all(&vec![b'x'; FILE_BYTES_MAX as usize]).unwrap();
        file.write_all(b"before").unwrap();
        output.trim();
        assert_eq!(output.stdout.n_bytes(), 0);
        file.write_all(b"after").unwrap();
        let OutputTail { stdout, stderr } = output.output_tail();
        assert!(stdout.len() == TAIL_BYTES && stdout.ends_with("xbeforeafter"), "{stdout}");
        assert_eq!(stderr, "");
    }
}
