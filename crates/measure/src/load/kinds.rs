//! The kinds of load. Each runs without end and is always ready, so each process adds one to the run queue. (A process
//! that waits for the disk is not on the run queue, although the load average counts it.)

use std::hint::black_box;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use crate::load::{ARGV0, END};
use host::sys;
use model::spec::load::LoadKind;

/// Bytes to copy: more than the caches of one core hold.
const MEM_BYTES: usize = 16 << 20;
/// Turns of arithmetic at a time: some milliseconds.
const TURNS: u64 = 1 << 20;

/// Prepares a kind of load, calls `ready` and runs for ever. Returns only on failure.
pub(super) fn be_busy(kind: LoadKind, ready: impl FnOnce()) -> io::Error {
    match kind {
        LoadKind::Cpu => {
            ready();
            loop {
                black_box(turn(1));
            }
        }
        LoadKind::Mem => copy_memory(ready),
        LoadKind::Fork => make_processes(ready),
    }
}

/// Arithmetic that the compiler cannot remove.
fn turn(seed: u64) -> u64 {
    (0..TURNS)
        .fold(black_box(seed), |x, i| (x ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
}

fn copy_memory(ready: impl FnOnce()) -> ! {
    let (mut to, mut from) = (vec![1_u8; MEM_BYTES], vec![2_u8; MEM_BYTES]);
    ready();
    loop {
        to.copy_from_slice(black_box(&from));
        from.copy_from_slice(black_box(&to));
    }
}

fn make_processes(ready: impl FnOnce()) -> io::Error {
    ready();
    loop {
        let mut command = Command::new(sys::own_program());
        command.arg0(ARGV0).arg(END).stdin(Stdio::null()).env_clear();
        match command.status() {
            Ok(_) => {}
            // The limit on processes is reached; try again.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                black_box(turn(1));
            }
            Err(error) => return error,
        }
    }
}
