//! Texts for people that no reader takes, and commands whose output a reader takes.

/// Strings in a text, its origin, and the command to run instead.
const TEXTS: [(&[&str], &str, &str); 12] = [
    (&["Mean +- std dev:"], "pyperf", "its option -o FILE.json"),
    (&["Time (mean ± σ)", "Range (min … max)"], "hyperfine", "hyperfine --export-json FILE.json"),
    (
        &["Time             CPU", "Iterations"],
        "Google Benchmark",
        "--benchmark_out=FILE.json --benchmark_out_format=json",
    ),
    (&["Mode", "Cnt", "Score", "Units"], "JMH", "-rf json -rff FILE.json"),
    (&["Name (time in", "Rounds"], "pytest-benchmark", "pytest --benchmark-json=FILE.json"),
    (&["BenchmarkTools.Trial:"], "BenchmarkTools.jl", "BenchmarkTools.save(\"FILE.json\", trial)"),
    (
        &["| relative |", "ns/op |"],
        "nanobench",
        "its JSON template: bench.render(ankerl::nanobench::templates::json(), file)",
    ),
    (
        &["|               ns/op |"],
        "nanobench",
        "its JSON template: bench.render(ankerl::nanobench::templates::json(), file)",
    ),
    (&["| Method", "Mean", "Error"], "BenchmarkDotNet", "its option --exporters json"),
    (&["Performance counter stats for"], "perf stat", "perf stat -j -o FILE.json"),
    (&["elapsed", "maxresident)k"], "GNU time", "time -v"),
    (&["real\t", "user\t", "sys\t"], "the shell's time", "env time -v COMMAND"),
];

/// The command to run instead of one whose text is for people.
pub(crate) fn instead(text: &str) -> Option<String> {
    let is_it = |(words, ..): &&(&[&str], &str, &str)| words.iter().all(|word| text.contains(word));
    let (_, program, run) = TEXTS.iter().find(is_it)?;
    Some(format!("it looks like {program}'s text for people; use {run} and read that file"))
}
