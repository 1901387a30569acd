//! pytest-benchmark's JSON. All rounds are one launch.

use std::num::NonZeroU64;

use anyhow::{Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{self, NotNegative, Positive};
use crate::source::TextFile;
use crate::{BenchmarkValues, LaunchInfo, ReadOptions, ResultUnit, Results, SummaryStatistics};

const SECOND_NS: f64 = 1e9;

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

/// Reads a file. Errors: there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results::default();
    let version: String = document.field("version", &mut results);
    results.tool = format!("pytest-benchmark {version}").trim_end().to_owned();
    for (key, name) in [("machine", "machine_info"), ("commit", "commit_info")] {
        let value: Value = document.field(name, &mut results);
        json::flatten(key, &value, &mut results.metadata);
    }
    if let Some(date) = document.field::<Option<String>>("datetime", &mut results) {
        results.metadata.insert("date".into(), date.as_str().into());
    }
    document.benchmarks("benchmarks", &mut results, |measured| benchmark(&measured))?;
    results.note_one_process();
    Ok(results)
}

fn benchmark(measured: &PytestBenchmark) -> Result<BenchmarkValues> {
    let mut benchmark = BenchmarkValues::new(
        measured.fullname.as_ref().unwrap_or(&measured.name),
        ResultUnit::Time,
    );
    let parameters = measured.params.iter().flatten();
    benchmark.parameters =
        parameters.map(|(key, value)| (key.clone(), json::text(value))).collect();
    benchmark.add_fact("group", measured.group.as_deref().map(Into::into));
    for (key, value) in [("extra", &measured.extra_info), ("option", &measured.options)] {
        json::flatten(key, value.as_ref().unwrap_or(&Value::Null), &mut benchmark.metadata);
    }
    let stats = &measured.stats;
    let data = stats.data.as_deref().unwrap_or_default();
    if data.is_empty() {
        let ns = |value: Positive| Some(value.0 * SECOND_NS);
        benchmark.summary = Some(SummaryStatistics {
            count: Some(stats.rounds),
            mean: ns(stats.mean),
            stddev: Some(stats.stddev.0 * SECOND_NS),
            min: ns(stats.min),
            q1: ns(stats.q1),
            median: ns(stats.median),
            q3: ns(stats.q3),
            max: ns(stats.max),
            estimate: None,
        });
        return Ok(benchmark);
    }
    let (n_values, n_rounds) = (data.len(), stats.rounds);
    ensure!(n_values as u64 == n_rounds, "stats.data: {n_values} values, but {n_rounds} rounds");
    benchmark.values.extend(json::values(data).map(|value| value * SECOND_NS));
    benchmark.end_launch(LaunchInfo { loops: stats.iterations, ..LaunchInfo::default() });
    Ok(benchmark)
}
