//! pyperf's JSON, version "1.0". pyperf's rules: values are above 0, names differ, metadata has one line, and metadata
//! that all runs share is written once.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use anyhow::{Result, bail, ensure};
use formats::{
    BenchmarkValues, LaunchView, MetaValue, Metadata, ResultUnit, Results,
    pyperf::calibration_entry,
};
use serde::Serialize;
use serde_json::Value;

const SECOND_NS: f64 = 1e9;
/// 2^53: doubles up to this hold every whole number exactly.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
/// Metadata keys from the benchmark's own fields.
const OURS: [&str; 4] = ["name", "unit", "loops", "inner_loops"];

type PyperfMetadata = BTreeMap<String, Value>;

// Members are sorted by name, like pyperf's.
#[derive(Serialize)]
struct PyperfSuite {
    benchmarks: Vec<PyperfBenchmark>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: PyperfMetadata,
    version: &'static str,
}

#[derive(Serialize)]
struct PyperfBenchmark {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: PyperfMetadata,
    runs: Vec<PyperfRun>,
}

#[derive(Serialize)]
struct PyperfRun {
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: PyperfMetadata,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<PyperfNumber>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warmups: Vec<(u64, PyperfNumber)>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum PyperfNumber {
    Float(f64),
    Whole(u64),
}

/// Errors: pyperf's format cannot hold it (a rate, a time of 0, a summary without values).
pub fn write(to: &mut impl Write, results: &Results) -> Result<()> {
    serde_json::to_writer(&mut *to, &suite(results)?)?;
    Ok(to.write_all(b"\n")?)
}

/// [`write()`] with an indent of four spaces, like `pyperf convert --indent`.
pub fn write_indented(to: &mut impl Write, results: &Results) -> Result<()> {
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut *to, formatter);
    suite(results)?.serialize(&mut serializer)?;
    Ok(to.write_all(b"\n")?)
}

fn suite(results: &Results) -> Result<PyperfSuite> {
    ensure!(!results.benchmarks.is_empty(), "pyperf has no file without a benchmark");
    let names: Vec<String> = results.labels().iter().map(|label| one_line(label)).collect();
    let mut seen = HashSet::new();
    let mut benchmarks = Vec::with_capacity(names.len());
    for (benchmark, name) in results.benchmarks.iter().zip(&names) {
        ensure!(seen.insert(name), "two benchmarks are called {name:?}");
        benchmarks.push(series(results, benchmark, name)?);
    }
    let metadata = hoisted(benchmarks.iter_mut().map(|it| &mut it.metadata).collect());
    Ok(PyperfSuite { benchmarks, metadata, version: "1.0" })
}

/// Why pyperf's format cannot hold a benchmark.
pub fn why_not(benchmark: &BenchmarkValues) -> Option<String> {
    match &benchmark.unit {
        _ if benchmark.n_launches() == 0 => Some("there is only a summary, and no value".into()),
        _ if benchmark.values.is_empty() && benchmark.warmups.is_empty() => {
            Some("there is no value in it".into())
        }
        ResultUnit::Other(unit) => {
            Some(format!("pyperf has no unit {unit:?}, only second, byte and integer"))
        }
        _ => None,
    }
}

fn series(results: &Results, benchmark: &BenchmarkValues, label: &str) -> Result<PyperfBenchmark> {
    if let Some(why) = why_not(benchmark) {
        bail!("{label}: {why}");
    }
    let unit = match &benchmark.unit {
        ResultUnit::Bytes => "byte",
        ResultUnit::Count => "integer",
        ResultUnit::Time | ResultUnit::Other(_) => "second",
    };
    let mut outer = PyperfMetadata::new();
    outer.extend(cleaned(&results.metadata));
    outer.extend(cleaned(&benchmark.metadata));
    for (name, value) in &benchmark.parameters {
        outer.extend(clean(&format!("parameter_{name}"), &value.as_str().into()));
    }
    outer.insert("name".into(), label.into());
    outer.insert("unit".into(), unit.into());
    let mut runs = Vec::with_capacity(benchmark.n_launches());
    for (index, launch) in benchmark.launches().enumerate() {
        let Some(mut run) = run(benchmark, &launch)
            .map_err(|why| anyhow::anyhow!("{label}, run {}: {why}", index + 1))?
        else {
            continue;
        };
        // A run keeps only the metadata that differs from its benchmark's.
        run.metadata.retain(|key, value| outer.get(key) != Some(value));
        runs.push(run);
    }
    ensure!(!runs.is_empty(), "{label}: there is no value in it");
    // Each run's own metadata stays and overrides the benchmark's.
    outer.extend(hoisted(runs.iter_mut().map(|run| &mut run.metadata).collect()));
    Ok(PyperfBenchmark { metadata: outer, runs })
}

/// Takes out the metadata that all share.
fn hoisted(all: Vec<&mut PyperfMetadata>) -> PyperfMetadata {
    let mut shared = all.first().map_or_else(PyperfMetadata::new, |first| (**first).clone());
    all.iter().for_each(|it| shared.retain(|key, value| it.get(key) == Some(value)));
    all.into_iter().for_each(|it| it.retain(|key, _| !shared.contains_key(key)));
    shared
}

/// A run; `None` if the launch has neither values nor warm-ups.
fn run(benchmark: &BenchmarkValues, launch: &LaunchView<'_>) -> Result<Option<PyperfRun>, String> {
    let number = |value: f64| match benchmark.unit {
        ResultUnit::Time => PyperfNumber::Float(seconds(value)),
        _ if value.fract() == 0.0 && (0.0..=WHOLE_MAX).contains(&value) => {
            PyperfNumber::Whole(value as u64)
        }
        _ => PyperfNumber::Float(value),
    };
    if let Some(value) = launch.values.iter().find(|&&value| value <= 0.0) {
        return Err(format!("pyperf's values are above 0; one is {value}"));
    }
    if launch.values.is_empty() && launch.warmups.is_empty() {
        return Ok(None);
    }
    let metadata = launch.info.metadata.as_deref().map(Cow::Borrowed).unwrap_or_default();
    let mut metadata: PyperfMetadata = cleaned(&metadata).collect();
    // A pyperf run has one number of loops.
    let range = launch.first_value..launch.first_value + launch.values.len();
    let loops = match benchmark.loops.get(range).unwrap_or_default() {
        [first, rest @ ..] if rest.iter().all(|loops| loops == first) => Some(*first),
        [_, ..] => None,
        [] => launch.info.loops.map(std::num::NonZeroU64::get),
    };
    let inner_loops = launch.info.inner_loops.map(std::num::NonZeroU64::get);
    let calibration = launch.info.calibration.map(calibration_entry);
    let numbers = [("loops", loops), ("inner_loops", inner_loops)];
    let numbers = numbers.into_iter().filter_map(|(key, number)| Some((key, number?)));
    metadata
        .extend(numbers.chain(calibration).map(|(key, number)| (key.to_owned(), number.into())));
    Ok(Some(PyperfRun {
        metadata,
        values: launch.values.iter().map(|&value| number(value)).collect(),
        warmups: launch.warmups.iter().map(|&(loops, value)| (loops, number(value))).collect(),
    }))
}

/// Seconds that give exactly `ns` when a reader multiplies them. If two neighbouring doubles do, the one with fewer
/// digits is more likely the original.
pub(crate) fn seconds(ns: f64) -> f64 {
    let value = ns / SECOND_NS;
    let near = [value, value.next_down(), value.next_up()];
    let is_same = |value: &f64| *value >= 0.0 && value * SECOND_NS == ns;
    let n_digits = |value: &f64| format!("{value:e}").len();
    near.into_iter().filter(is_same).min_by_key(n_digits).unwrap_or(value)
}

fn cleaned(metadata: &Metadata) -> impl Iterator<Item = (String, Value)> {
    metadata.iter().filter_map(|(key, value)| clean(key, value))
}

/// Metadata by pyperf's rules. pyperf refuses a whole file for one bad entry, so bad entries are left out.
fn clean(key: &str, value: &MetaValue) -> Option<(String, Value)> {
    let is_loops = matches!(key, "calibrate_loops" | "recalibrate_loops");
    let is_warmups = matches!(key, "calibrate_warmups" | "recalibrate_warmups");
    let is_bytes = matches!(key, "mem_max_rss" | "mem_peak_pagefile_usage" | "command_max_rss");
    let is_number = matches!(key, "duration" | "uptime" | "load_avg_1min");
    let cleaned: Value = match value {
        _ if OURS.contains(&key) || key.trim().is_empty() => return None,
        MetaValue::List(tags) if key == "tags" => {
            let is_right = tags.iter().all(|tag| !tag.is_empty() && tag != "all");
            return is_right.then(|| (key.into(), tags.clone().into()));
        }
        _ if key == "tags" => return None,
        MetaValue::Int(number) if is_loops || is_bytes => {
            (*number >= 1).then(|| (*number).into())?
        }
        MetaValue::Int(number) if is_warmups || is_number => {
            (*number >= 0).then(|| (*number).into())?
        }
        MetaValue::Float(number) if is_number => (*number >= 0.0).then(|| (*number).into())?,
        _ if is_loops || is_warmups || is_bytes || is_number => return None,
        MetaValue::Int(number) => (*number).into(),
        MetaValue::Float(number) => number.is_finite().then(|| (*number).into())?,
        text => one_line(&text.to_string()).into(),
    };
    let is_empty = cleaned.as_str().is_some_and(str::is_empty);
    (!is_empty).then(|| (key.into(), cleaned))
}

fn one_line(text: &str) -> String {
    text.trim().replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
