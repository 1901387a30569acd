//! Summaries of sources without values, and notes on the limits of a source.

use serde::{Deserialize, Serialize};

use crate::{BenchmarkValues, MetaValue, ResultUnit, Results};

/// Summary of values that the source does not keep, in the base unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SummaryStatistics {
    pub count: Option<u64>,
    pub mean: Option<f64>,
    /// Sample standard deviation.
    pub stddev: Option<f64>,
    pub min: Option<f64>,
    pub q1: Option<f64>,
    pub median: Option<f64>,
    pub q3: Option<f64>,
    pub max: Option<f64>,
    /// The only number of a source, of an unnamed kind: a mean, a median or a minimum.
    pub estimate: Option<f64>,
}

impl SummaryStatistics {
    /// The median, or else the mean, or else the estimate.
    pub fn center(&self) -> Option<f64> {
        self.median.or(self.mean).or(self.estimate)
    }
}

impl BenchmarkValues {
    /// Keeps every second value, or launch.
    pub(crate) fn halve(&mut self) {
        if self.n_launches() > 0 {
            return self.retain_launches(|index, _| index.is_multiple_of(2));
        }
        fn every_second<T>(list: &mut Vec<T>) {
            let mut at = 0;
            list.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            list.shrink_to_fit();
        }
        self.fill_extras();
        every_second(&mut self.values);
        every_second(&mut self.loops);
        self.extras.iter_mut().for_each(|extra| every_second(&mut extra.values));
    }

    /// Adds a fact to the metadata, if the source has it.
    pub(crate) fn add_fact(&mut self, key: &str, value: Option<MetaValue>) {
        if let Some(value) = value {
            self.metadata.insert(key.into(), value);
        }
    }

    pub(crate) fn from_summary(name: &str, unit: ResultUnit, summary: SummaryStatistics) -> Self {
        Self { summary: Some(summary), ..Self::new(name, unit) }
    }
}

impl Results {
    /// Notes the limits of a source with one process and one benchmark after another.
    pub(crate) fn note_one_process(&mut self) {
        self.note_summaries();
        self.note(NOTE_ONE_PROCESS);
        self.note_order();
    }

    /// Notes the limits of a source with one benchmark after another.
    pub(crate) fn note_order(&mut self) {
        if self.benchmarks.len() > 1 {
            self.note(NOTE_ORDER);
        }
    }

    pub(crate) fn note_summaries(&mut self) {
        let with_summary = self.benchmarks.iter().filter(|it| it.summary.is_some());
        match (with_summary.count(), self.benchmarks.len()) {
            (0, _) => {}
            (n, all) if n == all => self.note(NOTE_SUMMARIES),
            (n, all) => self.note(format!(
                "{n} of {all} benchmarks have summaries, not values: nothing can be tested and no interval can be given"
            )),
        }
    }
}

/// Note on a source whose benchmarks follow one another.
pub const NOTE_ORDER: &str = "the benchmarks were measured one after another: what the machine did in the meantime counts as their difference";
/// Note on a source with one process.
pub const NOTE_ONE_PROCESS: &str = "all values of a benchmark are from one process: what differs between processes is not in their spread";
/// Note on a source without values.
pub const NOTE_SUMMARIES: &str =
    "the file has summaries, not values: nothing can be tested and no interval can be given";

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
