//! Files that real tools wrote.

use crate::{FileFormat, SourceFile};

macro_rules! sample {
    ($path:literal) => {
        SourceFile { path: $path, bytes: include_bytes!(concat!("../samples/", $path)) }
    };
}

pub const HYPERFINE: [SourceFile<'_>; 3] = [
    sample!("results/hyperfine_1.15.json"),
    sample!("hyperfine_1.20.json"),
    sample!("hyperfine_2.0.json"),
];
pub const CSV: SourceFile<'_> = sample!("results/hyperfine_2.0.csv");
pub const GOOGLE: SourceFile<'_> = sample!("results/google_benchmark.json");
pub const GO: SourceFile<'_> = sample!("results/go_bench.txt");
pub const JMH: SourceFile<'_> = sample!("results/jmh.json");
pub const PYTEST: SourceFile<'_> = sample!("results/pytest_benchmark.json");
pub const NANOBENCH: SourceFile<'_> = sample!("results/nanobench.json");
pub const NANOBENCH_PYPERF: SourceFile<'_> = sample!("results/nanobench_pyperf.json");
pub const CODSPEED: SourceFile<'_> = sample!("results/pytest_codspeed_walltime.json");
pub const TIMES: SourceFile<'_> = sample!("tim_saved.tsv");
pub const ASV: [SourceFile<'_>; 2] =
    [sample!("results/asv/vm/558c2ed6-existing-py.json"), sample!("results/asv/benchmarks.json")];
pub const PYPERF: [SourceFile<'_>; 7] = [
    sample!("results/pyperf_timeit.json"),
    sample!("results/pyperf_suite_ref.json"),
    sample!("results/pyperf_suite_changed.json"),
    sample!("results/pyperf_pypy.json"),
    sample!("results/pyperf_noisy_aa_200procs.json"),
    sample!("results/pyperf_suite_ref.json.gz"),
    NANOBENCH_PYPERF,
];
pub const CRITERION: [SourceFile<'_>; 9] = [
    sample!("results/criterion/grp/sum/64/new/benchmark.json"),
    sample!("results/criterion/grp/sum/64/new/estimates.json"),
    sample!("results/criterion/grp/sum/64/new/sample.json"),
    sample!("results/criterion/grp/sum/64/base/benchmark.json"),
    sample!("results/criterion/grp/sum/64/base/estimates.json"),
    sample!("results/criterion/grp/sum/64/base/sample.json"),
    sample!("results/criterion/grp/sum/8/new/benchmark.json"),
    sample!("results/criterion/grp/sum/8/new/estimates.json"),
    sample!("results/criterion/grp/sum/8/new/sample.json"),
];
/// Written by hand after `src/serialization.jl` of BenchmarkTools.jl 1.8; no Julia was at hand.
pub const BENCHMARK_TOOLS: SourceFile<'_> = SourceFile {
    path: "julia.json",
    bytes: br#"[{"Julia":"1.11.2","BenchmarkTools":"1.8.0"},[["BenchmarkGroup",{"tags":[],"data":{
        "utf8":["BenchmarkGroup",{"tags":["a"],"data":{"join":["BenchmarkTools.Trial",{"allocs":3,"memory":96,
            "gctimes":[0.0,1.5,0.0],"times":[21.5,23.25,22.0],
            "params":["BenchmarkTools.Parameters",{"evals":997,"samples":3,"seconds":5.0}]}]}}],
        "guess":["TrialEstimate",{"time":5.0}]}}]]]"#,
};
/// Written by hand after the formats' descriptions; these tools were not at hand.
pub const CARGO_BENCH: SourceFile<'_> = sample!("results/cargo_bench.txt");
pub const CATCH2: SourceFile<'_> = sample!("results/catch2.txt");
pub const CATCH2_XML: SourceFile<'_> = sample!("results/catch2.xml");
pub const DOTNET: SourceFile<'_> = sample!("results/dotnet_full.json");
pub const DOTNET_BRIEF: SourceFile<'_> = sample!("results/dotnet_brief.json");
pub const BMF: SourceFile<'_> = sample!("results/bmf.json");
pub const BENCHER: SourceFile<'_> = sample!("results/bencher.json");
pub const GITHUB_ACTION: SourceFile<'_> = sample!("results/github_action.js");
pub const PERF_STAT: SourceFile<'_> = sample!("results/perf_stat.csv");
pub const PERF_STAT_JSON: SourceFile<'_> = sample!("results/perf_stat.jsonl");
pub const GNU_TIME: SourceFile<'_> = sample!("results/gnu_time.txt");
pub const LIT: SourceFile<'_> = sample!("results/lit.json");
pub const LNT: SourceFile<'_> = sample!("results/lnt.json");

/// Files of each format.
pub const ALL: [(FileFormat, &[SourceFile<'_>]); 26] = [
    (FileFormat::Pyperf, &[PYPERF[1]]),
    (FileFormat::Hyperfine, &[HYPERFINE[1]]),
    (FileFormat::Hyperfine, &[HYPERFINE[2]]),
    (FileFormat::HyperfineCsv, &[CSV]),
    (FileFormat::GoogleBenchmark, &[GOOGLE]),
    (FileFormat::Go, &[GO]),
    (FileFormat::Jmh, &[JMH]),
    (FileFormat::Pytest, &[PYTEST]),
    (FileFormat::Asv, &ASV),
    (FileFormat::Nanobench, &[NANOBENCH]),
    (FileFormat::Codspeed, &[CODSPEED]),
    (FileFormat::BenchmarkTools, &[BENCHMARK_TOOLS]),
    (FileFormat::CargoBench, &[CARGO_BENCH]),
    (FileFormat::Catch2, &[CATCH2]),
    (FileFormat::Catch2, &[CATCH2_XML]),
    (FileFormat::BenchmarkDotNet, &[DOTNET]),
    (FileFormat::BenchmarkDotNet, &[DOTNET_BRIEF]),
    (FileFormat::Bmf, &[BMF]),
    (FileFormat::Bencher, &[BENCHER]),
    (FileFormat::GithubAction, &[GITHUB_ACTION]),
    (FileFormat::PerfStat, &[PERF_STAT]),
    (FileFormat::PerfStat, &[PERF_STAT_JSON]),
    (FileFormat::GnuTime, &[GNU_TIME]),
    (FileFormat::Lnt, &[LIT]),
    (FileFormat::Lnt, &[LNT]),
    (FileFormat::Times, &[TIMES]),
];
