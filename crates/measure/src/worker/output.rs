//! Standard output and error of a worker: two files in memory, of which only the end is kept.
//!
//! Unlike pipes, files need no reader. So a worker never blocks in a write, and its output during a slice does not wake
//! the parent, which would take the CPU from it. The parent checks the lengths of the files after each answer, and
//! every 50 ms while it waits, and shortens them.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::fs::{FallocateFlags, fallocate};

use crate::streams::{TAIL_BYTES, length_of, memory_file, tail_of};
use crate::worker::failure::OutputTail;

/// The memory of a longer file is given back, but for its end.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug)]
pub struct WorkerOutput {
    stdout: TailFile,
    stderr: TailFile,
}

#[derive(Debug)]
struct TailFile {
    file: File,
    /// The memory before this byte is given back.
    freed_bytes: u64,
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
        let text =
            |captured: &TailFile| String::from_utf8_lossy(&tail_of(&captured.file)).into_owned();
        OutputTail { stdout: text(&self.stdout), stderr: text(&self.stderr) }
    }
}

impl TailFile {
    fn open(name: &str) -> io::Result<Self> {
        Ok(Self { file: memory_file(name)?, freed_bytes: 0 })
    }

    /// Makes a hole: an emptied file would lose what the program writes between the reading of its end and that.
    fn trim(&mut self) {
        let n_bytes = length_of(&self.file);
        // The program may have emptied the file itself.
        self.freed_bytes = self.freed_bytes.min(n_bytes);
        if n_bytes - self.freed_bytes <= FILE_BYTES_MAX {
            return;
        }
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        self.freed_bytes = n_bytes - TAIL_BYTES as u64;
        if fallocate(&self.file, hole, 0, self.freed_bytes).is_err() {
            // A sandbox without holes: the end is lost, too.
            self.file.set_len(0).ok();
            self.freed_bytes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn only_the_end_is_kept() {
        let mut output = WorkerOutput::open().unwrap();
        let mut file = output.stdout.file.try_clone().unwrap();
        file.write_all(&vec![b'x'; FILE_BYTES_MAX as usize]).unwrap();
        file.write_all(b"before").unwrap();
        output.trim();
        // Blocks of 512 bytes: at most three pages of 4 KiB are left.
        assert!(file.metadata().unwrap().blocks() <= 24, "{file:?}");
        file.write_all(b"after").unwrap();
        let OutputTail { stdout, stderr } = output.output_tail();
        assert!(stdout.len() == TAIL_BYTES && stdout.ends_with("xbeforeafter"), "{stdout}");
        assert_eq!(stderr, "");
    }
}
