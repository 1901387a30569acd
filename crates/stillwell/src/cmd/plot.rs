//! `plot`: rows over time, distribution functions and differences, on the terminal.

#![expect(clippy::disallowed_methods, reason = "reads the locale")]

use anyhow::{Result, ensure};
use formats::Detail;
use rustix::termios::tcgetwinsize;

use crate::cmd::assessment::Assessment;
use crate::cmd::histograms::{self, HistogramLayout};
use crate::cmd::open;
use crate::cmd::print::print;
use analysis::histogram::{self, Histogram};
use analysis::report::{Blocks, RowTable, Timeline, cumulative, groups_of, pairs, timeline};
use analysis::walls::Walls;
use analysis::{Comparison, Evidence};
use model::spec::{PlotKind, PlotVerb};
use model::values::exit_code;
use record::Record;
use record::plan::defaults;
use render::plot::{self, Axis, ChartSeries, ChartSize, Marks, TerminalChart};
use render::units::{DisplayUnit, UnitKind, kind_of_unit, requested_unit};

/// Number of columns without a terminal.
const COLUMNS: usize = 80;
/// Largest number of values of a distribution function on a terminal.
const VALUES_MAX: usize = 20_000;
/// Number of bins that find the typical range.
const BINS: usize = 20;

/// `plot`.
pub fn plot(verb: &PlotVerb) -> Result<u8> {
    let is_ascii = verb.ascii || is_locale_ascii();
    if kind_of(verb) == PlotKind::Hist {
        let has_size = verb.width.is_some() || verb.height.is_some();
        ensure!(!has_size, "--width and --height: a histogram has a line for each bin; use --bins");
        let layout = HistogramLayout { bins: verb.bins, is_log: verb.log, is_ascii };
        return histograms::draw(&verb.files, layout);
    }
    ensure!(verb.bins.is_none(), "--bins: only histograms have bins; add --kind hist");
    let mut charts = Vec::new();
    let files = open::all(&verb.files, Detail::Values)?;
    let n_files = files.len();
    for opened in files {
        let opened = opened?;
        let file = opened.path.display().to_string();
        let assessment = Assessment::of(opened.into_record()?);
        let has_run = assessment.analysis.arms.iter().any(|arm| arm.n_runs > 0);
        ensure!(has_run, "{file} has no finished run");
        let heading = if n_files > 1 { format!("== {file}") } else { String::new() };
        charts.extend(of_record(verb, &assessment, &heading));
    }
    if kind_of(verb) == PlotKind::Ecdf {
        charts = on_one_scale(charts);
    }
    ensure!(
        !charts.is_empty(),
        "there is no difference to draw: a record of several commands in random order has some"
    );
    for (index, chart) in charts.iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        let text = plot::text(chart, size(verb, chart, is_ascii));
        let text = if is_ascii { plot::ascii(&text) } else { text };
        print(&format!("{gap}{text}"))?;
    }
    Ok(exit_code::SUCCESS)
}

fn size(verb: &PlotVerb, chart: &TerminalChart, is_ascii: bool) -> ChartSize {
    let terminal = tcgetwinsize(std::io::stdout()).ok();
    let columns = terminal.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0);
    let columns = verb.width.map_or(columns.unwrap_or(COLUMNS), usize::from);
    let has_colors =
        anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never;
    // Without colours only digits distinguish series.
    let is_braille = !is_ascii && (has_colors || chart.series.len() == 1);
    ChartSize {
        columns: columns.max(plot::COLUMNS_MIN),
        lines: usize::from(verb.height.unwrap_or(defaults::PLOT_HEIGHT)).max(plot::LINES_MIN),
        marks: if is_braille { Marks::Braille } else { Marks::Digits },
    }
}

fn kind_of(verb: &PlotVerb) -> PlotKind {
    verb.kind.unwrap_or(defaults::PLOT_KIND)
}

/// Whether the locale is set and is not a Unicode one.
fn is_locale_ascii() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let set = names.iter().filter_map(std::env::var_os).find(|value| !value.is_empty());
    set.is_some_and(|locale| {
        let locale = locale.to_string_lossy().to_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

fn of_record(verb: &PlotVerb, assessment: &Assessment, heading: &str) -> Vec<TerminalChart> {
    let record = &assessment.record;
    let plan = &record.header.plan;
    if kind_of(verb) == PlotKind::Diff {
        let walls = Walls::of(record);
        let found = assessment.analysis.comparisons.iter();
        return found
            .filter_map(|found| difference(verb, record, &walls, found, heading))
            .collect();
    }
    let values = histogram::series(record);
    let chart = |arms: Vec<usize>| {
        let series: Vec<Vec<f64>> = arms.iter().map(|&arm| values[arm].clone()).collect();
        let typical = Histogram::of_series(&series, BINS)?;
        let first = &plan.arms[arms[0]];
        let kind = kind_of_unit(first.unit);
        let edges = &typical.edges;
        let largest = series.iter().flatten().copied().fold(edges[BINS], f64::max);
        let hi = if verb.log { largest } else { edges[BINS] };
        let unit = DisplayUnit::choose(
            kind,
            requested_unit(&plan.metrics, "wall"),
            [edges[BINS]].into_iter(),
        );
        let value = Axis {
            label: "value".into(),
            ends: [edges[0], hi],
            is_log: verb.log && edges[0] > 0.0,
            unit,
        };
        let mut words = vec![heading.to_owned()];
        words.extend(first.benchmark.clone().filter(|_| plan.has_benchmarks()));
        let title = words.join(" ").trim().to_owned();
        Some(match kind_of(verb) {
            PlotKind::Ecdf => distribution(record, &arms, &series, value, title),
            _ => over_time(record, &arms, value, title),
        })
    };
    groups_of(record).into_iter().filter_map(chart).collect()
}

fn over_time(record: &Record, arms: &[usize], value: Axis, title: String) -> TerminalChart {
    let (Timeline::All { rows } | Timeline::Sliced { rows, .. }) =
        timeline(record, arms, usize::MAX);
    let started_s: Vec<f64> = rows.started_ns.iter().map(|&ns| ns as f64).collect();
    let lo = started_s.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = started_s.iter().copied().fold(lo, f64::max);
    let x = Axis {
        label: "time of the session".into(),
        ends: [lo, hi],
        is_log: false,
        unit: DisplayUnit::for_largest(UnitKind::Time, hi),
    };
    let series = |(place, &arm): (usize, &usize)| ChartSeries {
        number: arm + 1,
        label: record.header.plan.arms[arm].label().into(),
        points: points_of(&rows, place),
        is_stepped: false,
    };
    TerminalChart { title, series: arms.iter().enumerate().map(series).collect(), x, y: value }
}

/// The points of an arm: start and value of each row without the warm-ups.
fn points_of(rows: &RowTable, place: usize) -> Vec<[f64; 2]> {
    let of_arm =
        (0..rows.arm.len()).filter(|&at| rows.arm[at] == place && rows.block[at].is_some());
    of_arm.map(|at| [rows.started_ns[at] as f64, rows.value[at]]).collect()
}

fn distribution(
    record: &Record,
    arms: &[usize],
    values: &[Vec<f64>],
    value: Axis,
    title: String,
) -> TerminalChart {
    let series = arms.iter().zip(values).map(|(&arm, values)| {
        let found = cumulative(values, VALUES_MAX);
        let start = found.values.first().map(|&value| [value, 0.0]);
        let points =
            found.values.into_iter().zip(found.shares).map(|(value, share)| [value, share]);
        ChartSeries {
            number: arm + 1,
            label: record.header.plan.arms[arm].label().into(),
            points: start.into_iter().chain(points).collect(),
            is_stepped: true,
        }
    });
    let share = Axis {
        label: "share of the values".into(),
        ends: [0.0, 1.0],
        is_log: false,
        unit: DisplayUnit::ONE,
    };
    TerminalChart { title, series: series.collect(), x: value, y: share }
}

/// One chart with all series, if all have one unit and none is a benchmark.
fn on_one_scale(charts: Vec<TerminalChart>) -> Vec<TerminalChart> {
    let is_one = |chart: &TerminalChart| {
        chart.x.unit.name.is_empty() == charts[0].x.unit.name.is_empty()
            && chart.title.starts_with("==")
    };
    if charts.len() < 2 || !charts.iter().all(is_one) {
        return charts;
    }
    let ends = charts.iter().map(|chart| chart.x.ends);
    let ends = ends.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or_default();
    let mut one = charts[0].clone();
    one.series = charts
        .into_iter()
        .flat_map(|chart| {
            let file = chart.title.trim_start_matches("== ").to_owned();
            chart.series.into_iter().map(move |mut series| {
                series.label = format!("{file}: {}", series.label);
                series
            })
        })
        .collect();
    one.series.iter_mut().enumerate().for_each(|(at, series)| series.number = at + 1);
    one.title = String::new();
    one.x.ends = ends;
    vec![one]
}

fn difference(
    verb: &PlotVerb,
    record: &Record,
    walls: &Walls,
    found: &Comparison,
    heading: &str,
) -> Option<TerminalChart> {
    if matches!(found.evidence, Evidence::Unpaired { .. }) {
        // Unpaired arms have no common blocks.
        return None;
    }
    let ratios = walls.ratios(found.reference, found.arm);
    let prepared = pairs(&ratios, usize::MAX);
    let (Blocks::All { block, ratio } | Blocks::Sliced { block, ratio, .. }) = prepared.blocks;
    let [lo, hi] = if verb.log {
        ratio.iter().fold([1.0, 1.0], |[lo, hi]: [f64; 2], &ratio| [lo.min(ratio), hi.max(ratio)])
    } else {
        let [lo, hi] = prepared.typical?;
        [lo.min(1.0), hi.max(1.0)]
    };
    let plan = &record.header.plan;
    let points = block.iter().zip(&ratio).map(|(&block, &ratio)| [block as f64, ratio]);
    let series = ChartSeries {
        number: found.arm + 1,
        label: plan.arms[found.arm].label().into(),
        points: points.collect(),
        is_stepped: false,
    };
    let benchmark = plan.arms[found.arm].benchmark.as_deref().unwrap_or_default();
    let title = format!("{heading} {benchmark} {} vs {}", found.arm + 1, found.reference + 1);
    let last = block.last().copied().unwrap_or(0) as f64;
    let axis = |label: &str, ends, is_log| Axis {
        label: label.into(),
        ends,
        is_log,
        unit: DisplayUnit::ONE,
    };
    Some(TerminalChart {
        title: title.split_whitespace().collect::<Vec<_>>().join(" "),
        series: vec![series],
        x: axis("block", [0.0, last], false),
        y: axis("ratio, new ÷ reference", [lo, hi], verb.log && lo > 0.0),
    })
}
