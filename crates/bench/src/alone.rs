//! The program by itself: a rough time of each benchmark.

use std::process::ExitCode;

use crate::{Benchmark, measure};

const HELP: &str =
    "Prints a rough time of each benchmark, or of those whose names contain one of the words.

Usage: [--list | WORD...]

To compare two builds: stillwell bench ./old ./new";

/// The time that a rough measurement takes at least.
const LEAST_NS: u64 = 10_000_000;

/// Prints the times. cargo adds the words `--bench` and, for tests, `--test`.
pub(crate) fn show(benchmarks: &[Benchmark], words: &[String]) -> ExitCode {
    let has = |option: &str| words.iter().any(|word| word == option);
    if has("--help") || has("-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let names: Vec<&String> = words.iter().filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |benchmark: &&Benchmark| {
        names.is_empty() || names.iter().any(|&name| benchmark.name.contains(name))
    };
    let wanted: Vec<&Benchmark> = benchmarks.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        eprintln!(
            "stillwell-bench: no benchmark has {} in its name: see --list",
            words.join(" or ")
        );
        return ExitCode::from(2);
    }
    let width =
        wanted.iter().map(|benchmark| benchmark.name.chars().count()).max().unwrap_or_default();
    let mut status = ExitCode::SUCCESS;
    for benchmark in wanted {
        let name = &benchmark.name;
        if has("--list") {
            println!("{name}");
            continue;
        }
        // A test only sees that it works.
        let found = if has("--test") {
            measure::measure(benchmark, 1).map(|_| None)
        } else {
            rough_ns(benchmark).map(Some)
        };
        match found {
            Ok(Some(ns)) => println!("{name:width$}  {}", in_words(ns)),
            Ok(None) => println!("{name:width$}  ok"),
            Err(why) => {
                eprintln!("stillwell-bench: {why}");
                status = ExitCode::from(2);
            }
        }
    }
    if !has("--list") && !has("--test") {
        println!("\nRough times. To compare two builds: stillwell bench ./old ./new");
    }
    status
}

/// The best of five runs, for one loop. It does not see whether other programs ran meanwhile.
fn rough_ns(benchmark: &Benchmark) -> Result<f64, String> {
    let mut loops = 1;
    while measure::measure(benchmark, loops)?.times.wall_ns < LEAST_NS && loops < 1 << 40 {
        loops *= 2;
    }
    let mut best = u64::MAX;
    for _ in 0..5 {
        best = best.min(measure::measure(benchmark, loops)?.times.wall_ns);
    }
    Ok(best as f64 / loops as f64 / benchmark.inner_loops as f64)
}

/// A time with three digits.
fn in_words(mut ns: f64) -> String {
    let mut unit = 0;
    while unit < 3 && ns >= 999.5 {
        ns /= 1000.0;
        unit += 1;
    }
    let decimals = if ns < 9.995 { 2 } else { usize::from(ns < 99.95) };
    format!("{ns:7.decimals$} {}", ["ns", "µs", "ms", "s"][unit])
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn times_in_words() {
        let cases = [
            (1.234, "   1.23 ns"),
            (9.996, "   10.0 ns"),
            (999.4, "    999 ns"),
            (999.6, "   1.00 µs"),
            (2.5e9, "   2.50 s"),
        ];
        for (ns, text) in cases {
            assert_eq!(in_words(ns), text);
        }
    }
}
