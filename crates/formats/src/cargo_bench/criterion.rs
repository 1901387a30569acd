//! `NAME   time:   [1.0301 µs 1.0420 µs 1.0551 µs]`: an estimate of the time (slope or mean, unnamed) between the ends
//! of its interval. A long name has a line of its own.

use anyhow::{Context as _, Result, anyhow, ensure};

use super::LogResults;
use crate::units::time_ns;
use crate::{BenchmarkValues, MetaValue, ResultUnit, SummaryStatistics};

const START: &str = "Benchmarking ";

#[derive(Default)]
pub(super) struct Criterion {
    /// A benchmark without its result so far.
    open: Option<(usize, String)>,
    before: String,
}

pub(super) fn is_result(line: &str) -> bool {
    split(line).is_some_and(|(_, times)| times.contains(']'))
}

/// The name and the times of a result.
fn split(line: &str) -> Option<(&str, &str)> {
    let (name, times) = line.split_once("time:")?;
    let times = times.trim_start().strip_prefix('[')?;
    // A change of the time is in percent.
    let is_change = times.split(']').next().is_some_and(|times| times.contains('%'));
    (!is_change && (name.is_empty() || name.ends_with(' '))).then(|| (name.trim(), times))
}

impl Criterion {
    pub(super) fn line(&mut self, number: usize, line: &str, to: &mut LogResults) {
        if let Some((name, times)) = split(line) {
            let name = if name.is_empty() { self.before.clone() } else { name.to_owned() };
            // Both names agree unless the log lost lines.
            self.open.take_if(|(_, open)| *open == name);
            self.end(to);
            to.add(number, &name, benchmark(&name, times));
            return;
        }
        if let Some((_, rate)) = line.split_once("thrpt:")
            && let Some(middle) = rate.trim().strip_prefix('[').and_then(middle)
            && let Some(last) = to.results.benchmarks.last_mut()
        {
            last.metadata.entry("throughput".into()).or_insert_with(|| middle.as_str().into());
        }
        if let Some(name) = line.strip_prefix(START) {
            let is_same = |open: &str| {
                name.strip_prefix(open)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(": "))
            };
            if !self.open.as_ref().is_some_and(|(_, open)| is_same(open)) {
                self.end(to);
                self.open = Some((number, name.trim().to_owned()));
            }
            self.before.clone_from(&self.open.as_ref().map(|it| it.1.clone()).unwrap_or_default());
        } else if !line.trim().is_empty() {
            line.trim().clone_into(&mut self.before);
        }
    }

    /// Notes a benchmark whose result did not come.
    pub(super) fn end(&mut self, to: &mut LogResults) {
        if let Some((number, name)) = self.open.take() {
            to.add(number, &name, Err(anyhow!("it has no result")));
        }
    }
}

/// The middle one of three numbers with units.
fn middle(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(']').next()?.split_whitespace().collect();
    (words.len() == 6).then(|| format!("{} {}", words[2], words[3]))
}

fn benchmark(name: &str, times: &str) -> Result<BenchmarkValues> {
    let (times, _) = times.split_once(']').context("its line has no end")?;
    let words: Vec<&str> = times.split_whitespace().collect();
    ensure!(words.len() == 6, "[{times}]: three times are expected");
    let time = |index: usize| time_ns(&words[2 * index..2 * index + 2].join(" "));
    let (low, estimate, high) = (time(0)?, time(1)?, time(2)?);
    let summary = SummaryStatistics { estimate: Some(estimate), ..SummaryStatistics::default() };
    let mut benchmark = BenchmarkValues::from_summary(name, ResultUnit::Time, summary);
    for (key, value) in [("interval_low_ns", low), ("interval_high_ns", high)] {
        benchmark.metadata.insert(key.into(), MetaValue::Float(value));
    }
    Ok(benchmark)
}
