//! hyperfine's JSON: schema 2 and that of its versions 1.x, each a superset with our fields under `stillwell`.
//!
//! As in hyperfine, wall times are net of the shell: t0 of the control is subtracted from all of them (and never
//! clamped); `stillwell.subtracted` has the value. CPU times are net of its mean CPU times;
//! memory is as measured.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use crate::analysis::{Analysis, ArmSummary, Comparison, UncertainValue};
use crate::plan::Arm;
use crate::record::{Record, Row};
use crate::render::exported::{self, Exported, RowsByArm, SECOND_NS, Summary, net_t0, results};
use crate::render::json::pretty;
use crate::values::Order;
use crate::values::metric::Metric;

/// The version of hyperfine whose schema 2 this is; ours follows as build metadata.
const HYPERFINE_VERSION: &str = "2.0.0";
const PRIMARY: &str = "time_wall_clock";

/// Writes schema 2. Rows are written one by one, never kept in memory as JSON.
///
/// # Errors
/// `to` cannot be written.
pub fn write_v2(to: &mut impl Write, record: &Record, analysis: &Analysis) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema_version: u32,
        metadata: Metadata<'a>,
        primary_metric: &'static str,
        results: Vec<ResultV2<'a>>,
        stillwell: Session<'a>,
    }
    let metrics = exported::known_to_hyperfine(record, analysis);
    let rows = RowsByArm::new(record);
    let series = |arm: &ArmSummary| Series { record, rows: &rows, arm: arm.arm };
    let results = results(analysis)
        .map(|summary| ResultV2::new(series(summary), summary, &metrics))
        .collect();
    let document = Document {
        schema_version: 2,
        metadata: Metadata::of(record),
        primary_metric: PRIMARY,
        results,
        stillwell: Session::of(record, analysis),
    };
    pretty(to, &document)
}

/// Writes the schema of versions 1.x.
///
/// # Errors
/// `to` cannot be written.
pub fn write_v1(to: &mut impl Write, record: &Record, analysis: &Analysis) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        results: Vec<ResultV1<'a>>,
        stillwell: Session<'a>,
    }
    let wall = exported::wall(record, analysis);
    let rows = RowsByArm::new(record);
    let series = |arm: &ArmSummary| Series { record, rows: &rows, arm: arm.arm };
    let results = results(analysis)
        .filter_map(|summary| ResultV1::new(series(summary), summary, &wall))
        .collect();
    pretty(to, &Document { results, stillwell: Session::of(record, analysis) })
}

#[derive(Serialize)]
struct Metadata<'a> {
    hyperfine_version: String,
    start_time: String,
    platform: Platform<'a>,
}

#[derive(Serialize)]
struct Platform<'a> {
    os: &'static str,
    architecture: &'a str,
}

impl<'a> Metadata<'a> {
    fn of(record: &'a Record) -> Self {
        let header = &record.header;
        Self {
            hyperfine_version: format!(
                "{HYPERFINE_VERSION}+{}",
                header.tool.replace([' ', '+'], ".")
            ),
            start_time: utc(&header.created),
            platform: Platform { os: "Linux", architecture: &header.facts.architecture },
        }
    }
}

/// The start in UTC and whole seconds, as hyperfine writes it.
fn utc(created: &str) -> String {
    let parsed = created.parse::<jiff::Timestamp>();
    parsed.map_or_else(|_| created.into(), |time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Our fields of the whole document.
#[derive(Serialize)]
struct Session<'a> {
    tool: &'a str,
    created: &'a str,
    seed: u64,
    order: Order,
    /// What was subtracted from every wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    subtracted: Option<Subtracted<'a>>,
    /// Arms are numbered as in `results[].stillwell.arm`.
    comparisons: &'a [Comparison],
}

#[derive(Serialize)]
struct Subtracted<'a> {
    command: &'a str,
    metric: &'static str,
    value: f64,
    err: Option<f64>,
    unit: &'static str,
}

impl<'a> Session<'a> {
    fn of(record: &'a Record, analysis: &'a Analysis) -> Self {
        let plan = &record.header.plan;
        let control = plan.control.and_then(|control| plan.arms.get(control.arm));
        let subtracted = control.zip(exported::subtracted(record, analysis)).map(|(arm, t0)| {
            let Seconds { value, err, unit } = Seconds::of(t0);
            Subtracted { command: arm.label(), metric: PRIMARY, value, err, unit }
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
struct Seconds {
    value: f64,
    err: Option<f64>,
    unit: &'static str,
}

impl Seconds {
    fn of(time_ns: UncertainValue) -> Self {
        let err = time_ns.err.map(|err| err / SECOND_NS);
        Self { value: time_ns.value / SECOND_NS, err, unit: "second" }
    }
}

/// Our fields of one result; the lists go with the measurements, one element for each.
#[derive(Serialize)]
struct Extras<'a> {
    arm: usize,
    command: &'a str,
    t0: Option<Seconds>,
    steps: Column<'a>,
    blocks: Column<'a>,
}

impl<'a> Extras<'a> {
    fn new(series: Series<'a>, summary: &ArmSummary) -> Self {
        Self {
            arm: series.arm,
            command: &series.planned().command,
            t0: net_t0(summary).map(Seconds::of),
            steps: series.column(|row| Cell::Integer(row.step.into())),
            blocks: series
                .column(|row| row.block.map_or(Cell::Missing, |block| Cell::Integer(block.into()))),
        }
    }
}

/// The measured runs of one arm.
#[derive(Clone, Copy)]
struct Series<'a> {
    record: &'a Record,
    rows: &'a RowsByArm,
    arm: usize,
}

impl<'a> Series<'a> {
    fn planned(self) -> &'a Arm {
        &self.record.header.plan.arms[self.arm]
    }

    fn rows(self) -> impl Iterator<Item = Row> + 'a {
        self.rows.rows(self.record, self.arm)
    }

    fn column(self, cell: fn(&Row) -> Cell) -> Column<'a> {
        Column { series: self, cell }
    }
}

/// One value of each run, written as an array without being collected.
struct Column<'a, F = fn(&Row) -> Cell> {
    series: Series<'a>,
    cell: F,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Cell {
    Missing,
    Integer(i64),
    Number(f64),
}

impl<F: Fn(&Row) -> Cell> Serialize for Column<'_, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.series.rows().map(|row| (self.cell)(&row)))
    }
}

#[derive(Serialize)]
struct ResultV2<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, Parameter<'a>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    environment: BTreeMap<&'a str, &'a str>,
    measurements: Measurements<'a>,
    summary: BTreeMap<&'a str, SummaryV2>,
    stillwell: Extras<'a>,
}

#[derive(Serialize)]
struct Parameter<'a> {
    value: &'a str,
}

#[derive(Serialize)]
struct SummaryV2 {
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(flatten)]
    summary: Summary,
}

impl<'a> ResultV2<'a> {
    fn new(series: Series<'a>, summary: &ArmSummary, metrics: &'a [Exported]) -> Self {
        let arm = series.planned();
        let summaries = metrics.iter().filter_map(|metric| {
            let summary = metric.summary(summary)?;
            Some((metric.key, SummaryV2 { unit: metric.unit, summary }))
        });
        Self {
            command: &arm.command,
            name: arm.name.as_deref(),
            parameters: arm
                .parameters
                .iter()
                .map(|(name, value)| (name.as_str(), Parameter { value }))
                .collect(),
            environment: arm
                .environment
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            measurements: Measurements { series, metrics },
            summary: summaries.collect(),
            stillwell: Extras::new(series, summary),
        }
    }
}

/// One object for each run, written without being collected.
struct Measurements<'a> {
    series: Series<'a>,
    metrics: &'a [Exported],
}

impl Serialize for Measurements<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics = self.metrics;
        serializer.collect_seq(self.series.rows().map(|row| Measurement { row, metrics }))
    }
}

struct Measurement<'a> {
    row: Row,
    metrics: &'a [Exported],
}

impl Serialize for Measurement<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Value {
            value: f64,
            #[serde(skip_serializing_if = "Option::is_none")]
            unit: Option<&'static str>,
        }
        let mut map = serializer.serialize_map(None)?;
        for metric in self.metrics {
            // A value that was not measured is left out, never zero.
            if let Some(value) = metric.value(&self.row) {
                map.serialize_entry(metric.key, &Value { value, unit: metric.unit })?;
            }
        }
        map.serialize_entry("exit_code", &self.row.shell_exit())?;
        map.end()
    }
}

#[derive(Serialize)]
struct ResultV1<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Times<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Column<'a>>,
    exit_codes: Column<'a>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
    stillwell: Extras<'a>,
}

impl<'a> ResultV1<'a> {
    /// `None` for an arm without wall times, which this schema cannot say.
    fn new(series: Series<'a>, summary: &ArmSummary, wall: &'a Exported) -> Option<Self> {
        let arm = series.planned();
        let Summary { mean, stddev, median, min, max, .. } = wall.summary(summary)?;
        let mean_s = |name: &str| {
            let found = summary.metrics.iter().find(|metric| metric.name == name);
            found.map_or(0.0, |metric| metric.mean / SECOND_NS)
        };
        let has_memory = series.record.rows.has(Metric::MaxrssKib);
        let memory = |row: &Row| match row.get(Metric::MaxrssKib) {
            Some(kib) => Cell::Integer(i64::try_from(kib * 1024).unwrap_or(i64::MAX)),
            None => Cell::Missing,
        };
        Some(Self {
            command: arm.label(),
            mean,
            stddev,
            median,
            user: mean_s("user"),
            system: mean_s("sys"),
            min,
            max,
            times: Times { series, wall },
            memory_usage_byte: has_memory.then(|| series.column(memory)),
            exit_codes: series.column(|row| Cell::Integer(row.shell_exit().into())),
            parameters: arm
                .parameters
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect(),
            stillwell: Extras::new(series, summary),
        })
    }
}

/// The wall times, net of the control, s.
struct Times<'a> {
    series: Series<'a>,
    wall: &'a Exported,
}

impl Serialize for Times<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cell = |row: &Row| self.wall.value(row).map_or(Cell::Missing, Cell::Number);
        Column { series: self.series, cell }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
