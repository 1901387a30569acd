//! pytest-benchmark's JSON. All rounds are in one process: one launch.

use std::num::NonZeroU64;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::convert::json::{self, NotNegative, Positive};
use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::{
    BenchmarkValues, LaunchInfo, NOTE_ONE_PROCESS, NOTE_ORDER, NOTE_SUMMARIES, ResultUnit, Results,
    SummaryStatistics,
};

const SECOND_NS: f64 = 1e9;

#[derive(Deserialize)]
struct PytestDocument {
    machine_info: Option<Value>,
    commit_info: Option<Value>,
    datetime: Option<String>,
    version: Option<String>,
    benchmarks: Vec<PytestBenchmark>,
}

#[derive(Deserialize)]
struct PytestBenchmark {
    name: String,
    fullname: Option<String>,
    group: Option<String>,
    params: Option<serde_json::Map<String, Value>>,
    extra_info: Option<Value>,
    options: Option<Value>,
    stats: PytestStats,
}

#[derive(Deserialize)]
struct PytestStats {
    min: Positive,
    max: Positive,
    mean: Positive,
    stddev: NotNegative,
    median: Positive,
    q1: Positive,
    q3: Positive,
    rounds: u64,
    iterations: Option<NonZeroU64>,
    data: Option<Vec<Positive>>,
}

/// Reads a file.
///
/// # Errors
/// The file does not match the format; the message has the place.
pub(super) fn read(files: &[SourceFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document: PytestDocument = json::read(files[0].bytes)?;
    let version = document.version.as_deref().unwrap_or_default();
    let tool = format!("pytest-benchmark {version}").trim_end().to_owned();
    let mut results = Results { tool, ..Results::default() };
    let nested = [("machine", &document.machine_info), ("commit", &document.commit_info)];
    for (key, value) in nested {
        json::flatten(key, value.as_ref().unwrap_or(&Value::Null), &mut results.metadata);
    }
    if let Some(date) = &document.datetime {
        results.metadata.insert("date".into(), date.as_str().into());
    }
    for (index, measured) in document.benchmarks.iter().enumerate() {
        let found = benchmark(measured).with_context(|| format!("benchmarks[{index}]"))?;
        if found.summary.is_some() {
            results.note(NOTE_SUMMARIES);
        }
        results.benchmarks.push(found);
    }
    results.note(NOTE_ONE_PROCESS);
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

fn benchmark(measured: &PytestBenchmark) -> Result<BenchmarkValues> {
    let mut found = BenchmarkValues::new(
        measured.fullname.as_ref().unwrap_or(&measured.name),
        ResultUnit::Time,
    );
    let parameters = measured.params.iter().flatten();
    found.parameters = parameters.map(|(key, value)| (key.clone(), json::text(value))).collect();
    if let Some(group) = &measured.group {
        found.metadata.insert("group".into(), group.as_str().into());
    }
    for (key, value) in [("extra", &measured.extra_info), ("option", &measured.options)] {
        json::flatten(key, value.as_ref().unwrap_or(&Value::Null), &mut found.metadata);
    }
    let stats = &measured.stats;
    let data = stats.data.as_deref().unwrap_or_default();
    if data.is_empty() {
        let ns = |value: Positive| Some(value.0 * SECOND_NS);
        found.summary = Some(SummaryStatistics {
            count: Some(stats.rounds),
            mean: ns(stats.mean),
            stddev: Some(stats.stddev.0 * SECOND_NS),
            min: ns(stats.min),
            q1: ns(stats.q1),
            median: ns(stats.median),
            q3: ns(stats.q3),
            max: ns(stats.max),
        });
        return Ok(found);
    }
    let (n_values, n_rounds) = (data.len(), stats.rounds);
    ensure!(n_values as u64 == n_rounds, "stats.data: {n_values} values, but {n_rounds} rounds");
    found.values.extend(json::values(data).map(|value| value * SECOND_NS));
    found.end_launch(LaunchInfo { loops: stats.iterations, ..LaunchInfo::default() });
    Ok(found)
}
