//! Shared parts of the exports for other tools: names, units and the subtracted control.

use crate::units::{kept, kind_of};
use analysis::convert::{base_unit, of_record};
use analysis::verdict::Judgement;
use analysis::{
    Analysis, ArmSummary, Evidence, MetricSummary, RatioInterval, TimeSummary, UncertainValue,
};
use formats::ResultUnit;
use model::values::metric::{METRICS, Metric};
use model::values::{CPU, VALUE, ValueUnit};
use record::plan::{Arm, ValueRule};
use record::{Record, Row};

pub(super) const SECOND_NS: f64 = 1e9;
const HYPERFINE_CPU: &str = "time_cpu";

/// A unit of the exports: times in seconds, memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExportUnit {
    /// The name in hyperfine's JSON; `None` for counts.
    pub(super) name: Option<&'static str>,
    /// The name in hyperfine's CSV.
    pub(super) symbol: &'static str,
    /// Size in base units (ns, bytes, 1).
    pub(super) size: f64,
}

/// The values of one arm that are a metric.
#[derive(Clone, Copy, Debug)]
struct ExportColumn {
    unit: ExportUnit,
    /// Whether they are the values of an import or a worker, which has no times of whole processes.
    is_own: bool,
}

/// A metric in the units of the exports.
#[derive(Clone, Debug)]
pub(super) struct ExportMetric {
    /// Stillwell's name.
    pub(super) name: &'static str,
    /// hyperfine's name, else Stillwell's.
    pub(super) key: &'static str,
    /// By arm; `None` for an arm without this metric.
    columns: Vec<Option<ExportColumn>>,
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
    /// The metric of all runs. CPU times are net of the control's.
    fn new(record: &Record, analysis: &Analysis, name: &'static str, key: &'static str) -> Self {
        let subtracted = control_cpu_ns(record, analysis, name);
        let column = ExportColumn { unit: exported_unit(kind_of(name)), is_own: false };
        let columns = vec![Some(column); record.header.plan.arms.len()];
        Self { name, key, columns, subtracted }
    }

    fn column(&self, arm: usize) -> Option<ExportColumn> {
        self.columns.get(arm).copied().flatten()
    }

    /// The unit of an arm's values; `None` if it has none of this metric.
    pub(super) fn unit(&self, arm: usize) -> Option<ExportUnit> {
        Some(self.column(arm)?.unit)
    }

    /// Whether an import or a worker has the values of an arm.
    pub(super) fn is_own(&self, arm: usize) -> bool {
        self.column(arm).is_some_and(|column| column.is_own)
    }

    /// The value of one run; `None` if it was not measured.
    pub(super) fn value(&self, row: &Row) -> Option<f64> {
        let ExportColumn { unit, is_own } = self.column(row.arm as usize)?;
        let in_base_unit = |metric: Metric| metric.in_base_unit(|metric| row.get(metric));
        let base = match Metric::from_name(self.name) {
            _ if is_own => row.headline()?,
            Some(metric) => in_base_unit(metric)?,
            None if self.name == VALUE => row.value?,
            None => in_base_unit(Metric::UserUs)? + in_base_unit(Metric::SysUs)?,
        };
        Some((base - self.subtracted) / unit.size)
    }

    /// The summary of an arm's values; `None` if it has none of this metric.
    pub(super) fn summary(&self, arm: &ArmSummary) -> Option<ExportSummary> {
        let ExportColumn { unit, is_own } = self.column(arm.arm)?;
        let summary = match is_own {
            true => ExportSummary::of_times(arm.n_runs, arm.times.as_ref()?),
            false => ExportSummary::of_metric(arm.metric(self.name)?),
        };
        let net = |base: f64| (base - self.subtracted) / unit.size;
        Some(ExportSummary {
            count: summary.count,
            mean: net(summary.mean),
            stddev: summary.stddev.map(|sd| sd / unit.size),
            median: net(summary.median),
            min: net(summary.min),
            max: net(summary.max),
        })
    }
}

impl ExportSummary {
    fn of_times(count: usize, times: &TimeSummary) -> Self {
        let &TimeSummary { mean, median, min, max, sd, .. } = times;
        Self { count, mean: mean.value, stddev: sd, median: median.value, min, max }
    }

    /// The summary of values in their exported unit; `None` without a value.
    pub(super) fn of_values(values: &[f64]) -> Option<Self> {
        MetricSummary::of("", values).as_ref().map(Self::of_metric)
    }

    fn of_metric(metric: &MetricSummary) -> Self {
        let &MetricSummary { n, mean, sd, median, min, max, .. } = metric;
        Self { count: n, mean, stddev: sd, median, min, max }
    }
}

fn exported_unit(kind: ValueUnit) -> ExportUnit {
    let (name, symbol, size) = match kind {
        ValueUnit::Time => (Some("second"), "s", SECOND_NS),
        ValueUnit::Bytes => (Some("byte"), "B", 1.0),
        ValueUnit::Count => (None, "", 1.0),
    };
    ExportUnit { name, symbol, size }
}

/// A unit of neither time nor memory.
fn named_unit(name: &str) -> ExportUnit {
    let name = kept(name);
    ExportUnit { name: Some(name), symbol: name, size: 1.0 }
}

pub(super) fn compared_unit(record: &Record, arm: usize) -> ExportUnit {
    match of_record::unit(record, arm) {
        ResultUnit::Other(name) => named_unit(&name),
        unit => exported_unit(base_unit(&unit)),
    }
}

/// The unit of the values that a program says.
fn unit_of_rule(rule: &ValueRule) -> ExportUnit {
    let own = of_record::own_unit(rule);
    own.map_or_else(|| exported_unit(rule.kind()), |unit| named_unit(unit.name()))
}

/// Whether the values of each arm stand in place of times of whole processes, as in imports and of workers.
pub(super) fn have_own_values(record: &Record) -> Vec<bool> {
    let (plan, rows) = (&record.header.plan, &record.rows);
    let mut have = vec![false; plan.arms.len()];
    if rows.compared().decide_on.is_none() {
        for index in (0..rows.len()).filter(|&index| rows.own(index).is_some()) {
            have[rows.arm(index)] = plan.arms[rows.arm(index)].value.is_none();
        }
    }
    have
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

/// Wall time, net of the control. Memory, counts and throughput of an import are no times: [`own_value`] has them.
pub(super) fn wall(record: &Record, analysis: &Analysis) -> ExportMetric {
    let mut wall = ExportMetric::new(record, analysis, "wall", "time_wall_clock");
    wall.subtracted = subtracted(record, analysis).map_or(0.0, |t0| t0.value);
    let arms = &record.header.plan.arms;
    for ((column, arm), is_own) in wall.columns.iter_mut().zip(arms).zip(have_own_values(record)) {
        let is_time = !is_own || arm.unit.is_time();
        *column = column.filter(|_| is_time).map(|column| ExportColumn { is_own, ..column });
    }
    wall
}

/// The values that programs say, and the values of imports and workers that are no times; `None` without any.
pub(super) fn own_value(record: &Record) -> Option<ExportMetric> {
    let column = |(at, (arm, is_own)): (usize, (&Arm, bool))| match &arm.value {
        Some(rule) => Some(ExportColumn { unit: unit_of_rule(rule), is_own: false }),
        None if is_own && !arm.unit.is_time() => {
            Some(ExportColumn { unit: compared_unit(record, at), is_own })
        }
        None => None,
    };
    let arms = record.header.plan.arms.iter().zip(have_own_values(record));
    let columns: Vec<_> = arms.enumerate().map(column).collect();
    let has_any = columns.iter().any(Option::is_some);
    has_any.then_some(ExportMetric { name: VALUE, key: VALUE, columns, subtracted: 0.0 })
}

/// User and system time together, if the record has both.
fn cpu(record: &Record, analysis: &Analysis) -> Option<ExportMetric> {
    let has_cpu = record.rows.has(Metric::UserUs) && record.rows.has(Metric::SysUs);
    has_cpu.then(|| ExportMetric::new(record, analysis, CPU, HYPERFINE_CPU))
}

/// Metrics that both hyperfine and this record have: wall time first, then in hyperfine's order. Values come last.
pub(super) fn hyperfine_metrics(record: &Record, analysis: &Analysis) -> Vec<ExportMetric> {
    let rows = &record.rows;
    let others =
        METRICS.iter().filter(|info| info.metric != Metric::WallNs && rows.has(info.metric));
    let others = others
        .filter_map(|info| Some(ExportMetric::new(record, analysis, info.name, info.hyperfine?)));
    let cpu = cpu(record, analysis);
    let metrics = std::iter::once(wall(record, analysis)).chain(cpu).chain(others);
    metrics.chain(own_value(record)).collect()
}

/// Wall time, then the plan's other metrics that the record has, each once. The plans of imports, of workers and of
/// suites may not name the value.
pub(super) fn plan_metrics(record: &Record, analysis: &Analysis) -> Vec<ExportMetric> {
    let mut list = vec![wall(record, analysis)];
    let named = record.header.plan.metrics.iter().map(|shown| shown.name.as_str());
    for name in named.chain([VALUE]) {
        if list.iter().any(|exported| exported.name == name) {
            continue;
        }
        list.extend(match name {
            VALUE => own_value(record),
            CPU => cpu(record, analysis),
            name => Metric::from_name(name).filter(|it| record.rows.has(*it)).map(|it| {
                let (name, key) = (it.info().name, it.info().hyperfine);
                ExportMetric::new(record, analysis, name, key.unwrap_or(name))
            }),
        });
    }
    list
}

/// The candidates that have a run.
pub(super) fn results(analysis: &Analysis) -> impl Iterator<Item = &ArmSummary> {
    analysis.arms.iter().filter(|arm| !arm.is_hidden && arm.times.is_some())
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
        Evidence::Unpaired { ratio, .. } => Some(ratio.of_values(judgement.better)),
        Evidence::None { .. } => None,
    }
}
