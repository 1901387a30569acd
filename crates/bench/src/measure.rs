//! One run of one benchmark.

use std::any::Any;
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Benchmark;
use crate::clock::{INTEGER_MAX, cpu_ns, wall_ns};

const COUNTERS_MAX: usize = 32;
const COUNTER_NAME_BYTES_MAX: usize = 256;

/// One run of a benchmark, which its function gets.
#[derive(Debug)]
pub struct Bench {
    loops: u64,
    /// The time of the loop, once it has ended.
    times: Option<Times>,
    n_loops: usize,
    counters: Vec<(String, u64)>,
    problem: Option<String>,
}

/// The time of all loops together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
}

/// The times and the counters of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) times: Times,
    pub(crate) counters: Vec<(String, u64)>,
}

impl Bench {
    /// Times the code, in a loop. Its results are kept alive; hide what goes in with [`black_box`].
    pub fn run<R>(&mut self, mut code: impl FnMut() -> R) {
        let loops = self.loops;
        self.time(|| {
            for _ in 0..loops {
                black_box(code());
            }
        });
    }

    /// Times the code with an input of its own in each loop. All inputs are made before the clock starts, and the results are
    /// dropped after it has stopped, so all of them are in memory at a time.
    pub fn run_with<I, R>(&mut self, mut input: impl FnMut() -> I, mut code: impl FnMut(I) -> R) {
        let Ok(n) = usize::try_from(self.loops) else {
            self.fail(format!("{} inputs do not fit in memory", self.loops));
            return;
        };
        let inputs: Vec<I> = (0..n).map(|_| input()).collect();
        let mut results = Vec::with_capacity(n);
        self.time(|| {
            for input in inputs {
                results.push(code(black_box(input)));
            }
        });
        black_box(results);
    }

    /// The code is timed once; it must repeat the work [`Bench::loops`] times. For code that needs a loop of its own.
    pub fn run_all(&mut self, code: impl FnOnce()) {
        self.time(code);
    }

    /// How often this run repeats the code.
    pub fn loops(&self) -> u64 {
        self.loops
    }

    /// Adds to a counter of this run, which is shown beside the times. Inside the timed code it costs time.
    pub fn count(&mut self, name: &str, n: u64) {
        let at = self.counters.iter().position(|(known, _)| known == name);
        let before = at.map_or(0, |at| self.counters[at].1);
        let sum = before.checked_add(n).filter(|&sum| sum <= INTEGER_MAX);
        match (at, sum) {
            _ if name.len() > COUNTER_NAME_BYTES_MAX => {
                self.fail(format!(
                    "the name of a counter has more than {COUNTER_NAME_BYTES_MAX} bytes"
                ));
            }
            (_, None) => self.fail(format!("counter {name} is 2^63 or more")),
            (Some(at), Some(sum)) => self.counters[at].1 = sum,
            (None, Some(_)) if self.counters.len() == COUNTERS_MAX => {
                self.fail(format!("counter {name} is one too many: there may be {COUNTERS_MAX}"));
            }
            (None, Some(sum)) => self.counters.push((name.into(), sum)),
        }
    }

    /// The wall clock is the inner one, so its time has only the loop.
    fn time(&mut self, code: impl FnOnce()) {
        let cpu = cpu_ns();
        let wall = wall_ns();
        code();
        let wall_ns = wall_ns() - wall;
        self.times = Some(Times { wall_ns, cpu_ns: cpu_ns() - cpu });
        self.n_loops += 1;
    }

    /// The first problem is the one that is told.
    fn fail(&mut self, problem: String) {
        self.problem.get_or_insert(problem);
    }
}

/// Runs a benchmark. An error is one sentence.
pub(crate) fn measure(benchmark: &Benchmark, loops: u64) -> Result<Run, String> {
    let mut bench = Bench { loops, times: None, n_loops: 0, counters: Vec::new(), problem: None };
    let name = &benchmark.name;
    catch_unwind(AssertUnwindSafe(|| (benchmark.function)(&mut bench)))
        .map_err(|payload| format!("panic: {}", message(&*payload)))?;
    let Bench { times, n_loops, counters, problem, .. } = bench;
    match (problem, times, n_loops) {
        (Some(problem), ..) => Err(format!("{name}: {problem}")),
        (None, Some(times), 1) => Ok(Run { times, counters }),
        (None, None, _) => Err(format!("benchmark {name} did not come to its loop: call run once")),
        (None, Some(_), _) => Err(format!("benchmark {name} came to a second loop: call run once")),
    }
}

/// The message of a panic.
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(function: fn(&mut Bench)) -> Result<Run, String> {
        measure(&Benchmark::new("b", function), 5)
    }

    #[test]
    fn the_code_runs_as_often_as_asked() {
        let run = check(|bench| {
            let mut n = 0;
            bench.run(|| n += 1);
            bench.count("loops", n);
            bench.count("loops", 1);
            bench.count("x=y", 0);
        });
        assert_eq!(run.unwrap().counters, [("loops".to_owned(), 6), ("x=y".to_owned(), 0)]);
        let run = check(|bench| {
            let (mut made, mut used) = (0, Vec::new());
            bench.run_with(
                || {
                    made += 1;
                    made
                },
                |input| used.push(input),
            );
            assert_eq!(used, [1, 2, 3, 4, 5]);
            bench.count("made", made);
        });
        assert_eq!(run.unwrap().counters, [("made".to_owned(), 5)]);
        let run = check(|bench| {
            let loops = bench.loops();
            let mut n = 0;
            bench.run_all(|| (0..loops).for_each(|_| n += 1));
            bench.count("n", n);
        });
        assert_eq!(run.unwrap().counters, [("n".to_owned(), 5)]);
    }

    #[test]
    fn mistakes_are_errors_and_no_times() {
        let error = |function| check(function).unwrap_err();
        assert!(error(|_| ()).contains("did not come to its loop"));
        assert!(error(|bench| (0..2).for_each(|_| bench.run(|| ()))).contains("a second loop"));
        assert_eq!(error(|bench| bench.run(|| panic!("at {}", 7))), "panic: at 7");
        assert!(
            error(|bench| {
                bench.run(|| ());
                bench.count("n", u64::MAX);
            })
            .contains("2^63")
        );
        assert!(
            error(|bench| {
                bench.run(|| ());
                (0..33).for_each(|i| bench.count(&i.to_string(), 1));
            })
            .contains("one too many")
        );
        assert!(
            error(|bench| {
                bench.run(|| ());
                bench.count(&"x".repeat(257), 1);
            })
            .contains("256 bytes")
        );
    }
}
