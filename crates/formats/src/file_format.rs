//! Formats of other programs' files, and the unit of bare times.

use anyhow::{Context as _, Result};

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

    /// Key, and name in messages.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Pyperf => ("pyperf", "pyperf"),
            Self::Hyperfine => ("hyperfine", "hyperfine JSON"),
            Self::HyperfineCsv => ("hyperfine-csv", "hyperfine CSV"),
            Self::GoogleBenchmark => ("google-benchmark", "Google Benchmark JSON"),
            Self::Criterion => ("criterion", "criterion directory"),
            Self::Go => ("go", "go test -bench"),
            Self::Jmh => ("jmh", "JMH JSON"),
            Self::Pytest => ("pytest", "pytest-benchmark JSON"),
            Self::Asv => ("asv", "asv results"),
            Self::Nanobench => ("nanobench", "nanobench JSON"),
            Self::BenchmarkTools => ("benchmark-tools", "BenchmarkTools.jl JSON"),
            Self::Codspeed => ("codspeed", "CodSpeed wall times"),
            Self::CargoBench => ("cargo-bench", "cargo bench"),
            Self::Catch2 => ("catch2", "Catch2"),
            Self::BenchmarkDotNet => ("benchmark-dot-net", "BenchmarkDotNet JSON"),
            Self::Bmf => ("bmf", "Bencher Metric Format"),
            Self::Bencher => ("bencher", "Bencher report"),
            Self::GithubAction => ("github-action", "github-action-benchmark"),
            Self::PerfStat => ("perf-stat", "perf stat -x or -j"),
            Self::GnuTime => ("gnu-time", "GNU time -v"),
            Self::Lnt => ("lnt", "LNT or lit JSON"),
            Self::Times => ("times", "lines of TIME<TAB>COMMAND"),
        }
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        self.names().1
    }

    /// Name in options and records, for example `google-benchmark`.
    pub fn key(self) -> &'static str {
        self.names().0
    }

    /// Other files with more data, as paths from the file's directory; they need not exist.
    pub fn wants_beside(self) -> &'static [&'static str] {
        if let Self::Asv = self { &["benchmarks.json", "../benchmarks.json"] } else { &[] }
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
