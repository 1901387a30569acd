//! Tables of a group: times and other metrics of its arms.

use serde::Serialize;

use crate::names::each_once;
use crate::report::group::GroupContext;
use crate::uncertain::signs;
use crate::units::{DisplayUnit, percent, unit_of_metric};
use crate::{activity, t0};
use analysis::{Activity, ArmSummary, RunCount};
use record::plan::Plan;

/// More arms are rows instead of columns.
const COLUMNS_MAX: usize = 4;

/// The location of times.
pub(super) const T0: &str = "t0";

#[derive(Clone, Debug, Serialize)]
pub(super) struct MetricTable {
    headings: Vec<String>,
    rows: Vec<MetricRow>,
}

#[derive(Clone, Debug, Serialize)]
struct MetricRow {
    name: String,
    cells: Vec<MetricCell>,
}

#[derive(Clone, Debug, Default, Serialize)]
struct MetricCell {
    value: String,
    spread: Option<String>,
}

/// Headings of the cells that [`times`] makes.
pub(super) fn headings(context: &GroupContext<'_>, is_net: bool, has_ratios: bool) -> Vec<String> {
    let (unit, location) = (context.unit, context.location);
    let own = if has_ratios { "own " } else { "" };
    let t0 = format!("{own}{}", if is_net { "t0, net" } else { T0 });
    let beside = has_ratios.then(|| unit.heading(&t0::heading(location, context.times)));
    let own = [&t0, "median", "mean", "sd", "min", "max"].into_iter();
    let own = own.skip(usize::from(location != T0)).map(|name| unit.heading(name));
    let mut headings: Vec<String> = beside.into_iter().chain(own).collect();
    headings.extend(["CV", "n"].map(String::from));
    headings
}

/// The times of an arm, with `has_ratios` first the time beside the ratios. t0 is net of the control, other times are as
/// measured. What has no t0 has its median once, with the error.
pub(super) fn times(context: &GroupContext<'_>, place: usize, has_ratios: bool) -> Vec<String> {
    let (arm, unit) = (context.summary(place), context.unit);
    let Some(wall) = &arm.times else { return vec!["no finished run".into()] };
    let decimals = unit.decimals(wall.t0.value, wall.t0.err);
    let number = |value: f64| unit.number(value, decimals);
    let n = arm.n_values();
    let beside = has_ratios.then(|| {
        let time = context.compared(place);
        time.map_or_else(String::new, |it| signs(&t0::beside_ratio(unit, it)))
    });
    let median = (context.location == T0).then(|| number(wall.median.value));
    let own = [
        Some(signs(&t0::arm_text(unit, arm).unwrap_or_default())),
        median,
        Some(number(wall.mean.value)),
        Some(wall.sd.map(number).unwrap_or_default()),
        Some(number(wall.min)),
        Some(number(wall.max)),
        Some(wall.cv.map(percent).unwrap_or_default()),
        Some(n.to_string()),
    ];
    beside.into_iter().chain(own.into_iter().flatten()).collect()
}

/// The counts of the arms with rates; `None` if no arm has counts.
pub(super) fn counts(arms: &[(String, &Activity)]) -> Option<MetricTable> {
    let first = arms.first()?.1;
    if arms.len() > COLUMNS_MAX {
        return None;
    }
    let row = |count: &RunCount| {
        let cell = |(_, activity): &(String, &Activity)| {
            let same = activity.counts.iter().find(|other| other.what == count.what);
            same.map_or_else(MetricCell::default, |same| MetricCell {
                value: signs(&activity::per_run(same)),
                spread: activity::rate(same).map(|rate| signs(&rate)),
            })
        };
        MetricRow {
            name: activity::name(count.what).into(),
            cells: arms.iter().map(cell).collect(),
        }
    };
    let headings = arms.iter().map(|(number, _)| number.clone()).collect();
    Some(MetricTable { headings, rows: first.counts.iter().map(row).collect() })
}

/// All metrics of the group's arms; `None` if wall time is the only one.
pub(super) fn metrics(plan: &Plan, arms: &[(String, &ArmSummary)]) -> Option<MetricTable> {
    let all = arms.iter().flat_map(|(_, arm)| &arm.metrics);
    let names = each_once(all.map(|metric| metric.name.as_str()));
    if names.iter().all(|name| *name == "wall") {
        return None;
    }
    let summaries: Vec<&ArmSummary> = arms.iter().map(|(_, arm)| *arm).collect();
    let units: Vec<DisplayUnit> =
        names.iter().map(|name| unit_of_metric(plan, name, &summaries)).collect();
    let cell = |arm: &ArmSummary, name: &str, unit: DisplayUnit| {
        let Some(metric) = arm.metric(name) else { return MetricCell::default() };
        let sd = metric.sd.filter(|sd| *sd > 0.0);
        let decimals = sd.and_then(|sd| unit.decimals(metric.mean, Some(sd)));
        let spread = sd.map(|sd| unit.number(sd, decimals));
        MetricCell { value: unit.number(metric.mean, decimals), spread }
    };
    let named = || names.iter().zip(&units);
    if arms.len() <= COLUMNS_MAX {
        let rows = named().map(|(name, unit)| MetricRow {
            name: unit.heading(name),
            cells: arms.iter().map(|(_, arm)| cell(arm, name, *unit)).collect(),
        });
        let headings = arms.iter().map(|(number, _)| number.clone()).collect();
        return Some(MetricTable { headings, rows: rows.collect() });
    }
    let rows = arms.iter().map(|(number, arm)| MetricRow {
        name: number.clone(),
        cells: named().map(|(name, unit)| cell(arm, name, *unit)).collect(),
    });
    let headings = named().map(|(name, unit)| unit.heading(name)).collect();
    Some(MetricTable { headings, rows: rows.collect() })
}
