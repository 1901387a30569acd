//! Compares the same benchmarks in several files. Whatever differed between the sessions is part of the difference, so
//! there are no verdicts, only estimates with an error from the scatter within each session.

mod differences;

use std::collections::HashMap;

use formats::{BenchmarkValues, MetaValue, ResultUnit, Results, statistics::summary};
use schemars::JsonSchema;
use serde::Serialize;
use stats::SortedSample;
use stats::endpoint::window_err;

use crate::arm::summarise;
use crate::convert::of_record;
use crate::convert::to_record::{self, ImportOptions};
use crate::launches::gather;
use crate::summary::{ArmSummary, UncertainValue};
pub use differences::{Difference, OtherProcessors};
use differences::{differences, other_processors};
use model::values::FileStatistic;
use record::Record;

/// A benchmark in one file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FileCell {
    /// t0, or the mean or median of all values, in the base unit. The error of a mean is its standard error over
    /// launches. A median has the error that `stats` prints. A summary or a single launch has none.
    pub middle: UncertainValue,
    /// Whether `middle` is a t0 that is only an upper limit.
    pub is_upper_limit: bool,
    /// Standard deviation of the values.
    pub sd: Option<f64>,
    /// Number of launches with values.
    pub n_launches: usize,
    /// Number of values.
    pub n_values: usize,
    /// Ratio to the first file; `None` in the first file, and if one of the values is not above 0.
    pub ratio: Option<UncertainValue>,
    /// Difference to the first file, where there is no ratio.
    pub difference: Option<f64>,
    /// The summary of a file without values.
    pub estimate: Option<EstimateKind>,
}

/// The number of a summary that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EstimateKind {
    /// A mean.
    Mean,
    /// A median.
    Median,
    /// The file does not say whether it is a mean, a median or a minimum.
    Unknown,
}

/// A benchmark that several files have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BenchmarkLine {
    /// Name of the benchmark.
    pub name: String,
    /// Unit of the values.
    #[serde(skip)]
    pub unit: ResultUnit,
    /// Whether higher values are better, as for a throughput.
    pub more_is_better: bool,
    /// Tags of the benchmark.
    pub tags: Vec<String>,
    /// The statistic that is compared: files without values have no t0.
    pub by: FileStatistic,
    /// One cell for each file; `None` if the file lacks the benchmark.
    pub cells: Vec<Option<FileCell>>,
}

/// The comparison of several files.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FilesComparison {
    /// The statistic that most benchmarks are compared by.
    pub by: FileStatistic,
    /// The benchmarks that the first file and another one have, in the order of the first.
    pub lines: Vec<BenchmarkLine>,
    /// Geometric mean of each file's ratios, over the benchmarks that it shares with the first file. Only benchmarks
    /// where lower is better count, or all if there is none. `None` for the first file.
    pub geometric_means: Vec<Option<UncertainValue>>,
    /// Benchmarks without a partner: in the first file, those that no other file has; in another file, those that the
    /// first file lacks.
    pub alone: Vec<Vec<String>>,
    /// Differences between the machines or interpreters.
    pub differences: Vec<Difference>,
    /// Benchmarks that would have a partner if the number of processors were ignored.
    pub other_processors: Vec<OtherProcessors>,
}

/// How a change compares with its error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeGroup {
    /// Slower, or more, by more than twice the error of the ratio.
    More,
    /// Faster, or less, by more than twice the error of the ratio.
    Less,
    /// Within twice the error.
    Within,
    /// There is no error.
    Unknown,
}

/// What an upper limit in one of the files makes of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RatioBound {
    /// None is a limit.
    Exact,
    /// The new value is one.
    AtMost,
    /// The reference is one.
    AtLeast,
    /// Both are: the ratio may be on either side.
    About,
}

impl RatioBound {
    pub fn of(old_is_limit: bool, new_is_limit: bool) -> Self {
        match (old_is_limit, new_is_limit) {
            (false, false) => Self::Exact,
            (false, true) => Self::AtMost,
            (true, false) => Self::AtLeast,
            (true, true) => Self::About,
        }
    }
}

impl BenchmarkLine {
    /// The benchmark in this file.
    pub fn cell(&self, file: usize) -> Option<&FileCell> {
        self.cells.get(file)?.as_ref()
    }

    /// What limits make of the ratio of this file.
    pub fn bound(&self, file: usize) -> RatioBound {
        let is_limit = |file| self.cell(file).is_some_and(|cell| cell.is_upper_limit);
        RatioBound::of(is_limit(0), is_limit(file))
    }
}

impl ChangeGroup {
    pub fn of(ratio: UncertainValue) -> Self {
        let off = ratio.value - 1.0;
        match ratio.err {
            _ if off == 0.0 => Self::Within,
            None => Self::Unknown,
            Some(err) if off.abs() <= 2.0 * err => Self::Within,
            Some(_) if off > 0.0 => Self::More,
            Some(_) => Self::Less,
        }
    }
}

/// A file with the t0 of its benchmarks.
#[derive(Debug)]
pub struct ComparedFile {
    pub results: Results,
    t0s: Vec<Option<FileT0>>,
}

#[derive(Clone, Copy, Debug)]
struct FileT0 {
    value: UncertainValue,
    is_upper_limit: bool,
}

impl ComparedFile {
    pub fn from_results(results: Results) -> Self {
        let n = results.benchmarks.len();
        let record = to_record::record(&results, &ImportOptions::default());
        // A file without values has no t0.
        let t0s = record.map_or_else(
            |_| vec![None; n],
            |record| {
                let arms = summarise(&gather(record));
                to_record::arms_of(&results).into_iter().map(|arm| t0(arms.get(arm)?)).collect()
            },
        );
        Self { results, t0s }
    }

    pub fn from_record(record: Record) -> Self {
        let record = gather(record);
        let results = of_record::results(&record);
        let names = (0..record.header.plan.arms.len()).map(|arm| of_record::name(&record, arm));
        let mut arms = names.zip(summarise(&record));
        // The benchmarks with values are the arms with times, in their order.
        let mut of = |name: &str| arms.find(|(other, arm)| other == name && arm.times.is_some());
        let t0_of = |it: &BenchmarkValues| match it.values.is_empty() {
            true => None,
            false => t0(&of(&it.name)?.1),
        };
        let t0s = results.benchmarks.iter().map(t0_of).collect();
        Self { results, t0s }
    }
}

fn t0(arm: &ArmSummary) -> Option<FileT0> {
    let is_upper_limit = arm.times.as_ref()?.is_upper_limit;
    Some(FileT0 { value: arm.net_t0()?, is_upper_limit })
}

/// Compares the benchmarks of the first file with those in the others, by name.
pub fn compare(compared: &[ComparedFile], by: FileStatistic) -> FilesComparison {
    let files: Vec<&Results> = compared.iter().map(|file| &file.results).collect();
    let labels: Vec<Vec<String>> = files.iter().map(|file| file.labels()).collect();
    let places: Vec<BenchmarkPlaces<'_>> = files
        .iter()
        .zip(&labels)
        .map(|(&file, labels)| BenchmarkPlaces::of(file, labels))
        .collect();
    let mut lines = Vec::new();
    let mut alone = vec![Vec::new(); files.len()];
    let first = files.first().map_or(&[][..], |file| &file.benchmarks);
    for (at, benchmark) in first.iter().enumerate() {
        let name = &labels[0][at];
        let places: Vec<Option<usize>> = std::iter::once(Some(at))
            .chain((1..files.len()).map(|file| places[file].find(benchmark, name)))
            .collect();
        let by = statistic(compared, &places, by);
        let cell = |file: usize| cell(&compared[file], places[file]?, by);
        let reference = cell(0);
        let of_file = |file: usize| {
            let mut cell = cell(file)?;
            if let Some(old) = &reference {
                cell.ratio = ratio(old.middle, cell.middle);
                let difference = cell.middle.value - old.middle.value;
                cell.difference = Some(difference).filter(|_| cell.ratio.is_none());
            }
            Some(cell)
        };
        let others: Vec<Option<FileCell>> = (1..files.len()).map(of_file).collect();
        if others.iter().all(Option::is_none) {
            alone[0].push(name.clone());
            continue;
        }
        let cells = std::iter::once(reference.clone()).chain(others).collect();
        let (unit, tags) = (benchmark.unit.clone(), tags(files[0], benchmark));
        let more_is_better = unit.more_is_better();
        lines.push(BenchmarkLine { name: name.clone(), unit, more_is_better, tags, by, cells });
    }
    for file in 1..files.len() {
        let is_alone =
            |at: &usize| places[0].find(&files[file].benchmarks[*at], &labels[file][*at]).is_none();
        let names = (0..labels[file].len()).filter(is_alone).map(|at| labels[file][at].clone());
        alone[file] = names.collect();
    }
    let means = |file| geometric_mean(lines.iter(), file);
    let geometric_means = (0..files.len()).map(means).collect();
    let other_processors = other_processors(&files, &labels, &alone);
    let differences = differences(&files);
    let by = most_common(&lines).unwrap_or(by);
    FilesComparison { by, geometric_means, lines, alone, differences, other_processors }
}

/// Group, name, parameters and unit of a benchmark.
type Identity<'a> = (Option<&'a str>, &'a str, &'a [(String, String)], &'a ResultUnit);

fn identity(benchmark: &BenchmarkValues) -> Identity<'_> {
    let BenchmarkValues { group, name, parameters, unit, .. } = benchmark;
    (group.as_deref(), name, parameters, unit)
}

struct BenchmarkPlaces<'a> {
    by_identity: HashMap<Identity<'a>, usize>,
    by_label: HashMap<(&'a str, &'a ResultUnit), usize>,
}

impl<'a> BenchmarkPlaces<'a> {
    fn of(file: &'a Results, labels: &'a [String]) -> Self {
        let all = || file.benchmarks.iter().zip(labels).enumerate();
        Self {
            by_identity: all().map(|(at, (it, _))| (identity(it), at)).collect(),
            by_label: all().map(|(at, (it, label))| ((label.as_str(), &it.unit), at)).collect(),
        }
    }

    /// Finds a benchmark of another file in this one: by group and name, otherwise by label, because a file may lack
    /// groups.
    fn find(&self, benchmark: &BenchmarkValues, label: &str) -> Option<usize> {
        let same = self.by_identity.get(&identity(benchmark));
        same.or_else(|| self.by_label.get(&(label, &benchmark.unit))).copied()
    }
}

/// The statistic for one benchmark: t0 of times, if every file with the benchmark has values.
fn statistic(
    files: &[ComparedFile],
    places: &[Option<usize>],
    wanted: FileStatistic,
) -> FileStatistic {
    let mut found = files.iter().zip(places).filter_map(|(file, at)| Some((file, (*at)?)));
    match wanted {
        FileStatistic::T0
            if found
                .clone()
                .any(|(file, at)| file.results.benchmarks[at].unit != ResultUnit::Time) =>
        {
            FileStatistic::Median
        }
        FileStatistic::T0 if !found.all(|(file, at)| file.t0s[at].is_some()) => FileStatistic::Mean,
        wanted => wanted,
    }
}

fn most_common(lines: &[BenchmarkLine]) -> Option<FileStatistic> {
    let n = |by: FileStatistic| lines.iter().filter(|line| line.by == by).count();
    let all = [FileStatistic::Median, FileStatistic::Mean, FileStatistic::T0];
    all.into_iter().max_by_key(|by| n(*by)).filter(|by| n(*by) > 0)
}

fn cell(file: &ComparedFile, at: usize, by: FileStatistic) -> Option<FileCell> {
    let benchmark = &file.results.benchmarks[at];
    let summary = summary(benchmark);
    let t0 = file.t0s[at].filter(|_| by == FileStatistic::T0);
    let value = match by {
        FileStatistic::T0 => t0.map(|t0| t0.value.value),
        FileStatistic::Mean => summary.mean.or(summary.center()),
        FileStatistic::Median => summary.center(),
    }?;
    let means: Vec<f64> =
        benchmark.launches().filter_map(|launch| stats::mean(launch.values).ok()).collect();
    let err = match by {
        FileStatistic::T0 => t0?.value.err,
        FileStatistic::Mean => {
            stats::sample_sd(&means).ok().map(|sd| sd / (means.len() as f64).sqrt())
        }
        // The values of a single launch do not tell how much launches differ.
        FileStatistic::Median if means.len() < 2 => None,
        FileStatistic::Median => window_err(&benchmark.values, SortedSample::median).ok(),
    };
    Some(FileCell {
        middle: UncertainValue { value, err },
        is_upper_limit: t0.is_some_and(|t0| t0.is_upper_limit),
        sd: summary.stddev,
        n_launches: means.len(),
        n_values: benchmark.values.len(),
        ratio: None,
        difference: None,
        estimate: benchmark.values.is_empty().then(|| match (summary.median, summary.mean) {
            (_, Some(mean)) if value == mean && by == FileStatistic::Mean => EstimateKind::Mean,
            (Some(_), _) => EstimateKind::Median,
            (None, Some(_)) => EstimateKind::Mean,
            (None, None) => EstimateKind::Unknown,
        }),
    })
}

/// The sessions, and so the errors, are independent.
fn ratio(old: UncertainValue, new: UncertainValue) -> Option<UncertainValue> {
    // Some programs write 0 for a time that is too short, or a difference below 0.
    if old.value <= 0.0 || new.value <= 0.0 {
        return None;
    }
    new.over(old)
}

/// Geometric mean of one file's ratios, over the benchmarks where lower is better, or all if there is none. The error
/// is known if all errors are.
pub fn geometric_mean<'a>(
    lines: impl Iterator<Item = &'a BenchmarkLine>,
    file: usize,
) -> Option<UncertainValue> {
    let with_ratio = |line: &'a BenchmarkLine| Some((line.more_is_better, line.cell(file)?.ratio?));
    let all: Vec<(bool, UncertainValue)> = lines.filter_map(with_ratio).collect();
    let is_mixed = all.iter().any(|it| !it.0);
    let kept = all.into_iter().filter(|(more_is_better, _)| !(is_mixed && *more_is_better));
    let ratios: Vec<UncertainValue> = kept.map(|it| it.1).collect();
    let values: Vec<f64> = ratios.iter().map(|ratio| ratio.value).collect();
    let n = values.len() as f64;
    let value = stats::mean(&stats::logs(&values).ok()?).ok()?.exp();
    let relative = |ratio: &UncertainValue| ratio.err.map(|err| (err / ratio.value).powi(2));
    let sum: Option<f64> = ratios.iter().map(relative).sum();
    Some(UncertainValue { value, err: sum.map(|sum| value * sum.sqrt() / n) })
}

fn tags(file: &Results, benchmark: &BenchmarkValues) -> Vec<String> {
    match benchmark.metadata.get("tags").or_else(|| file.metadata.get("tags")) {
        Some(MetaValue::List(tags)) => tags.clone(),
        Some(MetaValue::Text(tag)) => vec![tag.clone()],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
