//! github-action-benchmark: the newest commit in the script `data.js`, and the list of its custom tools, `[{"name",
//! "unit", "value"}]`.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::json::document::{Document, Element};
use crate::json::{Finite, Sign};
use crate::source::TextFile;
use crate::units::unit_of;
use crate::{BenchmarkValues, ReadOptions, ResultUnit, Results, SummaryStatistics};

pub(crate) const SCRIPT: &str = "window.BENCHMARK_DATA";

#[derive(Deserialize)]
struct ActionBenchmark {
    name: String,
    value: Finite,
    unit: String,
    range: Option<String>,
    extra: Option<String>,
}

/// Reads a file. Errors: there are no entries.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let text = files[0].text;
    let start = text.find(['{', '[']).context("it is no script with data")?;
    // Blanks keep the line numbers of the file.
    let before: String =
        text[..start].chars().map(|it| if it == '\n' { it } else { ' ' }).collect();
    let text = before + text[start..].trim_end().trim_end_matches(';');
    let document = Document::split(&text)?;
    let mut results = Results { tool: "github-action-benchmark".into(), ..Results::default() };
    if let Ok(list) = document.list("") {
        list.iter().for_each(|entry| add(&mut results, None, entry));
    } else {
        let entries = document.member("entries").context("missing field `entries`")?;
        for (suite, runs) in entries.members("entries") {
            newest(&mut results, &suite, &runs);
        }
    }
    document.tell_cut(&mut results);
    results.note_summaries();
    Ok(results)
}

fn newest(results: &mut Results, suite: &str, runs: &Element<'_>) {
    let all = runs.part().elements(&runs.place).unwrap_or_default();
    let benches = all.last().and_then(|run| {
        let members = run.part().members(&run.place);
        let (_, benches) = members.into_iter().find(|member| member.0 == "benches")?;
        benches.part().elements(&benches.place)
    });
    match benches {
        Some(benches) => benches.iter().for_each(|bench| add(results, Some(suite), bench)),
        None => {
            results.unread(suite.to_owned(), runs.line(), "its newest run has no benches".into())
        }
    }
    if all.len() > 1 {
        results.note(format!(
            "{suite}: of {} runs the newest is read; the older ones are left out",
            all.len()
        ));
    }
}

fn add(results: &mut Results, suite: Option<&str>, entry: &Element<'_>) {
    match entry.read::<ActionBenchmark>().and_then(|read| benchmark(suite, &read)) {
        Ok(benchmark) => results.benchmarks.push(benchmark),
        Err(error) => results.unread(entry.name(), entry.line(), format!("{error:#}")),
    }
}

fn benchmark(suite: Option<&str>, read: &ActionBenchmark) -> Result<BenchmarkValues> {
    let (unit, scale) = unit_of(&read.unit);
    let sign = if unit == ResultUnit::Time { Sign::Positive } else { Sign::Any };
    let value = sign.check(read.value.0 * scale).context("value")?;
    let summary = SummaryStatistics { estimate: Some(value), ..SummaryStatistics::default() };
    let mut benchmark = BenchmarkValues::from_summary(&read.name, unit, summary);
    benchmark.group = suite.map(str::to_owned);
    for (key, text) in [("range", &read.range), ("extra", &read.extra)] {
        let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
        benchmark.add_fact(key, text.map(Into::into));
    }
    Ok(benchmark)
}
