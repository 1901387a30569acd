//! BenchmarkDotNet's JSON, full or brief. A launch is a process; each result of its measurements is a value. The brief
//! report has the values without their launches, or a summary alone.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{self, Positive};
use crate::source::TextFile;
use crate::{
    BenchmarkValues, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics,
};

const DEFAULT_JOB: &str = "DefaultJob";

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DotnetBenchmark {
    display_info: Option<String>,
    namespace: Option<String>,
    r#type: Option<String>,
    method: String,
    parameters: Option<String>,
    statistics: Option<DotnetStatistics>,
    #[serde(default)]
    measurements: Vec<DotnetMeasurement>,
    memory: Option<DotnetMemory>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DotnetStatistics {
    #[serde(default)]
    original_values: Vec<Positive>,
    n: Option<u64>,
    min: Option<f64>,
    q1: Option<f64>,
    median: Option<f64>,
    mean: Option<Positive>,
    q3: Option<f64>,
    max: Option<f64>,
    standard_deviation: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DotnetMeasurement {
    /// `Workload`, or `Result` in old versions.
    iteration_mode: String,
    iteration_stage: Option<String>,
    launch_index: u64,
    operations: u64,
    nanoseconds: Positive,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DotnetMemory {
    bytes_allocated_per_operation: Option<i64>,
}

/// Reads a file. Errors: there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "BenchmarkDotNet".into(), ..Results::default() };
    let host: Value = document.field("HostEnvironmentInfo", &mut results);
    json::flatten("", &host, &mut results.metadata);
    if let Some(MetaValue::Text(version)) = results.metadata.get("BenchmarkDotNetVersion") {
        results.tool = format!("BenchmarkDotNet {version}");
    }
    document.benchmarks("Benchmarks", &mut results, |measured| benchmark(&measured))?;
    results.note_summaries();
    results.note_order();
    Ok(results)
}

fn benchmark(measured: &DotnetBenchmark) -> Result<BenchmarkValues> {
    let mut benchmark = BenchmarkValues::new(&measured.method, ResultUnit::Time);
    let class = [&measured.namespace, &measured.r#type].into_iter().flatten();
    let class = class.map(String::as_str).filter(|part| !part.is_empty()).collect::<Vec<_>>();
    benchmark.group = (!class.is_empty()).then(|| class.join("."));
    let parameters = measured.parameters.iter().flat_map(|it| it.split('&'));
    let pairs = parameters.filter_map(|pair| pair.split_once('='));
    benchmark.parameters = pairs.map(|(key, value)| (key.into(), value.into())).collect();
    if let Some(job) =
        measured.display_info.as_deref().and_then(job).filter(|it| *it != DEFAULT_JOB)
    {
        benchmark.parameters.push(("job".into(), job.into()));
    }
    let memory = measured.memory.as_ref().and_then(|it| it.bytes_allocated_per_operation);
    benchmark.add_fact("bytes_per_operation", memory.map(MetaValue::Int));
    let launches = launches(&measured.measurements)?;
    let statistics = measured.statistics.as_ref();
    if !launches.is_empty() {
        for launch in launches.into_values() {
            for (loops, value) in launch {
                benchmark.loops.push(loops);
                benchmark.values.push(value);
            }
            benchmark.end_launch(LaunchInfo::default());
        }
        return Ok(benchmark);
    }
    let statistics = statistics.context("it has no statistics: it failed")?;
    if statistics.original_values.is_empty() {
        benchmark.summary = Some(summary(statistics)?);
    } else {
        benchmark.values.extend(json::values(&statistics.original_values));
        benchmark.end_launch(LaunchInfo::default());
    }
    Ok(benchmark)
}

/// Loops and time per loop of the results, by launch.
fn launches(measurements: &[DotnetMeasurement]) -> Result<BTreeMap<u64, Vec<(u64, f64)>>> {
    let mut launches: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    for (index, it) in measurements.iter().enumerate() {
        let is_result = match &it.iteration_stage {
            Some(stage) => it.iteration_mode == "Workload" && stage == "Result",
            None => it.iteration_mode == "Result",
        };
        if is_result {
            ensure!(it.operations > 0, "Measurements[{index}].Operations: 0");
            let value = it.nanoseconds.0 / it.operations as f64;
            launches.entry(it.launch_index).or_default().push((it.operations, value));
        }
    }
    Ok(launches)
}

fn summary(statistics: &DotnetStatistics) -> Result<SummaryStatistics> {
    let mean = statistics.mean.context("Statistics: it has neither values nor a mean")?;
    let finite = |value: Option<f64>| value.filter(|it| it.is_finite());
    Ok(SummaryStatistics {
        count: statistics.n,
        mean: Some(mean.0),
        // One value has a deviation of NaN.
        stddev: finite(statistics.standard_deviation.as_ref().and_then(Value::as_f64)),
        min: finite(statistics.min),
        q1: finite(statistics.q1),
        median: finite(statistics.median),
        q3: finite(statistics.q3),
        max: finite(statistics.max),
        estimate: None,
    })
}

/// The job in `Class.Method: Job-ABCDEF(Runtime=.NET 8.0) [N=100]`: its settings, or else its name. The letters of a
/// job without a name differ between machines.
fn job(display_info: &str) -> Option<&str> {
    let (_, job) = display_info.split_once(": ")?;
    let job = job.split(" [").next()?.trim();
    let settings = job.split_once('(').and_then(|(_, settings)| settings.strip_suffix(')'));
    settings.or(Some(job)).filter(|job| !job.is_empty())
}
