//! End to end, one test at a time and without other test programs: these tests affect the whole machine, or depend on the
//! programs on it.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests are outside of the program: they make processes, read files and wait"
)]

use std::sync::{Mutex, MutexGuard, PoisonError};

#[expect(dead_code, reason = "the tools of the other tests")]
#[path = "../it/bench.rs"]
mod bench;
#[path = "../it/documents.rs"]
mod documents;

/// `make test` runs these last, by this name.
#[path = "."]
mod whole_machine {
    mod noise;
    mod shield;
}

/// Keeps other tests waiting while the guard lives. A failure of another test does not matter.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
