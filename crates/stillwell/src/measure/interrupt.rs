//! ^C and SIGTERM of the front end, as something that can be waited for.

use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::sys;

/// Signals that have come. While it lives they end nothing by themselves; afterwards they do what they always do.
#[derive(Debug)]
pub struct Interrupt {
    pipe: UnixStream,
    over: Arc<AtomicBool>,
}

impl Interrupt {
    /// Starts to catch them.
    ///
    /// # Errors
    /// There are no descriptors left.
    pub fn catch() -> Result<Self> {
        let (pipe, writer) = UnixStream::pair().context("cannot make a pipe for signals")?;
        pipe.set_nonblocking(true).context("cannot set up the pipe for signals")?;
        let over = Arc::new(AtomicBool::new(false));
        // Who ignores a signal on purpose, as nohup does, is not to be ended by it.
        let wanted =
            [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !sys::is_ignored(signal));
        for signal in wanted {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&over))
                .context("cannot catch signals")?;
            let writer = writer.try_clone().context("cannot catch signals")?;
            signal_hook::low_level::pipe::register(signal, writer)
                .context("cannot catch signals")?;
        }
        // A record at the limit of file sizes is an error of write(2), not the end of the program.
        let caught = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(libc::SIGXFSZ, caught).context("cannot catch signals")?;
        Ok(Self { pipe, over })
    }

    /// One that no signal causes, only what is written to the second value.
    #[cfg(test)]
    pub fn by_hand() -> (Self, UnixStream) {
        let (pipe, writer) = UnixStream::pair().expect("a test has descriptors");
        pipe.set_nonblocking(true).expect("a socket can be made not to block");
        (Self { pipe, over: Arc::default() }, writer)
    }

    /// Whether one has come since the last call.
    pub fn take(&self) -> bool {
        let mut buffer = [0; 64];
        let mut taken = false;
        while (&self.pipe).read(&mut buffer).is_ok_and(|n_bytes| n_bytes > 0) {
            taken = true;
        }
        taken
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}
