//! Threads for the analysis, if the system allows them.

use std::sync::{Arc, Mutex, mpsc};
use std::thread::Builder;

use rayon::ThreadPoolBuilder;
use rustix::process::{Resource, getrlimit};

/// Threads and processes of a session beside the analysis: the launcher, a child, a guardian.
const OTHERS: usize = 4;
/// A probe only waits.
const STACK_BYTES: usize = 64 << 10;
/// What a thread of the analysis takes of the address space: its stack, and glibc's arena (`HEAP_MAX_SIZE`, malloc/arena.c).
const THREAD_BYTES: u64 = (2 << 20) + (64 << 20);
/// Address space for all else: the program, its libraries and its data.
const PROGRAM_BYTES: u64 = 256 << 20;

/// Makes the analysis run on this thread alone if the system refuses other threads (`ulimit -u`, `ulimit -v`,
/// `pids.max`). rayon makes its threads at first use and panics then; a failed pool cannot be made again, so this is
/// decided before.
pub fn do_without_threads_if_refused() {
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    if !has_room_for(n_threads) || !can_make(n_threads + OTHERS) {
        // It fails only if there is a pool already.
        ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().ok();
    }
}

/// Whether the limits leave address space for so many threads. Trying it would take the space: glibc keeps the stacks of
/// ended threads.
fn has_room_for(n_threads: usize) -> bool {
    let needed = PROGRAM_BYTES + THREAD_BYTES * n_threads as u64;
    let limits = [Resource::As, Resource::Data].map(|limit| getrlimit(limit).current);
    limits.into_iter().flatten().all(|bytes| bytes >= needed)
}

/// The smallest stack on which the program works.
const STACK_BYTES_MIN: u64 = 1 << 20;

/// The error for a stack that is too small: it would overflow.
pub fn stack_problem() -> Option<String> {
    let bytes = getrlimit(Resource::Stack).current.filter(|&bytes| bytes < STACK_BYTES_MIN)?;
    Some(format!(
        "the stack is limited to {} KiB, and Stillwell needs {}: ulimit -s 8192; `prlimit --stack={bytes} COMMAND` limits \
         only a command",
        bytes >> 10,
        STACK_BYTES_MIN >> 10
    ))
}

/// Whether so many threads can exist at the same time.
fn can_make(n_threads: usize) -> bool {
    let (open, closed) = mpsc::channel::<()>();
    let closed = Arc::new(Mutex::new(closed));
    let probe = || {
        let closed = Arc::clone(&closed);
        // Waits until the sender is gone.
        let wait = move || drop(closed.lock().map(|closed| closed.recv()));
        Builder::new().stack_size(STACK_BYTES).spawn(wait).ok()
    };
    let made: Vec<_> = (0..n_threads).map_while(|_| probe()).collect();
    let is_enough = made.len() == n_threads;
    drop(open);
    made.into_iter().for_each(|thread| drop(thread.join()));
    is_enough
}
