//! A benchmark program in Rust with its own implementation of the worker protocol (docs/worker-protocol.md). It needs only
//! the standard library. `stillwell bench ./worker-old ./worker-new` compares two builds.
//!
//!     rustc -O worker.rs -o worker-new
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::FromRawFd;
use std::time::Instant;

fn fib(n: u32) -> u64 {
    if n < 2 { u64::from(n) } else { fib(n - 1) + fib(n - 2) }
}

/// Names and loop bodies of the benchmarks. `black_box` hides the input from the compiler and keeps the result alive.
const BENCHMARKS: [(&str, fn(u64)); 2] = [
    ("fib_15", |loops| (0..loops).for_each(|_| { black_box(fib(black_box(15))); })),
    ("sum_1000", |loops| (0..loops).for_each(|_| { black_box((0..black_box(1000u64)).map(|i| i ^ 7).sum::<u64>()); })),
];

#[repr(C)]
struct Timespec { seconds: i64, nanoseconds: i64 } // for targets whose `long` and `time_t` have 64 bits

unsafe extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
    fn fcntl(fd: i32, command: i32, ...) -> i32;
}

/// CPU time of the process with all its threads. The standard library has no clock for it.
fn cpu_ns() -> i64 {
    let mut t = Timespec { seconds: 0, nanoseconds: 0 };
    unsafe { clock_gettime(2, &mut t) }; // CLOCK_PROCESS_CPUTIME_ID
    t.seconds * 1_000_000_000 + t.nanoseconds
}

fn answer(request: &str, selected: &mut Option<fn(u64)>) -> String {
    let find = |name: &str| BENCHMARKS.iter().find(|b| b.0 == name).map(|b| b.1);
    match (request.split_once(' ').unwrap_or((request, "")), *selected) {
        (("list", ""), _) => BENCHMARKS.iter().map(|b| format!("benchmark {}\n", b.0)).collect::<String>() + "end",
        (("metadata", ""), _) => format!("meta architecture {}\nend", std::env::consts::ARCH),
        (("quit", ""), _) => "bye".into(),
        (("select", name), _) => {
            *selected = find(name);
            (if selected.is_some() { "ok" } else { r"error no\x20benchmark\x20has\x20this\x20name" }).into()
        }
        (("run", _), None) => r"error select\x20a\x20benchmark\x20first".into(),
        (("run", loops), Some(bench)) => match loops.parse::<u64>() {
            Ok(loops) if loops > 0 && loops <= i64::MAX as u64 => {
                let (cpu, start) = (cpu_ns(), Instant::now()); // the wall clock is the inner one
                bench(loops);
                let wall = start.elapsed(); // CLOCK_MONOTONIC
                format!("time {} {}", wall.as_nanos(), cpu_ns() - cpu)
            }
            _ => r"error LOOPS\x20is\x20not\x20a\x20whole\x20number\x20of\x201\x20or\x20more".into(),
        },
        _ => r"error unknown\x20request".into(),
    }
}

fn main() -> io::Result<()> {
    let last = std::env::args().last().unwrap_or_default();
    let fds = last.strip_prefix("--stillwell-worker=").and_then(|fds| fds.split_once(','));
    let Some((Ok(read), Ok(write))) = fds.map(|(r, w)| (r.parse::<i32>(), w.parse::<i32>())) else {
        eprintln!("This is a benchmark program: stillwell bench ./worker-old ./worker-new");
        std::process::exit(2);
    };
    for fd in [read, write] {
        unsafe { fcntl(fd, 2, 1) }; // F_SETFD, FD_CLOEXEC: not for what the benchmark starts
    }
    let (input, mut output) = unsafe { (BufReader::new(File::from_raw_fd(read)), File::from_raw_fd(write)) };
    output.write_all(b"stillwell 1 language=rust\n")?;
    let mut selected = None;
    for request in input.lines() {
        let text = answer(&request?, &mut selected) + "\n";
        output.write_all(text.as_bytes())?;
        if text == "bye\n" {
            break;
        }
    }
    Ok(())
}
