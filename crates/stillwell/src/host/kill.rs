//! Kill points: a test has a child process killed at the n-th of them.

use std::sync::atomic::{AtomicI64, Ordering};

/// Points that are left; negative when nobody is to be killed.
static LEFT: AtomicI64 = AtomicI64::new(-1);

/// Has this process killed at the point with this number, from 0 on.
pub(super) fn arm(point: i64) {
    LEFT.store(point, Ordering::Relaxed);
}

pub(super) fn kill_point() {
    if LEFT.load(Ordering::Relaxed) >= 0 && LEFT.fetch_sub(1, Ordering::Relaxed) == 0 {
        let me = rustix::process::getpid();
        rustix::process::kill_process(me, rustix::process::Signal::KILL)
            .expect("I may kill myself");
    }
}
