//! Results as text: launches with their values, metadata, summaries, and the slowest benchmarks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use formats::{
    BenchmarkValues, Calibration, LaunchView, MetaValue, Metadata, ResultUnit, Results,
    SummaryStatistics, statistics::summary,
};

use crate::columns::{COLUMNS, name, one_line, wrap};
use crate::units::{DisplayUnit, counted, short_time};
use crate::{table, uncertain};
use analysis::convert::base_unit;

/// Values further from the mean are marked with their distance, as a fraction of the mean.
const FAR: f64 = 0.05;

/// A value with its unit, in four digits.
pub fn value(unit: &ResultUnit, value: f64) -> String {
    let shown = DisplayUnit::for_largest(base_unit(unit), value);
    let number = shown.label(&shown.number(value, None));
    if let ResultUnit::Other(name) = unit { format!("{number} {}", one_line(name)) } else { number }
}

/// A number of loops; a large power of two as `2^14`.
pub fn loops(n: u64) -> String {
    const PLAIN_MAX: u64 = 8192;
    if n > PLAIN_MAX && n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

/// Writes each launch of each benchmark: purpose, warm-ups and values. `raw`: times are for all loops together.
pub fn launches(to: &mut impl Write, results: &Results, raw: bool) -> io::Result<()> {
    let labels = results.labels();
    for (index, (benchmark, label)) in results.benchmarks.iter().zip(&labels).enumerate() {
        if index > 0 {
            writeln!(to)?;
        }
        if labels.len() > 1 {
            writeln!(to, "{}", one_line(label))?;
        }
        if let Some(said) = &benchmark.summary {
            writeln!(to, "no values, only a summary: {}", summary_text(&benchmark.unit, said))?;
        }
        let mean = summary(benchmark).mean;
        for (index, launch) in benchmark.launches().enumerate() {
            one_launch(to, benchmark, &launch, index + 1, mean, raw)?;
        }
    }
    Ok(())
}

/// A line for each launch with values: mean, range and number.
pub fn processes(results: &Results) -> String {
    let labels = results.labels();
    let mut out = String::new();
    for (benchmark, label) in results.benchmarks.iter().zip(&labels) {
        if labels.len() > 1 {
            writeln!(out, "{}", name(label, COLUMNS)).ok();
        }
        for (index, launch) in benchmark.launches().enumerate() {
            let of = formats::statistics::summarise(launch.values);
            let (Some(mean), Some(min), Some(max)) = (of.mean, of.min, of.max) else { continue };
            let [mean, min, max] = [mean, min, max].map(|x| value(&benchmark.unit, x));
            let text =
                format!("{mean} (from {min} to {max}), {}", launch_heading(benchmark, &launch));
            wrap(&mut out, &format!("process {}: ", index + 1), 3, &text);
        }
    }
    out
}

fn one_launch(
    to: &mut impl Write,
    benchmark: &BenchmarkValues,
    launch: &LaunchView<'_>,
    number: usize,
    mean: Option<f64>,
    raw: bool,
) -> io::Result<()> {
    writeln!(to, "launch {number}: {}", launch_heading(benchmark, launch))?;
    let is_raw = raw && benchmark.unit == ResultUnit::Time;
    let inner = launch.inner_loops() as f64;
    let shown = |n: u64, per_loop: f64| {
        value(&benchmark.unit, if is_raw { per_loop * n as f64 * inner } else { per_loop })
    };
    let far = |per_loop: f64| {
        let off = mean.filter(|mean| *mean != 0.0).map_or(0.0, |mean| per_loop / mean - 1.0);
        if off.abs() <= FAR {
            return String::new();
        }
        format!(
            " ({}{} %)",
            if off > 0.0 { "+" } else { "-" },
            uncertain::fixed(off.abs() * 100.0, 0)
        )
    };
    let word = if is_raw { "raw " } else { "" };
    for (index, &(n, per_loop)) in launch.warmups.iter().enumerate() {
        let what = if launch.values.is_empty() { "calibration" } else { "warm-up" };
        let n_loops = if n > 1 { format!(", {} loops", loops(n)) } else { String::new() };
        writeln!(to, "  {word}{what} {}: {}{n_loops}", index + 1, shown(n, per_loop))?;
    }
    for (index, &per_loop) in launch.values.iter().enumerate() {
        let at = launch.first_value + index;
        let n = benchmark.loops.get(at).copied().unwrap_or_else(|| launch.loops());
        writeln!(to, "  {word}value {}: {}{}", index + 1, shown(n, per_loop), far(per_loop))?;
    }
    Ok(())
}

/// The contents of a launch: `1 warm-up, 3 values, 2^14 loops`.
fn launch_heading(benchmark: &BenchmarkValues, launch: &LaunchView<'_>) -> String {
    let again = |what: &str, n: String| format!("calibration of the {what}: {n}");
    match launch.info.calibration {
        Some(Calibration::Loops(n)) => return again("loops", loops(n.get())),
        Some(Calibration::LoopsAgain(n)) => return again("loops, again", loops(n.get())),
        Some(Calibration::Warmups(n)) => return again("warm-ups", n.to_string()),
        Some(Calibration::WarmupsAgain(n)) => return again("warm-ups, again", n.to_string()),
        None => {}
    }
    let mut items =
        vec![counted(launch.warmups.len(), "warm-up"), counted(launch.values.len(), "value")];
    let range = launch.first_value..launch.first_value + launch.values.len();
    let own = benchmark.loops.get(range).unwrap_or_default();
    match (own.iter().min(), own.iter().max()) {
        (Some(min), Some(max)) if min < max => {
            items.push(format!("{} to {} loops", loops(*min), loops(*max)));
        }
        (Some(n), _) if *n > 1 => items.push(format!("{} loops", loops(*n))),
        (None, _) if launch.loops() > 1 => items.push(format!("{} loops", loops(launch.loops()))),
        _ => {}
    }
    if launch.inner_loops() > 1 {
        items.push(format!("{} inner loops", loops(launch.inner_loops())));
    }
    items.join(", ")
}

fn summary_text(unit: &ResultUnit, summary: &SummaryStatistics) -> String {
    let items = [
        ("mean", summary.mean),
        ("sd", summary.stddev),
        ("min", summary.min),
        ("25 %", summary.q1),
        ("median", summary.median),
        ("75 %", summary.q3),
        ("max", summary.max),
        ("estimate (mean, median or minimum)", summary.estimate),
    ];
    let shown = items.iter().filter_map(|(name, x)| Some(format!("{name} {}", value(unit, (*x)?))));
    let count = summary.count.map(|n| format!("n {n}"));
    shown.chain(count).collect::<Vec<_>>().join(", ")
}

/// The contents of a file without values: summaries and warm-ups.
pub fn summaries(results: &Results) -> String {
    let mut out = String::new();
    for (benchmark, label) in results.benchmarks.iter().zip(results.labels()) {
        writeln!(out, "{}", name(&label, COLUMNS)).ok();
        let text = match &benchmark.summary {
            Some(summary) => summary_text(&benchmark.unit, summary),
            None => format!("no values, only {}", counted(benchmark.warmups.len(), "warm-up")),
        };
        wrap(&mut out, "   ", 3, &text);
    }
    notes(&mut out, &results.notes);
    out
}

/// Appends notes on the limits of the results.
pub fn notes(out: &mut String, notes: &[String]) {
    for note in notes {
        wrap(out, "note: ", 6, note);
    }
}

/// The metadata: first the common part of all benchmarks, then each one's own.
pub fn metadata(results: &Results) -> String {
    let (common, each) = divided(results);
    let labels = results.labels();
    let mut out = String::new();
    let is_one = labels.len() == 1;
    let heading = if is_one { "" } else { "all benchmarks" };
    section(&mut out, heading, &common);
    for (label, said) in labels.iter().zip(&each) {
        if !said.is_empty() {
            if !out.is_empty() {
                out.push('\n');
            }
            section(&mut out, label, said);
        }
    }
    if out.is_empty() {
        out.push_str("nothing is known beside the values\n");
    }
    out
}

fn section(out: &mut String, heading: &str, said: &BTreeMap<String, String>) {
    if said.is_empty() {
        return;
    }
    if !heading.is_empty() {
        writeln!(out, "{}", one_line(heading)).ok();
    }
    for (key, text) in said {
        writeln!(out, "  {}: {}", one_line(key), one_line(text)).ok();
    }
}

/// The metadata as JSON: `tool`, `metadata`, `notes` and `benchmarks`.
pub fn metadata_json(results: &Results) -> serde_json::Value {
    let labels = results.labels();
    let benchmarks: Vec<_> = results
        .benchmarks
        .iter()
        .zip(&labels)
        .map(|(benchmark, label)| {
            serde_json::json!({ "name": label, "unit": benchmark.unit.name(),
                "n_launches": benchmark.n_launches(), "metadata": benchmark.metadata })
        })
        .collect();
    serde_json::json!({ "tool": results.tool, "metadata": results.metadata, "notes": results.notes,
        "benchmarks": benchmarks })
}

type MetadataTexts = BTreeMap<String, String>;

/// The common metadata of all benchmarks, and each one's own. If a benchmark's launches differ in an entry, the value
/// is their range or the number of different texts.
pub(super) fn divided(results: &Results) -> (MetadataTexts, Vec<MetadataTexts>) {
    let of = |benchmark: &BenchmarkValues| {
        let mut said: MetadataTexts = in_words(&results.metadata);
        said.extend(in_words(&benchmark.metadata));
        said.extend(launch_metadata(benchmark));
        said.insert("unit".into(), benchmark.unit.name().into());
        said
    };
    let mut each: Vec<MetadataTexts> = results.benchmarks.iter().map(of).collect();
    let mut common = each.first().cloned().unwrap_or_default();
    common.retain(|key, text| each.iter().all(|said| said.get(key) == Some(text)));
    each.iter_mut().for_each(|said| said.retain(|key, _| !common.contains_key(key)));
    common.insert("measured by".into(), results.tool.clone());
    (common, each)
}

fn in_words(metadata: &Metadata) -> MetadataTexts {
    metadata.iter().map(|(key, value)| (key.clone(), meta_in_words(key, value))).collect()
}

fn meta_in_words(key: &str, value: &MetaValue) -> String {
    let Some(number) = value.number() else { return value.to_string() };
    match key {
        "duration" | "uptime" => short_time(number * 1e9),
        "mem_max_rss" | "command_max_rss" | "mem_peak_pagefile_usage" => {
            self::value(&ResultUnit::Bytes, number)
        }
        _ => value.to_string(),
    }
}

fn launch_metadata(benchmark: &BenchmarkValues) -> MetadataTexts {
    let mut said: BTreeMap<&str, Vec<&MetaValue>> = BTreeMap::new();
    let mut counts: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for launch in benchmark.launches() {
        for (key, value) in launch.info.metadata.iter().flat_map(|metadata| metadata.iter()) {
            said.entry(key).or_default().push(value);
        }
        let numbers = [("loops", launch.info.loops), ("inner_loops", launch.info.inner_loops)];
        for (key, n) in numbers {
            if let Some(n) = n.filter(|_| !launch.values.is_empty()) {
                counts.entry(key).or_default().insert(n.get());
            }
        }
    }
    let mut texts: MetadataTexts =
        said.iter().map(|(key, all)| ((*key).to_owned(), several(key, all))).collect();
    for (key, values) in counts {
        let shown: Vec<String> = values.iter().map(|&n| loops(n)).collect();
        texts.insert(key.into(), shown.join(", "));
    }
    texts
}

fn several(key: &str, all: &[&MetaValue]) -> String {
    let texts: BTreeSet<String> = all.iter().map(|value| meta_in_words(key, value)).collect();
    if let [only] = &texts.iter().collect::<Vec<_>>()[..] {
        return (*only).clone();
    }
    let numbers: Option<Vec<f64>> = all.iter().map(|value| value.number()).collect();
    if let Some(numbers) = numbers {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shown = |x: f64| meta_in_words(key, &MetaValue::Float(x));
        return format!("{} to {}", shown(least), shown(most));
    }
    match (key, texts.first(), texts.last()) {
        ("date", Some(first), Some(last)) => format!("{first} to {last}"),
        _ => format!("{} different ones", texts.len()),
    }
}

/// The duration of a benchmark, for `slowest`.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchmarkDuration {
    /// The benchmark's name, with the file's if there are several.
    pub name: String,
    /// The duration, ns.
    pub took_ns: f64,
    /// Number of values.
    pub n_values: usize,
}

/// The output of `slowest`. `list` is sorted.
pub fn slowest(list: &[BenchmarkDuration]) -> String {
    let rows = list.iter().enumerate().map(|(index, took)| {
        let values = counted(took.n_values, "value");
        vec![(index + 1).to_string(), name(&took.name, 50), short_time(took.took_ns), values]
    });
    table::plain(rows.collect(), &[0, 2, 3])
}
