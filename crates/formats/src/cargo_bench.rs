//! Text of `cargo bench`: the summaries that libtest, criterion and divan print, in any order.
//!
//! cargo's own lines (`Running benches/a.rs (…)`) go to standard error. In a log that has them, they tell apart the
//! programs of a workspace.

mod criterion;
mod divan;
mod libtest;

use crate::line_reader::LineReader;
use crate::{ReadOptions, Results};

/// Whether a line has a result, or is the head of divan's table.
pub(crate) fn is_result(line: &str) -> bool {
    libtest::is_result(line) || criterion::is_result(line) || divan::Table::head(line).is_some()
}

pub(crate) fn reader(_: &str, _: ReadOptions<'_>) -> Box<dyn LineReader> {
    Box::new(CargoLog::default())
}

#[derive(Default)]
struct CargoLog {
    log: LogResults,
    libtest: libtest::Libtest,
    criterion: criterion::Criterion,
    divan: Option<divan::Table>,
}

#[derive(Default)]
struct LogResults {
    results: Results,
    program: Option<String>,
}

impl LogResults {
    /// Adds a result, or notes why it cannot be read.
    fn add(&mut self, number: usize, name: &str, read: anyhow::Result<crate::BenchmarkValues>) {
        let of_program = |mut benchmark: crate::BenchmarkValues| {
            benchmark.group = benchmark.group.or_else(|| self.program.clone());
            benchmark
        };
        self.results.take(name, number, read.map(of_program));
    }
}

/// The program in a line of cargo (`Running …`).
fn program(line: &str) -> Option<&str> {
    let (program, path) = line.trim_start().strip_prefix("Running ")?.rsplit_once(" (")?;
    path.ends_with(')').then_some(program)
}

impl LineReader for CargoLog {
    fn line(&mut self, number: usize, line: &str) {
        if let Some(program) = program(line) {
            self.libtest.end(&mut self.log);
            self.criterion.end(&mut self.log);
            self.divan = None;
            self.log.program = Some(program.into());
            return;
        }
        if let Some(table) = divan::Table::head(line) {
            self.divan = Some(table);
        } else if let Some(table) = &mut self.divan {
            table.line(number, line, &mut self.log);
        }
        self.libtest.line(number, line, &mut self.log);
        self.criterion.line(number, line, &mut self.log);
    }

    fn unread(&mut self, number: usize, why: String) {
        self.log.results.unread(format!("line {number}"), number, why);
    }

    fn finish(mut self: Box<Self>) -> Results {
        self.libtest.end(&mut self.log);
        self.criterion.end(&mut self.log);
        let mut results = Results { tool: "cargo bench".into(), ..self.log.results };
        results.note_one_process();
        results
    }
}
