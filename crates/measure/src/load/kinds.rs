//! The kinds of load. Each runs without end and is always ready, so each process adds one to the run queue. (A process
//! that waits for the disk is not on the run queue, although the load average counts it.)

use std::fs::File;
use std::hint::black_box;
use std::io;
use std::net::UdpSocket;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::load::{ARGV0, END};
use host::sys;
use model::spec::load::LoadKind;

/// Bytes to copy: more than the caches of one core hold.
const MEM_BYTES: usize = 16 << 20;
/// Bytes to touch: enough to evict lines from the caches that cores share.
const CACHE_BYTES: usize = 4 << 20;
const CACHE_LINE_BYTES: usize = 64;
const IO_BYTES: usize = 1 << 20;
/// Blocks of the file, overwritten in turn.
const IO_PIECES: u64 = 32;
/// 20 000 interrupts a second.
const TIMER_NS: i64 = 50_000;
const PACKET_BYTES: usize = 1024;
/// Turns of arithmetic at a time: some milliseconds.
const TURNS: u64 = 1 << 20;

/// Prepares a kind of load, calls `ready` and runs for ever. Returns only on failure.
pub(super) fn be_busy(kind: LoadKind, ready: impl FnOnce()) -> io::Result<()> {
    match kind {
        LoadKind::Cpu => {
            ready();
            loop {
                black_box(turn(1));
            }
        }
        LoadKind::Mem => copy_memory(ready),
        LoadKind::Cache => take_cache_lines(ready),
        LoadKind::Io => write_file(ready),
        LoadKind::Fork => make_processes(ready),
        LoadKind::Timer => be_interrupted(ready),
        LoadKind::Irq => send_packets(ready),
    }
}

/// Arithmetic that the compiler cannot remove.
fn turn(seed: u64) -> u64 {
    (0..TURNS)
        .fold(black_box(seed), |x, i| (x ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17))
}

fn copy_memory(ready: impl FnOnce()) -> io::Result<()> {
    let (mut to, mut from) = (vec![1_u8; MEM_BYTES], vec![2_u8; MEM_BYTES]);
    ready();
    loop {
        to.copy_from_slice(black_box(&from));
        from.copy_from_slice(black_box(&to));
    }
}

fn take_cache_lines(ready: impl FnOnce()) -> io::Result<()> {
    let mut lines = vec![0_u8; CACHE_BYTES];
    let n_lines = CACHE_BYTES / CACHE_LINE_BYTES;
    ready();
    let mut at = 1_usize;
    loop {
        // A full cycle through all lines (Hull and Dobell 1962), in an order that no prefetcher follows.
        at = (at.wrapping_mul(1_664_525).wrapping_add(1_013_904_223)) % n_lines;
        let line = &mut lines[at * CACHE_LINE_BYTES];
        *line = black_box(*line).wrapping_add(1);
    }
}

/// Writes an unnamed file, which the kernel deletes when the process ends.
fn write_file(ready: impl FnOnce()) -> io::Result<()> {
    let file: File = tempfile::tempfile()?;
    let piece = vec![0x5a; IO_BYTES];
    ready();
    loop {
        for index in 0..IO_PIECES {
            file.write_all_at(&piece, index * IO_BYTES as u64)?;
            file.sync_data()?;
        }
    }
}

fn make_processes(ready: impl FnOnce()) -> io::Result<()> {
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
            Err(error) => return Err(error),
        }
    }
}

fn be_interrupted(ready: impl FnOnce()) -> io::Result<()> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?;
    let interval = Timespec { tv_sec: 0, tv_nsec: TIMER_NS };
    let times = Itimerspec { it_interval: interval, it_value: interval };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
    ready();
    loop {
        black_box((0..1000_u64).fold(1, |x: u64, i| black_box(x ^ i)));
        // The kernel does not restart the timer before a read (fs/timerfd.c).
        match rustix::io::read(&timer, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends packets through the loopback device. Each raises a software interrupt on this CPU.
fn send_packets(ready: impl FnOnce()) -> io::Result<()> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(socket.local_addr()?)?;
    socket.set_nonblocking(true)?;
    let mut packet = [0; PACKET_BYTES];
    ready();
    loop {
        let sent = socket.send(&packet);
        let received = socket.recv(&mut packet);
        for result in [sent, received] {
            match result {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
}
