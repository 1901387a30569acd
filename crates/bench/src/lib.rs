//! Benchmarks of Rust functions, compared build against build by `stillwell bench`.
//!
//! ```no_run
//! use stillwell_bench::{Bench, black_box};
//!
//! fn parse_number(bench: &mut Bench) {
//!     let text = String::from("1234"); // not timed
//!     bench.run(|| black_box(&text).parse::<u32>());
//! }
//!
//! stillwell_bench::main!(parse_number);
//! ```
//!
//! The program is a `[[bench]]` with `harness = false`. By itself it prints a rough time of each benchmark. `stillwell bench
//! ./old ./new` starts it as a worker, and compares two builds of it.
#![warn(missing_docs, unreachable_pub)]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of its own, which reads clocks and prints"
)]

mod alone;
mod clock;
mod measure;
mod worker;

use std::process::ExitCode;

pub use measure::Bench;
pub use std::hint::black_box;

/// All memory that other code can reach counts as read and changed. After filling memory that nothing reads.
#[expect(unsafe_code, reason = "only an empty piece of assembly says this to the compiler")]
#[inline(always)]
pub fn clobber() {
    // SAFETY: it is empty.
    unsafe { std::arch::asm!("", options(nostack, preserves_flags)) }
}

/// A name and a function that is timed.
pub struct Benchmark {
    name: String,
    function: fn(&mut Bench),
    inner_loops: u64,
    source_file: &'static str,
}

impl Benchmark {
    /// A benchmark of this name. The function must call [`Bench::run`] or [`Bench::run_with`] once.
    #[track_caller]
    pub fn new(name: impl Into<String>, function: fn(&mut Bench)) -> Self {
        let source_file = std::panic::Location::caller().file();
        Self { name: name.into(), function, inner_loops: 1, source_file }
    }

    /// The code is written so many times in one loop: the time is divided by it.
    #[must_use]
    pub fn inner_loops(mut self, n: u64) -> Self {
        self.inner_loops = n;
        self
    }
}

/// What `main` of a benchmark program does: it serves `stillwell bench`, or prints a rough time of each benchmark.
///
/// ```no_run
/// use stillwell_bench::{Bench, Benchmark};
/// fn nothing(bench: &mut Bench) {
///     bench.run(|| ());
/// }
/// fn main() -> std::process::ExitCode {
///     stillwell_bench::main(&[Benchmark::new("an empty loop", nothing)])
/// }
/// ```
pub fn main(benchmarks: &[Benchmark]) -> ExitCode {
    if let Some(problem) = problem(benchmarks) {
        eprintln!("stillwell-bench: {problem}");
        return ExitCode::from(2);
    }
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match words.last().and_then(|last| last.strip_prefix("--stillwell-worker=")) {
        Some(descriptors) => worker::start(benchmarks, descriptors),
        None => alone::show(benchmarks, &words),
    }
}

/// The longest name, in bytes. Escaping takes up to four bytes for each, so a line of the protocol stays below its limit.
const NAME_BYTES_MAX: usize = 4096;

/// The mistake in the list, if there is one.
fn problem(benchmarks: &[Benchmark]) -> Option<String> {
    for (at, benchmark) in benchmarks.iter().enumerate() {
        let Benchmark { name, inner_loops, .. } = benchmark;
        if name.len() > NAME_BYTES_MAX {
            return Some(format!(
                "a name has {} bytes; at most {NAME_BYTES_MAX} are allowed",
                name.len()
            ));
        }
        if *inner_loops == 0 || *inner_loops > clock::INTEGER_MAX {
            return Some(format!("{name} has {inner_loops} inner loops; give it 1 or more"));
        }
        if benchmarks[..at].iter().any(|other| other.name == *name) {
            return Some(format!("two benchmarks are called {name}; rename one"));
        }
    }
    benchmarks.is_empty().then(|| "there is no benchmark; name a function in main!(…)".into())
}

/// Writes the `main` of a program with these benchmarks. Each is a function that takes a `&mut Bench`, and has its name.
#[macro_export]
macro_rules! main {
    ($($function:path),+ $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::main(&[$($crate::Benchmark::new(stringify!($function), $function)),+])
        }
    };
}

/// The example of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_make_no_sense() {
        let nothing = |name: &str| Benchmark::new(name, |bench| bench.run(|| ()));
        assert_eq!(problem(&[nothing("a"), nothing("b").inner_loops(10)]), None);
        let check = |benchmarks: &[Benchmark], part: &str| {
            let found = problem(benchmarks).unwrap();
            assert!(found.contains(part), "{found}");
        };
        check(&[], "no benchmark");
        check(&[nothing("a"), nothing("b"), nothing("a")], "two benchmarks are called a");
        check(&[nothing("a").inner_loops(0)], "0 inner loops");
        check(&[nothing(&"x".repeat(4097))], "4097 bytes");
    }
}
