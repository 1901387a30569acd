//! Formats of other programs' files, and the unit of bare times.

use anyhow::{Context as _, Result};

use crate::source::TextFile;
use crate::{
    LineReader, ReadOptions, Results, asv, benchmark_tools, bmf, cargo_bench, catch2, codspeed,
    criterion, dotnet, github_action, gnu_time, go, google, hyperfine, hyperfine_csv, jmh, lnt,
    nanobench, perf_stat, pyperf, pytest, times,
};

/// Format of a file of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum FileFormat {
    /// pyperf JSON, also compressed with gzip.
    Pyperf,
    /// hyperfine --export-json.
    Hyperfine,
    /// hyperfine --export-csv.
    HyperfineCsv,
    /// Google Benchmark --benchmark_out_format=json.
    GoogleBenchmark,
    /// A directory of criterion: target/criterion, a group in it, or one saved sample.
    Criterion,
    /// What go test -bench prints.
    Go,
    /// JMH -rf json.
    Jmh,
    /// pytest --benchmark-json.
    Pytest,
    /// A result file of asv.
    Asv,
    /// nanobench's JSON template.
    Nanobench,
    /// BenchmarkTools.save of Julia.
    BenchmarkTools,
    /// Wall times of CodSpeed.
    Codspeed,
    /// What cargo bench prints: libtest, criterion and divan.
    CargoBench,
    /// Catch2's text, or its -r xml.
    Catch2,
    /// BenchmarkDotNet's JSON, full or brief.
    BenchmarkDotNet,
    /// Bencher Metric Format.
    Bmf,
    /// What bencher run --format json prints.
    Bencher,
    /// github-action-benchmark's data.js, or its custom JSON.
    GithubAction,
    /// What perf stat -x or -j writes.
    PerfStat,
    /// What GNU time -v prints.
    GnuTime,
    /// What lit -o writes, or a report of LNT.
    Lnt,
    /// Lines of `TIME<TAB>COMMAND`, or of `TIME` alone.
    Times,
}

pub(crate) enum Reader {
    /// The whole text of a file, and the other files that [`FileFormat::wants_beside`] asked for.
    Document(fn(&[TextFile<'_>], ReadOptions<'_>) -> Result<Results>),
    /// Line by line: the file need not fit into memory.
    Lines(fn(&str, ReadOptions<'_>) -> Box<dyn LineReader>),
}

impl FileFormat {
    /// All formats.
    pub const ALL: [Self; 22] = [
        Self::Pyperf,
        Self::Hyperfine,
        Self::HyperfineCsv,
        Self::GoogleBenchmark,
        Self::Criterion,
        Self::Go,
        Self::Jmh,
        Self::Pytest,
        Self::Asv,
        Self::Nanobench,
        Self::BenchmarkTools,
        Self::Codspeed,
        Self::CargoBench,
        Self::Catch2,
        Self::BenchmarkDotNet,
        Self::Bmf,
        Self::Bencher,
        Self::GithubAction,
        Self::PerfStat,
        Self::GnuTime,
        Self::Lnt,
        Self::Times,
    ];

    /// Key, name in messages, and reader.
    const fn entry(self) -> (&'static str, &'static str, Reader) {
        use Reader::{Document, Lines};
        match self {
            Self::Pyperf => ("pyperf", "pyperf", Document(pyperf::read)),
            Self::Hyperfine => ("hyperfine", "hyperfine JSON", Document(hyperfine::read)),
            Self::HyperfineCsv => ("hyperfine-csv", "hyperfine CSV", Document(hyperfine_csv::read)),
            Self::GoogleBenchmark => {
                ("google-benchmark", "Google Benchmark JSON", Document(google::read))
            }
            Self::Criterion => ("criterion", "criterion directory", Document(criterion::read)),
            Self::Go => ("go", "go test -bench", Lines(go::reader)),
            Self::Jmh => ("jmh", "JMH JSON", Document(jmh::read)),
            Self::Pytest => ("pytest", "pytest-benchmark JSON", Document(pytest::read)),
            Self::Asv => ("asv", "asv results", Document(asv::read)),
            Self::Nanobench => ("nanobench", "nanobench JSON", Document(nanobench::read)),
            Self::BenchmarkTools => {
                ("benchmark-tools", "BenchmarkTools.jl JSON", Document(benchmark_tools::read))
            }
            Self::Codspeed => ("codspeed", "CodSpeed wall times", Document(codspeed::read)),
            Self::CargoBench => ("cargo-bench", "cargo bench", Lines(cargo_bench::reader)),
            Self::Catch2 => ("catch2", "Catch2", Document(catch2::read)),
            Self::BenchmarkDotNet => {
                ("benchmark-dot-net", "BenchmarkDotNet JSON", Document(dotnet::read))
            }
            Self::Bmf => ("bmf", "Bencher Metric Format", Document(bmf::read)),
            Self::Bencher => ("bencher", "Bencher report", Document(bmf::read_report)),
            Self::GithubAction => {
                ("github-action", "github-action-benchmark", Document(github_action::read))
            }
            Self::PerfStat => ("perf-stat", "perf stat -x or -j", Lines(perf_stat::reader)),
            Self::GnuTime => ("gnu-time", "GNU time -v", Lines(gnu_time::reader)),
            Self::Lnt => ("lnt", "LNT or lit JSON", Document(lnt::read)),
            Self::Times => ("times", "lines of TIME<TAB>COMMAND", Lines(times::reader)),
        }
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// Name in options and records, for example `google-benchmark`.
    pub fn key(self) -> &'static str {
        self.entry().0
    }

    pub(crate) fn reader(self) -> Reader {
        self.entry().2
    }

    /// Other files with more data, as paths from the file's directory; they need not exist.
    pub fn wants_beside(self) -> &'static [&'static str] {
        match self {
            Self::Asv => &["benchmarks.json", "../benchmarks.json"],
            _ => &[],
        }
    }

    /// Adds the format to an error.
    pub(crate) fn in_context<T>(self, read: Result<T>) -> Result<T> {
        read.with_context(|| format!("as {}", self.name()))
    }
}

/// Unit of the times in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum TimeUnit {
    #[default]
    S,
    Ms,
    Us,
    Ns,
}

impl TimeUnit {
    /// Nanoseconds in one unit.
    pub fn ns(self) -> f64 {
        match self {
            Self::S => 1e9,
            Self::Ms => 1e6,
            Self::Us => 1e3,
            Self::Ns => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(feature = "clap")]
    fn keys_are_the_values_of_options() {
        use clap::ValueEnum as _;
        assert_eq!(FileFormat::value_variants(), FileFormat::ALL);
        for format in FileFormat::ALL {
            let value = format.to_possible_value().unwrap();
            assert_eq!(value.get_name(), format.key());
        }
    }
}
