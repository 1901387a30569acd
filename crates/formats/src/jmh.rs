//! JMH's JSON. A fork is a process, so it is a launch; an iteration is a value. In the mode `sample`, a value is a
//! single time.

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{Finite, Sign};
use crate::source::TextFile;
use crate::units::unit_ns;
use crate::{
    BenchmarkValues, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics,
};

/// Most times of a histogram. The reader writes them out, and JMH writes no file with more.
const N_TIMES_MAX: u64 = 100_000_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JmhBenchmark {
    jmh_version: Option<String>,
    benchmark: String,
    mode: String,
    threads: Option<u64>,
    jvm: Option<String>,
    jdk_version: Option<String>,
    vm_name: Option<String>,
    vm_version: Option<String>,
    jvm_args: Option<Vec<String>>,
    params: Option<std::collections::BTreeMap<String, String>>,
    primary_metric: JmhMetric,
    secondary_metrics: Option<std::collections::BTreeMap<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JmhMetric {
    score: JmhScore,
    score_unit: String,
    raw_data: Option<Vec<Vec<Finite>>>,
    raw_data_histogram: Option<Vec<Vec<JmhHistogram>>>,
}

/// Times, each with its count.
type JmhHistogram = Vec<(Finite, u64)>;

/// A number. JMH writes a value that is not a number as a string.
#[derive(Deserialize)]
#[serde(untagged)]
enum JmhScore {
    Number(f64),
    Text(String),
}

/// Reads a file. Errors: there is no list of benchmarks.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "JMH".into(), ..Results::default() };
    let mut n_times = 0;
    document.each("", &mut results, |results, measured: JmhBenchmark| {
        if let Some(version) = &measured.jmh_version {
            results.tool = format!("JMH {version}");
        }
        let benchmark = benchmark(&measured, &mut n_times)?;
        // The percentiles of the mode `sample` are of values that this reader reads: `p0.99`, in some versions after
        // the benchmark's name and a middle dot.
        let others = measured.secondary_metrics.iter().flatten().map(|(name, _)| name);
        if others.into_iter().any(|name| is_more(name)) {
            results.note("the secondary metrics are not read");
        }
        results.benchmarks.push(benchmark);
        Ok(())
    })?;
    results.note_summaries();
    results.note_order();
    Ok(results)
}

/// Whether a secondary metric is more than a percentile of the primary one.
fn is_more(name: &str) -> bool {
    let last = name.rsplit('·').next().unwrap_or(name);
    last.strip_prefix('p').is_none_or(|number| number.parse::<f64>().is_err())
}

fn benchmark(measured: &JmhBenchmark, n_times: &mut u64) -> Result<BenchmarkValues> {
    let metric = &measured.primary_metric;
    let (unit, scale) = unit_of(&metric.score_unit);
    let sign = if unit == ResultUnit::Time { Sign::Positive } else { Sign::NotNegative };
    let mut benchmark = BenchmarkValues::new(&measured.benchmark, unit);
    benchmark.parameters =
        measured.params.iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
    benchmark.parameters.push(("mode".into(), measured.mode.clone()));
    metadata(&mut benchmark, measured);
    let value = |value: f64| sign.check(value * scale);
    match (&metric.raw_data, &metric.raw_data_histogram) {
        (Some(forks), None) => {
            for (fork, iterations) in forks.iter().enumerate() {
                for (index, number) in iterations.iter().enumerate() {
                    let place = || format!("primaryMetric.rawData[{fork}][{index}]");
                    benchmark.values.push(value(number.0).with_context(place)?);
                }
                benchmark.end_launch(LaunchInfo::default());
            }
        }
        (None, Some(forks)) => {
            for (fork, iterations) in forks.iter().enumerate() {
                for (index, (number, count)) in iterations.iter().flatten().enumerate() {
                    let place = || format!("primaryMetric.rawDataHistogram[{fork}], entry {index}");
                    *n_times = n_times.saturating_add(*count);
                    ensure!(*n_times <= N_TIMES_MAX, "{}: more than {N_TIMES_MAX} times", place());
                    let number = value(number.0).with_context(place)?;
                    benchmark.values.extend(std::iter::repeat_n(number, usize::try_from(*count)?));
                }
                benchmark.end_launch(LaunchInfo::default());
            }
        }
        (Some(_), Some(_)) => bail!("primaryMetric: it has rawData and rawDataHistogram"),
        (None, None) => {
            let score = match &metric.score {
                JmhScore::Number(score) => value(*score).context("primaryMetric.score")?,
                JmhScore::Text(text) => {
                    bail!("primaryMetric.score: {text:?} is not a number, and there is no rawData")
                }
            };
            benchmark.summary =
                Some(SummaryStatistics { mean: Some(score), ..SummaryStatistics::default() });
            return Ok(benchmark);
        }
    }
    ensure!(!benchmark.values.is_empty(), "primaryMetric: there is no value in it");
    Ok(benchmark)
}

fn metadata(benchmark: &mut BenchmarkValues, measured: &JmhBenchmark) {
    let texts = [
        ("jvm", measured.jvm.as_ref()),
        ("jdk_version", measured.jdk_version.as_ref()),
        ("vm_name", measured.vm_name.as_ref()),
        ("vm_version", measured.vm_version.as_ref()),
    ];
    for (key, text) in texts {
        let text = text.map(|text| text.trim()).filter(|text| !text.is_empty());
        benchmark.add_fact(key, text.map(Into::into));
    }
    let args = measured.jvm_args.as_deref().unwrap_or_default().join(" ");
    if !args.is_empty() {
        benchmark.metadata.insert("jvm_args".into(), args.as_str().into());
    }
    benchmark.add_fact("threads", measured.threads.map(u64::cast_signed).map(MetaValue::Int));
}

/// Converts times per operation to nanoseconds; rates keep their unit.
fn unit_of(name: &str) -> (ResultUnit, f64) {
    match name.strip_suffix("/op").and_then(unit_ns) {
        Some(ns) => (ResultUnit::Time, ns),
        None => (ResultUnit::Other(name.into()), 1.0),
    }
}
