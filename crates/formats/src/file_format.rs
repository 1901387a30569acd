//! Formats of other programs' files, and the unit of bare times. `readers` has the table of formats.

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
