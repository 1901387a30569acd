//! ^C and SIGTERM of the front end, as a descriptor to wait for.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::signal_pipe::{SignalPipe, heeded};
use host::sys;

/// The signals' default action while no [`Interrupt`] lives, and the number of living ones.
static CATCHERS: Mutex<Option<Catchers>> = Mutex::new(None);

#[derive(Debug)]
struct Catchers {
    n: usize,
    /// Whether signals have their usual effect again.
    are_gone: Arc<AtomicBool>,
}

/// Signals that have arrived. While a value of this type lives, they do not end the process.
#[derive(Debug)]
pub struct Interrupt {
    pipe: SignalPipe,
    is_counted: bool,
}

impl Interrupt {
    pub fn catch() -> Result<Self> {
        let wanted = heeded([SIGINT, SIGTERM, SIGHUP]);
        let pipe = SignalPipe::catch(&wanted)?;
        // Last: a signal always finds a pipe or its usual effect.
        Catchers::add(&wanted).context("cannot catch signals")?;
        Ok(Self { pipe, is_counted: true })
    }

    /// Catches signals for work of several sessions: the first one ends it in order, a later ^C ends the process at
    /// once. A later SIGTERM does not, because timeout(1) sends it twice. Errors: see [`Interrupt::catch`].
    pub fn catch_first() -> Result<Self> {
        let mut interrupt = Self::catch()?;
        if sys::is_ignored(SIGINT) {
            return Ok(interrupt);
        }
        let has_come = Arc::new(AtomicBool::new(false));
        // The order matters: the first one must find the flag unset.
        let ending = signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&has_come));
        interrupt.pipe.actions.push(ending.context("cannot catch signals")?);
        for signal in heeded([SIGINT, SIGTERM, SIGHUP]) {
            let noting = signal_hook::flag::register(signal, Arc::clone(&has_come));
            interrupt.pipe.actions.push(noting.context("cannot catch signals")?);
        }
        Ok(interrupt)
    }

    /// For tests: reacts only to a write to the second value.
    #[cfg(test)]
    pub fn by_hand() -> (Self, std::os::unix::net::UnixStream) {
        let pipe = SignalPipe::catch(&[]).expect("a test has descriptors");
        let writer = pipe.writer.try_clone().expect("a test has descriptors");
        (Self { pipe, is_counted: false }, writer)
    }

    /// Whether a signal has arrived since the last call.
    pub fn take(&self) -> bool {
        self.pipe.take()
    }
}

impl AsFd for Interrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

impl Catchers {
    /// Call this once per process: the last value's handlers stay registered.
    fn new(wanted: &[i32]) -> std::io::Result<Self> {
        let are_gone = Arc::new(AtomicBool::new(true));
        for &signal in wanted {
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&are_gone))?;
        }
        Ok(Self { n: 0, are_gone })
    }

    fn add(wanted: &[i32]) -> std::io::Result<()> {
        let mut all = CATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        let catchers = if let Some(catchers) = all.take() { catchers } else { Self::new(wanted)? };
        catchers.are_gone.store(false, Ordering::Relaxed);
        *all = Some(Self { n: catchers.n + 1, ..catchers });
        Ok(())
    }

    fn remove() {
        let mut all = CATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(catchers) = all.as_mut() {
            catchers.n -= 1;
            catchers.are_gone.store(catchers.n == 0, Ordering::Relaxed);
        }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        // Before the pipe, which comes first in `catch`.
        if self.is_counted {
            Catchers::remove();
        }
    }
}
