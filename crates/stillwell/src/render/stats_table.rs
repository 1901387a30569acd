//! The verb `stats`: every statistic, the arms side by side.

use comfy_table::{CellAlignment, Table, presets};

use crate::analysis::{ArmSummary, MetricSummary, Times, Uncertain};
use crate::plan::Plan;
use crate::render::columns::{COLUMNS, shorten, width};
use crate::render::units::{Kind, Unit, asked, kind_of, percent};

/// A label above its numbers is not wider, so that several arms fit.
const LABEL_COLUMNS: usize = 20;
const GAP: usize = 2;

/// One statistic: its name and its value for each arm, empty where there is none.
struct Line {
    name: String,
    cells: Vec<String>,
}

/// All statistics of all arms, controls included, as measured; as many arms beside each other as 80 columns hold.
pub fn stats(plan: &Plan, arms: &[ArmSummary]) -> String {
    let mut lines = vec![Line {
        name: String::new(),
        cells: arms.iter().map(|arm| label(plan, arm)).collect(),
    }];
    time_lines(&mut lines, plan, arms);
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
        draw(&mut out, &lines, from..to);
        from = to;
    }
    out
}

fn label(plan: &Plan, arm: &ArmSummary) -> String {
    let number = if arm.is_hidden { String::new() } else { format!("{} ", arm.arm + 1) };
    let mark = if arm.arm == plan.reference && has_others(plan) { " (ref)" } else { "" };
    format!("{number}{}{mark}", shorten(&arm.label, LABEL_COLUMNS - number.len() - mark.len()))
}

fn has_others(plan: &Plan) -> bool {
    plan.candidates().nth(1).is_some()
}

/// How many arms from this one on fit; at least one.
fn n_fitting(lines: &[Line], from: usize, columns: usize) -> usize {
    let n_arms = lines.first().map_or(0, |line| line.cells.len());
    let widest =
        |arm: usize| lines.iter().map(|line| width(&line.cells[arm])).max().unwrap_or(0) + GAP;
    let mut used = 0;
    let fits = |arm: &usize| {
        used += widest(*arm);
        used <= columns
    };
    (from..n_arms).take_while(fits).count().max(1)
}

fn draw(out: &mut String, lines: &[Line], arms: std::ops::Range<usize>) {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for line in lines {
        table.add_row(std::iter::once(&line.name).chain(&line.cells[arms.clone()]));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if index == 0 { (0, 0) } else { (GAP as u16, 0) });
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

type OfTimes = fn(&Times) -> f64;
type OfArm = fn(&ArmSummary) -> usize;

fn time_lines(lines: &mut Vec<Line>, plan: &Plan, arms: &[ArmSummary]) {
    let t0s = arms.iter().filter_map(|arm| Some(arm.wall.as_ref()?.t0.value));
    let unit = Unit::choose(Kind::Time, asked(&plan.metrics, "wall"), t0s);
    let mut add = |name: String, cell: &dyn Fn(&ArmSummary) -> Option<String>| {
        let cells = arms.iter().map(|arm| cell(arm).unwrap_or_default()).collect();
        lines.push(Line { name, cells });
    };
    let text = |value: Uncertain| Some(unit.uncertain(value.value, value.err));
    add(unit.heading("t0"), &|arm| text(arm.wall.as_ref()?.t0));
    add("low 20 %".into(), &|arm| text(arm.wall.as_ref()?.low20));
    add("median".into(), &|arm| text(arm.wall.as_ref()?.median));
    add("mean".into(), &|arm| text(arm.wall.as_ref()?.mean));
    if plan.control.is_some() {
        add("net t0".into(), &|arm| text(arm.net?.t0));
        add("net median".into(), &|arm| text(arm.net?.median));
        add("net mean".into(), &|arm| text(arm.net?.mean));
    }
    let single: [(&str, OfTimes); 6] = [
        ("min", |wall| wall.min),
        ("10 %", |wall| wall.quantiles[0]),
        ("25 %", |wall| wall.quantiles[1]),
        ("75 %", |wall| wall.quantiles[2]),
        ("90 %", |wall| wall.quantiles[3]),
        ("max", |wall| wall.max),
    ];
    for (name, value) in single {
        add(name.into(), &|arm| number(unit, arm, value(arm.wall.as_ref()?)));
    }
    add("sd".into(), &|arm| number(unit, arm, arm.wall.as_ref()?.sd?));
    add("CV".into(), &|arm| arm.wall.as_ref()?.cv.map(percent));
    add("runs".into(), &|arm| Some(arm.n_runs.to_string()));
    let counts: [(&str, OfArm); 2] =
        [("timed out", |arm| arm.n_timed_out), ("exit not 0", |arm| arm.n_nonzero_exits)];
    for (name, count) in counts {
        if arms.iter().any(|arm| count(arm) > 0) {
            add(name.into(), &|arm| Some(count(arm).to_string()));
        }
    }
}

/// A time with as many decimals as the arm's t0.
fn number(unit: Unit, arm: &ArmSummary, value_ns: f64) -> Option<String> {
    let t0 = arm.wall.as_ref()?.t0;
    Some(unit.number(value_ns, unit.decimals(t0.value, t0.err)))
}

/// Every metric that some arm has, but for wall time.
fn metric_names(arms: &[ArmSummary]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for metric in arms.iter().flat_map(|arm| &arm.metrics) {
        if metric.name != "wall" && !names.contains(&metric.name.as_str()) {
            names.push(&metric.name);
        }
    }
    names
}

type OfMetric = fn(&MetricSummary) -> f64;

fn metric_lines(lines: &mut Vec<Line>, plan: &Plan, arms: &[ArmSummary], name: &str) {
    let find = |arm: &'_ ArmSummary| arm.metrics.iter().find(|metric| metric.name == name).cloned();
    let found: Vec<Option<MetricSummary>> = arms.iter().map(find).collect();
    let means = found.iter().flatten().map(|metric| metric.mean);
    let unit = Unit::choose(kind_of(name), asked(&plan.metrics, name), means);
    let statistics: [(String, OfMetric); 4] = [
        (unit.heading(&format!("{name} mean")), |metric| metric.mean),
        ("  median".into(), |metric| metric.median),
        ("  min".into(), |metric| metric.min),
        ("  max".into(), |metric| metric.max),
    ];
    for (name, value) in statistics {
        let cell = |metric: &Option<MetricSummary>| {
            metric.as_ref().map_or_else(String::new, |metric| unit.number(value(metric), None))
        };
        lines.push(Line { name, cells: found.iter().map(cell).collect() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::fixture::{analysis, of_times, record, single, times};

    #[track_caller]
    fn check_width(text: &str) {
        assert!(text.lines().all(|line| width(line) <= COLUMNS), "{text}");
    }

    #[test]
    fn every_statistic_of_an_arm_and_its_control() {
        let record = record(&["a | b"]);
        let mut arms = analysis(&record, &[1.25e6, 0.61e6]).arms;
        arms[0].n_nonzero_exits = 3;
        insta::assert_snapshot!(stats(&record.header.plan, &arms));
    }

    #[test]
    fn arms_that_do_not_fit_come_below() {
        let (long, wide) = ("a long command ".repeat(9), "日本語".repeat(20));
        let commands = [&long, "b", "c", "d", &wide, "f"];
        let record = record(&commands);
        let mut walls: Vec<_> = (1..6).map(|n| Some(times(f64::from(n) * 1e6))).collect();
        walls.push(None);
        let arms = of_times(&record, walls, 60).arms;
        let text = stats(&record.header.plan, &arms);
        check_width(&text);
        assert_eq!(text.matches("t0 [ms]").count(), 2, "{text}");
        assert_eq!(text.matches("(ref)").count(), 1, "{text}");
    }

    #[test]
    fn one_run_has_no_errors() {
        let record = record(&["a"]);
        let text = stats(&record.header.plan, &of_times(&record, vec![Some(single(5.0))], 1).arms);
        assert!(!text.contains("+-"), "{text}");
        let t0: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(t0, ["t0", "[ns]", "5"]);
    }

    #[test]
    fn ten_thousand_arms() {
        let record = record(&vec!["a"; 10_000]);
        check_width(&stats(&record.header.plan, &analysis(&record, &vec![1e6; 10_000]).arms));
    }
}
