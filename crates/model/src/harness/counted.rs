//! Exact iteration counts, for counting instructions. A process with 2n iterations minus a process with n costs n
//! iterations: everything else cancels.

use crate::harness::{Harness, with_iterations};

/// The arguments for a run of exactly `n` iterations. Errors: the framework chooses the number by the clock.
pub fn with_exact_iterations(
    harness: Harness,
    argv: &[String],
    n: u64,
) -> Result<Vec<String>, String> {
    if harness == Harness::PytestBenchmark {
        return Ok(pytest(argv, n));
    }
    let by_clock = || {
        format!(
            "{} chooses the number of iterations by the clock, so the instructions of two processes differ",
            harness.name()
        )
    };
    with_iterations(harness, argv, n).ok_or_else(by_clock)
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
        let by_clock = [Harness::Criterion, Harness::Libtest, Harness::Catch2, Harness::Jmh];
        for harness in by_clock {
            let why = words(harness, 7).unwrap_err();
            assert!(why.starts_with(harness.name()) && why.contains("by the clock"), "{why}");
        }
    }
}
