//! The table of formats: their keys, names and readers.

use anyhow::Result;

use crate::source::TextFile;
use crate::{
    FileFormat, LineReader, ReadOptions, Results, asv, benchmark_tools, bmf, cargo_bench, catch2,
    codspeed, criterion, dotnet, github_action, gnu_time, go, google, hyperfine, hyperfine_csv,
    jmh, lnt, nanobench, perf_stat, pyperf, pytest, times,
};
use Reader::{Document, Lines};

#[derive(Clone, Copy)]
pub(crate) enum Reader {
    /// The whole text of a file, and the other files that [`FileFormat::wants_beside`] asked for.
    Document(fn(&[TextFile<'_>], ReadOptions<'_>) -> Result<Results>),
    /// Line by line: the file need not fit into memory.
    Lines(fn(&str, ReadOptions<'_>) -> Box<dyn LineReader>),
}

impl FileFormat {
    /// Key, name in messages and reader of each format, in the order of the variants.
    const TABLE: [(Self, &'static str, &'static str, Reader); 22] = [
        (Self::Pyperf, "pyperf", "pyperf", Document(pyperf::read)),
        (Self::Hyperfine, "hyperfine", "hyperfine JSON", Document(hyperfine::read)),
        (Self::HyperfineCsv, "hyperfine-csv", "hyperfine CSV", Document(hyperfine_csv::read)),
        (
            Self::GoogleBenchmark,
            "google-benchmark",
            "Google Benchmark JSON",
            Document(google::read),
        ),
        (Self::Criterion, "criterion", "criterion directory", Document(criterion::read)),
        (Self::Go, "go", "go test -bench", Lines(go::reader)),
        (Self::Jmh, "jmh", "JMH JSON", Document(jmh::read)),
        (Self::Pytest, "pytest", "pytest-benchmark JSON", Document(pytest::read)),
        (Self::Asv, "asv", "asv results", Document(asv::read)),
        (Self::Nanobench, "nanobench", "nanobench JSON", Document(nanobench::read)),
        (
            Self::BenchmarkTools,
            "benchmark-tools",
            "BenchmarkTools.jl JSON",
            Document(benchmark_tools::read),
        ),
        (Self::Codspeed, "codspeed", "CodSpeed wall times", Document(codspeed::read)),
        (Self::CargoBench, "cargo-bench", "cargo bench", Lines(cargo_bench::reader)),
        (Self::Catch2, "catch2", "Catch2", Document(catch2::read)),
        (
            Self::BenchmarkDotNet,
            "benchmark-dot-net",
            "BenchmarkDotNet JSON",
            Document(dotnet::read),
        ),
        (Self::Bmf, "bmf", "Bencher Metric Format", Document(bmf::read)),
        (Self::Bencher, "bencher", "Bencher report", Document(bmf::read_report)),
        (
            Self::GithubAction,
            "github-action",
            "github-action-benchmark",
            Document(github_action::read),
        ),
        (Self::PerfStat, "perf-stat", "perf stat -x or -j", Lines(perf_stat::reader)),
        (Self::GnuTime, "gnu-time", "GNU time -v", Lines(gnu_time::reader)),
        (Self::Lnt, "lnt", "LNT or lit JSON", Document(lnt::read)),
        (Self::Times, "times", "lines of TIME<TAB>COMMAND", Lines(times::reader)),
    ];

    /// All formats.
    pub const ALL: [Self; 22] = {
        let mut all = [Self::Pyperf; 22];
        let mut index = 0;
        while index < all.len() {
            all[index] = Self::TABLE[index].0;
            index += 1;
        }
        all
    };

    /// Name in options and records, for example `google-benchmark`.
    pub fn key(self) -> &'static str {
        Self::TABLE[self as usize].1
    }

    /// Name in messages.
    pub fn name(self) -> &'static str {
        Self::TABLE[self as usize].2
    }

    pub(crate) fn reader(self) -> Reader {
        Self::TABLE[self as usize].3
    }
}
