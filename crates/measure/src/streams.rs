//! Standard streams of a run. In a timed run, no process reads while the program writes: output goes to /dev/null, to a
//! file or, for standard error, to a file in memory. The launcher reads along only in untimed runs, or if the user asks
//! for a pipe. It stops when the run has ended, not when the last copy of the pipe is closed, so a background
//! grandchild that holds the pipe delays nothing.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

/// After a run that wrote more than this, the launcher no longer keeps the command's standard error.
pub const STDERR_KEEP_BYTES_MAX: u64 = 64 << 10;
/// Interval between checks whether a process without a pidfd has ended.
const ASK_AGAIN_NS: i64 = 2_000_000;
/// Interval between checks whether the terminal has stopped a process, which a pidfd does not tell, s.
const ASK_FOR_STOP_S: i64 = 1;
/// Bytes from the end of an output that a failure shows.
pub const TAIL_BYTES: usize = 4 << 10;

/// The null device and the memory file, opened once.
#[derive(Debug)]
pub struct Streams {
    null: OwnedFd,
    kept_stderr: File,
}

/// Pipes, and a pseudo-terminal, that the launcher reads during a run.
#[derive(Debug, Default)]
pub struct Pipes {
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    stderr_tail: Vec<u8>,
    stderr_bytes: u64,
}

impl Streams {
    /// Opens both. Errors: `/dev/null` is missing, or there is no memfd (Linux before 3.17).
    pub fn open() -> Result<Self> {
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
            .context("/dev/null")?;
        let kept_stderr = memory_file("stillwell-stderr").context("a file in memory")?;
        Ok(Self { null, kept_stderr })
    }

    pub fn null(&self) -> BorrowedFd<'_> {
        self.null.as_fd()
    }

    pub fn kept_stderr(&self) -> BorrowedFd<'_> {
        self.kept_stderr.as_fd()
    }

    /// Takes the run's standard error from the memory file and empties it. Returns the last part, and the whole length.
    pub fn take_kept_stderr(&self) -> (Vec<u8>, u64) {
        let n_bytes = length_of(&self.kept_stderr);
        if n_bytes == 0 {
            return (Vec::new(), 0);
        }
        let tail = tail_of(&self.kept_stderr);
        self.kept_stderr.set_len(0).ok();
        (tail, n_bytes)
    }
}

/// A file in memory for the output of a program. It is opened to append: a program that reopens it or seeks cannot
/// overwrite it, and writes at the new end after the file is emptied.
pub fn memory_file(name: &str) -> io::Result<File> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
    Ok(file.into())
}

pub fn length_of(file: &File) -> u64 {
    file.metadata().map_or(0, |meta| meta.len())
}

/// The end of a file. pread, because the program shares the offset.
pub fn tail_of(file: &File) -> Vec<u8> {
    let mut tail = vec![0; TAIL_BYTES];
    let from = length_of(file).saturating_sub(TAIL_BYTES as u64);
    let n_read = file.read_at(&mut tail, from).unwrap_or(0);
    tail.truncate(n_read);
    tail
}

/// Opens a pipe with a non-blocking reading end; the writing end is for the child.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::fs::fcntl_setfl(&reader, OFlags::NONBLOCK)?;
    Ok((reader, writer))
}

impl Pipes {
    /// Takes the reading ends of the child's pipes.
    pub fn new(stdout: Option<OwnedFd>, stderr: Option<OwnedFd>) -> Self {
        Self { stdout, stderr, ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Reads until the process has ended. Linux before 5.3 has no pidfd to wait for, so the launcher checks at
    /// intervals. Errors: `EINTR`, so the caller can check its flags.
    pub fn drain_until_exit(
        &mut self,
        pidfd: Option<BorrowedFd<'_>>,
        has_ended: impl Fn() -> bool,
    ) -> io::Result<()> {
        let timeout = match pidfd {
            Some(_) => Timespec { tv_sec: ASK_FOR_STOP_S, tv_nsec: 0 },
            None => Timespec { tv_sec: 0, tv_nsec: ASK_AGAIN_NS },
        };
        loop {
            let mut fds: Vec<PollFd<'_>> =
                pidfd.iter().map(|pidfd| PollFd::new(pidfd, PollFlags::IN)).collect();
            let readers = [self.stdout.as_ref(), self.stderr.as_ref()];
            fds.extend(readers.into_iter().flatten().map(|fd| PollFd::new(fd, PollFlags::IN)));
            poll(&mut fds, Some(&timeout))?;
            let ended = has_ended();
            self.read_what_is_there();
            if ended {
                return Ok(());
            }
        }
    }

    /// The end of standard error, and the whole length.
    pub fn into_stderr(self) -> (Vec<u8>, u64) {
        let from = self.stderr_tail.len().saturating_sub(TAIL_BYTES);
        (self.stderr_tail[from..].to_vec(), self.stderr_bytes)
    }

    fn read_what_is_there(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(fd) = &self.stdout {
            match rustix::io::read(fd, &mut buffer) {
                // A terminal that no process has open any more is an error (`n_tty_read()` in drivers/tty/n_tty.c).
                Ok(0) | Err(Errno::IO) => self.stdout = None,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        while let Some(fd) = &self.stderr {
            match rustix::io::read(fd, &mut buffer) {
                Ok(0) => self.stderr = None,
                Ok(n_bytes) => {
                    self.stderr_bytes += n_bytes as u64;
                    self.stderr_tail.extend_from_slice(&buffer[..n_bytes]);
                    let excess = self.stderr_tail.len().saturating_sub(2 * TAIL_BYTES);
                    self.stderr_tail.drain(..excess);
                }
                Err(_) => break,
            }
        }
    }
}
