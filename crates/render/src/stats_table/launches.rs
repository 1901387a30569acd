//! Lines of `stats` about the launches of a benchmark.

use crate::columns::one_line;
use crate::results::loops;
use crate::stats_table::{StatisticLine, Statistics, add, number};
use crate::units::{DisplayUnit, short_time};
use analysis::ArmSummary;
use analysis::series::{ValueRange, ValueSeries};

type SeriesCell = fn(&ValueSeries) -> Option<String>;

/// Adds the launches: their number, durations and dates.
pub(super) fn lines(lines: &mut Vec<StatisticLine>, statistics: Statistics<'_>, unit: DisplayUnit) {
    let arms = statistics.arms;
    let of = |arm: &ArmSummary| statistics.series.get(arm.arm)?.as_ref();
    if arms.iter().all(|arm| of(arm).is_none()) {
        return;
    }
    let tail = |arm: &ArmSummary, at: usize| number(unit, arm, of(arm)?.tails?[at]);
    add(lines, arms, "5 %", |arm| tail(arm, 0));
    add(lines, arms, "95 %", |arm| tail(arm, 1));
    add(lines, arms, "MAD", |arm| number(unit, arm, of(arm)?.mad?));
    let rows: [(&str, SeriesCell); 12] = [
        ("launches", |it| Some(it.n_launches.to_string())),
        ("  for calibration", |it| (it.n_calibrations > 0).then(|| it.n_calibrations.to_string())),
        ("values", |it| Some(it.n_values.to_string())),
        ("  of a launch", |it| Some(between(it.values_per_launch, |n| n.to_string()))),
        ("  beyond 1.5 IQR", |it| it.n_outliers.map(|n| n.to_string())),
        ("warm-ups of a launch", |it| Some(between(it.warmups_per_launch, |n| n.to_string()))),
        ("loops of a value", |it| Some(between(it.loops, loops))),
        ("inner loops", |it| (it.inner_loops.max > 1).then(|| between(it.inner_loops, loops))),
        ("all loops took", |it| Some(between(it.raw_ns?, short_time))),
        ("measured", |it| it.measured_ns.map(short_time)),
        ("took", |it| it.duration_ns.map(short_time)),
        ("dates", |it| {
            let short = |date: String| one_line(date.get(..19).unwrap_or(&date));
            Some(between(it.dates.clone()?, short))
        }),
    ];
    for (name, cell) in rows {
        let cells: Vec<String> =
            arms.iter().map(|arm| of(arm).and_then(cell).unwrap_or_default()).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            lines.push(StatisticLine { name: name.into(), cells });
        }
    }
}

fn between<T: PartialEq>(range: ValueRange<T>, shown: impl Fn(T) -> String) -> String {
    if range.min == range.max {
        return shown(range.min);
    }
    format!("{} to {}", shown(range.min), shown(range.max))
}
