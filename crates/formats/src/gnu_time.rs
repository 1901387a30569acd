//! The output of GNU `time -v` amid the command's own: a launch for each block.

use std::collections::HashMap;

use anyhow::{Context as _, Result, ensure};

use crate::line_reader::LineReader;
use crate::{
    BenchmarkValues, CPU, EXIT_CODE, LaunchInfo, PEAK_MEMORY, ReadOptions, ResultUnit, Results,
};

const SECOND_NS: f64 = 1e9;
/// The first line of a block; its last line is the exit status.
const COMMAND: &str = "Command being timed: ";
const ELAPSED: &str = "Elapsed (wall clock) time (h:mm:ss or m:ss): ";
const EXIT: &str = "Exit status: ";
const USER: &str = "User time (seconds): ";
const SYSTEM: &str = "System time (seconds): ";
const MEMORY: &str = "Maximum resident set size (kbytes): ";

/// Whether a line begins a block.
pub(crate) fn is_command(line: &str) -> bool {
    line.trim_start().starts_with(COMMAND)
}

pub(crate) fn reader(_: &str, _: ReadOptions<'_>) -> Box<dyn LineReader> {
    Box::new(TimeLog::default())
}

#[derive(Default)]
struct TimeLog {
    results: Results,
    indices: HashMap<String, usize>,
    block: Option<TimeBlock>,
}

#[derive(Default)]
struct TimeBlock {
    number: usize,
    command: String,
    elapsed: Option<String>,
    user_s: Option<f64>,
    system_s: Option<f64>,
    memory_kib: Option<f64>,
    exit: Option<f64>,
}

impl LineReader for TimeLog {
    fn line(&mut self, number: usize, line: &str) {
        let line = line.trim();
        if let Some(command) = line.strip_prefix(COMMAND) {
            self.end();
            // GNU time quotes the command without escapes.
            let command = command.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
            let command = command.unwrap_or(line.trim_start_matches(COMMAND)).to_owned();
            self.block = Some(TimeBlock { number, command, ..TimeBlock::default() });
        }
        let Some(block) = &mut self.block else { return };
        let of = |key: &str| {
            line.strip_prefix(key)?.parse::<f64>().ok().filter(|it| it.is_finite() && *it >= 0.0)
        };
        if let Some(elapsed) = line.strip_prefix(ELAPSED) {
            block.elapsed = Some(elapsed.into());
        }
        block.user_s = block.user_s.or(of(USER));
        block.system_s = block.system_s.or(of(SYSTEM));
        block.memory_kib = block.memory_kib.or(of(MEMORY));
        block.exit = block.exit.or(of(EXIT));
        if line.starts_with(EXIT) {
            self.end();
        }
    }

    fn unread(&mut self, number: usize, why: String) {
        self.results.unread(format!("line {number}"), number, why);
    }

    fn finish(mut self: Box<Self>) -> Results {
        self.end();
        let mut results = Results { tool: "GNU time".into(), are_commands: true, ..self.results };
        results.note("GNU time shows hundredths of a second");
        results.note_order();
        results
    }
}

impl TimeLog {
    fn end(&mut self) {
        let Some(block) = self.block.take() else { return };
        let elapsed = block.elapsed.as_deref().context("it has no elapsed time");
        match elapsed.and_then(|elapsed| elapsed_ns(elapsed).context(elapsed.to_owned())) {
            Ok(ns) => self.launch(&block, ns),
            Err(error) => {
                self.results.unread(block.command, block.number, format!("{error:#}"));
            }
        }
    }

    fn launch(&mut self, block: &TimeBlock, ns: f64) {
        let benchmarks = &mut self.results.benchmarks;
        let index = *self.indices.entry(block.command.clone()).or_insert_with(|| {
            benchmarks.push(BenchmarkValues::new(&block.command, ResultUnit::Time));
            benchmarks.len() - 1
        });
        self.results.order.push(u32::try_from(index).unwrap_or(u32::MAX));
        let benchmark = &mut self.results.benchmarks[index];
        benchmark.values.push(ns);
        if let (Some(user), Some(system)) = (block.user_s, block.system_s) {
            benchmark.push_extra(CPU, &ResultUnit::Time, (user + system) * SECOND_NS);
        }
        if let Some(kib) = block.memory_kib {
            benchmark.push_extra(PEAK_MEMORY, &ResultUnit::Bytes, kib * 1024.0);
        }
        if let Some(code) = block.exit {
            benchmark.push_extra(EXIT_CODE, &ResultUnit::Count, code);
        }
        benchmark.end_launch(LaunchInfo::default());
    }
}

/// `h:mm:ss` or `m:ss.cc`.
fn elapsed_ns(text: &str) -> Result<f64> {
    let mut seconds = 0.0;
    for part in text.split(':') {
        let number = part.parse::<f64>().context("it is not a time")?;
        ensure!(number >= 0.0 && number.is_finite(), "it is not a time");
        seconds = seconds * 60.0 + number;
    }
    Ok((seconds * SECOND_NS).round())
}
