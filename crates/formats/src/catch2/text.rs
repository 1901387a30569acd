//! Catch2's text: a table for each test case, with three lines for each benchmark. A long name is wrapped.
//!
//! ```text
//! benchmark name                       samples       iterations    est run time
//!                                      mean          low mean      high mean
//!                                      std dev       low std dev   high std dev
//! -------------------------------------------------------------------------------
//! Fire                                           100            14      16.94 ms
//!                                         12.1185 us    12.0925 us    12.1669 us
//!                                          176.5 ns      115.9 ns      286.6 ns
//! ```

use anyhow::{Context as _, Result, ensure};

use super::benchmark;
use crate::Results;
use crate::units::{time_ns, unit_ns};

/// The start of the head of a table.
const HEAD: [&str; 3] = ["benchmark name", "samples", "iterations"];
/// Samples, iterations, time, unit.
const N_CELLS: usize = 4;
/// The shortest rule.
const RULE_CHARS: usize = 20;

/// Whether a line begins a table of benchmarks.
pub(crate) fn is_head(line: &str) -> bool {
    let words = line.split("  ").map(str::trim).filter(|word| !word.is_empty());
    words.take(HEAD.len()).eq(HEAD)
}

pub(super) fn read(text: &str, to: &mut Results) {
    let mut log = CatchLog::default();
    for (at, line) in text.lines().enumerate() {
        log.line(at + 1, line.trim_end(), to);
    }
    log.end_row(to);
    if !text.ends_with('\n') {
        to.note("the last line has no end: the file may be cut");
    }
}

#[derive(Default)]
struct CatchLog {
    place: Place,
    /// The test case and its sections.
    title: Vec<String>,
    /// Lines of the name so far.
    name: Vec<String>,
    row: Option<Row>,
}

#[derive(Clone, Copy, Default)]
enum Place {
    #[default]
    Other,
    /// Between two rules.
    Title,
    /// Between the head of a table and its rule.
    Head,
    Table,
}

struct Row {
    number: usize,
    name: String,
    /// `None` if the line of the name cannot be read.
    samples: Option<u64>,
    /// The mean, then the standard deviation, each with its interval.
    times: Vec<Result<[f64; 3]>>,
}

impl CatchLog {
    fn line(&mut self, number: usize, line: &str, to: &mut Results) {
        let rule = line.bytes().next().filter(|&first| {
            line.len() >= RULE_CHARS
                && b"-.=~".contains(&first)
                && line.bytes().all(|it| it == first)
        });
        if is_head(line) || (rule.is_some() && !matches!(self.place, Place::Head)) {
            self.end_row(to);
        }
        self.place = match (self.place, rule) {
            _ if is_head(line) => Place::Head,
            (Place::Head, Some(b'-')) => Place::Table,
            (Place::Title, Some(_)) => Place::Other,
            (_, Some(b'-')) => {
                self.title.clear();
                Place::Title
            }
            (_, Some(_)) => Place::Other,
            (place, None) => place,
        };
        match self.place {
            _ if rule.is_some() => {}
            Place::Title if line.is_empty() => {}
            Place::Title => self.title.push(line.trim().into()),
            Place::Table if line.is_empty() => self.end_row(to),
            Place::Table => self.cells(number, line, to),
            Place::Head | Place::Other => {}
        }
    }

    fn cells(&mut self, number: usize, line: &str, to: &mut Results) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(times) = three_times(&words) {
            let name = &mut self.name;
            let row = self.row.get_or_insert_with(|| {
                let name = std::mem::take(name).join(" ");
                Row { number, name, samples: None, times: Vec::new() }
            });
            row.times.push(times);
            if row.times.len() == 2 {
                self.end_row(to);
            }
            return;
        }
        if self.row.is_some() {
            self.end_row(to);
        }
        let n_name = words.len().saturating_sub(N_CELLS);
        let samples = match &words[n_name..] {
            [samples, iterations, _, unit] if unit_ns(unit).is_some() => {
                samples.parse().ok().filter(|_| iterations.parse::<u64>().is_ok())
            }
            _ => None,
        };
        let name = if samples.is_some() { &words[..n_name] } else { &words[..] };
        if !name.is_empty() {
            self.name.push(name.join(" "));
        }
        if samples.is_some() {
            let name = self.name.drain(..).collect::<Vec<_>>().join(" ");
            self.row = Some(Row { number, name, samples, times: Vec::new() });
        }
    }

    /// Adds the benchmark of the lines so far, or notes why it cannot be read.
    fn end_row(&mut self, to: &mut Results) {
        self.name.clear();
        let Some(Row { number, name, samples, times }) = self.row.take() else { return };
        let read = (|| {
            ensure!(samples.is_some(), "the line before its mean has no number of samples");
            let mut times = times.into_iter();
            let mean = times.next().context("its mean is missing")??;
            ensure!(mean[0] > 0.0, "a time must be above 0");
            let stddev = times.next().context("its standard deviation is missing")??[0];
            Ok(benchmark(&name, &self.title, samples, mean, Some(stddev)))
        })();
        to.take(name, number, read);
    }
}

/// Three times with their units; `None` if the line is another one.
fn three_times(words: &[&str]) -> Option<Result<[f64; 3]>> {
    let is_times = words.len() == 6 && (1..6).step_by(2).all(|at| unit_ns(words[at]).is_some());
    let time = |at: usize| match words[at].parse::<f64>() {
        // A standard deviation may be 0.
        Ok(0.0) => Ok(0.0),
        _ => time_ns(&words[at..at + 2].join(" ")),
    };
    is_times.then(|| Ok([time(0)?, time(2)?, time(4)?]))
}
