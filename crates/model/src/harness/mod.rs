//! Benchmark programs of other frameworks, one file each: how to recognise a program, list its benchmarks, run one of
//! them and read its output. Pure: `measure::harnesses` executes the programs.
//!
//! One process is one observation, and most variation is between processes (Kalibera and Jones, "Rigorous benchmarking
//! in reasonable time", 2013). So a session has many processes, and each measures briefly.
//!
//! The framework's own clock times an iteration, and waits for a CPU are included. Samples of about a millisecond
//! mostly fit between two waits, so the value of a process is the mean of its lowest samples.

mod asv;
mod catch2;
mod counted;
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
use serde_json::Value;
use stats::SortedSample;

use crate::values::ProcessValue;

pub use counted::{
    CLOCK_STEP_NS, chooses_by_clock, command_of_all, countable, counted_ns, counting_environment,
    exact_option, fixes_iterations, has_runtime, length_factor, lists_by_running, mean_share,
    own_children, process_iterations, readings, repeats_within, with_exact_iterations,
    works_on_times,
};
pub use fixed::with_iterations;

/// A framework of benchmark programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Harness {
    Criterion,
    #[serde(rename = "criterion_0_3")]
    Criterion0_3,
    Libtest,
    GoogleBenchmark,
    Catch2,
    Go,
    PytestBenchmark,
    Divan,
    Jmh,
    Asv,
}

/// Stands for the path of a temporary file or directory in the arguments and variables of a program.
pub const RESULT_FILE: &str = "{result}";

/// Share of a process's samples that make its value: the lowest ones, as for the slices of a worker.
const LOW: f64 = 0.2;
/// Samples per process, where the framework lets us choose (experiments/results/gates.md, "Samples of other
/// frameworks").
const SAMPLES: usize = 10;
/// Fewest samples of a benchmark with long iterations.
const SAMPLES_MIN: usize = 3;
/// Time of a sample, ns. Other programs take the CPU for some 3 ms at a time, so some samples are undisturbed.
const SAMPLE_NS: f64 = 1e6;
/// Total sample time of a process, ns, if one iteration is longer than [`SAMPLE_NS`].
const LONG_NS: f64 = 50e6;

/// Destination of a program's list and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarnessOutput {
    Stdout,
    File,
    /// Standard output, with the samples in a file of this name below [`RESULT_FILE`].
    Folder(&'static str),
}

/// The argument that every framework answers with its options.
const QUESTION: &str = "--help";

/// How to talk to the programs of one framework.
struct Adapter {
    name: &'static str,
    /// A program's file contains one of these texts.
    markers: &'static [&'static str],
    /// Names of programs and modules that belong to the framework, whatever their file contains.
    programs: &'static [&'static str],
    /// The answer to `--help` contains all texts of one of these lists.
    answers: &'static [&'static [&'static str]],
    listing: fn(&[String]) -> Vec<String>,
    list: fn(&str) -> Vec<String>,
    /// The command for one benchmark, given the time of its iteration if known.
    command: fn(&[String], &str, Option<f64>) -> Vec<String>,
    /// The time of an iteration, ns, in each printed sample.
    samples_ns: fn(&str, &str) -> Vec<f64>,
    output: HarnessOutput,
}

impl Harness {
    pub const ALL: [Self; 10] = [
        Self::Criterion0_3,
        Self::Criterion,
        Self::Divan,
        Self::Jmh,
        Self::GoogleBenchmark,
        Self::Catch2,
        Self::Go,
        Self::PytestBenchmark,
        Self::Asv,
        Self::Libtest,
    ];

    fn adapter(self) -> &'static Adapter {
        match self {
            Self::Criterion => &criterion::ADAPTER,
            Self::Criterion0_3 => &criterion::ADAPTER_0_3,
            Self::Libtest => &libtest::ADAPTER,
            Self::GoogleBenchmark => &google_benchmark::ADAPTER,
            Self::Catch2 => &catch2::ADAPTER,
            Self::Go => &go::ADAPTER,
            Self::PytestBenchmark => &pytest_benchmark::ADAPTER,
            Self::Divan => &divan::ADAPTER,
            Self::Jmh => &jmh::ADAPTER,
            Self::Asv => &asv::ADAPTER,
        }
    }

    pub fn name(self) -> &'static str {
        self.adapter().name
    }

    /// Whether a file may be a program of this framework. Only such a program is asked for its options: any other might
    /// take the argument as an order to start working.
    pub fn may_have_made(self, file: &[u8], program: &[String]) -> bool {
        let Adapter { markers, programs, .. } = self.adapter();
        let name = |word: &String| word.rsplit('/').next().map(String::from).unwrap_or_default();
        markers.iter().any(|marker| contains(file, marker.as_bytes()))
            || program.iter().any(|word| programs.contains(&&*name(word)))
    }

    /// The command that prints the options.
    pub fn question(self, program: &[String]) -> Vec<String> {
        let asked = if self == Self::Asv { asv::module(program) } else { program };
        with(asked, &[QUESTION])
    }

    /// Whether this `--help` output comes from the framework.
    pub fn has_answered(self, help: &str) -> bool {
        let has_all = |words: &&[&str]| words.iter().all(|word| help.contains(word));
        self.adapter().answers.iter().any(has_all)
    }

    /// An argument that reduces the variation between processes, unless the program already has one. It changes what is
    /// measured, so the user decides.
    pub fn steadier(self, program: &[String]) -> Option<&'static str> {
        let has_cpus = program.iter().any(|word| word.contains("test.cpu"));
        (self == Self::Go && !has_cpus).then_some(go::ONE_CPU)
    }

    /// The command that lists the benchmarks.
    pub fn listing(self, program: &[String]) -> Vec<String> {
        (self.adapter().listing)(program)
    }

    /// The benchmarks in the list, without repetitions.
    pub fn list(self, text: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for name in (self.adapter().list)(text) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The time of a benchmark's iteration, ns, if the list has it: Go's is the output of a run.
    pub fn listed_ns(self, text: &str, benchmark: &str) -> Option<f64> {
        let samples = (self == Self::Go).then(|| (self.adapter().samples_ns)(benchmark, text))?;
        samples.first().copied()
    }

    /// The command for one benchmark. `iteration_ns` is the time of its iteration, if known.
    pub fn command(
        self,
        program: &[String],
        benchmark: &str,
        iteration_ns: Option<f64>,
    ) -> Vec<String> {
        (self.adapter().command)(program, benchmark, iteration_ns)
    }

    /// Environment variables for one benchmark.
    pub fn environment(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Criterion | Self::Criterion0_3 => &criterion::ENVIRONMENT,
            _ => &[],
        }
    }

    /// The time of an iteration, ns, from the output of a benchmark's process.
    pub fn value_ns(self, benchmark: &str, text: &str, value: ProcessValue) -> Option<f64> {
        let samples = (self.adapter().samples_ns)(benchmark, text);
        let found = match value {
            ProcessValue::Mean => stats::mean(&samples).ok()?,
            ProcessValue::Low => SortedSample::new(&samples).ok()?.low_mean(LOW),
        };
        // A time of zero has no ratio.
        Some(found).filter(|ns| ns.is_finite() && *ns > 0.0)
    }

    pub fn output(self) -> HarnessOutput {
        self.adapter().output
    }
}

/// Whether a text contains another.
pub fn contains(text: &[u8], part: &[u8]) -> bool {
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

fn with(program: &[String], arguments: &[&str]) -> Vec<String> {
    program.iter().cloned().chain(arguments.iter().map(ToString::to_string)).collect()
}

/// The list of this name in a JSON document; empty if there is none.
fn json_list(text: &str, name: &str) -> Vec<Value> {
    let document: Option<Value> = serde_json::from_str(text).ok();
    document.and_then(|it| it.get(name)?.as_array().cloned()).unwrap_or_default()
}

fn time_ns(number: &str, unit: &str) -> Option<f64> {
    Some(number.replace(',', "").parse::<f64>().ok()? * formats::unit_ns(unit)?)
}

/// Number of samples for this iteration time. A sample has at least one iteration.
fn n_samples(iteration_ns: Option<f64>) -> usize {
    let fitting = iteration_ns.filter(|ns| *ns > 0.0).map_or(SAMPLES, |ns| (LONG_NS / ns) as usize);
    fitting.clamp(SAMPLES_MIN, SAMPLES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks what is read from a framework's real output.
    #[track_caller]
    pub(super) fn check(harness: Harness, listed: &str, names: &[&str], said: &str, ns: f64) {
        assert_eq!(harness.list(listed), names);
        let value = |name, text| harness.value_ns(name, text, ProcessValue::Low);
        let found = value(names[0], said).unwrap();
        assert!((found / ns - 1.0).abs() < 1e-9, "{found} is not {ns}");
        assert_eq!(value("no such benchmark", said), None);
        assert_eq!(value(names[0], "something else"), None);
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
    fn the_value_is_of_the_lowest_samples_or_of_all() {
        let line = |ns: u32| format!("BenchmarkX 100 {ns} ns/op\n");
        let said: String = [9000, 12, 11, 13, 900, 14, 10, 15, 16, 17].map(line).concat();
        let value = |of| Harness::Go.value_ns("BenchmarkX", &said, of);
        assert_eq!(value(ProcessValue::Low), Some(10.5));
        assert_eq!(value(ProcessValue::Mean), Some(1000.8));
    }

    #[test]
    fn only_programs_of_go_without_a_number_of_cpus_vary_less_with_one() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(String::from).collect() };
        assert_eq!(Harness::Go.steadier(&words("./p.test -test.v")), Some("-test.cpu=1"));
        assert_eq!(Harness::Go.steadier(&words("./p.test -test.cpu 2")), None);
        assert_eq!(Harness::Divan.steadier(&words("./p.test")), None);
    }

    #[test]
    fn long_iterations_have_fewer_samples() {
        let found = [None, Some(0.0), Some(5e3), Some(10e6), Some(3e9)].map(n_samples);
        assert_eq!(found, [10, 10, 10, 5, 3]);
    }
}
