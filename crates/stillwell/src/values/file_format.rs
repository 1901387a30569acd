//! Formats of other programs' files, and the unit of bare times.

use clap::ValueEnum;

/// Format of a file of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
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
    /// Lines of `TIME<TAB>COMMAND`, or of `TIME` alone.
    Times,
}

/// Unit of the times in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
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
