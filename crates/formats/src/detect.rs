//! The format of a file, from its content and never from its name.

use anyhow::{Result, bail, ensure};

use crate::json::document::Document;
use crate::{FileFormat, bmf, cargo_bench, catch2, github_action, gnu_time, go, perf_stat};

/// Lines to read before giving up on a text.
const N_LINES_MAX: usize = 10_000;

/// Detects the format of a file from its decoded bytes, or from their first part. In a JSON document with sorted keys
/// the telling key may come near the end. Errors: the format is unknown; the message lists the known ones.
pub fn detect(bytes: &[u8]) -> Result<FileFormat> {
    ensure!(!bytes.iter().all(u8::is_ascii_whitespace), "the file is empty");
    let text = String::from_utf8_lossy(bytes);
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    let found = match bytes[start] {
        b'{' | b'[' => detect_json(&text),
        _ => detect_text(&text),
    };
    match found {
        Some(format) => Ok(format),
        None => {
            if let Some(instead) = instead(&text) {
                bail!("{instead}");
            }
            let known: Vec<_> = FileFormat::ALL.iter().map(|format| format.name()).collect();
            bail!("its format is not known; these can be read: {}", known.join(", "))
        }
    }
}

fn detect_text(text: &str) -> Option<FileFormat> {
    let mut lines = text.lines().take(N_LINES_MAX);
    if text.starts_with("command,") {
        return Some(FileFormat::HyperfineCsv);
    }
    if text.trim_start().starts_with(github_action::SCRIPT) {
        return Some(FileFormat::GithubAction);
    }
    if text.trim_start().starts_with('<') {
        return catch2::is_xml(text).then_some(FileFormat::Catch2);
    }
    type IsOfFormat = fn(&str) -> bool;
    let by_line: [(IsOfFormat, FileFormat); 4] = [
        (go::is_result, FileFormat::Go),
        (catch2::is_head, FileFormat::Catch2),
        (gnu_time::is_command, FileFormat::GnuTime),
        (cargo_bench::is_result, FileFormat::CargoBench),
    ];
    for (is_it, format) in by_line {
        if lines.clone().any(is_it) {
            return Some(format);
        }
    }
    let first = lines.find(|line| !line.trim().is_empty() && !line.starts_with('#'))?;
    if perf_stat::is_counter(first) {
        return Some(FileFormat::PerfStat);
    }
    let time = first.split('\t').next().unwrap_or(first);
    time.trim().parse::<f64>().is_ok().then_some(FileFormat::Times)
}

/// Whether a text has to be read as a whole: JSON, XML or a script.
pub(crate) fn is_document(start: &[u8]) -> bool {
    let text = start.trim_ascii_start();
    [&b"{"[..], b"[", b"<", b"window."].iter().any(|first| text.starts_with(first))
}

fn detect_json(text: &str) -> Option<FileFormat> {
    let document = Document::split(text).ok()?;
    let mut keys: Vec<(KeyPlace, String)> = Vec::new();
    for (name, member) in document.members() {
        let place = match name {
            "" => KeyPlace::RootList,
            "benchmarks" => KeyPlace::Benchmarks,
            "results" => KeyPlace::Results,
            _ => {
                keys.push((KeyPlace::Root, name.to_owned()));
                continue;
            }
        };
        let first = member.part().elements(name).and_then(|list| list.into_iter().next());
        let of_first = first.map(|first| first.part().members("")).unwrap_or_default();
        keys.extend(of_first.into_iter().map(|(key, _)| (place, key)));
    }
    let telling = |(place, key, _): &&(KeyPlace, &str, FileFormat)| {
        keys.iter().any(|known| (known.0, &*known.1) == (*place, *key))
    };
    let format = TELLING.iter().find(telling).map(|it| it.2);
    format.or_else(|| bmf::is_bmf(&document).then_some(FileFormat::Bmf))
}

#[derive(Clone, Copy, PartialEq)]
enum KeyPlace {
    Root,
    /// In the first object of a list at the root.
    RootList,
    /// In the first object of the list `benchmarks`.
    Benchmarks,
    /// In the first object of the list `results`.
    Results,
}

/// Keys that only one format has at this place.
const TELLING: [(KeyPlace, &str, FileFormat); 27] = [
    (KeyPlace::Benchmarks, "runs", FileFormat::Pyperf),
    (KeyPlace::Results, "command", FileFormat::Hyperfine),
    (KeyPlace::Results, "times", FileFormat::Hyperfine),
    (KeyPlace::Benchmarks, "run_name", FileFormat::GoogleBenchmark),
    (KeyPlace::Benchmarks, "run_type", FileFormat::GoogleBenchmark),
    (KeyPlace::Benchmarks, "real_time", FileFormat::GoogleBenchmark),
    (KeyPlace::Benchmarks, "cpu_time", FileFormat::GoogleBenchmark),
    (KeyPlace::RootList, "jmhVersion", FileFormat::Jmh),
    (KeyPlace::RootList, "primaryMetric", FileFormat::Jmh),
    (KeyPlace::Root, "machine_info", FileFormat::Pytest),
    (KeyPlace::Benchmarks, "fullname", FileFormat::Pytest),
    (KeyPlace::Benchmarks, "extra_info", FileFormat::Pytest),
    (KeyPlace::Root, "result_columns", FileFormat::Asv),
    (KeyPlace::Results, "title", FileFormat::Nanobench),
    (KeyPlace::Results, "epochs", FileFormat::Nanobench),
    (KeyPlace::Results, "complexityN", FileFormat::Nanobench),
    (KeyPlace::RootList, "Julia", FileFormat::BenchmarkTools),
    (KeyPlace::RootList, "BenchmarkTools", FileFormat::BenchmarkTools),
    (KeyPlace::Root, "instrument", FileFormat::Codspeed),
    (KeyPlace::Benchmarks, "uri", FileFormat::Codspeed),
    (KeyPlace::Root, "HostEnvironmentInfo", FileFormat::BenchmarkDotNet),
    (KeyPlace::Root, "counter-value", FileFormat::PerfStat),
    (KeyPlace::Root, "testbed", FileFormat::Bencher),
    (KeyPlace::Root, "__version__", FileFormat::Lnt),
    (KeyPlace::Root, "Tests", FileFormat::Lnt),
    (KeyPlace::Root, "format_version", FileFormat::Lnt),
    (KeyPlace::RootList, "unit", FileFormat::GithubAction),
];

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
