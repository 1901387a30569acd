//! Fault points: one before each call by which `host` reads or changes a machine or its journal. A test makes one of
//! them fail, or ends the process there; outside of tests a fault point does nothing. Each thread has its own points,
//! because tests run side by side.

#[cfg(test)]
pub(super) use armed::{
    DEAD, Fault, FaultPoints, arm, by_kernel, changes, disarm, front_end_is, reads,
};

/// Precedes a call that only reads.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "a test makes it fail")]
pub(super) fn reads(_path: impl AsRef<std::path::Path>) -> std::io::Result<()> {
    Ok(())
}

/// Precedes a call that changes something.
#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "a test makes it fail")]
pub(super) fn changes(_path: impl AsRef<std::path::Path>) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod armed {
    use std::cell::RefCell;
    use std::io;
    use std::os::unix::net::UnixStream;
    use std::path::{Path, PathBuf};

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Fault {
        /// The call fails with this error, once.
        Once(i32),
        /// The call fails from now on, and so does each call with the same path.
        Lasting(i32),
        /// The front end of this guardian dies: the kernel closes its end of the socket.
        FrontEndDies,
        /// This process dies: the thread unwinds, and no destructor in `host` changes anything.
        Dies,
        BothDie,
        /// This process is killed by a signal.
        Killed,
    }

    /// The panic payload of a process that dies.
    pub(crate) const DEAD: &str = "dead";

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum FaultPoints {
        /// All points, also of calls that only read.
        All,
        /// Points of calls that change something. A process that dies elsewhere leaves nothing different.
        Changes,
    }

    struct Armed {
        /// Number of the point, from 0, and its effect.
        at: u64,
        fault: Fault,
        /// The points that count.
        points: FaultPoints,
        passed: Vec<FaultPoints>,
        lasting: Option<PathBuf>,
    }

    thread_local! {
        static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
        static FRONT_END: RefCell<Option<UnixStream>> = const { RefCell::new(None) };
    }

    /// Makes the point with this number fail.
    pub(crate) fn arm(points: FaultPoints, at: u64, fault: Fault) {
        let armed = Armed { at, fault, points, passed: Vec::new(), lasting: None };
        ARMED.set(Some(armed));
    }

    /// Disarms, and returns the points that were passed.
    pub(crate) fn disarm() -> Vec<FaultPoints> {
        ARMED.take().map(|armed| armed.passed).unwrap_or_default()
    }

    /// The front end's end of the socket, which closes when the front end dies.
    pub(crate) fn front_end_is(socket: UnixStream) {
        FRONT_END.set(Some(socket));
    }

    pub(crate) fn reads(path: impl AsRef<Path>) -> io::Result<()> {
        point(path.as_ref(), FaultPoints::All)
    }

    pub(crate) fn changes(path: impl AsRef<Path>) -> io::Result<()> {
        point(path.as_ref(), FaultPoints::Changes)
    }

    /// A change by the imitation of a kernel: one point, because its inner steps are not ours.
    pub(crate) fn by_kernel<T>(
        path: impl AsRef<Path>,
        change: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        changes(path)?;
        let armed = ARMED.take();
        let result = change();
        ARMED.set(armed);
        result
    }

    fn point(path: &Path, of: FaultPoints) -> io::Result<()> {
        let fault = ARMED.with_borrow_mut(|armed| {
            let armed = armed.as_mut()?;
            if armed.points == FaultPoints::Changes && of == FaultPoints::All {
                return None;
            }
            armed.passed.push(of);
            if armed.passed.len() as u64 - 1 == armed.at {
                armed.lasting = matches!(armed.fault, Fault::Lasting(_)).then(|| path.to_owned());
                return Some(armed.fault);
            }
            (armed.lasting.as_deref() == Some(path)).then_some(armed.fault)
        });
        match fault {
            None => return Ok(()),
            Some(Fault::Once(errno) | Fault::Lasting(errno)) => {
                return Err(io::Error::from_raw_os_error(errno));
            }
            Some(Fault::FrontEndDies) => drop(FRONT_END.take()),
            Some(Fault::Dies) => std::panic::resume_unwind(Box::new(DEAD)),
            Some(Fault::BothDie) => {
                drop(FRONT_END.take());
                std::panic::resume_unwind(Box::new(DEAD));
            }
            Some(Fault::Killed) => {
                let me = rustix::process::getpid();
                rustix::process::kill_process(me, rustix::process::Signal::KILL)
                    .expect("I may kill myself");
            }
        }
        Ok(())
    }
}
