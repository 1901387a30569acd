//! Summary of a benchmark for writers and tables: from its values, or else from the file.

use crate::{BenchmarkValues, SummaryStatistics};

/// Summary of a benchmark, with quartiles of Hyndman & Fan's definition 7.
///
/// Values of all launches count alike, as in the tools that write these formats.
pub fn summary(benchmark: &BenchmarkValues) -> SummaryStatistics {
    match benchmark.values.is_empty() {
        true => benchmark.summary.unwrap_or_default(),
        false => summarise(&benchmark.values),
    }
}

/// Summary of values; empty without values.
pub fn summarise(values: &[f64]) -> SummaryStatistics {
    let (Ok(sorted), Ok(mean)) = (stats::SortedSample::new(values), stats::mean(values)) else {
        return SummaryStatistics::default();
    };
    SummaryStatistics {
        count: Some(values.len() as u64),
        mean: Some(mean),
        stddev: stats::sample_sd(values).ok(),
        min: Some(sorted.min()),
        q1: Some(sorted.quantile(0.25)),
        median: Some(sorted.median()),
        q3: Some(sorted.quantile(0.75)),
        max: Some(sorted.max()),
        estimate: None,
    }
}
