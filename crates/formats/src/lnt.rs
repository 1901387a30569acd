//! LLVM: the JSON of `lit -o` for the test suite, and the reports of LNT. `exec_time` is the value of a test; another
//! metric is a benchmark with the parameter `metric`.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::json::document::{Document, Element};
use crate::json::{self, Sign};
use crate::source::TextFile;
use crate::{BenchmarkValues, LaunchInfo, ReadOptions, ResultUnit, Results};

/// Names of the metric without a parameter, in lit and LNT.
const TIME: [&str; 3] = ["exec_time", "execution_time", "exec"];

/// Reads a file. Errors: there is no list of tests.
pub(crate) fn read(files: &[TextFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let document = Document::split(files[0].text)?;
    let mut results = Results { tool: "LNT".into(), ..Results::default() };
    for key in ["machine", "run", "Machine", "Run"] {
        let value: Value = document.field(key, &mut results);
        json::flatten(&key.to_lowercase(), &value, &mut results.metadata);
    }
    let is_old = document.member("Tests").is_some();
    let mut n_without = 0;
    for test in document.list(if is_old { "Tests" } else { "tests" })? {
        let members = test.part().members(&test.place);
        let n_before = n_told(&results);
        match members.iter().find(|(key, _)| key == "metrics") {
            Some((_, metrics)) => {
                let name = test.name();
                for (metric, value) in metrics.part().members(&metrics.place) {
                    add(&mut results, &name, &metric, &value);
                }
            }
            None if is_old => old_test(&mut results, &test, &members),
            None => {
                let name = test.name();
                let of_test = members.iter().filter(|(key, _)| !NO_METRICS.contains(&&**key));
                of_test.for_each(|(metric, value)| add(&mut results, &name, metric, value));
            }
        }
        if n_told(&results) == n_before {
            match failure(&members) {
                Some(why) => results.unread(test.name(), test.line(), why),
                None => n_without += 1,
            }
        }
    }
    if n_without > 0 {
        results.note(format!("{n_without} tests have no metrics"));
    }
    document.tell_cut(&mut results);
    results.note_order();
    Ok(results)
}

/// Members of a test beside its metrics.
const NO_METRICS: [&str; 6] = ["name", "code", "elapsed", "output", "hash", "profile"];

fn n_told(results: &Results) -> usize {
    results.benchmarks.len() + results.unread.len()
}

/// Why a test has no metrics.
fn failure(members: &[(String, Element<'_>)]) -> Option<String> {
    let code = members.iter().find(|(key, _)| key == "code")?.1.read::<String>().ok()?;
    let is_right = ["PASS", "XFAIL", "UNSUPPORTED", "SKIPPED", "EXCLUDED"].contains(&&*code);
    (!is_right).then(|| format!("it has no metrics: {code}"))
}

/// A test of LNT's first format: `{"Name": "nts.path/foo.exec", "Data": [1.5]}`.
fn old_test(results: &mut Results, test: &Element<'_>, members: &[(String, Element<'_>)]) {
    let of = |key: &str| members.iter().find(|member| member.0 == key).map(|member| &member.1);
    let name = of("Name").and_then(|name| name.read::<String>().ok());
    let name = name.unwrap_or_else(|| test.place.clone());
    match (name.rsplit_once('.'), of("Data")) {
        (Some((name, metric)), Some(data)) => add(results, name, metric, data),
        _ => results.unread(name, test.line(), "it has no data, or its name no metric".into()),
    }
}

/// Adds a metric, or notes why it cannot be read. A text (a hash, a status) is no metric.
fn add(results: &mut Results, name: &str, metric: &str, value: &Element<'_>) {
    let is_text = |value: &Value| value.as_str().is_some_and(|text| text.parse::<f64>().is_err());
    let read = match value.read::<Value>() {
        Ok(Value::Array(list)) if list.first().is_some_and(is_text) => return,
        Ok(text) if is_text(&text) => return,
        read => read.and_then(|value| benchmark(name, metric, &value)),
    };
    results.take(format!("{name} {metric}"), value.line(), read);
}

fn benchmark(name: &str, metric: &str, value: &Value) -> Result<BenchmarkValues> {
    let (unit, scale) = unit_of(metric);
    let sign = if unit == ResultUnit::Time { Sign::Positive } else { Sign::Any };
    let mut benchmark = BenchmarkValues::new(name, unit);
    if !TIME.contains(&metric) {
        benchmark.parameters.push(("metric".into(), metric.into()));
    }
    let samples = match value {
        Value::Array(list) => &list[..],
        one => std::slice::from_ref(one),
    };
    for sample in samples {
        let number = sample.as_f64().with_context(|| format!("{sample} is not a number"))?;
        benchmark.values.push(sign.check(number * scale)?);
        benchmark.end_launch(LaunchInfo::default());
    }
    benchmark.values.first().context("it has no value")?;
    Ok(benchmark)
}

/// Times are in seconds, sizes in bytes.
fn unit_of(metric: &str) -> (ResultUnit, f64) {
    match metric {
        "exec" | "compile" => (ResultUnit::Time, 1e9),
        _ if metric.ends_with("_time") => (ResultUnit::Time, 1e9),
        "mem_bytes" | "mem" | "code_size" | "size" => (ResultUnit::Bytes, 1.0),
        _ if metric.starts_with("size.") => (ResultUnit::Bytes, 1.0),
        _ => (ResultUnit::Count, 1.0),
    }
}
