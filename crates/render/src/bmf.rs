//! Bencher Metric Format: the median of each benchmark, with the quartiles as bounds.

use std::io::Write;

use anyhow::{Context as _, Result, ensure};
use formats::{BenchmarkValues, ResultUnit, Results, statistics::summary};
use serde_json::{Map, Value, json};

/// Writes the object; times are in ns, the unit of Bencher's measure `latency`. Errors: a benchmark has no single
/// number, or two have one name.
pub fn write(to: &mut impl Write, results: &Results) -> Result<()> {
    let mut all = Map::new();
    for (benchmark, label) in results.benchmarks.iter().zip(results.labels()) {
        let summary = summary(benchmark);
        let value = summary.center().with_context(|| format!("{label}: it has no value"))?;
        let bounds =
            [("value", Some(value)), ("lower_value", summary.q1), ("upper_value", summary.q3)];
        let metric: Map<String, Value> = bounds
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), json!(value?))))
            .collect();
        let measures = json!({ measure(&benchmark.unit): metric });
        ensure!(
            all.insert(label.clone(), measures).is_none(),
            "two benchmarks are called {label:?}"
        );
    }
    serde_json::to_writer_pretty(&mut *to, &all)?;
    Ok(to.write_all(b"\n")?)
}

/// Why this format cannot hold a benchmark.
pub fn why_not(benchmark: &BenchmarkValues) -> Option<String> {
    summary(benchmark).center().is_none().then(|| "it has no value".into())
}

/// Bencher's built-in measure for a unit, else a name from the unit.
fn measure(unit: &ResultUnit) -> String {
    match unit {
        ResultUnit::Time => "latency".into(),
        ResultUnit::Bytes => "memory".into(),
        ResultUnit::Count => "count".into(),
        ResultUnit::Other(name) if name.starts_with("ops/") || name.ends_with("/s") => {
            "throughput".into()
        }
        ResultUnit::Other(name) => {
            let lower = name.to_lowercase();
            let words =
                lower.split(|it: char| !it.is_alphanumeric()).filter(|word| !word.is_empty());
            let slug = words.collect::<Vec<_>>().join("-");
            if slug.is_empty() { "value".into() } else { slug }
        }
    }
}
