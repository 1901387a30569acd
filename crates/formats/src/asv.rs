//! Result files of asv, version 2. Python's `json` writes them with bare NaN and Infinity.
//!
//! Units are in `benchmarks.json` beside the machine's directory. Without that file, the name shows them: asv finds
//! its benchmarks by their prefix (`time_`, `mem_`, …).

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use anyhow::{Context as _, Result, bail, ensure};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::json::document::Document;
use crate::json::{self, Finite, Sign};
use crate::source::TextFile;
use crate::{
    BenchmarkValues, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics,
    UnreadBenchmark,
};

const SECOND_NS: f64 = 1e9;
/// Combinations of parameters of one benchmark.
const N_COMBINATIONS_MAX: usize = 1_000_000;

#[derive(Deserialize)]
struct AsvBenchmarkInfo {
    r#type: Option<String>,
    unit: Option<String>,
    #[serde(default)]
    param_names: Vec<String>,
}

/// Reads a result file; `benchmarks.json` may come second. Errors: the version is not known, or there are no results.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    // A failed result is NaN, a missing one null.
    let text = json::without_bare_words(files[0].text, Some("null"));
    let document = Document::split(&text)?;
    let mut results = Results { tool: "asv".into(), ..Results::default() };
    let version: Option<u64> = document.field("version", &mut results);
    ensure!(version.is_none_or(|version| version == 2), "version: only 2 is known");
    let mut described: BTreeMap<String, Value> = BTreeMap::new();
    for file in files.iter().skip(1).filter(|file| file.name() == "benchmarks.json").take(1) {
        match json::read(&json::without_bare_words(file.text, Some("null"))) {
            Ok(read) => described = read,
            Err(error) => results.note(format!("{} is not used: {error:#}", file.path)),
        }
    }
    let parameters: Value = document.field("params", &mut results);
    json::flatten("", &parameters, &mut results.metadata);
    for key in ["commit_hash", "env_name"] {
        if let Some(text) = document.field::<Option<String>>(key, &mut results) {
            results.metadata.insert(key.into(), text.as_str().into());
        }
    }
    // Date of the commit, ms since 1970 (asv, "Result files").
    let date: Option<i64> = document.field("date", &mut results);
    if let Some(date) = date.and_then(|date_ms| Timestamp::from_millisecond(date_ms).ok()) {
        results.metadata.insert("commit_date".into(), date.to_string().as_str().into());
    }
    let names: Vec<String> = document.field("result_columns", &mut results);
    let rows = document.member("results").context("missing field `results`")?.members("results");
    for (name, row) in rows {
        let read = row.read().and_then(|cells: Vec<Value>| {
            let columns = AsvRow { names: &names, cells: &cells };
            benchmarks(&mut results, &name, described.get(&name), columns)
        });
        if let Err(error) = read {
            results.unread(name, row.line(), format!("{error:#}"));
        }
    }
    document.tell_cut(&mut results);
    results.note_summaries();
    results.note("the file does not say which process made which value");
    results.note_order();
    Ok(results)
}

/// Adds the benchmarks of a row, one for each combination of parameters.
fn benchmarks(
    results: &mut Results,
    name: &str,
    info: Option<&Value>,
    columns: AsvRow<'_>,
) -> Result<()> {
    let info = info.map(AsvBenchmarkInfo::deserialize).transpose();
    let info = info.context("benchmarks.json")?;
    let (unit, scale) = unit_of(name, info.as_ref())?;
    let parameter_names = info.map(|it| it.param_names).unwrap_or_default();
    add(results, &AsvBenchmark { name, unit, scale, parameter_names }, columns)
}

#[derive(Clone, Copy)]
struct AsvRow<'a> {
    names: &'a [String],
    cells: &'a [Value],
}

impl<'a> AsvRow<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        let index = self.names.iter().position(|it| it == name)?;
        self.cells.get(index).filter(|cell| !cell.is_null())
    }

    /// One cell for each combination of parameters.
    fn list(self, name: &str) -> Result<Option<&'a Vec<Value>>> {
        let Some(cell) = self.get(name) else { return Ok(None) };
        cell.as_array().map(Some).with_context(|| format!("{name}: it is not a list"))
    }

    fn number(self, name: &str, index: usize, scale: f64) -> Result<Option<f64>> {
        let Some(cell) =
            self.list(name)?.and_then(|list| list.get(index)).filter(|it| !it.is_null())
        else {
            return Ok(None);
        };
        let number = Finite::deserialize(cell).with_context(|| format!("{name}[{index}]"))?;
        Ok(Some(number.0 * scale))
    }
}

/// The common part of all parameter combinations of a benchmark.
struct AsvBenchmark<'a> {
    name: &'a str,
    unit: ResultUnit,
    scale: f64,
    parameter_names: Vec<String>,
}

fn add(results: &mut Results, series: &AsvBenchmark<'_>, columns: AsvRow<'_>) -> Result<()> {
    let Some(cells) = columns.list("result")? else {
        bail!("it has no result: it failed");
    };
    let parameters = parameters(columns, &series.parameter_names)?;
    ensure!(
        cells.len() == parameters.len(),
        "{} results for {} parameters",
        cells.len(),
        parameters.len()
    );
    for (index, parameters) in parameters.into_iter().enumerate() {
        let Some(result) = columns.number("result", index, series.scale)? else {
            let mut failed = BenchmarkValues::new(series.name, series.unit.clone());
            failed.parameters = parameters;
            let (name, why) = (failed.label(), "it failed or was skipped".to_owned());
            results.unread.push(UnreadBenchmark { name, line: None, why });
            continue;
        };
        let mut made = BenchmarkValues::new(series.name, series.unit.clone());
        made.parameters = parameters;
        fill(&mut made, result, columns, index, series)?;
        results.benchmarks.push(made);
    }
    Ok(())
}

fn fill(
    made: &mut BenchmarkValues,
    result: f64,
    columns: AsvRow<'_>,
    index: usize,
    series: &AsvBenchmark<'_>,
) -> Result<()> {
    let is_time = series.unit == ResultUnit::Time;
    let sign = if is_time { Sign::Positive } else { Sign::Any };
    let number = columns.number("stats_number", index, 1.0)?;
    let whole = number.filter(|it| it.fract() == 0.0 && *it >= 1.0 && *it < 2f64.powi(63));
    ensure!(
        number.is_some() == whole.is_some(),
        "stats_number[{index}]: it is not a number of loops"
    );
    let loops = whole.and_then(|loops| NonZeroU64::new(loops as u64));
    let samples =
        columns.list("samples")?.and_then(|lists| lists.get(index)).filter(|it| !it.is_null());
    if let Some(samples) = samples {
        let list =
            samples.as_array().with_context(|| format!("samples[{index}]: it is not a list"))?;
        for (place, cell) in list.iter().enumerate() {
            let place = || format!("samples[{index}][{place}]");
            let value = Finite::deserialize(cell).with_context(place)?.0 * series.scale;
            made.values.push(sign.check(value).with_context(place)?);
        }
    }
    if made.values.is_empty() {
        let result = sign.check(result).with_context(|| format!("result[{index}]"))?;
        if is_time {
            let repeat = columns.number("stats_repeat", index, 1.0)?;
            made.summary = Some(SummaryStatistics {
                count: repeat.filter(|it| it.fract() == 0.0 && *it >= 0.0).map(|it| it as u64),
                q1: columns.number("stats_q_25", index, series.scale)?,
                median: Some(result),
                q3: columns.number("stats_q_75", index, series.scale)?,
                ..SummaryStatistics::default()
            });
            made.add_fact("loops", loops.map(|loops| MetaValue::Int(loops.get().cast_signed())));
            return Ok(());
        }
        made.values.push(result);
    }
    made.end_launch(LaunchInfo { loops, ..LaunchInfo::default() });
    Ok(())
}

/// All combinations; the last parameter varies fastest.
fn parameters(columns: AsvRow<'_>, names: &[String]) -> Result<Vec<Vec<(String, String)>>> {
    let mut all: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for (index, values) in columns.list("params")?.into_iter().flatten().enumerate() {
        let values =
            values.as_array().with_context(|| format!("params[{index}]: it is not a list"))?;
        ensure!(
            all.len().saturating_mul(values.len()) <= N_COMBINATIONS_MAX,
            "params: too many combinations"
        );
        let name = names.get(index).cloned().unwrap_or_else(|| format!("param{}", index + 1));
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for before in &all {
            for value in values {
                longer.push([&before[..], &[(name.clone(), json::text(value))]].concat());
            }
        }
        all = longer;
    }
    Ok(all)
}

fn unit_of(name: &str, info: Option<&AsvBenchmarkInfo>) -> Result<(ResultUnit, f64)> {
    let short = name.rsplit('.').next().unwrap_or(name);
    let prefix = short.split('_').next().unwrap_or(short);
    let kind = info.and_then(|it| it.r#type.as_deref()).unwrap_or(prefix);
    Ok(match kind {
        "time" | "timeraw" => (ResultUnit::Time, SECOND_NS),
        "mem" | "peakmem" | "memory" | "peakmemory" => (ResultUnit::Bytes, 1.0),
        "track" => match info.and_then(|it| it.unit.as_deref()) {
            Some("seconds") => (ResultUnit::Time, SECOND_NS),
            Some("bytes") => (ResultUnit::Bytes, 1.0),
            None | Some("" | "unit" | "items" | "count") => (ResultUnit::Count, 1.0),
            Some(other) => (ResultUnit::Other(other.into()), 1.0),
        },
        other => bail!("what its values are is not known ({other:?}); benchmarks.json says it"),
    })
}
