//! hyperfine's CSV, of versions 1 and 2: one line of summaries for each command.

use anyhow::{Context as _, Result, ensure};

use crate::convert::hyperfine::{self, unit_of};
use crate::convert::json::Sign;
use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::csv_cell::text_of_cell;
use crate::results::{
    BenchmarkValues, MetaValue, NOTE_SUMMARIES, ResultUnit, Results, SummaryStatistics,
};

/// Prefix of the column names of version 2; version 1 has none.
const WALL: &str = "time_wall_clock_";
const PARAMETER: &str = "parameter_";
/// A column of our own export (`render::csv`).
const OURS: &str = "stillwell_t0";

/// Reads a file.
///
/// # Errors
/// The file does not match the format; the message has line and column.
pub(super) fn read(files: &[SourceFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let mut table = ::csv::Reader::from_reader(files[0].bytes);
    let header = table.headers().context("line 1")?.clone();
    let prefix = if header.iter().any(|name| name.starts_with(WALL)) { WALL } else { "" };
    ensure!(header.get(0) == Some("command"), "line 1: the first column is not \"command\"");
    let has_mean = header.iter().any(|name| name.strip_prefix(prefix) == Some("mean"));
    ensure!(has_mean, "line 1: there is no column \"{prefix}mean\"");
    // Our own export has the columns of hyperfine, and cells that a spreadsheet does not calculate.
    let is_ours = header.iter().any(|name| name == OURS);
    let mut results = Results { tool: "hyperfine".into(), ..Results::default() };
    results.note(NOTE_SUMMARIES);
    for line in table.records() {
        let line = line?;
        let number = line.position().map_or(0, ::csv::Position::line);
        let line = if is_ours { line.iter().map(text_of_cell).collect() } else { line };
        let found = benchmark(&header, &line, prefix).with_context(|| format!("line {number}"))?;
        results.benchmarks.push(found);
    }
    hyperfine::finish(&mut results);
    Ok(results)
}

fn benchmark(
    header: &::csv::StringRecord,
    line: &::csv::StringRecord,
    prefix: &str,
) -> Result<BenchmarkValues> {
    let cell = |wanted: &str| {
        let index = header.iter().position(|name| name.strip_prefix(prefix) == Some(wanted));
        index.and_then(|index| line.get(index)).filter(|cell| !cell.is_empty())
    };
    // Version 1 is always in seconds.
    let (unit, scale) = unit_of(if prefix.is_empty() { "s" } else { cell("unit").unwrap_or("") });
    ensure!(unit == ResultUnit::Time, "{prefix}unit: it is not one of time");
    let number = |wanted: &str| -> Result<Option<f64>> {
        let Some(cell) = cell(wanted) else { return Ok(None) };
        let parsed: f64 =
            cell.parse().with_context(|| format!("{prefix}{wanted}: {cell:?} is not a number"))?;
        let checked = Sign::NotNegative.check(parsed * scale).map_err(anyhow::Error::msg);
        checked.with_context(|| format!("{prefix}{wanted}")).map(Some)
    };
    let mut found = BenchmarkValues::new(&line[0], ResultUnit::Time);
    found.summary = Some(SummaryStatistics {
        mean: Some(number("mean")?.with_context(|| format!("{prefix}mean: it is empty"))?),
        stddev: number("stddev")?,
        median: number("median")?,
        min: number("min")?,
        max: number("max")?,
        ..SummaryStatistics::default()
    });
    for (key, wanted) in [("mean_user_s", "user"), ("mean_system_s", "system")] {
        if let Some(ns) = number(wanted)? {
            found.metadata.insert(key.into(), MetaValue::Float(ns / scale));
        }
    }
    for (name, value) in header.iter().zip(line) {
        if let Some(name) = name.strip_prefix(PARAMETER) {
            found.parameters.push((name.into(), value.into()));
        }
    }
    Ok(found)
}
