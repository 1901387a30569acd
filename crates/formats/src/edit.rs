//! The edits of `convert`, without the change of format. No edit leaves results without a value.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};

use crate::{BenchmarkValues, MetaValue, Metadata, ResultUnit, Results};

/// Numbers of launches, from 1: `1-3,7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchNumbers(Vec<RangeInclusive<usize>>);

impl LaunchNumbers {
    /// Whether the list has this number.
    pub fn contains(&self, number: usize) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

impl FromStr for LaunchNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |part: &str| format!("{part:?} is not a number from 1 or a range such as 1-3");
        let ranges = text.split(',').map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number =
                |text: &str| text.trim().parse::<usize>().ok().filter(|&number| number > 0);
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => Ok(first..=last),
                _ => Err(wrong(part)),
            }
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

/// Name of the parameter for the number of processors (Go).
pub(crate) const PROCESSORS: &str = "gomaxprocs";

/// Metadata that must be the same in all launches of a benchmark, from pyperf: another value means another measurement.
const FIXED: [&str; 9] = [
    "aslr",
    "cpu_count",
    "cpu_model_name",
    "hostname",
    "platform",
    "python_executable",
    "python_implementation",
    "python_unicode",
    "python_version",
];

/// Keeps the benchmarks with these names. Errors: no benchmark has one of the names.
pub fn include_benchmarks(results: &mut Results, names: &[String]) -> Result<()> {
    known(results, names)?;
    results.order.clear();
    results.benchmarks.retain(|it| is_named(it, names));
    Ok(())
}

/// Drops the benchmarks with these names. Errors: no benchmark has one of the names, or no benchmark would remain.
pub fn exclude_benchmarks(results: &mut Results, names: &[String]) -> Result<()> {
    known(results, names)?;
    results.order.clear();
    ensure!(results.benchmarks.iter().any(|it| !is_named(it, names)), "no benchmark would be left");
    results.benchmarks.retain(|it| !is_named(it, names));
    Ok(())
}

fn is_named(benchmark: &BenchmarkValues, names: &[String]) -> bool {
    names.contains(&benchmark.name) || names.contains(&benchmark.label())
}

fn known(results: &Results, names: &[String]) -> Result<()> {
    for name in names {
        let is_there = results.benchmarks.iter().any(|it| is_named(it, std::slice::from_ref(name)));
        let known: BTreeSet<&str> = results.benchmarks.iter().map(|it| &*it.name).collect();
        let known: Vec<&str> = known.into_iter().collect();
        ensure!(is_there, "there is no benchmark {name:?}; there are: {}", known.join(", "));
    }
    Ok(())
}

/// Keeps the launches with these numbers, in every benchmark. Errors: a benchmark would be left without values.
pub fn include_launches(results: &mut Results, numbers: &LaunchNumbers) -> Result<()> {
    keep_launches(results, |number| numbers.contains(number))
}

/// Drops the launches with these numbers, in every benchmark. Errors: a benchmark would be left without values.
pub fn exclude_launches(results: &mut Results, numbers: &LaunchNumbers) -> Result<()> {
    keep_launches(results, |number| !numbers.contains(number))
}

/// Name and parameters of a benchmark of Go without the number of processors (`-8`), if the name has one.
pub fn without_processors(benchmark: &BenchmarkValues) -> Option<(&str, Vec<(String, String)>)> {
    let at = benchmark.parameters.iter().position(|(name, _)| name == PROCESSORS)?;
    let name = benchmark.name.strip_suffix(&*benchmark.parameters[at].1)?.strip_suffix('-')?;
    let mut parameters = benchmark.parameters.clone();
    parameters.remove(at);
    Some((name, parameters))
}

/// Takes the number of processors out of all names. Errors: a benchmark was measured with several numbers of
/// processors.
pub fn ignore_processors(results: &mut Results) -> Result<()> {
    let mut seen = HashMap::new();
    for it in &results.benchmarks {
        let Some((name, parameters)) = without_processors(it) else { continue };
        if let Some(other) = seen.insert((&it.group, name, parameters, &it.unit), &it.name) {
            bail!("it has {other} and {}: choose one with -b", it.name);
        }
    }
    for it in &mut results.benchmarks {
        if let Some((name, parameters)) = without_processors(it) {
            (it.name, it.parameters) = (name.to_owned(), parameters);
        }
    }
    Ok(())
}

fn keep_launches(results: &mut Results, is_kept: impl Fn(usize) -> bool) -> Result<()> {
    for benchmark in &results.benchmarks {
        let name = &benchmark.name;
        ensure!(benchmark.summary.is_none(), "{name:?} has no runs, only a summary");
        let kept = benchmark.launches().enumerate().filter(|(index, _)| is_kept(index + 1));
        let n_values: usize = kept.map(|(_, launch)| launch.values.len()).sum();
        ensure!(
            n_values > 0,
            "{name:?} would have no value left: it has {} runs",
            benchmark.n_launches()
        );
    }
    results.order.clear();
    for benchmark in &mut results.benchmarks {
        benchmark.retain_launches(|index, _| is_kept(index + 1));
    }
    Ok(())
}

/// Drops all warm-ups, and the launches that have only warm-ups. Errors: a benchmark would be left without values.
pub fn remove_warmups(results: &mut Results) -> Result<()> {
    results.order.clear();
    for benchmark in &mut results.benchmarks {
        let is_empty = benchmark.values.is_empty() && benchmark.summary.is_none();
        ensure!(!is_empty, "{:?} has nothing but warm-ups", benchmark.name);
        benchmark.remove_warmups();
    }
    Ok(())
}

/// Adds the launches and benchmarks of other results. Errors: a benchmark in both is from another machine or
/// interpreter, or has no values in the other file; or commands have several units.
pub fn add(results: &mut Results, mut other: Results) -> Result<()> {
    if results.are_commands {
        one_unit(results, &other)?;
    }
    results.order.clear();
    let theirs = std::mem::take(&mut other.metadata);
    let ours = std::mem::take(&mut results.metadata);
    let shared = shared(&ours, &theirs);
    let mut merged = results.benchmarks.clone();
    merged.iter_mut().for_each(|it| lower(&ours, &shared, &mut it.metadata));
    for mut benchmark in other.benchmarks {
        lower(&theirs, &shared, &mut benchmark.metadata);
        let is_same = |it: &&mut BenchmarkValues| {
            it.name == benchmark.name
                && it.parameters == benchmark.parameters
                && it.unit == benchmark.unit
        };
        match merged.iter_mut().find(is_same) {
            Some(known) => {
                merge(known, &mut benchmark).inspect_err(|_| results.metadata.clone_from(&ours))?
            }
            None => merged.push(benchmark),
        }
    }
    results.benchmarks = merged;
    results.metadata = shared;
    if results.tool != other.tool {
        results.tool = format!("{}, {}", results.tool, other.tool);
    }
    other.notes.into_iter().for_each(|note| results.note(note));
    Ok(())
}

/// Commands are compared with one another, so all have one unit.
fn one_unit(results: &Results, other: &Results) -> Result<()> {
    let mut all = results.benchmarks.iter().chain(&other.benchmarks);
    let Some(first) = all.next() else { return Ok(()) };
    if let Some(differs) = all.find(|it| it.unit != first.unit) {
        let [one, two] = [first, differs].map(|it| it.unit.name());
        bail!(
            "{:?} is measured in {one} and {:?} in {two}, so they cannot be compared in one file",
            first.name,
            differs.name
        );
    }
    Ok(())
}

fn shared(one: &Metadata, other: &Metadata) -> Metadata {
    let is_shared = |(key, value): &(&String, &MetaValue)| other.get(*key) == Some(*value);
    one.iter().filter(is_shared).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Moves common metadata that is no longer shared into one benchmark.
fn lower(outer: &Metadata, shared: &Metadata, inner: &mut Metadata) {
    for (key, value) in outer {
        if !shared.contains_key(key) {
            inner.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

fn merge(known: &mut BenchmarkValues, added: &mut BenchmarkValues) -> Result<()> {
    let name = &known.name;
    let has_summary = known.summary.is_some() || added.summary.is_some();
    ensure!(!has_summary, "{name:?} is in both, and summaries cannot be added to one another");
    for key in FIXED {
        let (before, now) = (known.metadata.get(key), added.metadata.get(key));
        if before != now {
            let shown = |it: Option<&MetaValue>| it.map_or("nothing".into(), ToString::to_string);
            bail!(
                "{name:?} is in both, but {key} is {} in one and {} in the other",
                shown(before),
                shown(now)
            );
        }
    }
    let inner = |it: &BenchmarkValues| it.launches().map(|launch| launch.inner_loops()).next();
    ensure!(inner(known) == inner(added), "{name:?} is in both, with other inner loops");
    // Metadata that differs moves to the launches.
    let shared = shared(&known.metadata, &added.metadata);
    for benchmark in [&mut *known, added] {
        let outer = std::mem::replace(&mut benchmark.metadata, shared.clone());
        if outer.len() == shared.len() {
            continue;
        }
        for info in benchmark.infos_mut() {
            lower(&outer, &shared, info.metadata.get_or_insert_default());
        }
    }
    known.append(added);
    Ok(())
}

/// Unit of a metadata value, and its factor to the base unit.
fn unit_of(key: &str) -> (ResultUnit, f64) {
    match key {
        "duration" | "uptime" => (ResultUnit::Time, 1e9),
        "mem_max_rss" | "mem_peak_pagefile_usage" | "command_max_rss" => (ResultUnit::Bytes, 1.0),
        _ => (ResultUnit::Count, 1.0),
    }
}

/// Makes the number under `key` the value of each launch with values. Launches for calibration are dropped. Errors: a
/// launch does not have the key, or its value is not a number.
pub fn extract_metadata(results: &mut Results, key: &str) -> Result<()> {
    let (unit, scale) = unit_of(key);
    let mut extracted = Vec::with_capacity(results.benchmarks.len());
    for benchmark in &results.benchmarks {
        let outer = benchmark.metadata.get(key).or_else(|| results.metadata.get(key));
        let mut made = BenchmarkValues::new(&benchmark.name, unit.clone());
        made.parameters.clone_from(&benchmark.parameters);
        made.metadata.clone_from(&benchmark.metadata);
        for (index, launch) in
            benchmark.launches().enumerate().filter(|(_, launch)| !launch.values.is_empty())
        {
            let inner = launch.info.metadata.as_ref().and_then(|metadata| metadata.get(key));
            let place = || format!("{:?}, run {}", benchmark.name, index + 1);
            let Some(said) = inner.or(outer) else { bail!("{}: it has no {key}", place()) };
            let Some(value) = said.number() else {
                bail!("{}: {key} is {:?}, which is not a number", place(), said.to_string())
            };
            made.values.push(value * scale);
            made.end_launch(launch.info.clone());
        }
        ensure!(!made.values.is_empty(), "{:?} has no run with values", benchmark.name);
        extracted.push(made);
    }
    results.benchmarks = extracted;
    results.order.clear();
    Ok(())
}

/// Sets a metadata value in all launches. `name` renames the benchmark, if there is only one. Errors: the key belongs
/// to a measured quantity.
pub fn update_metadata(results: &mut Results, key: &str, value: &str) -> Result<()> {
    let (key, value) = (key.trim(), value.trim());
    ensure!(!key.is_empty() && !value.is_empty(), "a key and a value are expected: KEY=VALUE");
    ensure!(
        !matches!(key, "unit" | "loops" | "inner_loops"),
        "{key} is part of what was measured and cannot be changed"
    );
    if key == "name" {
        let n_benchmarks = results.benchmarks.len();
        ensure!(n_benchmarks == 1, "{n_benchmarks} benchmarks cannot all be called {value:?}");
        let benchmark = results.benchmarks.first_mut().context("there is no benchmark")?;
        benchmark.name = value.into();
        return Ok(());
    }
    for benchmark in &mut results.benchmarks {
        benchmark.metadata.remove(key);
        for info in benchmark.infos_mut() {
            info.metadata.as_mut().map(|metadata| metadata.remove(key));
        }
    }
    results.metadata.insert(key.into(), value.into());
    Ok(())
}

/// Removes all metadata; names, units and loops are not metadata.
pub fn remove_all_metadata(results: &mut Results) {
    results.metadata.clear();
    for benchmark in &mut results.benchmarks {
        benchmark.metadata.clear();
        benchmark.infos_mut().for_each(|info| info.metadata = None);
    }
}

#[cfg(test)]
mod tests;
