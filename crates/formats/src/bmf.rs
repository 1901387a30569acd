//! Bencher: its metric format (`{"benchmark": {"latency": {"value": 1.5}}}`), and the report of `bencher run --format
//! json`. Each measure of a benchmark is one number of an unnamed kind.

use anyhow::{Context as _, Result};

use crate::json::document::{Document, Element};
use crate::json::{Finite, Sign};
use crate::source::TextFile;
use crate::{BenchmarkValues, MetaValue, ReadOptions, ResultUnit, Results, SummaryStatistics};

/// Whether the members of the root have measures with values.
pub(crate) fn is_bmf(document: &Document<'_>) -> bool {
    let first = document.members().next().map(|(_, benchmark)| benchmark.part().members(""));
    let measure = first.and_then(|measures| measures.into_iter().next());
    let members = measure.map(|(_, metric)| metric.part().members("")).unwrap_or_default();
    members.iter().any(|(key, _)| key == "value")
}

/// Reads Bencher's metric format. Errors: the root is no object.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "Bencher Metric Format".into(), ..Results::default() };
    for (name, benchmark) in document.members() {
        let measures = benchmark.part().members(&benchmark.place);
        if measures.is_empty() {
            results.unread(name.to_owned(), benchmark.line(), "it has no measure".into());
        }
        for (measure, metric) in measures {
            add(&mut results, name, &measure, &metric);
        }
    }
    document.tell_cut(&mut results);
    results.note_summaries();
    Ok(results)
}

/// Reads a report. Errors: there is no list of results.
pub(crate) fn read_report(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "Bencher".into(), ..Results::default() };
    for key in ["project", "branch", "testbed"] {
        let value: serde_json::Value = document.field(key, &mut results);
        if let Some(name) = value.get("name").and_then(serde_json::Value::as_str) {
            results.metadata.insert(key.into(), name.into());
        }
    }
    for iteration in document.list("results")? {
        for result in iteration.part().elements(&iteration.place).unwrap_or_default() {
            let members = result.part().members(&result.place);
            let benchmark = text(&members, "benchmark", "name");
            let measure = text(&members, "measure", "slug");
            // An entry is a benchmark with its measures; in old versions, a measure with its benchmarks.
            for entry in list(&members, "measures").into_iter().chain(list(&members, "benchmarks"))
            {
                let of_entry = entry.part().members(&entry.place);
                let name = benchmark.clone().or_else(|| text_of(&of_entry, "name"));
                let measure = measure.clone().or_else(|| text(&of_entry, "measure", "slug"));
                let name = name.unwrap_or_else(|| entry.place.clone());
                match of_entry.iter().find(|(key, _)| key == "metric") {
                    Some((_, metric)) => {
                        add(&mut results, &name, &measure.unwrap_or_default(), metric)
                    }
                    None => results.unread(name, entry.line(), "it has no metric".into()),
                }
            }
        }
    }
    document.tell_cut(&mut results);
    results.note_summaries();
    Ok(results)
}

type Members<'a> = Vec<(String, Element<'a>)>;

fn list<'a>(members: &Members<'a>, key: &str) -> Vec<Element<'a>> {
    let found = members.iter().find(|member| member.0 == key);
    found.and_then(|(_, list)| list.part().elements(&list.place)).unwrap_or_default()
}

fn text_of(members: &Members<'_>, key: &str) -> Option<String> {
    members.iter().find(|member| member.0 == key)?.1.read().ok()
}

fn text(members: &Members<'_>, object: &str, key: &str) -> Option<String> {
    let (_, object) = members.iter().find(|member| member.0 == object)?;
    text_of(&object.part().members(&object.place), key)
}

/// Adds a measure of a benchmark, or notes why it cannot be read.
fn add(results: &mut Results, name: &str, measure: &str, metric: &Element<'_>) {
    let read = benchmark(name, measure, metric);
    results.take(format!("{name} {measure}"), metric.line(), read);
}

fn benchmark(name: &str, measure: &str, metric: &Element<'_>) -> Result<BenchmarkValues> {
    let (unit, scale) = unit_of(measure);
    let members = metric.part().members(&metric.place);
    let number = |key: &str| -> Result<Option<f64>> {
        let Some((_, value)) = members.iter().find(|member| member.0 == key) else {
            return Ok(None);
        };
        Ok(value.read::<Option<Finite>>()?.map(|it| it.0 * scale))
    };
    let value = number("value")?.with_context(|| format!("{}: it has no value", metric.place))?;
    let sign = if unit == ResultUnit::Time { Sign::Positive } else { Sign::Any };
    let value = sign.check(value)?;
    let summary = SummaryStatistics { estimate: Some(value), ..SummaryStatistics::default() };
    let mut benchmark = BenchmarkValues::from_summary(name, unit, summary);
    if !["latency", "throughput"].contains(&measure) {
        benchmark.parameters.push(("measure".into(), measure.into()));
    }
    for key in ["lower_value", "upper_value"] {
        // A wrong bound costs the bound.
        benchmark.add_fact(key, number(key).ok().flatten().map(MetaValue::Float));
    }
    Ok(benchmark)
}

/// The unit of Bencher's measures by their slugs.
fn unit_of(measure: &str) -> (ResultUnit, f64) {
    match measure {
        "latency" => (ResultUnit::Time, 1.0),
        "build-time" => (ResultUnit::Time, 1e9),
        "throughput" => (ResultUnit::Other("ops/s".into()), 1.0),
        "memory" | "file-size" => (ResultUnit::Bytes, 1.0),
        _ if measure.ends_with("-bytes") => (ResultUnit::Bytes, 1.0),
        "count" | "" => (ResultUnit::Count, 1.0),
        _ => (ResultUnit::Other(measure.into()), 1.0),
    }
}
