//! Output of the verb `stats`: every statistic, with the arms side by side.

mod clocks;
mod launches;

use std::fmt::Write as _;

use crate::columns::{COLUMNS, name, shorten, width};
use crate::names::each_once;
use crate::quantity::QuantityWords;
use crate::ratios::ratio_text;
use crate::table::GAP;
use crate::units::{DisplayUnit, percent, unit_of_arms, unit_of_metric};
use crate::{slow_tail, t0, table, uncertain};
use analysis::series::ValueSeries;
use analysis::suite::plan_of_arm;
use analysis::{
    ArmSummary, Estimators, MetricSummary, Ratios, SLOW_TAIL, TimeSummary, UncertainValue,
};
use record::Record;
use record::plan::Plan;

/// Widest label of an arm, columns: several arms must fit side by side.
const LABEL_COLUMNS: usize = 20;

/// The name of a statistic, and its value for each arm. A missing value is empty.
struct StatisticLine {
    name: String,
    cells: Vec<String>,
}

/// A value of one part of a summary.
type Field<From, To> = fn(&From) -> To;

/// Input of the table. Lists have an element for each arm of the plan.
#[derive(Clone, Copy, Debug)]
pub struct Statistics<'a> {
    pub record: &'a Record,
    pub arms: &'a [ArmSummary],
    /// Estimators of the wall times.
    pub estimators: &'a [Option<Estimators>],
    /// Series of the launches, if the benchmark has launches.
    pub series: &'a [Option<ValueSeries>],
}

/// All statistics of all arms and controls, as measured. As many arms are side by side as fit in 80 columns.
pub fn stats(statistics: Statistics<'_>) -> String {
    let (plan, arms) = (statistics.plan(), statistics.arms);
    if !plan.has_benchmarks() {
        return arms_table(statistics);
    }
    let mut out = String::new();
    for benchmark in each_once(plan.arms.iter().map(|arm| &arm.benchmark)) {
        let these = arms.iter().filter(|arm| plan.arms[arm.arm].benchmark == *benchmark);
        let these: Vec<ArmSummary> = these.cloned().collect();
        let gap = if out.is_empty() { "" } else { "\n" };
        writeln!(out, "{gap}{}", name(benchmark.as_deref().unwrap_or_default(), COLUMNS)).ok();
        out.push_str(&arms_table(Statistics { arms: &these, ..statistics }));
    }
    out
}

/// The table of one benchmark's arms, or of all arms.
fn arms_table(statistics: Statistics<'_>) -> String {
    let (plan, arms) = (statistics.plan(), statistics.arms);
    let has_others = arms.iter().filter(|arm| !arm.is_hidden).nth(1).is_some();
    let mut lines = vec![StatisticLine {
        name: String::new(),
        cells: arms.iter().map(|arm| label(plan, arm, has_others)).collect(),
    }];
    let unit = unit_of_arms(statistics.record, statistics.first(), statistics.uncertain());
    // Most readers look for these.
    if has_others {
        ratio_lines(&mut lines, statistics);
    }
    estimator_lines(&mut lines, statistics, unit);
    clocks::lines(&mut lines, statistics, unit);
    floor_lines(&mut lines, statistics);
    time_lines(&mut lines, arms, unit);
    launches::lines(&mut lines, statistics, unit);
    for name in metric_names(arms) {
        metric_lines(&mut lines, plan, arms, name);
    }
    let names = lines.iter().map(|line| width(&line.name)).max().unwrap_or(0);
    let n_arms = arms.len();
    let mut out = String::new();
    let mut from = 0;
    while from < n_arms {
        let to = from + n_fitting(&lines, from, COLUMNS.saturating_sub(names));
        if from > 0 {
            out.push('\n');
        }
        let row = |line: &StatisticLine| {
            std::iter::once(&line.name).chain(&line.cells[from..to]).cloned().collect()
        };
        let right: Vec<usize> = (1..=to - from).collect();
        out += &table::plain(lines.iter().map(row).collect(), &right);
        from = to;
    }
    out
}

fn label(plan: &Plan, arm: &ArmSummary, has_others: bool) -> String {
    let number = if arm.is_hidden { String::new() } else { format!("{} ", arm.arm + 1) };
    let mark = if arm.arm == plan.reference_of(arm.arm) && has_others { " (ref)" } else { "" };
    format!("{number}{}{mark}", shorten(&arm.label, LABEL_COLUMNS - number.len() - mark.len()))
}

/// Number of arms from `from` on that fit; at least one.
fn n_fitting(lines: &[StatisticLine], from: usize, columns: usize) -> usize {
    let n_arms = lines.first().map_or(0, |line| line.cells.len());
    let widest = |arm: usize| {
        lines.iter().map(|line| width(&line.cells[arm])).max().unwrap_or(0) + GAP.len()
    };
    let mut used = 0;
    let fits = |arm: &usize| {
        used += widest(*arm);
        used <= columns
    };
    (from..n_arms).take_while(fits).count().max(1)
}

impl Statistics<'_> {
    fn plan(&self) -> &Plan {
        &self.record.header.plan
    }

    /// The plan of the session that measured these arms: benchmarks of a suite may decide on different quantities.
    fn session(&self) -> &Plan {
        plan_of_arm(self.record, self.first())
    }

    /// Index of the first arm in the plan.
    fn first(&self) -> usize {
        self.arms.first().map_or(0, |arm| arm.arm)
    }

    fn estimators(&self, arm: &ArmSummary) -> Option<&Estimators> {
        self.estimators.get(arm.arm)?.as_ref()
    }

    /// Every time with an error in the table: they share one unit.
    fn uncertain(&self) -> impl Iterator<Item = UncertainValue> {
        self.arms.iter().flat_map(|arm| {
            arm.times.iter().flat_map(|wall| [wall.t0, wall.low20, wall.median, wall.mean])
        })
    }
}

/// Adds a line with a cell for each arm.
fn add(
    lines: &mut Vec<StatisticLine>,
    arms: &[ArmSummary],
    name: impl Into<String>,
    cell: impl Fn(&ArmSummary) -> Option<String>,
) {
    let cells = arms.iter().map(|arm| cell(arm).unwrap_or_default()).collect();
    lines.push(StatisticLine { name: name.into(), cells });
}

/// t0, the estimators, and each minus the control's.
fn estimator_lines(lines: &mut Vec<StatisticLine>, statistics: Statistics<'_>, unit: DisplayUnit) {
    let (plan, arms) = (statistics.session(), statistics.arms);
    let text = |value: UncertainValue| Some(unit.uncertain(value.value, value.err));
    let location = QuantityWords::location(statistics.record, statistics.first());
    add(lines, arms, unit.heading(location), |arm| Some(t0::text(unit, arm.times.as_ref()?)));
    let estimators: [(&str, Field<Estimators, UncertainValue>); 6] = [
        ("min", |of| of.min),
        ("fan", |of| of.fan),
        ("fan, raw", |of| of.fan_raw),
        ("low 20 %", |of| of.low20),
        ("median", |of| of.median),
        ("mean", |of| of.mean),
    ];
    for (name, value) in estimators.into_iter().filter(|(name, _)| *name != location) {
        add(lines, arms, name, |arm| {
            let of_runs = value(statistics.estimators(arm)?);
            text(from_all_slices(name, arm).unwrap_or(of_runs))
        });
    }
    if plan.control.is_some() {
        add(lines, arms, "net t0", |arm| arm.net?.t0.and_then(|_| t0::arm_text(unit, arm)));
        add(lines, arms, "net median", |arm| text(arm.net?.median));
        add(lines, arms, "net mean", |arm| text(arm.net?.mean));
    }
}

/// An estimate from all slices of an arm. Other estimators use its processes.
fn from_all_slices(name: &str, arm: &ArmSummary) -> Option<UncertainValue> {
    let wall = arm.times.as_ref().filter(|_| arm.sliced.is_some())?;
    match name {
        "min" => Some(UncertainValue { value: wall.min, err: None }),
        "median" => Some(wall.median),
        "mean" => Some(wall.mean),
        _ => None,
    }
}

/// Adds the ratios to the reference; with a control, of net times.
fn ratio_lines(lines: &mut Vec<StatisticLine>, statistics: Statistics<'_>) {
    let arms = statistics.arms;
    let ratios: [(&str, Field<Ratios, Option<UncertainValue>>); 3] = [
        ("t0 ratio", |ratios| ratios.t0),
        ("median ratio", |ratios| ratios.median),
        ("mean ratio", |ratios| ratios.mean),
    ];
    for (name, ratio) in ratios {
        let of = |arm: &ArmSummary| ratio(statistics.estimators(arm)?.ratios.as_ref()?);
        if arms.iter().any(|arm| of(arm).is_some()) {
            add(lines, arms, name, |arm| of(arm).map(|it| ratio_text(it.value, it.err)));
        }
    }
}

fn floor_lines(lines: &mut Vec<StatisticLine>, statistics: Statistics<'_>) {
    let arms = statistics.arms;
    let floor = |arm: &ArmSummary| statistics.estimators(arm).map(|of| of.floor);
    add(lines, arms, "has a floor", |arm| {
        let word = match floor(arm)?.is_finite {
            Some(true) => "yes",
            Some(false) => "no",
            None => "not tested",
        };
        Some(word.into())
    });
    let limit = uncertain::fixed(stats::endpoint::G_STAR_LIMIT, 3);
    add(lines, arms, format!("  test (< {limit})"), |arm| {
        Some(uncertain::fixed(floor(arm)?.g_star?, 3))
    });
    add(lines, arms, "  lowest runs", |arm| Some(floor(arm)?.k.to_string()));
}

fn time_lines(lines: &mut Vec<StatisticLine>, arms: &[ArmSummary], unit: DisplayUnit) {
    let single: [(&str, Field<TimeSummary, f64>); 3] = [
        ("10 %", |wall| wall.quantiles[0]),
        ("25 %", |wall| wall.quantiles[1]),
        ("75 %", |wall| wall.quantiles[2]),
    ];
    for (name, value) in single {
        add(lines, arms, name, |arm| number(unit, arm, value(arm.times.as_ref()?)));
    }
    for (at, p) in SLOW_TAIL.into_iter().enumerate() {
        add(lines, arms, slow_tail::name(p), |arm| {
            let decimals = t0_decimals(unit, arm)?;
            slow_tail::value(arm, at, |ns| unit.number(ns, decimals))
        });
    }
    add(lines, arms, "max", |arm| number(unit, arm, arm.times.as_ref()?.max));
    add(lines, arms, "sd", |arm| number(unit, arm, arm.times.as_ref()?.sd?));
    add(lines, arms, "CV", |arm| arm.times.as_ref()?.cv.map(percent));
    add(lines, arms, "runs", |arm| Some(arm.n_runs.to_string()));
    let counts: [(&str, Field<ArmSummary, usize>); 3] = [
        ("timed out", |arm| arm.n_timed_out),
        ("failed", |arm| arm.n_failed),
        ("exit not 0", |arm| arm.n_nonzero_exits),
    ];
    for (name, count) in counts {
        if arms.iter().any(|arm| count(arm) > 0) {
            add(lines, arms, name, |arm| Some(count(arm).to_string()));
        }
    }
}

/// A time with as many decimals as the arm's t0.
fn number(unit: DisplayUnit, arm: &ArmSummary, value_ns: f64) -> Option<String> {
    Some(unit.number(value_ns, t0_decimals(unit, arm)?))
}

fn t0_decimals(unit: DisplayUnit, arm: &ArmSummary) -> Option<Option<usize>> {
    let t0 = arm.times.as_ref()?.t0;
    Some(unit.decimals(t0.value, t0.err))
}

/// Names of the arms' metrics, except wall time.
fn metric_names(arms: &[ArmSummary]) -> Vec<&str> {
    let names = arms.iter().flat_map(|arm| &arm.metrics).map(|metric| metric.name.as_str());
    each_once(names.filter(|name| *name != "wall"))
}

fn metric_lines(lines: &mut Vec<StatisticLine>, plan: &Plan, arms: &[ArmSummary], name: &str) {
    let unit = unit_of_metric(plan, name, &arms.iter().collect::<Vec<_>>());
    let statistics: [(String, Field<MetricSummary, f64>); 4] = [
        (unit.heading(&format!("{name} mean")), |metric| metric.mean),
        ("  median".into(), |metric| metric.median),
        ("  min".into(), |metric| metric.min),
        ("  max".into(), |metric| metric.max),
    ];
    for (heading, value) in statistics {
        add(lines, arms, heading, |arm| Some(unit.number(value(arm.metric(name)?), None)));
    }
}

#[cfg(test)]
mod tests;
