//! Benchmarks of Catch2: its text and its XML (`-r xml`). Both have means with their intervals.

mod text;
mod xml;

use anyhow::Result;

use crate::source::TextFile;
use crate::{BenchmarkValues, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics};

pub(crate) use text::is_head;

/// Between the names of a test case and its sections.
const SEPARATOR: &str = " / ";

pub(crate) fn is_xml(text: &str) -> bool {
    ["<Catch2TestRun", "<Catch ", "<BenchmarkResults"].iter().any(|tag| text.contains(tag))
}

/// Reads a file. Never fails: benchmarks that cannot be read are in `unread`.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let mut results = Results { tool: "Catch2".into(), ..Results::default() };
    let text = files[0].text;
    if text.trim_start().starts_with('<') {
        xml::read(text, &mut results);
    } else {
        text::read(text, &mut results);
    }
    results.note_one_process();
    Ok(results)
}

fn benchmark(
    name: &str,
    title: &[String],
    count: Option<u64>,
    [mean, low, high]: [f64; 3],
    stddev: Option<f64>,
) -> BenchmarkValues {
    let summary =
        SummaryStatistics { count, mean: Some(mean), stddev, ..SummaryStatistics::default() };
    let mut benchmark = BenchmarkValues::from_summary(name, ResultUnit::Time, summary);
    benchmark.group = (!title.is_empty()).then(|| title.join(SEPARATOR));
    for (key, ns) in [("mean_low_ns", low), ("mean_high_ns", high)] {
        benchmark.metadata.insert(key.into(), MetaValue::Float(ns));
    }
    benchmark
}
