//! Exact iteration counts, for counting instructions. A process with 2n iterations minus a process with n costs n
//! iterations: everything else cancels.

use crate::harness::{Harness, with_iterations};

/// Step of the clock of a program that chooses its iterations by the clock. With it, each run chooses the same number.
pub const CLOCK_STEP_NS: u64 = 10_000_000;
/// criterion measures its warm-up of one iteration with this many readings.
const READINGS: u64 = 3;
/// criterion's samples (`--sample-size=10`) have k, 2k, ... 10k iterations.
const SAMPLES: u64 = 10;
const ITERATIONS: u64 = SAMPLES * (SAMPLES + 1) / 2;
const GOOGLE_FILTER: &str = "--benchmark_filter=";

/// Whether the number is exact only with a clock that goes on by [`CLOCK_STEP_NS`] at each reading.
pub fn needs_stepped_clock(harness: Harness) -> bool {
    harness == Harness::Criterion
}

/// Why valgrind's counts of this framework's processes mean nothing; `None` if they do.
///
/// Counts of two processes of `xxhash`'s benchmarks (Go 1.26) differed by a fifth, and twice the iterations often took fewer.
pub fn no_valgrind(harness: Harness) -> Option<&'static str> {
    (harness == Harness::Go).then_some(
        "Go's runtime has threads of its own, and valgrind's counts of two processes differ by a fifth: \
         only the processor can count them",
    )
}

/// Variables of the processes that are counted. criterion's statistics use threads, whose turns differ from run to run.
pub fn counted_environment(harness: Harness) -> &'static [(&'static str, &'static str)] {
    if harness == Harness::Criterion { &[("RAYON_NUM_THREADS", "1")] } else { &[] }
}

/// The next larger number of iterations that the framework can do, and twice as many.
pub fn countable(harness: Harness, n: u64) -> u64 {
    match harness {
        Harness::Criterion if n <= SAMPLES => SAMPLES,
        Harness::Criterion => n.div_ceil(ITERATIONS) * ITERATIONS,
        _ => n,
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
    let exact = || one.iter().rposition(|word| word == "--exact");
    match harness {
        Harness::Criterion => Some(with(exact()?, 2, &[any()])),
        Harness::Divan => Some(with(exact()? + 1, 1, benchmarks)),
        Harness::GoogleBenchmark => {
            let at = one.iter().rposition(|word| word.starts_with(GOOGLE_FILTER))?;
            Some(with(at, 1, &[format!("{GOOGLE_FILTER}{}", any())]))
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
        Harness::Libtest | Harness::Catch2 | Harness::Go | Harness::Jmh | Harness::Asv => None,
    }
}

/// The arguments for a run of exactly `n` iterations, [`countable`] or twice that. Errors: the framework chooses the number by the clock.
pub fn with_exact_iterations(
    harness: Harness,
    argv: &[String],
    n: u64,
) -> Result<Vec<String>, String> {
    match harness {
        Harness::PytestBenchmark => return Ok(pytest(argv, n)),
        Harness::Criterion => return Ok(criterion(argv, n)),
        _ => {}
    }
    let by_clock =
        "the clock decides the number of iterations, so the instructions of two processes differ";
    with_iterations(harness, argv, n).ok_or_else(|| by_clock.to_owned())
}

/// Its warm-up ends with the first iteration, which seems to take [`READINGS`] steps. From that time and `--measurement-time`
/// it computes the iterations: all samples have the same number if they would take more than half of that time in the other
/// way (`SamplingMode::Auto` of criterion 0.3.4 to 0.8).
fn criterion(argv: &[String], n: u64) -> Vec<String> {
    let step_s = 1e-9 * (READINGS * CLOCK_STEP_NS) as f64;
    // Half of a turn less, so that criterion's rounding up gives the number.
    let turns = if n <= 2 * SAMPLES { n - SAMPLES / 2 } else { n - ITERATIONS / 2 };
    let time_s = step_s * turns as f64;
    let word = |word: &String| match word.split_once('=').map_or(word.as_str(), |(name, _)| name) {
        "--warm-up-time" => "--warm-up-time=0.000001".to_owned(),
        "--measurement-time" => format!("--measurement-time={time_s:.3}"),
        // Its own statistics, whose work differs from run to run, become short.
        "--nresamples" => "--nresamples=10".to_owned(),
        _ => word.clone(),
    };
    // A comparison with the run before would be work that only the second run has.
    argv.iter().map(word).chain(["--discard-baseline".to_owned()]).collect()
}

/// `n` rounds of one iteration. pytest-benchmark calibrates by the clock unless the minimal time is tiny.
fn pytest(argv: &[String], n: u64) -> Vec<String> {
    let word = |word: &String| match word.split_once('=').map_or(word.as_str(), |(name, _)| name) {
        "--benchmark-min-rounds" => format!("--benchmark-min-rounds={n}"),
        "--benchmark-max-time" => "--benchmark-max-time=0.000000001".into(),
        "--benchmark-warmup" => "--benchmark-warmup=off".into(),
        _ => word.clone(),
    };
    let at = argv.iter().position(|word| word.starts_with("--benchmark-max-time"));
    let at = at.unwrap_or(argv.len());
    let shortest = std::iter::once("--benchmark-min-time=0.000000001".to_owned());
    argv[..at].iter().map(word).chain(shortest).chain(argv[at..].iter().map(word)).collect()
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
        let pytest = words(Harness::PytestBenchmark, 7).unwrap();
        let calibrated = "--benchmark-min-rounds=7 --benchmark-min-time=0.000000001 --benchmark-max-time=0.000000001";
        assert!(pytest.contains(calibrated) && pytest.contains("warmup=off"), "{pytest}");
        let by_clock = [Harness::Libtest, Harness::Catch2, Harness::Jmh];
        for harness in by_clock {
            let why = words(harness, 7).unwrap_err();
            assert!(why.starts_with("the clock decides"), "{why}");
        }
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
        assert_eq!(words(Harness::PytestBenchmark, &["pytest", "t/a.py", "t/b.py"], &tests), None);
        assert_eq!(words(Harness::Go, &["./p"], &names), None);
        assert_eq!(words(Harness::Divan, &["./p"], &[]), None);
    }

    /// The iterations that criterion computes (`iterations_per_sample`, `choose_sampling_mode`).
    fn iterations(words: &str) -> u64 {
        let time = words.split_once("--measurement-time=").unwrap().1.split(' ').next().unwrap();
        let (target_ns, once_ns) = (1e9 * time.parse::<f64>().unwrap(), 30e6);
        let per_turn = (target_ns / ITERATIONS as f64 / once_ns).ceil().max(1.0);
        if ITERATIONS as f64 * per_turn * once_ns > 2.0 * target_ns {
            return SAMPLES * (target_ns / SAMPLES as f64 / once_ns).ceil().max(1.0) as u64;
        }
        ITERATIONS * per_turn as u64
    }

    #[test]
    fn criterion_computes_the_number_from_the_steps_of_the_clock() {
        for n in [1, 10, 11, 55, 56, 1000, 123_456] {
            let n = countable(Harness::Criterion, n);
            assert_eq!(iterations(&words(Harness::Criterion, n).unwrap()), n);
            assert_eq!(iterations(&words(Harness::Criterion, 2 * n).unwrap()), 2 * n);
        }
        assert_eq!(countable(Harness::Divan, 7), 7);
    }
}
