//! Kill points: places at which a test can kill the process. A test ends at the n-th kill point, by a signal or by
//! unwinding. Each thread has its own count, because tests run side by side.

#[cfg(test)]
pub(super) use armed::{arm_killing, arm_unwinding, disarm, kill_point};

/// Outside of tests, a kill point does nothing.
#[cfg(not(test))]
pub(super) fn kill_point() {}

#[cfg(test)]
mod armed {
    use std::cell::Cell;

    thread_local! {
        /// The remaining points, and true for a kill by signal. `None` when the test is not armed.
        static LEFT: Cell<Option<(i64, bool)>> = const { Cell::new(None) };
    }

    /// Kills this process at the point with this number, from 0 on.
    pub(in crate::host) fn arm_killing(point: i64) {
        LEFT.set(Some((point, true)));
    }

    /// Unwinds at that point instead.
    pub(in crate::host) fn arm_unwinding(point: i64) {
        LEFT.set(Some((point, false)));
    }

    /// Disarms, and returns the number of remaining points.
    pub(in crate::host) fn disarm() -> i64 {
        LEFT.take().map_or(0, |(left, _)| left)
    }

    pub(in crate::host) fn kill_point() {
        let Some((left, kills)) = LEFT.get() else { return };
        if left > 0 {
            LEFT.set(Some((left - 1, kills)));
        } else if kills {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL)
                .expect("I may kill myself");
        } else {
            std::panic::resume_unwind(Box::new("a kill point"));
        }
    }
}
