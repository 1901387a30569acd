//! End to end, one test at a time and beside no other program of tests: what these do is felt by the whole machine, or is
//! about what others do to it.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests are outside of the program: they make processes, read files and wait"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

#[expect(dead_code, reason = "the tools of the other tests")]
#[path = "../it/bench.rs"]
mod bench;
mod noise;
mod shield;

/// Nobody else while this is held. Whether another test failed does not matter.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
