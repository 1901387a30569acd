//! divan's tree: a head with the program's name, and a row for each benchmark with its fastest, slowest, median and mean
//! time, samples and iterations. Rows below with throughput and allocations are not read.

use anyhow::{Context as _, Result};

use super::LogResults;
use crate::units::time_ns;
use crate::{BenchmarkValues, MetaValue, ResultUnit, SummaryStatistics};

const COLUMNS: [&str; 6] = ["fastest", "slowest", "median", "mean", "samples", "iters"];
/// Indent of a row for each level.
const INDENT_CHARS: usize = 3;

pub(super) struct Table {
    program: String,
    /// Column in characters at which the times begin.
    times_at: usize,
    /// Names of the rows above.
    path: Vec<String>,
}

impl Table {
    /// The table that begins with this line, if it is a head.
    pub(super) fn head(line: &str) -> Option<Self> {
        let (name, times) = line.split_once(COLUMNS[0])?;
        let rest: Vec<&str> = times.split('│').map(str::trim).collect();
        (rest.first() == Some(&"") && rest[1..] == COLUMNS[1..] && name.ends_with(' ')).then(|| {
            let (program, times_at) = (name.trim().to_owned(), name.chars().count());
            Self { program, times_at, path: Vec::new() }
        })
    }

    pub(super) fn line(&mut self, number: usize, line: &str, to: &mut LogResults) {
        let Some(at) = line.chars().position(|it| it == '├' || it == '╰') else { return };
        let is_before = |it: char| it == '│' || it == ' ';
        if !line.chars().take(at).all(is_before) {
            return;
        }
        let row: String = line.chars().skip(at + 1).collect();
        let row = row.trim_start_matches('─').trim_start();
        let (name, times) = self.split(line, row);
        self.path.truncate(at / INDENT_CHARS);
        self.path.push(name.clone());
        if name.ends_with(" (ignored)") || times.first().is_none_or(|it| it.is_empty()) {
            return;
        }
        let name = self.path.join("::");
        let read = benchmark(&name, &times).map(|mut benchmark| {
            benchmark.group = Some(self.program.clone());
            benchmark
        });
        to.add(number, &name, read);
    }

    /// The name of a row and its cells. Two blanks end the name in a row that does not follow the columns of the head.
    fn split(&self, line: &str, row: &str) -> (String, Vec<String>) {
        let times: String = line.chars().skip(self.times_at).collect();
        let n_name = line.chars().count() - row.chars().count();
        let name: String = line.chars().take(self.times_at).skip(n_name).collect();
        let is_aligned = name.ends_with("  ") && times.starts_with(|it: char| it.is_ascii_digit());
        let (name, times) = match row.split_once("  ") {
            Some(both) if !is_aligned => both,
            _ => (&*name, &*times),
        };
        let cells = times.split('│').map(|cell| cell.trim().to_owned()).collect();
        (name.trim().to_owned(), cells)
    }
}

fn benchmark(name: &str, cells: &[String]) -> Result<BenchmarkValues> {
    let cell = |column: usize| {
        let text = cells.get(column).with_context(|| format!("it has no {}", COLUMNS[column]))?;
        time_ns(text).context(COLUMNS[column])
    };
    let whole = |column: usize| cells.get(column)?.replace(',', "").parse::<u64>().ok();
    let summary = SummaryStatistics {
        count: whole(4),
        min: Some(cell(0)?),
        max: Some(cell(1)?),
        median: Some(cell(2)?),
        mean: Some(cell(3)?),
        ..SummaryStatistics::default()
    };
    let mut benchmark = BenchmarkValues::from_summary(name, ResultUnit::Time, summary);
    benchmark.add_fact("iters", whole(5).map(u64::cast_signed).map(MetaValue::Int));
    Ok(benchmark)
}
