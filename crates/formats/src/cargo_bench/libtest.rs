//! `test NAME ... bench: 1,042 ns/iter (+/- 37) = 441 MB/s`: a median, and the maximum minus the minimum. criterion
//! prints it with `--output-format bencher`.

use anyhow::{Context as _, Result};

use super::LogResults;
use crate::units::time_ns;
use crate::{BenchmarkValues, MetaValue, ResultUnit, SummaryStatistics};

const BENCH: &str = "bench:";
const PER_ITERATION: &str = "/iter";

/// A benchmark without its result so far.
#[derive(Default)]
pub(super) struct Libtest {
    open: Option<(usize, String)>,
}

pub(super) fn is_result(line: &str) -> bool {
    line.starts_with("test ") && line.contains(BENCH) && line.contains(PER_ITERATION)
}

impl Libtest {
    pub(super) fn line(&mut self, number: usize, line: &str, to: &mut LogResults) {
        let named = line.strip_prefix("test ").and_then(|rest| rest.split_once(" ... "));
        if let Some((name, rest)) = named {
            self.end(to);
            match rest.trim() {
                "ok" | "ignored" => return,
                "FAILED" => return to.add(number, name.trim(), Err(anyhow::anyhow!("it failed"))),
                _ => self.open = Some((number, name.trim().to_owned())),
            }
        }
        // Output of the benchmark may stand between its name and its result.
        let result = line.split_once(BENCH).filter(|_| line.contains(PER_ITERATION));
        if let (Some((_, result)), Some((number, name))) =
            (result, self.open.take_if(|_| result.is_some()))
        {
            to.add(number, &name, benchmark(&name, result));
        }
    }

    /// Notes a benchmark whose result did not come.
    pub(super) fn end(&mut self, to: &mut LogResults) {
        if let Some((number, name)) = self.open.take() {
            to.add(number, &name, Err(anyhow::anyhow!("its line has no result")));
        }
    }
}

fn benchmark(name: &str, result: &str) -> Result<BenchmarkValues> {
    let (time, rest) =
        result.split_once(PER_ITERATION).context("a time per iteration is missing")?;
    let summary =
        SummaryStatistics { median: Some(time_ns(time)?), ..SummaryStatistics::default() };
    let mut benchmark = BenchmarkValues::from_summary(name, ResultUnit::Time, summary);
    let range = rest.split_once("(+/- ").and_then(|(_, range)| range.split_once(')'));
    let range = range.and_then(|(range, _)| range.replace(',', "").parse::<f64>().ok());
    if let Some(range) = range.filter(|range| range.is_finite()) {
        let unit = time.trim_start_matches(|it: char| !it.is_alphabetic());
        let ns = range * crate::units::unit_ns(unit.trim()).unwrap_or(1.0);
        benchmark.metadata.insert("range_ns".into(), MetaValue::Float(ns));
    }
    let throughput = rest.split_once(" = ").map(|(_, throughput)| throughput.trim().into());
    benchmark.add_fact("throughput", throughput);
    Ok(benchmark)
}
