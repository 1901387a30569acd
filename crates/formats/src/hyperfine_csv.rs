//! hyperfine's CSV, of versions 1 and 2: one line of summaries for each command.

use anyhow::{Context as _, Result, ensure};

use crate::csv_cell::text_of_cell;
use crate::hyperfine::{self, unit_of};
use crate::json::Sign;
use crate::source::TextFile;
use crate::{
    BenchmarkValues, MetaValue, NOTE_SUMMARIES, ReadOptions, ResultUnit, Results, SummaryStatistics,
};

/// Prefix of the columns of version 2; version 1 has none.
const WALL: &str = "time_wall_clock_";
const PARAMETER: &str = "parameter_";
/// A column of our own export (`render::csv`): t0 of the quantity that was compared.
const OURS: &str = "stillwell_t0";
/// Prefix of our own columns for values that are no wall times.
const VALUE: &str = "value_";

/// Reads a file. Errors: the first line does not have the columns.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let mut table = ::csv::Reader::from_reader(files[0].text.as_bytes());
    let header = table.headers().context("line 1")?.clone();
    let prefix = if header.iter().any(|name| name.starts_with(WALL)) { WALL } else { "" };
    ensure!(header.get(0) == Some("command"), "line 1: the first column is not \"command\"");
    let has_mean = header.iter().any(|name| name.strip_prefix(prefix) == Some("mean"));
    ensure!(has_mean, "line 1: there is no column \"{prefix}mean\"");
    // Our own export has hyperfine's columns, and cells that are safe for spreadsheets.
    let is_ours = header.iter().any(|name| name == OURS);
    let mut results = Results { tool: "hyperfine".into(), ..Results::default() };
    results.note(NOTE_SUMMARIES);
    let mut has_values = false;
    let mut line = ::csv::StringRecord::new();
    loop {
        let number = usize::try_from(table.position().line())?;
        let is_there = table.read_record(&mut line);
        if matches!(is_there, Ok(false)) {
            break;
        }
        if is_ours {
            line = line.iter().map(text_of_cell).collect();
        }
        let prefix = if value_decided(&header, &line) == Some(true) { VALUE } else { prefix };
        has_values |= prefix == VALUE;
        let read = is_there.map_err(Into::into).and_then(|_| benchmark(&header, &line, prefix));
        results.take(line.get(0).unwrap_or_default(), number, read);
    }
    if has_values {
        results.note("value_… is what the session compared, so it is read in place of wall times");
    }
    if !files[0].text.ends_with('\n') {
        results.note("the last line has no end: the file may be cut");
    }
    hyperfine::finish(&mut results);
    Ok(results)
}

fn cell<'a>(
    header: &::csv::StringRecord,
    line: &'a ::csv::StringRecord,
    name: &str,
) -> Option<&'a str> {
    let index = header.iter().position(|it| it == name);
    index.and_then(|index| line.get(index)).filter(|cell| !cell.is_empty())
}

/// Whether the t0 of a line of ours is of its values: among them, or as far outside as a floor can be. `None` without
/// either.
fn value_decided(header: &::csv::StringRecord, line: &::csv::StringRecord) -> Option<bool> {
    let number = |name: &str| cell(header, line, name)?.parse::<f64>().ok();
    let (min, max) = (number("value_min")?, number("value_max")?);
    Some((2.0 * min - max..=2.0 * max - min).contains(&number(OURS)?))
}

fn benchmark(
    header: &::csv::StringRecord,
    line: &::csv::StringRecord,
    prefix: &str,
) -> Result<BenchmarkValues> {
    let cell = |wanted: &str| cell(header, line, &format!("{prefix}{wanted}"));
    let is_value = prefix == VALUE;
    // Version 1 is always in seconds.
    let (unit, scale) = unit_of(if prefix.is_empty() { "s" } else { cell("unit").unwrap_or("") });
    ensure!(is_value || unit == ResultUnit::Time, "{prefix}unit: it is not one of time");
    let number = |wanted: &str| -> Result<Option<f64>> {
        let Some(cell) = cell(wanted) else { return Ok(None) };
        let parsed: f64 =
            cell.parse().with_context(|| format!("{prefix}{wanted}: {cell:?} is not a number"))?;
        let sign = if is_value { Sign::Any } else { Sign::NotNegative };
        let value = sign.check(parsed * scale);
        value.with_context(|| format!("{prefix}{wanted}")).map(Some)
    };
    let mut benchmark = BenchmarkValues::new(&line[0], unit);
    benchmark.summary = Some(SummaryStatistics {
        mean: Some(number("mean")?.with_context(|| format!("{prefix}mean: it is empty"))?),
        stddev: number("stddev")?,
        median: number("median")?,
        min: number("min")?,
        max: number("max")?,
        ..SummaryStatistics::default()
    });
    for (key, wanted) in [("mean_user_s", "user"), ("mean_system_s", "system")] {
        benchmark.add_fact(key, number(wanted)?.map(|ns| MetaValue::Float(ns / scale)));
    }
    for (name, value) in header.iter().zip(line) {
        if let Some(name) = name.strip_prefix(PARAMETER) {
            benchmark.parameters.push((name.into(), value.into()));
        }
    }
    Ok(benchmark)
}
