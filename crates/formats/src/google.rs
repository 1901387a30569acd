//! Google Benchmark's JSON. Repetitions are one launch. Aggregates are left out, because Stillwell computes its own.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{self, NotNegative, Sign};
use crate::source::TextFile;
use crate::{
    BenchmarkValues, CPU, Detail, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results,
};

#[derive(Deserialize)]
struct GoogleRun {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    threads: Option<u64>,
    iterations: Option<u64>,
    real_time: Option<NotNegative>,
    cpu_time: Option<NotNegative>,
    time_unit: Option<String>,
    label: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
    #[serde(default)]
    skipped: bool,
    skip_message: Option<String>,
    /// User counters, and keys of other versions.
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Numeric keys that are not counters.
const NOT_COUNTERS: [&str; 4] =
    ["family_index", "per_family_instance_index", "repetition_index", "repetitions"];

/// Reads a file. Errors: there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], options: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "Google Benchmark".into(), ..Results::default() };
    let context: Value = document.field("context", &mut results);
    json::flatten("", &context, &mut results.metadata);
    if let Some(MetaValue::Text(version)) = results.metadata.get("library_version") {
        results.tool = format!("Google Benchmark {version}");
    }
    if results.metadata.get("library_build_type") == Some(&"debug".into()) {
        results.note("the library was built for debugging: its own part of the times is larger than it need be");
    }
    let mut indices = HashMap::new();
    document.each("benchmarks", &mut results, |results, entry: GoogleRun| {
        add(results, &mut indices, &entry, options.detail)
    })?;
    results.benchmarks.retain(|it| !it.values.is_empty() || it.summary.is_some());
    results.benchmarks.iter_mut().for_each(finish);
    results.note_one_process();
    Ok(results)
}

fn add(
    results: &mut Results,
    indices: &mut HashMap<String, usize>,
    entry: &GoogleRun,
    detail: Detail,
) -> Result<()> {
    let name = entry.run_name.as_ref().unwrap_or(&entry.name);
    if entry.error_occurred || entry.skipped {
        let why = entry.error_message.as_ref().or(entry.skip_message.as_ref());
        bail!("it has no time: {}", why.map_or("it was skipped", |why| why));
    }
    let index = *indices.entry(name.clone()).or_insert_with(|| {
        results.benchmarks.push(BenchmarkValues::new(name, ResultUnit::Time));
        results.benchmarks.len() - 1
    });
    let benchmark = &mut results.benchmarks[index];
    match entry.run_type.as_deref() {
        None | Some("iteration") => {
            let infinite = repetition(benchmark, entry, detail)?;
            for counter in infinite {
                results.note(format!(
                    "{name}: the counter {counter} is not a finite number: left out"
                ));
            }
            Ok(())
        }
        Some("aggregate") => aggregate(benchmark, entry),
        Some(other) => bail!("run_type: {other:?} is not known"),
    }
}

/// Adds a repetition. Returns the counters that are not finite.
fn repetition(
    benchmark: &mut BenchmarkValues,
    entry: &GoogleRun,
    detail: Detail,
) -> Result<Vec<String>> {
    let scale = scale(entry)?;
    let time = entry.real_time.context("real_time: it is not there")?;
    let ns = Sign::Positive.check(time.0 * scale).context("real_time")?;
    let iterations = entry.iterations.context("iterations: it is not there")?;
    ensure!(iterations > 0, "iterations: 0");
    benchmark.values.push(ns);
    benchmark.loops.push(iterations);
    if let Some(cpu) = entry.cpu_time {
        benchmark.push_extra(CPU, &ResultUnit::Time, cpu.0 * scale);
    }
    benchmark.add_fact("threads", entry.threads.map(u64::cast_signed).map(MetaValue::Int));
    let label = entry.label.as_deref().filter(|label| !label.is_empty());
    benchmark.add_fact("label", label.map(Into::into));
    let mut infinite = Vec::new();
    for (key, value) in &entry.others {
        if NOT_COUNTERS.contains(&&**key) {
            continue;
        }
        if value.as_str().is_some_and(|text| text.parse::<f64>().is_ok_and(|it| !it.is_finite())) {
            infinite.push(key.clone());
        } else if let Some(value) = value.as_f64().filter(|_| detail == Detail::Everything) {
            let per_second = key.ends_with("_per_second").then(|| ResultUnit::Other("1/s".into()));
            benchmark.push_extra(key, &per_second.unwrap_or(ResultUnit::Count), value);
        }
    }
    Ok(infinite)
}

/// Reads an aggregate, for files without repetitions (`--benchmark_report_aggregates_only`).
fn aggregate(benchmark: &mut BenchmarkValues, entry: &GoogleRun) -> Result<()> {
    let scale = scale(entry)?;
    let Some(time) = entry.real_time.map(|time| time.0) else { return Ok(()) };
    let summary = benchmark.summary.get_or_insert_default();
    match entry.aggregate_name.as_deref() {
        Some("mean") => summary.mean = Some(time * scale),
        Some("median") => summary.median = Some(time * scale),
        Some("stddev") => summary.stddev = Some(time * scale),
        Some("min") => summary.min = Some(time * scale),
        Some("max") => summary.max = Some(time * scale),
        _ => {}
    }
    summary.count = entry.iterations.or(summary.count);
    Ok(())
}

fn finish(benchmark: &mut BenchmarkValues) {
    if benchmark.values.is_empty() {
        return;
    }
    benchmark.summary = None;
    benchmark.end_launch(LaunchInfo::default());
    benchmark.fill_extras();
}

fn scale(entry: &GoogleRun) -> Result<f64> {
    Ok(match entry.time_unit.as_deref() {
        Some("ns") => 1.0,
        Some("us") => 1e3,
        Some("ms") => 1e6,
        Some("s") => 1e9,
        // Complexity and percentages are aggregates that have no time of their own.
        None if entry.run_type.as_deref() == Some("aggregate") => 1.0,
        other => bail!("time_unit: {other:?} is none of ns, us, ms and s"),
    })
}
