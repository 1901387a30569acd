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

use crate::convert::json::{self, Finite, Sign};
use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::{
    BenchmarkValues, LaunchInfo, MetaValue, NOTE_ORDER, NOTE_SUMMARIES, ResultUnit, Results,
    SummaryStatistics,
};

const SECOND_NS: f64 = 1e9;
/// Combinations of parameters of one benchmark.
const N_COMBINATIONS_MAX: usize = 1_000_000;

#[derive(Deserialize)]
struct AsvDocument {
    version: u64,
    commit_hash: Option<String>,
    env_name: Option<String>,
    /// Date of the commit, ms since 1970 (asv, "Result files").
    date: Option<i64>,
    params: Option<Value>,
    result_columns: Vec<String>,
    results: BTreeMap<String, Vec<Value>>,
}

#[derive(Deserialize)]
struct AsvBenchmarkInfo {
    r#type: Option<String>,
    unit: Option<String>,
    #[serde(default)]
    param_names: Vec<String>,
}

/// Reads a result file; `benchmarks.json` may come second.
///
/// # Errors
/// A file does not match the format; the message has the place.
pub(super) fn read(files: &[SourceFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let text = json::without_bare_words(files[0].bytes);
    let document: AsvDocument = json::read(&text)?;
    ensure!(document.version == 2, "version: {} is not known, only 2", document.version);
    let mut described: BTreeMap<String, Value> = BTreeMap::new();
    for file in files.iter().skip(1).filter(|file| file.name() == "benchmarks.json").take(1) {
        let text = json::without_bare_words(file.bytes);
        described = json::read(&text).with_context(|| file.path.to_owned())?;
    }
    let mut results = Results { tool: "asv".into(), ..Results::default() };
    json::flatten("", document.params.as_ref().unwrap_or(&Value::Null), &mut results.metadata);
    for (key, text) in [("commit_hash", &document.commit_hash), ("env_name", &document.env_name)] {
        if let Some(text) = text {
            results.metadata.insert(key.into(), text.as_str().into());
        }
    }
    let date = document.date.and_then(|date_ms| Timestamp::from_millisecond(date_ms).ok());
    if let Some(date) = date {
        results.metadata.insert("commit_date".into(), date.to_string().as_str().into());
    }
    for (name, cells) in &document.results {
        let info = described.get(name).map(AsvBenchmarkInfo::deserialize).transpose();
        let info = info.with_context(|| format!("benchmarks.json: {name}"))?;
        let place = || format!("results.{name}");
        let columns = AsvRow { names: &document.result_columns, cells };
        let (unit, scale) = unit_of(name, info.as_ref()).with_context(place)?;
        let parameter_names = info.map(|it| it.param_names).unwrap_or_default();
        let series = AsvBenchmark { name, unit, scale, parameter_names };
        add(&mut results, &series, columns).with_context(place)?;
    }
    results.note("the file does not say which process made which value");
    if results.benchmarks.len() > 1 {
        results.note(NOTE_ORDER);
    }
    Ok(results)
}

/// The cells of a benchmark. The row may end before the last column.
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
    let Some(found) = columns.list("result")? else {
        results.note(format!("{} has no result: it failed", series.name));
        return Ok(());
    };
    let parameters = parameters(columns, &series.parameter_names)?;
    ensure!(
        found.len() == parameters.len(),
        "{} results for {} parameters",
        found.len(),
        parameters.len()
    );
    for (index, parameters) in parameters.into_iter().enumerate() {
        let Some(result) = columns.number("result", index, series.scale)? else {
            results.note(format!("{} has results that failed or were skipped", series.name));
            continue;
        };
        let mut made = BenchmarkValues::new(series.name, series.unit.clone());
        made.parameters = parameters;
        fill(&mut made, result, columns, index, series)?;
        if made.summary.is_some() {
            results.note(NOTE_SUMMARIES);
        }
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
            made.values.push(sign.check(value).map_err(anyhow::Error::msg).with_context(place)?);
        }
    }
    if made.values.is_empty() {
        let result = sign.check(result).map_err(anyhow::Error::msg);
        let result = result.with_context(|| format!("result[{index}]"))?;
        if is_time {
            let repeat = columns.number("stats_repeat", index, 1.0)?;
            made.summary = Some(SummaryStatistics {
                count: repeat.filter(|it| it.fract() == 0.0 && *it >= 0.0).map(|it| it as u64),
                q1: columns.number("stats_q_25", index, series.scale)?,
                median: Some(result),
                q3: columns.number("stats_q_75", index, series.scale)?,
                ..SummaryStatistics::default()
            });
            if let Some(loops) = loops {
                made.metadata.insert("loops".into(), MetaValue::Int(loops.get().cast_signed()));
            }
            return Ok(());
        }
        made.values.push(result);
    }
    made.end_launch(LaunchInfo { loops, ..LaunchInfo::default() });
    Ok(())
}

/// All combinations, the last parameter fastest.
fn parameters(columns: AsvRow<'_>, names: &[String]) -> Result<Vec<Vec<(String, String)>>> {
    let mut all = vec![Vec::new()];
    for (index, values) in columns.list("params")?.into_iter().flatten().enumerate() {
        let values =
            values.as_array().with_context(|| format!("params[{index}]: it is not a list"))?;
        ensure!(
            all.len().saturating_mul(values.len()) <= N_COMBINATIONS_MAX,
            "params: too many combinations"
        );
        let name = names.get(index).cloned().unwrap_or_else(|| format!("param{}", index + 1));
        let with = |before: &Vec<(String, String)>| {
            let name = name.clone();
            let before = before.clone();
            let longer = move |value: &Value| {
                let mut longer = before.clone();
                longer.push((name.clone(), json::text(value)));
                longer
            };
            values.iter().map(longer).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
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
