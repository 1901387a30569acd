//! The reader of each format.

use anyhow::Result;

use crate::source::TextFile;
use crate::{
    FileFormat, LineReader, ReadOptions, Results, asv, benchmark_tools, bmf, cargo_bench, catch2,
    codspeed, criterion, dotnet, github_action, gnu_time, go, google, hyperfine, hyperfine_csv,
    jmh, lnt, nanobench, perf_stat, pyperf, pytest, times,
};

pub(crate) enum Reader {
    /// The whole text of a file, and the other files that [`FileFormat::wants_beside`] asked for.
    Document(fn(&[TextFile<'_>], ReadOptions<'_>) -> Result<Results>),
    /// Line by line: the file need not fit into memory.
    Lines(fn(&str, ReadOptions<'_>) -> Box<dyn LineReader>),
}

impl FileFormat {
    pub(crate) fn reader(self) -> Reader {
        use Reader::{Document, Lines};
        match self {
            Self::Pyperf => Document(pyperf::read),
            Self::Hyperfine => Document(hyperfine::read),
            Self::HyperfineCsv => Document(hyperfine_csv::read),
            Self::GoogleBenchmark => Document(google::read),
            Self::Criterion => Document(criterion::read),
            Self::Go => Lines(go::reader),
            Self::Jmh => Document(jmh::read),
            Self::Pytest => Document(pytest::read),
            Self::Asv => Document(asv::read),
            Self::Nanobench => Document(nanobench::read),
            Self::BenchmarkTools => Document(benchmark_tools::read),
            Self::Codspeed => Document(codspeed::read),
            Self::CargoBench => Lines(cargo_bench::reader),
            Self::Catch2 => Document(catch2::read),
            Self::BenchmarkDotNet => Document(dotnet::read),
            Self::Bmf => Document(bmf::read),
            Self::Bencher => Document(bmf::read_report),
            Self::GithubAction => Document(github_action::read),
            Self::PerfStat => Lines(perf_stat::reader),
            Self::GnuTime => Lines(gnu_time::reader),
            Self::Lnt => Document(lnt::read),
            Self::Times => Lines(times::reader),
        }
    }
}
