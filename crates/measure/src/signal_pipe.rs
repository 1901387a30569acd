//! Signals of this process, as a descriptor to wait for.

use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use anyhow::{Context as _, Result};
use signal_hook::SigId;

use host::sys;

/// The signals that our caller does not ignore. An ignored signal stays ignored, as nohup(1) expects.
pub fn heeded<const N: usize>(signals: [i32; N]) -> Vec<i32> {
    signals.into_iter().filter(|&signal| !sys::is_ignored(signal)).collect()
}

/// Readable after a signal has arrived. While a value of this type lives, its signals have no other effect.
#[derive(Debug)]
pub struct SignalPipe {
    pipe: UnixStream,
    /// Open even without signals: the end of the other side would make the pipe readable.
    pub writer: UnixStream,
    pub actions: Vec<SigId>,
}

impl SignalPipe {
    pub fn catch(signals: &[i32]) -> Result<Self> {
        let (pipe, writer) = UnixStream::pair().context("cannot make a pipe for signals")?;
        pipe.set_nonblocking(true).context("cannot set up the pipe for signals")?;
        let mut caught = Self { pipe, writer, actions: Vec::new() };
        for &signal in signals {
            let writer = caught.writer.try_clone().context("cannot catch signals")?;
            let action = signal_hook::low_level::pipe::register(signal, writer)
                .context("cannot catch signals")?;
            caught.actions.push(action);
        }
        Ok(caught)
    }

    /// Whether a signal has arrived since the last call.
    pub fn take(&self) -> bool {
        let mut buffer = [0; 64];
        let mut taken = false;
        while (&self.pipe).read(&mut buffer).is_ok_and(|n_bytes| n_bytes > 0) {
            taken = true;
        }
        taken
    }
}

impl AsFd for SignalPipe {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

impl Drop for SignalPipe {
    fn drop(&mut self) {
        for &action in &self.actions {
            signal_hook::low_level::unregister(action);
        }
    }
}
