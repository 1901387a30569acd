//! Output of `go test -bench` (golang.org/design/14313-benchmark-format). Lines of one benchmark are values of one
//! launch: `-count` repeats in one process.

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail, ensure};

use crate::convert::json::Sign;
use crate::convert::source::{ReadOptions, SourceFile};
use crate::results::{
    BenchmarkValues, LaunchInfo, MetaValue, Metadata, NOTE_ONE_PROCESS, NOTE_ORDER, ResultUnit,
    Results,
};

const PREFIX: &str = "Benchmark";
const TIME: &str = "ns/op";

/// Reads a log. Like benchstat, it skips every line that is not a result or a `key: value` line.
///
/// # Errors
/// The first wrong result line, with its number.
pub(super) fn read(files: &[SourceFile<'_>], _: ReadOptions<'_>) -> Result<Results> {
    let text = str::from_utf8(files[0].bytes).map_err(|error| {
        let line =
            files[0].bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        anyhow::anyhow!("line {line}: not UTF-8")
    })?;
    let mut log = GoLog::default();
    for (index, line) in text.lines().enumerate() {
        log.line(line).with_context(|| format!("line {}", index + 1))?;
    }
    Ok(log.finish())
}

/// Name, unit and parameters of a benchmark, to find it again at its next line.
type GoIdentity = (String, String);

#[derive(Default)]
struct GoLog {
    /// The configuration set by the lines so far.
    config: Metadata,
    benchmarks: Vec<BenchmarkValues>,
    indices: HashMap<GoIdentity, usize>,
}

/// Whether a line is a result: a name with the common prefix, and a number.
pub(super) fn is_result(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_named = words.next().is_some_and(|name| name.starts_with(PREFIX));
    is_named
        && words.next().is_some_and(|count| count.parse::<u64>().is_ok())
        && words.next().is_some()
}

impl GoLog {
    fn line(&mut self, line: &str) -> Result<()> {
        if let Some((key, value)) = line.split_once(':')
            && key.starts_with(|first: char| first.is_lowercase())
            && !key.contains(|it: char| it.is_whitespace() || it.is_uppercase())
        {
            let value = value.trim();
            if value.is_empty() {
                self.config.remove(key);
            } else {
                self.config.insert(key.into(), value.into());
            }
            return Ok(());
        }
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|name| name.starts_with(PREFIX)) else {
            return Ok(());
        };
        // A name alone is printed before the benchmark logs something.
        let Some(count) = words.next() else { return Ok(()) };
        // A log line of the program may begin like this too.
        let Ok(loops) = count.parse::<u64>() else { return Ok(()) };
        let rest: Vec<&str> = words.collect();
        ensure!(loops > 0, "{name}: 0 iterations");
        ensure!(
            !rest.is_empty() && rest.len().is_multiple_of(2),
            "{name}: pairs of value and unit are expected"
        );
        let mut pairs = Vec::with_capacity(rest.len() / 2);
        for pair in rest.chunks_exact(2) {
            let value = pair[0].parse::<f64>();
            let value = value.with_context(|| format!("{name}: {:?} is not a number", pair[0]))?;
            ensure!(value.is_finite(), "{name}: {} is not finite", pair[0]);
            pairs.push((pair[1], value));
        }
        self.result(name, loops, &pairs)
    }

    fn result(&mut self, name: &str, loops: u64, pairs: &[(&str, f64)]) -> Result<()> {
        let main = pairs.iter().position(|(unit, _)| *unit == TIME).unwrap_or(0);
        let (unit_name, value) = pairs[main];
        let (unit, scale) = unit_of(unit_name);
        let sign = if unit == ResultUnit::Time { Sign::Positive } else { Sign::Any };
        let value =
            sign.check(value * scale).map_err(anyhow::Error::msg).context(unit_name.to_owned())?;
        let package = match self.config.get("pkg") {
            Some(MetaValue::Text(package)) => package.clone(),
            _ => String::new(),
        };
        let index = *self.indices.entry((name.into(), package)).or_insert_with(|| {
            let mut found = BenchmarkValues::new(name, unit.clone());
            found.parameters = parameters(name);
            found.metadata.clone_from(&self.config);
            self.benchmarks.push(found);
            self.benchmarks.len() - 1
        });
        let found = &mut self.benchmarks[index];
        if found.unit != unit {
            bail!("{name}: {unit_name} is not the unit of its other lines, {}", found.unit.name());
        }
        // A file may hold several logs in a row. Metadata that differs between them is not metadata of all values.
        found.metadata.retain(|key, value| self.config.get(key) == Some(value));
        found.values.push(value);
        found.loops.push(loops);
        for (index, (unit, value)) in pairs.iter().enumerate() {
            if index != main {
                let (other, scale) = unit_of(unit);
                found.push_extra(unit, &other, value * scale);
            }
        }
        Ok(())
    }

    fn finish(self) -> Results {
        let mut results = Results {
            tool: "go test -bench".into(),
            benchmarks: self.benchmarks,
            ..Results::default()
        };
        let mut counts: HashMap<String, u32> = HashMap::new();
        results.benchmarks.iter().for_each(|it| *counts.entry(it.name.clone()).or_default() += 1);
        for found in &mut results.benchmarks {
            if counts[&found.name] > 1
                && let Some(MetaValue::Text(package)) = found.metadata.get("pkg")
            {
                found.name = format!("{package}.{}", found.name);
            }
            found.end_launch(LaunchInfo::default());
            found.fill_extras();
        }
        results.note(NOTE_ONE_PROCESS);
        if results.benchmarks.len() > 1 {
            results.note(NOTE_ORDER);
        }
        results
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
    parameters.extend(procs.map(|procs| ("gomaxprocs".to_owned(), procs.to_owned())));
    parameters
}

fn unit_of(name: &str) -> (ResultUnit, f64) {
    match name {
        TIME => (ResultUnit::Time, 1.0),
        "B/op" => (ResultUnit::Bytes, 1.0),
        "allocs/op" => (ResultUnit::Count, 1.0),
        other => (ResultUnit::Other(other.into()), 1.0),
    }
}
