//! Exact iteration counts, for counting instructions. A process with 2n iterations minus a process with n costs n
//! iterations: everything else cancels.

use std::ops::RangeInclusive;

use crate::harness::{Harness, go, with_iterations};

/// Step of the clock of counted programs. With it, each run of a program that chooses its iterations by the clock chooses the
/// same number. criterion warms up for a second, so that one iteration has to take longer; pytest-benchmark has to read the
/// clock four times in a second. It is a binary fraction of a second, so that floating-point numbers are exact too.
pub const CLOCK_STEP_NS: u64 = 375_000_000;
/// criterion's first iteration seems to take this many steps.
const READINGS: u64 = 3;
const PYTEST_ROUNDS_MAX: u64 = 300;
const COUNTED_NS: f64 = 3e6;
/// Fewer iterations are this part of those in the difference.
const FEWER: u64 = 8;
const GOOGLE_FILTER: &str = "--benchmark_filter=";

/// Whether the number is exact only with a clock that goes on by [`CLOCK_STEP_NS`] at each reading.
pub fn chooses_by_clock(harness: Harness) -> bool {
    matches!(harness, Harness::Criterion | Harness::Criterion0_3)
}

/// Whether the work that a framework does with its times would differ from run to run without such a clock. pytest-benchmark
/// sorts them, and processes of one build differed by up to 400 000 of 10⁹ instructions. Google Benchmark prints them: counts of
/// the 131 benchmarks of `snappy` in one process differed by 2300 of 8·10⁸ instructions, and by at most 58 with the clock.
pub fn works_on_times(harness: Harness) -> bool {
    chooses_by_clock(harness)
        || matches!(harness, Harness::PytestBenchmark | Harness::GoogleBenchmark)
}

/// How many readings of the clock `n` iterations of `n_together` benchmarks make; `None` if that tells nothing. criterion computes
/// another number of iterations if they read it. A round of pytest-benchmark reads it twice, unless the benchmark fixes the number
/// of its rounds.
pub fn readings(harness: Harness, n: u64, n_together: u64) -> Option<RangeInclusive<u64>> {
    match harness {
        _ if chooses_by_clock(harness) => Some(0..=0),
        Harness::PytestBenchmark => Some(2 * n * n_together..=u64::MAX),
        _ => None,
    }
}

/// Whether a benchmark fixes its number of iterations, so that no option changes it.
pub fn fixes_iterations(harness: Harness, benchmark: &str) -> bool {
    harness == Harness::GoogleBenchmark && benchmark.contains("/iterations:")
}

/// The iterations of the two processes whose difference has `n`. Most frameworks do the same work around any number of
/// iterations only if it is twice another.
pub fn process_iterations(harness: Harness, n: u64) -> [u64; 2] {
    let fewer = if has_runtime(harness) { n.div_ceil(FEWER) } else { n };
    [fewer, fewer + n]
}

/// Iterations of a process on average, as a multiple of those in the difference.
pub fn mean_share(harness: Harness) -> f64 {
    if has_runtime(harness) { 0.5 + 1.0 / FEWER as f64 } else { 1.5 }
}

/// Length of the counted iterations of one benchmark, ns, and of a sum of several. The framework's own work, such as printing one
/// digit more, is then below a thousandth.
pub fn counted_ns(harness: Harness, is_sum: bool) -> f64 {
    COUNTED_NS * length_factor(harness) * if is_sum { 2.0 } else { 1.0 }
}

/// How many times as long the counted iterations are: what else a process does differs by some thousand instructions in Go.
pub fn length_factor(harness: Harness) -> f64 {
    if has_runtime(harness) { 10.0 } else { 1.0 }
}

/// To which share two counts of the same work agree. The paths of its files decide where a pool of Python's allocator is full, and
/// a round that takes the next one costs up to 46 instructions more. Counts of two copies of `pluggy` differed by 10⁻⁷ to 10⁻⁴,
/// and sums of several benchmarks by up to 4·10⁻⁴. Each process of Go executes some thousand instructions more or less.
pub fn repeats_within(harness: Harness) -> f64 {
    match harness {
        Harness::PytestBenchmark => 1e-4,
        Harness::Go => 4e-5,
        _ => 2e-7,
    }
}

/// Arguments of the child processes that a framework starts for itself. They are not counted: git's work depends on the state of
/// its files, and under valgrind each of its processes takes a fifth of a second (pytest-benchmark starts six).
pub fn own_children(harness: Harness) -> &'static [&'static str] {
    match harness {
        Harness::PytestBenchmark => {
            &["--git-dir", "remote.origin.url", "--abbrev=40", "--pretty=format:*", "--abbrev-ref"]
        }
        _ => &[],
    }
}

/// Whether valgrind's counts leave out what the runtime of the language does by itself: the scheduler and the collector of Go,
/// whose work depends on the time. Without it, counts of `xxhash`'s benchmarks (Go 1.26) differed by 5·10⁻⁷ of 10⁹ instructions.
pub fn has_runtime(harness: Harness) -> bool {
    harness == Harness::Go
}

/// Whether a program lists its benchmarks by executing all of them.
pub fn lists_by_running(harness: Harness) -> bool {
    harness == Harness::Go
}

/// Variables of processes that are counted. Go's threads would look for work of each other, and valgrind executes one at a time.
/// While Go collects, allocations and stores of pointers take a longer way, so counts of `uuid`'s benchmarks that allocate differed
/// by up to 4·10⁻³, and without the collector by 10⁻⁴.
pub fn counting_environment(harness: Harness) -> &'static [(&'static str, &'static str)] {
    match has_runtime(harness) {
        true => &[("GOMAXPROCS", "1"), ("GOGC", "off"), ("GOMEMLIMIT", "1GiB")],
        false => &[],
    }
}

/// The sign in the help text of a program whose framework has the option for a number of iterations, and the reason if it
/// is missing; `None` if all versions have it.
pub fn exact_option(harness: Harness) -> Option<(&'static str, &'static str)> {
    match harness {
        Harness::GoogleBenchmark => {
            let why = "it has no option for a number of iterations before version 1.8";
            Some(("<integer>x", why))
        }
        // Older programs divide a pattern of several benchmarks by `/` first, and execute others.
        Harness::Go => Some(("-test.skip", "it takes one pattern of benchmarks before Go 1.20")),
        _ => None,
    }
}

/// The number of iterations near `n` that can be counted. A framework divides twice as many into as many batches, with a reading
/// of the clock at both ends of each, if `n` is a multiple of 10 or 1000 (criterion's `BatchSize`). Where memory lies decides
/// what pytest-benchmark's lists of a thousand times cost when they grow: 4·10⁻⁴ of the count of `pluggy`.
pub fn countable(harness: Harness, n: u64) -> u64 {
    match n {
        _ if harness == Harness::PytestBenchmark => n.min(PYTEST_ROUNDS_MAX),
        _ if !chooses_by_clock(harness) => n,
        ..10 => n,
        10..1000 => n.next_multiple_of(10),
        1000.. => n.next_multiple_of(1000),
    }
}

/// The command for several benchmarks in one process; `None` if there are none, or the framework cannot.
pub fn command_of_all(
    harness: Harness,
    program: &[String],
    benchmarks: &[String],
) -> Option<Vec<String>> {
    let one = harness.command(program, benchmarks.first()?, None);
    let any = || {
        let names: Vec<String> = benchmarks.iter().map(|name| regex_lite::escape(name)).collect();
        format!("^({})$", names.join("|"))
    };
    let with =
        |from: usize, n: usize, words: &[String]| [&one[..from], words, &one[from + n..]].concat();
    let after = |option| Some(one.iter().rposition(|word| word == option)? + 1);
    match harness {
        Harness::Criterion | Harness::Criterion0_3 => Some(with(after("--bench")?, 1, &[any()])),
        Harness::Divan => Some(with(after("--exact")?, 1, benchmarks)),
        Harness::GoogleBenchmark => {
            let at = one.iter().rposition(|word| word.starts_with(GOOGLE_FILTER))?;
            Some(with(at, 1, &[format!("{GOOGLE_FILTER}{}", any())]))
        }
        Harness::Go => {
            let at = one.iter().rposition(|word| word.starts_with(go::BENCH))?;
            let patterns: Vec<String> = benchmarks.iter().map(|name| go::pattern(name)).collect();
            Some(with(at, 1, &[format!("{}{}", go::BENCH, patterns.join("|"))]))
        }
        Harness::PytestBenchmark => {
            // Each test replaces the word that contains it, which has to be the same one.
            let test = |name: &String| {
                let mut words = harness.command(program, name, None);
                let test = words.pop()?;
                (words == one[..one.len() - 1]).then_some(test)
            };
            let tests: Vec<String> = benchmarks.iter().map(test).collect::<Option<_>>()?;
            Some(with(one.len() - 1, 1, &tests))
        }
        Harness::Libtest | Harness::Catch2 | Harness::Jmh | Harness::Asv => None,
    }
}

/// The arguments for a run of exactly `n` iterations. Errors: the framework chooses the number by the clock.
pub fn with_exact_iterations(
    harness: Harness,
    argv: &[String],
    n: u64,
) -> Result<Vec<String>, String> {
    match harness {
        Harness::PytestBenchmark => return Ok(pytest(argv, n)),
        Harness::Criterion | Harness::Criterion0_3 => return Ok(criterion(argv, n)),
        _ => {}
    }
    let by_clock =
        "the clock decides the number of iterations, so the instructions of two processes differ";
    with_iterations(harness, argv, n).ok_or_else(|| by_clock.to_owned())
}

/// Criterion in its mode for profilers, without statistics, whose work would differ from run to run. The number of iterations is the time
/// that the warm-up leaves ÷ the time of the first iteration, rounded down (`Routine::profile` of criterion 0.3.4 to 0.8).
/// The time is of whole seconds, because 0.3 takes no others, and not at an end of those that give this number.
fn criterion(argv: &[String], n: u64) -> Vec<String> {
    let first_s = 1e-9 * (READINGS * CLOCK_STEP_NS) as f64;
    let time_s = (first_s * (n as f64 + 1.5)).round();
    argv.iter().cloned().chain([format!("--profile-time={time_s}")]).collect()
}

/// `n` rounds of one iteration. pytest-benchmark calibrates by the clock, and one step of it is enough with this precision.
/// Without a file for its results, it does not ask a dozen programs about the machine, which takes as long as its start.
fn pytest(argv: &[String], n: u64) -> Vec<String> {
    let word = |word: &String| match word.split_once('=').map_or(word.as_str(), |(name, _)| name) {
        "--benchmark-min-rounds" => format!("--benchmark-min-rounds={n}"),
        "--benchmark-max-time" => "--benchmark-max-time=0.000000001".into(),
        "--benchmark-json" => "--benchmark-min-time=0.000000001".into(),
        "--benchmark-warmup" => "--benchmark-warmup=off".into(),
        _ => word.clone(),
    };
    let precision = std::iter::once("--benchmark-calibration-precision=1".into());
    let at = argv.iter().position(|word| word == "--benchmark-only").unwrap_or(argv.len());
    argv[..at].iter().map(word).chain(precision).chain(argv[at..].iter().map(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(harness: Harness, n: u64) -> Result<String, String> {
        let argv = harness.command(&["p".into()], "b", None);
        with_exact_iterations(harness, &argv, n).map(|words| words.join(" "))
    }

    #[test]
    fn a_framework_has_an_option_for_the_number_or_a_reason() {
        assert!(words(Harness::GoogleBenchmark, 7).unwrap().contains("--benchmark_min_time=7x"));
        assert!(words(Harness::Divan, 7).unwrap().contains("--sample-size 7"));
        assert!(works_on_times(Harness::GoogleBenchmark) && !works_on_times(Harness::Divan));
        let pytest = words(Harness::PytestBenchmark, 7).unwrap();
        for word in ["min-rounds=7", "max-time=0.000000001", "min-time=0.000000001", "warmup=off"] {
            assert!(pytest.contains(&format!(" --benchmark-{word} ")), "{pytest}");
        }
        assert!(!pytest.contains("--benchmark-json"), "{pytest}");
        let by_clock = [Harness::Libtest, Harness::Catch2, Harness::Jmh];
        for harness in by_clock {
            let why = words(harness, 7).unwrap_err();
            assert!(why.starts_with("the clock decides"), "{why}");
        }
    }

    #[test]
    fn iterations_that_do_not_happen_are_seen() {
        let readings = |harness| readings(harness, 50, 4);
        assert_eq!(readings(Harness::Criterion), Some(0..=0));
        assert!(readings(Harness::PytestBenchmark).is_some_and(|it| !it.contains(&399)));
        assert_eq!(readings(Harness::GoogleBenchmark), None);
        let fixes = |name| fixes_iterations(Harness::GoogleBenchmark, name);
        assert!(fixes("BM_a/8/iterations:500") && !fixes("BM_iterations/8"));
    }

    #[test]
    fn a_process_can_have_several_benchmarks() {
        let names = ["a[0]/x", "b"].map(String::from);
        let words = |harness: Harness, program: &[&str], names: &[String]| {
            let program: Vec<String> = program.iter().map(ToString::to_string).collect();
            command_of_all(harness, &program, names).map(|words| words.join(" "))
        };
        let of = |harness| words(harness, &["./p"], &names).unwrap_or_default();
        let criterion = of(Harness::Criterion);
        assert!(criterion.starts_with(r"./p --bench ^(a\[0\]/x|b)$ --noplot"), "{criterion}");
        let google = of(Harness::GoogleBenchmark);
        assert!(google.contains(r" --benchmark_filter=^(a\[0\]/x|b)$ "), "{google}");
        assert!(of(Harness::Divan).contains("--exact a[0]/x b --max-time"));
        let tests = ["t/a.py::x", "t/b.py::y"].map(String::from);
        let pytest = words(Harness::PytestBenchmark, &["pytest", "t"], &tests).unwrap();
        assert!(pytest.ends_with(" t/a.py::x t/b.py::y") && !pytest.contains(" t "), "{pytest}");
        let files = words(Harness::PytestBenchmark, &["pytest", "t/a.py", "t/b.py"], &tests);
        assert_eq!(files.unwrap(), pytest);
        let [one, other] = ["t/a.py::x", "u/b.py::y"].map(String::from);
        assert_eq!(words(Harness::PytestBenchmark, &["pytest", "t", "u"], &[one, other]), None);
        let go = words(Harness::Go, &["./p"], &["BenchmarkA/n=1", "BenchmarkB"].map(String::from));
        assert!(go.unwrap().contains(" -test.bench=^BenchmarkA$/^n=1$|^BenchmarkB$ "));
        assert_eq!(words(Harness::Divan, &["./p"], &[]), None);
    }

    #[test]
    fn batches_are_as_many_for_twice_the_iterations() {
        let n_batches = |n: u64, most: u64| n.div_ceil(n.div_ceil(most));
        for n in [10, 11, 999, 1000, 1001, 54_321] {
            let n = countable(Harness::Criterion, n);
            assert_eq!(n_batches(n, 10), n_batches(2 * n, 10));
        }
        let n = countable(Harness::Criterion, 1001);
        assert_eq!(n_batches(n, 1000), n_batches(2 * n, 1000));
        assert_eq!(countable(Harness::Divan, 1001), 1001);
        assert_eq!([9, 1001].map(|n| countable(Harness::PytestBenchmark, n)), [9, 300]);
    }

    #[test]
    fn criterion_computes_the_number_from_the_steps_of_the_clock() {
        for n in [1, 2, 7, 1000, 123_456, 20_000_000] {
            let words = words(Harness::Criterion, n).unwrap();
            let time_s: u64 = words.split_once("--profile-time=").unwrap().1.parse().unwrap();
            // criterion computes the number like this (`Routine::profile`).
            let (time_ns, warm_up_ns) = (1_000_000_000 * time_s, READINGS * CLOCK_STEP_NS);
            assert_eq!(((time_ns - warm_up_ns) as f64 / warm_up_ns as f64) as u64, n);
        }
    }
}
