//! hyperfine's JSON: version 1, with lists in each result, and version 2, with an object for each run. A run is a
//! process: a launch of one value.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{self, Finite, NotNegative};
use crate::source::TextFile;
use crate::{
    BenchmarkValues, CPU, EXIT_CODE, LaunchInfo, MetaValue, PEAK_MEMORY, ReadOptions, ResultUnit,
    Results, SummaryStatistics,
};

const SECOND_NS: f64 = 1e9;
/// The metric of version 2 that is the value.
const WALL: &str = "time_wall_clock";
/// The metric of our own export for values that are no wall times.
const VALUE: &str = "value";

/// Reads a file. Errors: the version is not known, or there is no list of results.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "hyperfine".into(), ..Results::default() };
    let version: Option<u64> = document.field("schema_version", &mut results);
    ensure!(version.is_none_or(|version| version == 2), "schema_version: only 2 is known");
    let metadata: Value = document.field("metadata", &mut results);
    json::flatten("", &metadata, &mut results.metadata);
    if let Some(MetaValue::Text(version)) = results.metadata.get("hyperfine_version") {
        results.tool = format!("hyperfine {version}");
    }
    let primary: Option<String> = document.field("primary_metric", &mut results);
    let primary = if primary.as_deref() == Some(VALUE) { VALUE } else { WALL };
    document.benchmarks("results", &mut results, |it| benchmark(it, primary))?;
    results.note_summaries();
    finish(&mut results);
    Ok(results)
}

/// Adds the notes. The CSV reader needs them too.
pub(crate) fn finish(results: &mut Results) {
    results.are_commands = true;
    results.note_order();
    let timed = results.benchmarks.iter().filter(|it| it.unit == ResultUnit::Time);
    let n_zero = timed.flat_map(|it| &it.values).filter(|&&value| value == 0.0).count();
    if n_zero > 0 {
        results.note(format!(
            "{n_zero} times are 0: hyperfine subtracts the shell and writes 0 where less than nothing is left"
        ));
    }
}

#[derive(Deserialize)]
struct HyperfineResult {
    command: String,
    name: Option<String>,
    mean: Option<NotNegative>,
    stddev: Option<NotNegative>,
    median: Option<NotNegative>,
    user: Option<NotNegative>,
    system: Option<NotNegative>,
    min: Option<NotNegative>,
    max: Option<NotNegative>,
    times: Option<Vec<NotNegative>>,
    memory_usage_byte: Option<Vec<NotNegative>>,
    exit_codes: Option<Vec<Option<i32>>>,
    #[serde(default)]
    parameters: BTreeMap<String, HyperfineParameter>,
    measurements: Option<Vec<BTreeMap<String, HyperfineQuantity>>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HyperfineParameter {
    Text(String),
    Number(serde_json::Number),
    /// Of version 2.
    Object {
        value: Box<HyperfineParameter>,
    },
}

impl HyperfineParameter {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Object { value } => value.text(),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum HyperfineQuantity {
    Quantity {
        value: Option<Finite>,
        /// Counters have none.
        #[serde(default)]
        unit: String,
    },
    Code(Option<i32>),
}

/// `primary`: the metric of version 2 that is the value.
fn benchmark(result: HyperfineResult, primary: &str) -> Result<BenchmarkValues> {
    let name = result.name.as_deref().unwrap_or(&result.command);
    let mut benchmark = BenchmarkValues::new(name, ResultUnit::Time);
    if name != result.command {
        benchmark.metadata.insert("command".into(), result.command.as_str().into());
    }
    benchmark.parameters =
        result.parameters.iter().map(|(name, value)| (name.clone(), value.text())).collect();
    if let Some(measurements) = &result.measurements {
        for (index, measurement) in measurements.iter().enumerate() {
            run(&mut benchmark, measurement, primary)
                .with_context(|| format!("measurements[{index}]"))?;
        }
        ensure!(!benchmark.values.is_empty(), "measurements: there is none");
        return Ok(benchmark);
    }
    for (key, mean) in [("mean_user_s", result.user), ("mean_system_s", result.system)] {
        benchmark.add_fact(key, mean.map(|mean| MetaValue::Float(mean.0)));
    }
    match &result.times {
        Some(times) => runs(&mut benchmark, times, &result)?,
        None => {
            let ns = |value: Option<NotNegative>| value.map(|value| value.0 * SECOND_NS);
            benchmark.summary = Some(SummaryStatistics {
                mean: Some(ns(result.mean).context("it has neither times nor a mean")?),
                stddev: ns(result.stddev),
                min: ns(result.min),
                median: ns(result.median),
                max: ns(result.max),
                ..SummaryStatistics::default()
            });
        }
    }
    Ok(benchmark)
}

fn runs(
    benchmark: &mut BenchmarkValues,
    times: &[NotNegative],
    result: &HyperfineResult,
) -> Result<()> {
    ensure!(!times.is_empty(), "times: there is none");
    let n_runs = times.len();
    let n_memory = result.memory_usage_byte.as_ref().map_or(n_runs, Vec::len);
    ensure!(n_memory == n_runs, "memory_usage_byte: {n_memory} values, but {n_runs} times");
    let n_codes = result.exit_codes.as_ref().map_or(n_runs, Vec::len);
    ensure!(n_codes == n_runs, "exit_codes: {n_codes} values, but {n_runs} times");
    for (index, time) in times.iter().enumerate() {
        benchmark.values.push(time.0 * SECOND_NS);
        if let Some(memory) = &result.memory_usage_byte {
            benchmark.push_extra(PEAK_MEMORY, &ResultUnit::Bytes, memory[index].0);
        }
        if let Some(code) = result.exit_codes.as_ref().and_then(|codes| codes[index]) {
            benchmark.push_extra(EXIT_CODE, &ResultUnit::Count, f64::from(code));
        }
        benchmark.end_launch(LaunchInfo::default());
    }
    benchmark.fill_extras();
    Ok(())
}

fn run(
    benchmark: &mut BenchmarkValues,
    measurement: &BTreeMap<String, HyperfineQuantity>,
    primary: &str,
) -> Result<()> {
    // Our own export has no wall time of what is no process.
    let primary = if measurement.contains_key(primary) { primary } else { VALUE };
    let found = measurement.get(primary).context("it has no time_wall_clock")?;
    let HyperfineQuantity::Quantity { value: Some(value), unit } = found else {
        anyhow::bail!("{primary}: it has no value");
    };
    let (unit, scale) = unit_of(unit);
    if primary == WALL {
        ensure!(unit == ResultUnit::Time, "{WALL}.unit: it is not one of time");
        ensure!(value.0 >= 0.0, "{WALL}: a value must not be negative, not {}", value.0);
    }
    let is_first = benchmark.values.is_empty();
    ensure!(
        is_first || benchmark.unit == unit,
        "{primary}.unit: the other measurements have another one"
    );
    benchmark.unit = unit;
    benchmark.values.push(value.0 * scale);
    for (key, measured) in measurement {
        match measured {
            HyperfineQuantity::Quantity { value: Some(value), unit } if key != primary => {
                let (unit, scale) = unit_of(unit);
                benchmark.push_extra(extra_name(key), &unit, value.0 * scale);
            }
            HyperfineQuantity::Code(Some(code)) => {
                benchmark.push_extra(extra_name(key), &ResultUnit::Count, f64::from(*code))
            }
            _ => {}
        }
    }
    benchmark.end_launch(LaunchInfo::default());
    Ok(())
}

fn extra_name(key: &str) -> &str {
    match key {
        "time_cpu" => CPU,
        "memory_peak_resident" => PEAK_MEMORY,
        "exit_code" => EXIT_CODE,
        other => other,
    }
}

/// Unit and scale of a name in the JSON or the CSV.
pub(crate) fn unit_of(name: &str) -> (ResultUnit, f64) {
    match name {
        "second" | "s" => (ResultUnit::Time, SECOND_NS),
        "byte" | "B" => (ResultUnit::Bytes, 1.0),
        "" | "count" => (ResultUnit::Count, 1.0),
        other => (ResultUnit::Other(other.into()), 1.0),
    }
}
