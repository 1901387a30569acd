//! Shared parts of the exports for other tools: names, units and the subtracted control.

use crate::units::{UnitKind, kind_of, kind_of_unit};
use analysis::verdict::Judgement;
use analysis::{Analysis, ArmSummary, Evidence, RatioInterval, UncertainValue};
use model::values::metric::{METRICS, Metric};
use model::values::{CPU, VALUE};
use record::plan::{Arm, Plan};
use record::{Record, Row};

pub(super) const SECOND_NS: f64 = 1e9;
const HYPERFINE_CPU: &str = "time_cpu";

/// A metric in the units of the exports: times in seconds, memory in bytes.
#[derive(Clone, Debug)]
pub(super) struct ExportMetric {
    /// Stillwell's name.
    pub(super) name: &'static str,
    /// hyperfine's name, else Stillwell's.
    pub(super) key: &'static str,
    /// The unit in hyperfine's JSON; `None` for counts.
    pub(super) unit: Option<&'static str>,
    /// The unit in hyperfine's CSV.
    pub(super) symbol: &'static str,
    /// Size of the exported unit, in base units (ns, bytes, 1).
    size: f64,
    /// The control's share of every value, in base units.
    subtracted: f64,
}

/// A summary in the exported unit, net of the control.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub(super) struct ExportSummary {
    pub(super) count: usize,
    pub(super) mean: f64,
    pub(super) stddev: Option<f64>,
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
}

impl ExportMetric {
    fn new(name: &'static str, key: &'static str, subtracted: f64) -> Self {
        let kind = if name == VALUE { UnitKind::Count } else { kind_of(name) };
        let (unit, symbol, size) = exported_unit(kind);
        Self { name, key, unit, symbol, size, subtracted }
    }

    /// The value of one run; `None` if it was not measured.
    pub(super) fn value(&self, row: &Row) -> Option<f64> {
        let base = match Metric::from_name(self.name) {
            // A value per loop has no metric.
            Some(Metric::WallNs) if row.value.is_some() && row.compared.decide_on.is_none() => {
                row.headline()?
            }
            Some(metric) => base_value(row, metric)?,
            None if self.name == VALUE => row.value?,
            None => base_value(row, Metric::UserUs)? + base_value(row, Metric::SysUs)?,
        };
        Some((base - self.subtracted) / self.size)
    }

    /// The summary of one arm's runs; `None` if none has this metric.
    pub(super) fn summary(&self, arm: &ArmSummary) -> Option<ExportSummary> {
        let times = arm.times.as_ref().filter(|_| self.name == "wall" && arm.sliced.is_some());
        let (count, sd, base) = match times {
            Some(it) => (arm.n_runs, it.sd, [it.mean.value, it.median.value, it.min, it.max]),
            None => {
                let it = arm.metric(self.name)?;
                (it.n, it.sd, [it.mean, it.median, it.min, it.max])
            }
        };
        let [mean, median, min, max] = base.map(|base| (base - self.subtracted) / self.size);
        let stddev = sd.map(|sd| sd / self.size);
        Some(ExportSummary { count, mean, stddev, median, min, max })
    }
}

/// The unit of the exports: hyperfine's name in JSON and in CSV, and its size in base units.
fn exported_unit(kind: UnitKind) -> (Option<&'static str>, &'static str, f64) {
    match kind {
        UnitKind::Time => (Some("second"), "s", SECOND_NS),
        UnitKind::Memory => (Some("byte"), "B", 1.0),
        UnitKind::Count => (None, "", 1.0),
    }
}

/// Name in JSON and size of the unit of an arm's compared values.
pub(super) fn compared_unit(arm: &Arm) -> (Option<&'static str>, f64) {
    let (unit, _, size) = exported_unit(kind_of_unit(arm.unit));
    (unit, size)
}

fn base_value(row: &Row, metric: Metric) -> Option<f64> {
    Some(metric.info().in_base_unit(row.get(metric)?, row.get(Metric::RunningPpm)))
}

/// The time that every wall time is reduced by: t0 of the control, ns.
pub(super) fn subtracted(record: &Record, analysis: &Analysis) -> Option<UncertainValue> {
    let control = record.header.plan.control?;
    Some(analysis.arms.get(control.arm)?.times.as_ref()?.t0)
}

/// The control's mean of a CPU time, ns; 0 for other metrics, which are exported as measured.
fn control_cpu_ns(record: &Record, analysis: &Analysis, name: &str) -> f64 {
    let of_control = || {
        let control = analysis.arms.get(record.header.plan.control?.arm)?;
        Some(control.metric(name)?.mean)
    };
    if matches!(name, CPU | "user" | "sys") { of_control().unwrap_or(0.0) } else { 0.0 }
}

/// Wall time, net of the control.
pub(super) fn wall(record: &Record, analysis: &Analysis) -> ExportMetric {
    let subtracted = subtracted(record, analysis).map_or(0.0, |t0| t0.value);
    ExportMetric::new("wall", "time_wall_clock", subtracted)
}

/// User and system time together, if the record has both.
fn cpu(record: &Record, analysis: &Analysis) -> Option<ExportMetric> {
    let has_cpu = record.rows.has(Metric::UserUs) && record.rows.has(Metric::SysUs);
    let new = || ExportMetric::new(CPU, HYPERFINE_CPU, control_cpu_ns(record, analysis, CPU));
    has_cpu.then(new)
}

/// Metrics that both hyperfine and this record have: wall time first, then in hyperfine's order.
pub(super) fn hyperfine_metrics(record: &Record, analysis: &Analysis) -> Vec<ExportMetric> {
    let rows = &record.rows;
    let others =
        METRICS.iter().filter(|info| info.metric != Metric::WallNs && rows.has(info.metric));
    let cpu_ns = |name: &str| control_cpu_ns(record, analysis, name);
    let others = others
        .filter_map(|info| Some(ExportMetric::new(info.name, info.hyperfine?, cpu_ns(info.name))));
    let cpu = cpu(record, analysis);
    std::iter::once(wall(record, analysis)).chain(cpu).chain(others).collect()
}

/// Wall time, then the plan's other metrics that the record has, each once.
pub(super) fn plan_metrics(record: &Record, analysis: &Analysis) -> Vec<ExportMetric> {
    let mut list = vec![wall(record, analysis)];
    for shown in &record.header.plan.metrics {
        if list.iter().any(|exported| exported.name == shown.name) {
            continue;
        }
        list.extend(match shown.name.as_str() {
            VALUE => Some(ExportMetric::new(VALUE, VALUE, 0.0)),
            CPU => cpu(record, analysis),
            name => Metric::from_name(name).filter(|it| record.rows.has(*it)).map(|it| {
                let (name, key) = (it.info().name, it.info().hyperfine);
                let subtracted = control_cpu_ns(record, analysis, name);
                ExportMetric::new(name, key.unwrap_or(name), subtracted)
            }),
        });
    }
    list
}

/// The candidates that have a run.
pub(super) fn results(analysis: &Analysis) -> impl Iterator<Item = &ArmSummary> {
    analysis.arms.iter().filter(|arm| !arm.is_hidden && arm.times.is_some())
}

/// A ratio of costs as a ratio of the values.
pub(super) fn shown_value(ratio: f64, plan: &Plan) -> f64 {
    if plan.policy.better.is_lower() { ratio } else { 1.0 / ratio }
}

/// Half the width of an interval: the number after the `+-` of a ratio.
pub(super) fn half_width(interval: RatioInterval) -> f64 {
    (interval.hi - interval.lo) / 2.0
}

/// A ratio with half of its interval, or without a test with its error; `None` without a ratio.
pub(super) fn ratio(evidence: &Evidence, judgement: &Judgement) -> Option<UncertainValue> {
    match evidence {
        Evidence::Paired(paired) => {
            let shown = judgement.shown(paired);
            Some(UncertainValue { value: shown.ratio, err: Some(half_width(shown)) })
        }
        Evidence::Unpaired { ratio, .. } => Some(*ratio),
        Evidence::None { .. } => None,
    }
}
