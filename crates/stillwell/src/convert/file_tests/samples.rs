//! Files that real tools wrote.

use crate::convert::read::File;
use crate::values::FileFormat;

/// A file of the samples.
macro_rules! sample {
    ($path:literal) => {
        File { path: $path, bytes: include_bytes!(concat!("../../../tests/samples/", $path)) }
    };
}

pub(crate) const HYPERFINE: [File<'_>; 3] = [
    sample!("results/hyperfine_1.15.json"),
    sample!("hyperfine_1.20.json"),
    sample!("hyperfine_2.0.json"),
];
pub(crate) const CSV: File<'_> = sample!("results/hyperfine_2.0.csv");
pub(crate) const GOOGLE: File<'_> = sample!("results/google_benchmark.json");
pub(crate) const GO: File<'_> = sample!("results/go_bench.txt");
pub(crate) const JMH: File<'_> = sample!("results/jmh.json");
pub(crate) const PYTEST: File<'_> = sample!("results/pytest_benchmark.json");
pub(crate) const NANOBENCH: File<'_> = sample!("results/nanobench.json");
pub(crate) const NANOBENCH_PYPERF: File<'_> = sample!("results/nanobench_pyperf.json");
pub(crate) const CODSPEED: File<'_> = sample!("results/pytest_codspeed_walltime.json");
pub(crate) const TIMES: File<'_> = sample!("tim_saved.tsv");
pub(crate) const ASV: [File<'_>; 2] =
    [sample!("results/asv/vm/558c2ed6-existing-py.json"), sample!("results/asv/benchmarks.json")];
pub(crate) const PYPERF: [File<'_>; 7] = [
    sample!("results/pyperf_timeit.json"),
    sample!("results/pyperf_suite_ref.json"),
    sample!("results/pyperf_suite_changed.json"),
    sample!("results/pyperf_pypy.json"),
    sample!("results/pyperf_noisy_aa_200procs.json"),
    sample!("results/pyperf_suite_ref.json.gz"),
    NANOBENCH_PYPERF,
];
pub(crate) const CRITERION: [File<'_>; 9] = [
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
/// Written by hand after BenchmarkTools.jl 1.8's `src/serialization.jl`; no Julia was at hand.
pub(crate) const BENCHMARK_TOOLS: File<'_> = File {
    path: "julia.json",
    bytes: br#"[{"Julia":"1.11.2","BenchmarkTools":"1.8.0"},[["BenchmarkGroup",{"tags":[],"data":{
        "utf8":["BenchmarkGroup",{"tags":["a"],"data":{"join":["BenchmarkTools.Trial",{"allocs":3,"memory":96,
            "gctimes":[0.0,1.5,0.0],"times":[21.5,23.25,22.0],
            "params":["BenchmarkTools.Parameters",{"evals":997,"samples":3,"seconds":5.0}]}]}}],
        "guess":["TrialEstimate",{"time":5.0}]}}]]]"#,
};

/// One file of each format.
pub(crate) const ALL: [(FileFormat, &[File<'_>]); 12] = [
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
];
