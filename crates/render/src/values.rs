//! Results as values: CSV with a line for each value in the base unit, and a Markdown table.

use std::fmt::Write as _;
use std::io::Write;

use anyhow::Result;
use formats::{BenchmarkValues, ResultUnit, Results, csv_cell::cell_of_text, statistics::summary};

use crate::columns::one_line;
use crate::csv::io_error;
use crate::markup::markdown_code;
use crate::units::DisplayUnit;
use analysis::convert::base_unit;
use model::values::ValueUnit;

const HEADER: [&str; 6] = ["benchmark", "launch", "index", "loops", "value", "unit"];

/// Writes a line for each value. Launches and values count from 1; `loops` are outer times inner loops. Without
/// warm-ups and calibrations.
pub fn write_csv(to: &mut impl Write, results: &Results) -> Result<()> {
    let mut table = ::csv::Writer::from_writer(to);
    table.write_record(HEADER).map_err(io_error)?;
    for (benchmark, label) in results.benchmarks.iter().zip(results.labels()) {
        for (launch_index, launch) in benchmark.launches().enumerate() {
            for (index, value) in launch.values.iter().enumerate() {
                let loops = benchmark.loops.get(launch.first_value + index).copied();
                let loops = loops.unwrap_or(launch.loops()).saturating_mul(launch.inner_loops());
                let numbers =
                    [launch_index as u64 + 1, index as u64 + 1, loops].map(|it| it.to_string());
                let [launch, index, loops] = &numbers;
                let value = value.to_string();
                let (label, unit) = (cell_of_text(&label), cell_of_text(benchmark.unit.name()));
                let row = [&*label, launch, index, loops, &value, &*unit];
                table.write_record(row).map_err(io_error)?;
            }
        }
    }
    Ok(table.flush()?)
}

/// A Markdown table with one row for each benchmark, each in the unit that fits it.
pub fn markdown(results: &Results) -> String {
    let has_estimate =
        results.benchmarks.iter().any(|it| it.summary.is_some_and(|it| it.estimate.is_some()));
    let (heading, rule) = if has_estimate { (" Estimate |", "---:|") } else { ("", "") };
    let mut out = format!("| Benchmark | Values | Median | Mean | Min | Max |{heading} Unit |\n");
    writeln!(out, "|:---|---:|---:|---:|---:|---:|{rule}:---|").ok();
    for (benchmark, label) in results.benchmarks.iter().zip(results.labels()) {
        let summary = summary(benchmark);
        let mut numbers = vec![summary.median, summary.mean, summary.min, summary.max];
        numbers.extend(has_estimate.then_some(summary.estimate));
        let unit = unit(benchmark, numbers.iter().flatten().copied());
        let shown = |number: Option<f64>| number.map_or(String::new(), |it| unit.number(it, None));
        let count = summary.count.map_or(String::new(), |count| count.to_string());
        let unit_name = match &benchmark.unit {
            ResultUnit::Other(name) => one_line(name).replace('|', "\\|"),
            _ => unit.name.into(),
        };
        let cells = numbers.into_iter().map(shown).collect::<Vec<_>>().join(" | ");
        writeln!(out, "| {} | {count} | {cells} | {unit_name} |", markdown_code(&label)).ok();
    }
    out
}

fn unit(benchmark: &BenchmarkValues, values: impl Iterator<Item = f64>) -> DisplayUnit {
    match base_unit(&benchmark.unit) {
        ValueUnit::Count => DisplayUnit::ONE,
        kind => DisplayUnit::choose(kind, None, values),
    }
}
