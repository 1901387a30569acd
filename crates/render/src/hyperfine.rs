//! hyperfine's JSON: schema 2, and the schema of its versions 1.x. Our own fields are under `stillwell`.
//!
//! Wall times are net of the shell, like hyperfine's: each is reduced by t0 of the control (`stillwell.subtracted`),
//! without clamping. CPU times are net of the control's mean CPU times. Memory is as measured. Values that are no wall
//! times are the metric `value`, which hyperfine's own files do not have.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::exported::{self, ExportMetric, ExportSummary, ExportUnit, SECOND_NS, results};
use crate::json::pretty;
use analysis::convert::of_record::name_of_benchmark;
use analysis::{Analysis, ArmSummary, Comparison, UncertainValue, by_arm};
use model::values::metric::Metric;
use model::values::{DecideOn, Order, VALUE};
use record::plan::Arm;
use record::{Record, Row};

/// hyperfine's version with schema 2. Our version follows as build metadata.
const HYPERFINE_VERSION: &str = "2.0.0";
const PRIMARY: &str = "time_wall_clock";

/// Writes schema 2, row by row, so memory use does not grow with them.
pub fn write_v2(to: &mut impl Write, record: &Record, analysis: &Analysis) -> io::Result<()> {
    #[derive(Serialize)]
    struct DocumentV2<'a> {
        schema_version: u32,
        metadata: HyperfineMetadata<'a>,
        primary_metric: &'static str,
        results: Vec<ResultV2<'a>>,
        stillwell: SessionFields<'a>,
    }
    let metrics = exported::hyperfine_metrics(record, analysis);
    let indices = indices_by_arm(record);
    let runs = |arm: usize| ArmRuns { record, indices: &indices[arm], arm };
    let results = results(analysis)
        .map(|summary| ResultV2::new(runs(summary.arm), summary, &metrics))
        .collect();
    let document = DocumentV2 {
        schema_version: 2,
        metadata: HyperfineMetadata::of(record),
        primary_metric: primary(record, analysis, &metrics),
        results,
        stillwell: SessionFields::of(record, analysis),
    };
    pretty(to, &document)
}

/// The metric that decides: the value of the arms if all have one, else the wall time.
fn primary(record: &Record, analysis: &Analysis, metrics: &[ExportMetric]) -> &'static str {
    let decides = record.header.plan.policy.decide_on.is_none_or(|it| it == DecideOn::Value);
    let value = metrics.iter().find(|metric| metric.name == VALUE).filter(|_| decides);
    let is_of_all =
        |value: &&ExportMetric| results(analysis).all(|summary| value.unit(summary.arm).is_some());
    value.filter(is_of_all).map_or(PRIMARY, |value| value.key)
}

/// Writes the schema of versions 1.x, without arms whose values are no times.
pub fn write_v1(to: &mut impl Write, record: &Record, analysis: &Analysis) -> io::Result<()> {
    #[derive(Serialize)]
    struct DocumentV1<'a> {
        results: Vec<ResultV1<'a>>,
        stillwell: SessionFields<'a>,
    }
    let wall = exported::wall(record, analysis);
    let indices = indices_by_arm(record);
    let runs = |arm: usize| ArmRuns { record, indices: &indices[arm], arm };
    let results = results(analysis)
        .filter_map(|summary| ResultV1::new(runs(summary.arm), summary, &wall))
        .collect();
    pretty(to, &DocumentV1 { results, stillwell: SessionFields::of(record, analysis) })
}

#[derive(Serialize)]
struct HyperfineMetadata<'a> {
    hyperfine_version: String,
    start_time: String,
    platform: HyperfinePlatform<'a>,
}

#[derive(Serialize)]
struct HyperfinePlatform<'a> {
    os: &'static str,
    architecture: &'a str,
}

impl<'a> HyperfineMetadata<'a> {
    fn of(record: &'a Record) -> Self {
        let header = &record.header;
        Self {
            hyperfine_version: format!(
                "{HYPERFINE_VERSION}+{}",
                header.tool.replace([' ', '+'], ".")
            ),
            start_time: utc(&header.created),
            platform: HyperfinePlatform { os: "Linux", architecture: &header.facts.architecture },
        }
    }
}

/// The start time in UTC and whole seconds, hyperfine's format.
fn utc(created: &str) -> String {
    let parsed = created.parse::<jiff::Timestamp>();
    parsed.map_or_else(|_| created.into(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Our fields of the document.
#[derive(Serialize)]
struct SessionFields<'a> {
    tool: &'a str,
    created: &'a str,
    seed: u64,
    order: Order,
    /// The time subtracted from every wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    subtracted: Option<SubtractedTime<'a>>,
    /// Arms have the numbers of `results[].stillwell.arm`.
    comparisons: &'a [Comparison],
}

#[derive(Serialize)]
struct SubtractedTime<'a> {
    command: &'a str,
    metric: &'static str,
    #[serde(flatten)]
    t0: ValueInUnit,
}

impl<'a> SessionFields<'a> {
    fn of(record: &'a Record, analysis: &'a Analysis) -> Self {
        let plan = &record.header.plan;
        let control = plan.control.map(|control| control.arm);
        let subtracted = control.zip(exported::subtracted(record, analysis)).map(|(arm, t0)| {
            let t0 = ValueInUnit::of(t0, record, arm);
            SubtractedTime { command: plan.arms[arm].label(), metric: PRIMARY, t0 }
        });
        Self {
            tool: &record.header.tool,
            created: &record.header.created,
            seed: plan.seed,
            order: plan.order,
            subtracted,
            comparisons: &analysis.comparisons,
        }
    }
}

#[derive(Serialize)]
struct ValueInUnit {
    value: f64,
    err: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_upper_limit: bool,
}

impl ValueInUnit {
    fn of(found: UncertainValue, record: &Record, arm: usize) -> Self {
        let ExportUnit { name, size, .. } = exported::compared_unit(record, arm);
        let err = found.err.map(|err| err / size);
        Self { value: found.value / size, err, unit: name, is_upper_limit: false }
    }
}

/// Our fields of one result. The lists have one element for each measurement.
#[derive(Serialize)]
struct ResultFields<'a> {
    arm: usize,
    command: &'a str,
    t0: Option<ValueInUnit>,
    steps: RunColumn<'a, u32>,
    blocks: RunColumn<'a, Option<u32>>,
}

impl<'a> ResultFields<'a> {
    fn new(series: ArmRuns<'a>, summary: &ArmSummary) -> Self {
        let is_upper_limit = summary.times.as_ref().is_some_and(|times| times.is_upper_limit);
        let in_unit = |t0: UncertainValue| ValueInUnit::of(t0, series.record, series.arm);
        Self {
            arm: series.arm,
            command: &series.planned().command,
            t0: summary.net_t0().map(|t0| ValueInUnit { is_upper_limit, ..in_unit(t0) }),
            steps: series.column(|row| row.step),
            blocks: series.column(|row| row.block),
        }
    }
}

/// Indices of each arm's measured runs, in the order of execution.
fn indices_by_arm(record: &Record) -> Vec<Vec<u32>> {
    // Steps are counted in u32.
    by_arm(&record.rows, record.header.plan.arms.len(), |_, index| u32::try_from(index).ok())
}

#[derive(Clone, Copy)]
struct ArmRuns<'a> {
    record: &'a Record,
    indices: &'a [u32],
    arm: usize,
}

impl<'a> ArmRuns<'a> {
    fn planned(self) -> &'a Arm {
        &self.record.header.plan.arms[self.arm]
    }

    fn rows(self) -> impl Iterator<Item = Row> + 'a {
        self.indices.iter().map(move |&index| self.record.rows.row(index as usize))
    }

    /// The summary of the listed values. An import or a worker lists one value per process, but the arm's own summary
    /// covers all slices.
    fn summary(self, metric: &ExportMetric, arm: &ArmSummary) -> Option<ExportSummary> {
        if !metric.is_own(self.arm) {
            return metric.summary(arm);
        }
        let listed: Vec<f64> = self.rows().filter_map(|row| metric.value(&row)).collect();
        ExportSummary::of_values(&listed)
    }

    fn column<T>(self, cell: impl Fn(&Row) -> T + 'a) -> RunColumn<'a, T> {
        RunColumn { series: self, cell: Box::new(cell) }
    }
}

/// One value for each run, streamed.
struct RunColumn<'a, T> {
    series: ArmRuns<'a>,
    cell: Box<dyn Fn(&Row) -> T + 'a>,
}

impl<T: Serialize> Serialize for RunColumn<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.series.rows().map(|row| (self.cell)(&row)))
    }
}

#[derive(Serialize)]
struct ResultV2<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, ParameterValue<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    environment: BTreeMap<&'a str, &'a str>,
    measurements: RunObjects<'a>,
    summary: BTreeMap<&'a str, SummaryV2>,
    stillwell: ResultFields<'a>,
}

#[derive(Serialize)]
struct ParameterValue<'a> {
    value: &'a str,
}

#[derive(Serialize)]
struct SummaryV2 {
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(flatten)]
    summary: ExportSummary,
}

impl<'a> ResultV2<'a> {
    fn new(series: ArmRuns<'a>, summary: &ArmSummary, metrics: &'a [ExportMetric]) -> Self {
        let arm = series.planned();
        let summaries = metrics.iter().filter_map(|metric| {
            let unit = metric.unit(series.arm)?.name;
            Some((metric.key, SummaryV2 { unit, summary: series.summary(metric, summary)? }))
        });
        Self {
            command: &arm.command,
            name: name_of_benchmark(series.record, series.arm).or_else(|| arm.name.clone()),
            parameters: by_name(&arm.parameters, |value| ParameterValue { value }),
            environment: by_name(&arm.environment, |value| value),
            measurements: RunObjects { series, metrics },
            summary: summaries.collect(),
            stillwell: ResultFields::new(series, summary),
        }
    }
}

fn by_name<'a, T>(pairs: &'a [(String, String)], of: fn(&'a str) -> T) -> BTreeMap<&'a str, T> {
    pairs.iter().map(|(name, value)| (name.as_str(), of(value))).collect()
}

/// One object for each run, streamed.
struct RunObjects<'a> {
    series: ArmRuns<'a>,
    metrics: &'a [ExportMetric],
}

impl Serialize for RunObjects<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics = self.metrics;
        serializer.collect_seq(self.series.rows().map(|row| RunObject { row, metrics }))
    }
}

struct RunObject<'a> {
    row: Row,
    metrics: &'a [ExportMetric],
}

impl Serialize for RunObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct MetricValue {
            value: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            unit: Option<&'static str>,
        }
        let mut map = serializer.serialize_map(None)?;
        for metric in self.metrics {
            let unit = metric.unit(self.row.arm as usize);
            // A missing value is left out, because 0 would look like a measurement.
            if let Some((unit, value)) = unit.zip(metric.value(&self.row)) {
                map.serialize_entry(metric.key, &MetricValue { value, unit: unit.name })?;
            }
        }
        map.serialize_entry("exit_code", &self.row.shell_exit())?;
        map.end()
    }
}

#[derive(Serialize)]
struct ResultV1<'a> {
    command: String,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    /// Wall times net of the control, s.
    times: RunColumn<'a, Option<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<RunColumn<'a, Option<u64>>>,
    exit_codes: RunColumn<'a, i32>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
    stillwell: ResultFields<'a>,
}

impl<'a> ResultV1<'a> {
    /// `None` for an arm without wall times, which this schema requires.
    fn new(series: ArmRuns<'a>, summary: &ArmSummary, wall: &'a ExportMetric) -> Option<Self> {
        let arm = series.planned();
        let ExportSummary { mean, stddev, median, min, max, .. } = series.summary(wall, summary)?;
        let mean_s =
            |name: &str| summary.metric(name).map_or(0.0, |metric| metric.mean / SECOND_NS);
        let has_memory = series.record.rows.has(Metric::MaxrssKib);
        let memory = |row: &Row| Some(row.get(Metric::MaxrssKib)? * 1024);
        Some(Self {
            command: name_of_benchmark(series.record, series.arm)
                .unwrap_or_else(|| arm.label().into()),
            mean,
            stddev,
            median,
            user: mean_s("user"),
            system: mean_s("sys"),
            min,
            max,
            times: series.column(move |row| wall.value(row)),
            memory_usage_byte: has_memory.then(|| series.column(memory)),
            exit_codes: series.column(Row::shell_exit),
            parameters: by_name(&arm.parameters, |value| value),
            stillwell: ResultFields::new(series, summary),
        })
    }
}

#[cfg(test)]
mod tests;
