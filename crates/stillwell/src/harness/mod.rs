//! Benchmark programs of other frameworks: how each is recognised, asked for its benchmarks, told to run one of them,
//! and what it then prints. One file for each. Pure: `measure::harnesses` executes the programs.
//!
//! One process is one observation, so its own measuring time is short: the time goes to more processes, because most of
//! the variation is between them (Kalibera and Jones, "Rigorous benchmarking in reasonable time", 2013).

mod catch2;
mod criterion;
mod divan;
mod fixed;
mod go;
mod google_benchmark;
mod jmh;
mod libtest;
mod pytest_benchmark;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use fixed::with_iterations;

/// A framework of benchmark programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Harness {
    Criterion,
    Libtest,
    GoogleBenchmark,
    Catch2,
    Go,
    PytestBenchmark,
    Divan,
    Jmh,
}

/// Stands for the path of a temporary file in the arguments of a program.
pub const RESULT_FILE: &str = "{result}";

/// The argument that every framework answers with its options.
pub const QUESTION: &str = "--help";

/// The way to talk to the programs of a framework.
struct Adapter {
    name: &'static str,
    /// Texts of which the file of such a program contains one.
    markers: &'static [&'static str],
    /// Names of programs and modules that are of the framework whatever their file contains.
    programs: &'static [&'static str],
    /// Texts that its answer to `--help` contains.
    help: &'static [&'static str],
    /// The program with the arguments that make it list its benchmarks.
    listing: fn(&[String]) -> Vec<String>,
    /// The benchmarks in that list.
    list: fn(&str) -> Vec<String>,
    /// The program with the arguments for one benchmark.
    command: fn(&[String], &str) -> Vec<String>,
    /// The time of an iteration of that benchmark, ns, in what it then says.
    value_ns: fn(&str, &str) -> Option<f64>,
    /// Whether it writes list and time to [`RESULT_FILE`] and not to standard output.
    writes_file: bool,
}

impl Harness {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Criterion,
        Self::Divan,
        Self::Jmh,
        Self::GoogleBenchmark,
        Self::Catch2,
        Self::Go,
        Self::PytestBenchmark,
        Self::Libtest,
    ];

    fn adapter(self) -> &'static Adapter {
        match self {
            Self::Criterion => &criterion::ADAPTER,
            Self::Libtest => &libtest::ADAPTER,
            Self::GoogleBenchmark => &google_benchmark::ADAPTER,
            Self::Catch2 => &catch2::ADAPTER,
            Self::Go => &go::ADAPTER,
            Self::PytestBenchmark => &pytest_benchmark::ADAPTER,
            Self::Divan => &divan::ADAPTER,
            Self::Jmh => &jmh::ADAPTER,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.adapter().name
    }

    /// Whether the file of a program may be of this framework. Only such a program is asked: another one might take any
    /// argument for an order to start its work.
    pub fn may_have_made(self, file: &[u8], program: &[String]) -> bool {
        let Adapter { markers, programs, .. } = self.adapter();
        let name = |word: &String| word.rsplit('/').next().map(String::from).unwrap_or_default();
        markers.iter().any(|marker| contains(file, marker.as_bytes()))
            || program.iter().any(|word| programs.contains(&&*name(word)))
    }

    /// Whether a program of this framework gave this answer to `--help`.
    pub fn has_answered(self, help: &str) -> bool {
        self.adapter().help.iter().all(|words| help.contains(words))
    }

    /// The program with the arguments that make it list its benchmarks.
    pub fn listing(self, program: &[String]) -> Vec<String> {
        (self.adapter().listing)(program)
    }

    /// The benchmarks in that list, each once.
    pub fn list(self, text: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in (self.adapter().list)(text) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The program with the arguments for one benchmark.
    pub fn command(self, program: &[String], benchmark: &str) -> Vec<String> {
        (self.adapter().command)(program, benchmark)
    }

    /// The time of an iteration of a benchmark, ns, in what its process said.
    pub fn value_ns(self, benchmark: &str, text: &str) -> Option<f64> {
        (self.adapter().value_ns)(benchmark, text).filter(|ns| ns.is_finite())
    }

    /// Whether lists and times are in a file and not in standard output.
    pub fn writes_file(self) -> bool {
        self.adapter().writes_file
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    let Some((&first, _)) = part.split_first() else { return true };
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == first) {
        if rest[at..].starts_with(part) {
            return true;
        }
        rest = &rest[at + 1..];
    }
    false
}

/// A program with further arguments.
fn with(program: &[String], arguments: &[&str]) -> Vec<String> {
    program.iter().cloned().chain(arguments.iter().map(ToString::to_string)).collect()
}

/// A number with a unit of time, in ns.
fn time_ns(number: &str, unit: &str) -> Option<f64> {
    let size = match unit {
        "ps" => 1e-3,
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(number.replace(',', "").parse::<f64>().ok()? * size)
}

/// The middle of some times; `None` without any.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some(f64::midpoint(values[middle], values[values.len() / 2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list and the time that a program of each framework prints, and what is read from them.
    #[track_caller]
    pub(super) fn check(harness: Harness, listed: &str, names: &[&str], said: &str, ns: f64) {
        assert_eq!(harness.list(listed), names);
        let found = harness.value_ns(names[0], said).unwrap();
        assert!((found / ns - 1.0).abs() < 1e-9, "{found} is not {ns}");
        assert_eq!(harness.value_ns("no such benchmark", said), None);
        assert_eq!(harness.value_ns(names[0], "something else"), None);
    }

    #[test]
    fn a_marker_is_found_anywhere() {
        assert!(contains(b"xCritCriterion.rs", b"Criterion.rs"));
        assert!(!contains(b"Criterion.r", b"Criterion.rs"));
        assert!(Harness::Go.may_have_made(b"\x7fELF..test.benchtime..", &[]));
        assert!(!Harness::Go.may_have_made(b"\x7fELF", &["./pytest".into()]));
        let module = ["python3", "-m", "pytest"].map(String::from);
        assert!(Harness::PytestBenchmark.may_have_made(b"\x7fELF", &module));
    }

    #[test]
    fn the_middle_of_an_even_number_is_between_two() {
        assert_eq!(median(vec![4.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0]), Some(2.5));
        assert_eq!(median(Vec::new()), None);
    }
}
