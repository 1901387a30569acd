//! Output of `go test -bench` (golang.org/design/14313-benchmark-format). Lines of one benchmark are values of one
//! launch: `-count` repeats in one process.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context as _, Result, ensure};

use crate::edit::PROCESSORS;
use crate::json::Sign;
use crate::line_reader::LineReader;
use crate::value_limit::ValueLimit;
use crate::{BenchmarkValues, LaunchInfo, MetaValue, ReadOptions, ResultUnit, Results};

const PREFIX: &str = "Benchmark";
const TIME: &str = "ns/op";
const PACKAGE: &str = "pkg";

/// Reads a log. Lines other than results and `key: value` are skipped, as benchstat does.
pub(crate) fn reader(_: &str, options: ReadOptions<'_>) -> Box<dyn LineReader> {
    Box::new(GoLog { limit: ValueLimit::new(options.values_max), ..GoLog::default() })
}

/// The current `key: value` lines.
type GoConfig = BTreeMap<String, String>;

#[derive(Default)]
struct GoLog {
    config: GoConfig,
    /// Benchmarks with their configuration; another configuration makes another benchmark.
    benchmarks: Vec<(BenchmarkValues, GoConfig)>,
    limit: ValueLimit,
    /// Indices of the benchmarks of each configuration by name.
    indices: HashMap<GoConfig, HashMap<String, usize>>,
    /// Indices of the current configuration.
    current: HashMap<String, usize>,
    results: Results,
    /// A result whose line was broken by output of the program.
    broken: Option<BrokenLine>,
}

struct BrokenLine {
    number: usize,
    name: String,
    /// Iterations, if they came before the break.
    loops: Option<u64>,
    /// Whether the line is the name alone.
    is_alone: bool,
}

/// Whether a line is a result: a name with the common prefix, then a number.
pub(crate) fn is_result(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_named = words.next().is_some_and(is_name);
    is_named
        && words.next().is_some_and(|count| count.parse::<u64>().is_ok())
        && words.next().is_some()
}

/// Whether a word is the name of a benchmark: Go wants no lower-case letter after the prefix.
fn is_name(word: &str) -> bool {
    let rest = word.strip_prefix(PREFIX).filter(|rest| !rest.is_empty());
    rest.is_some_and(|rest| !rest.starts_with(char::is_lowercase))
}

fn configuration(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_lowercase())
        && !key.contains(|it: char| it.is_whitespace() || it.is_uppercase());
    is_key.then(|| (key, value.trim()))
}

/// Pairs of value and unit.
fn pairs<'a>(words: &[&'a str]) -> Result<Vec<(&'a str, f64)>> {
    let is_whole = !words.is_empty() && words.len().is_multiple_of(2);
    ensure!(is_whole, "pairs of value and unit are expected");
    let pair = |pair: &[&'a str]| {
        let value = pair[0].parse::<f64>();
        let value = value.with_context(|| format!("{:?} is not a number", pair[0]))?;
        ensure!(value.is_finite(), "{} is not finite", pair[0]);
        Ok((pair[1], value))
    };
    words.chunks_exact(2).map(pair).collect()
}

impl LineReader for GoLog {
    fn line(&mut self, number: usize, line: &str) {
        if let Some((key, value)) = configuration(line) {
            self.configure(key, value);
            return;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.split_first() {
            Some((name, rest)) if is_name(name) => {
                self.named(number, name, rest, line);
            }
            Some(_) if self.broken.is_some() => self.mend(&words),
            _ => {}
        }
    }

    fn unread(&mut self, number: usize, why: String) {
        self.results.unread(format!("line {number}"), number, why);
    }

    fn finish(mut self: Box<Self>) -> Results {
        self.tell_broken();
        let mut results = Results { tool: "go test -bench".into(), ..self.results };
        self.limit.note(&mut results);
        let varying = varying(&self.benchmarks);
        for (mut benchmark, config) in self.benchmarks {
            for (key, value) in config {
                if key == PACKAGE {
                    benchmark.group = Some(value.clone());
                } else if varying.contains(&key) {
                    benchmark.parameters.push((key.clone(), value.clone()));
                }
                benchmark.metadata.insert(key, MetaValue::Text(value));
            }
            benchmark.end_launch(LaunchInfo::default());
            benchmark.fill_extras();
            results.benchmarks.push(benchmark);
        }
        results.note_one_process();
        results
    }
}

/// Keys whose values tell benchmarks apart.
fn varying(benchmarks: &[(BenchmarkValues, GoConfig)]) -> BTreeSet<String> {
    let Some((_, first)) = benchmarks.first() else { return BTreeSet::new() };
    let keys = benchmarks.iter().flat_map(|(_, config)| config.keys()).collect::<BTreeSet<_>>();
    let differs = |key: &&String| benchmarks.iter().any(|(_, it)| it.get(*key) != first.get(*key));
    keys.into_iter().filter(differs).cloned().collect()
}

impl GoLog {
    fn configure(&mut self, key: &str, value: &str) {
        let before = std::mem::take(&mut self.current);
        self.indices.insert(self.config.clone(), before);
        match value {
            "" => self.config.remove(key),
            _ => self.config.insert(key.into(), value.into()),
        };
        self.current = self.indices.remove(&self.config).unwrap_or_default();
    }

    /// A line that begins with the name of a benchmark.
    fn named(&mut self, number: usize, name: &str, rest: &[&str], line: &str) {
        let loops = rest.first().and_then(|count| count.parse::<u64>().ok());
        let is_result = loops.is_some_and(|loops| loops > 0) && pairs(&rest[1..]).is_ok();
        // Go pads the name and puts a tab after it; a line of the program may begin like this too.
        let is_padded = || line[name.len()..].trim_start_matches(' ').starts_with('\t');
        if loops.is_none() && !rest.is_empty() && !is_padded() {
            return;
        }
        self.tell_broken();
        if !is_result && loops != Some(0) {
            let is_alone = rest.is_empty();
            self.broken = Some(BrokenLine { number, name: name.into(), loops, is_alone });
            return;
        }
        let read = loops.filter(|&loops| loops > 0).context("0 iterations");
        self.add(number, name, read.and_then(|loops| Ok((loops, pairs(&rest[1..])?))));
    }

    fn mend(&mut self, words: &[&str]) {
        let Some(broken) = &self.broken else { return };
        let (loops, rest) = match broken.loops {
            Some(loops) => (Some(loops), words),
            None => (words[0].parse().ok().filter(|&loops| loops > 0), &words[1..]),
        };
        if let (Some(loops), Ok(pairs)) = (loops, pairs(rest))
            && let Some(BrokenLine { number, name, .. }) = self.broken.take()
        {
            self.add(number, &name, Ok((loops, pairs)));
        }
    }

    /// Notes a broken result whose rest did not come. `-v` prints the name alone before a benchmark begins.
    fn tell_broken(&mut self) {
        let Some(BrokenLine { number, name, is_alone, .. }) = self.broken.take() else { return };
        let has_procs =
            name.rsplit_once('-').is_some_and(|(_, procs)| procs.parse::<u32>().is_ok());
        if has_procs || !is_alone {
            self.results.unread(name, number, "its line has no result".into());
        }
    }

    fn add(&mut self, number: usize, name: &str, read: Result<(u64, Vec<(&str, f64)>)>) {
        if let Err(error) = read.and_then(|(loops, pairs)| self.result(name, loops, &pairs)) {
            self.results.unread(name.to_owned(), number, format!("{error:#}"));
        }
    }

    fn result(&mut self, name: &str, loops: u64, pairs: &[(&str, f64)]) -> Result<()> {
        let is_time = |&(unit, _): &(&str, f64)| unit_of(unit) == ResultUnit::Time;
        let main = pairs.iter().position(|(unit, _)| *unit == TIME);
        let main = main.or_else(|| pairs.iter().position(is_time)).unwrap_or(0);
        let (unit_name, value) = pairs[main];
        let unit = unit_of(unit_name);
        let sign = if unit == ResultUnit::Time { Sign::Positive } else { Sign::Any };
        let value = sign.check(value).context(unit_name.to_owned())?;
        let index = self.current.get(name).copied().unwrap_or_else(|| {
            let mut benchmark = BenchmarkValues::new(name, unit.clone());
            benchmark.parameters = parameters(name);
            self.benchmarks.push((benchmark, self.config.clone()));
            self.current.insert(name.to_owned(), self.benchmarks.len() - 1);
            self.benchmarks.len() - 1
        });
        let benchmark = &mut self.benchmarks[index].0;
        ensure!(
            benchmark.unit == unit,
            "{unit_name} is not the unit of its other lines, {}",
            benchmark.unit.name()
        );
        if !self.limit.keeps(index) {
            return Ok(());
        }
        benchmark.values.push(value);
        benchmark.loops.push(loops);
        for (index, (unit, value)) in pairs.iter().enumerate() {
            if index != main {
                benchmark.push_extra(unit, &unit_of(unit), *value);
            }
        }
        if self.limit.is_reached() {
            self.limit.halve(self.benchmarks.iter_mut().map(|it| &mut it.0));
        }
        Ok(())
    }
}

/// `BenchmarkJoin/n=2-8` has `n=2` and GOMAXPROCS 8.
fn parameters(name: &str) -> Vec<(String, String)> {
    let (path, procs) = match name.rsplit_once('-') {
        Some((path, procs)) if procs.parse::<u32>().is_ok() => (path, Some(procs)),
        _ => (name, None),
    };
    let parts = path.split('/').skip(1).filter_map(|part| part.split_once('='));
    let mut parameters: Vec<_> =
        parts.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    parameters.extend(procs.map(|procs| (PROCESSORS.to_owned(), procs.to_owned())));
    parameters
}

/// A unit; `p99-ns/op` and `user-ns/op` are times as well.
fn unit_of(name: &str) -> ResultUnit {
    match name {
        "B/op" => ResultUnit::Bytes,
        "allocs/op" => ResultUnit::Count,
        _ if name == TIME || name.ends_with("-ns/op") => ResultUnit::Time,
        other => ResultUnit::Other(other.into()),
    }
}
