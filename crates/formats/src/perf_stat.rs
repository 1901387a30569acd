//! Counters of `perf stat` with `-x` and `-j`: a line for each event. With `-r` the count is a mean; with `-I` or `-a`
//! the lines of an event become values.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::json::Sign;
use crate::json::document::Document;
use crate::line_reader::LineReader;
use crate::units::unit_of;
use crate::{BenchmarkValues, LaunchInfo, MetaValue, ReadOptions, Results, SummaryStatistics};

/// Separators of fields in use; perf allows any.
const SEPARATORS: [char; 4] = [',', ';', '\t', '|'];
/// Value, unit, event, time, share of the time.
const N_FIELDS_MIN: usize = 5;

pub(crate) fn reader(_: &str, _: ReadOptions<'_>) -> Box<dyn LineReader> {
    Box::new(PerfCounters::default())
}

#[derive(Default)]
struct PerfCounters {
    results: Results,
    indices: HashMap<String, usize>,
}

struct Counter<'a> {
    value: &'a str,
    unit: &'a str,
    event: &'a str,
    /// With `-r`: difference between runs in percent of their mean.
    variance: Option<&'a str>,
}

/// Whether a line of text is one of perf's.
pub(crate) fn is_counter(line: &str) -> bool {
    fields(line).is_some()
}

/// Splits a line. Time, CPU or socket may come before the value.
fn fields(line: &str) -> Option<Counter<'_>> {
    let of = |separator: char| {
        let fields: Vec<&str> = line.split(separator).map(str::trim).collect();
        let is_value = |field: &str| field.starts_with('<') || field.parse::<f64>().is_ok();
        let is_word = |field: &str| !field.is_empty() && !is_value(field);
        let is_unit = |field: &str| !is_value(field) && !field.contains(char::is_whitespace);
        let at = (0..fields.len().min(4)).find(|&at| {
            let rest = &fields[at..];
            rest.len() >= N_FIELDS_MIN
                && is_value(rest[0])
                && is_unit(rest[1])
                && is_word(rest[2])
                && (rest[3].ends_with('%') || rest[3].parse::<u64>().is_ok())
        })?;
        let variance = Some(fields[at + 3]).filter(|field| field.ends_with('%'));
        Some(Counter { value: fields[at], unit: fields[at + 1], event: fields[at + 2], variance })
    };
    SEPARATORS.into_iter().find_map(of)
}

impl LineReader for PerfCounters {
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim_matches(' ');
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        if line.starts_with('{') {
            return self.object(number, line);
        }
        match fields(line) {
            Some(counter) => self.add(number, &counter),
            // Metrics beside the counters, with or without an event.
            None if line.starts_with(SEPARATORS) => {}
            // Output of the program on standard error.
            None if line.matches(SEPARATORS).count() + 1 < N_FIELDS_MIN => {}
            None => {
                self.results.unread(format!("line {number}"), number, "it is no counter".into())
            }
        }
    }

    fn unread(&mut self, number: usize, why: String) {
        self.results.unread(format!("line {number}"), number, why);
    }

    fn finish(mut self: Box<Self>) -> Results {
        self.results.tool = "perf stat".into();
        for benchmark in &mut self.results.benchmarks {
            if benchmark.summary.is_none() {
                benchmark.end_launch(LaunchInfo::default());
            }
        }
        self.results.note_summaries();
        if self.results.benchmarks.iter().any(|it| it.values.len() > 1) {
            self.results.note("the values of an event are of intervals or of parts of the machine");
        }
        self.results
    }
}

impl PerfCounters {
    /// A line of `-j`. Older versions of perf write a comma too many.
    fn object(&mut self, number: usize, line: &str) {
        let text = |key: &str| {
            let read = Document::split(line).ok()?.member(key)?.read::<serde_json::Value>(key);
            Some(crate::json::text(&read.ok()?))
        };
        let (value, event) = (text("counter-value"), text("event"));
        match (value, event) {
            (Some(value), Some(event)) => {
                let unit = text("unit").unwrap_or_default();
                let variance = text("variance");
                let variance = variance.as_deref();
                self.add(number, &Counter { value: &value, unit: &unit, event: &event, variance });
            }
            (None, None) if line.ends_with('}') => {}
            (_, event) => {
                let name = event.unwrap_or_else(|| format!("line {number}"));
                self.results.unread(name, number, "it has no value".into());
            }
        }
    }

    fn add(&mut self, number: usize, counter: &Counter<'_>) {
        if let Err(error) = self.counter(counter) {
            self.results.unread(counter.event.to_owned(), number, format!("{error:#}"));
        }
    }

    fn counter(&mut self, counter: &Counter<'_>) -> Result<()> {
        let Counter { value, unit, event, variance } = counter;
        if value.starts_with('<') {
            bail!("perf says {value}");
        }
        let number = value.parse::<f64>().with_context(|| format!("{value:?} is not a number"))?;
        let (unit, scale) = unit_of(unit);
        let number = Sign::NotNegative.check(number * scale)?;
        let benchmarks = &mut self.results.benchmarks;
        let index = *self.indices.entry((*event).to_owned()).or_insert_with(|| {
            benchmarks.push(BenchmarkValues::new(event, unit.clone()));
            benchmarks.len() - 1
        });
        let benchmark = &mut benchmarks[index];
        let variance = variance.and_then(|it| it.trim_end_matches('%').parse::<f64>().ok());
        ensure!(benchmark.summary.is_none(), "another line has its mean");
        match variance.filter(|it| it.is_finite()) {
            Some(percent) if benchmark.values.is_empty() => {
                benchmark.summary =
                    Some(SummaryStatistics { mean: Some(number), ..SummaryStatistics::default() });
                benchmark.metadata.insert("variance_pct".into(), MetaValue::Float(percent));
            }
            _ => benchmark.values.push(number),
        }
        Ok(())
    }
}
