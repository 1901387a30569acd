//! The requests, one method each. Each may fail with a `FailureCause`.

use std::time::Duration;

use crate::worker::answer;
use crate::worker::failure::{AnswerFault, WorkerFailure};
use crate::worker::{LIMIT, Worker, text};
use model::values::Gc;
use record::plan::Arm;
use record::plan::programs::ProgramBenchmark;

/// Most bytes of all lines of one answer.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// All requests of a process that runs an arm's benchmark once, in so many loops. The process reads them from a file.
pub fn requests_of_a_run(arm: &Arm, gc: Gc, loops: u64) -> Vec<u8> {
    let mut lines = Vec::new();
    match (&arm.source, &arm.benchmark) {
        (Some(code), _) => {
            let parts = [
                ("setup", &code.setup),
                ("statement", &code.statement),
                ("teardown", &code.teardown),
            ];
            for (part, text) in parts {
                lines.extend(format!("source {part} {}\n{text}", text.len()).into_bytes());
            }
            lines.extend(format!("compile {}\n", code.duplicate).into_bytes());
        }
        (None, Some(name)) => lines.extend(format!("select {}\n", text::escape(name)).into_bytes()),
        (None, None) => {}
    }
    if gc == Gc::Off {
        lines.extend(b"gc off\n");
    }
    lines.extend(format!("run {loops}\nquit\n").into_bytes());
    lines
}

impl Worker {
    /// The benchmarks of the program. A program that makes its benchmarks while it runs ends afterwards. Errors: see
    /// `FailureCause`, as for every request.
    pub fn list(&mut self) -> Result<Vec<ProgramBenchmark>, WorkerFailure> {
        self.lines("list", None, answer::benchmark)
    }

    pub fn select(&mut self, name: &str) -> Result<(), WorkerFailure> {
        self.ok(&format!("select {}", text::escape(name)), b"", None)
    }

    /// Sends a part of the code: `setup`, `statement` or `teardown`; only to a worker with the fact `source`.
    pub fn source(&mut self, part: &str, code: &str) -> Result<(), WorkerFailure> {
        self.ok(&format!("source {part} {}", code.len()), code.as_bytes(), Some(LIMIT))
    }

    /// Makes a benchmark of the parts, with the statement repeated in each loop.
    pub fn compile(&mut self, duplicate: u64) -> Result<(), WorkerFailure> {
        self.ok(&format!("compile {duplicate}"), b"", Some(LIMIT))
    }

    /// Switches garbage collection during runs on or off; only for a worker with the fact `gc`. Errors: see
    /// `FailureCause`.
    pub fn gc(&mut self, on: bool) -> Result<(), WorkerFailure> {
        self.ok(if on { "gc on" } else { "gc off" }, b"", Some(LIMIT))
    }

    /// Collects garbage now.
    pub fn collect(&mut self) -> Result<(), WorkerFailure> {
        self.ok("collect", b"", Some(LIMIT))
    }

    /// Metadata of the worker. Collecting it may disturb measurements.
    pub fn metadata(&mut self) -> Result<Vec<(String, String)>, WorkerFailure> {
        self.lines("metadata", Some(LIMIT), answer::meta)
    }

    /// Peak of the memory that the language allocated in so many loops, bytes. Errors: see `FailureCause`; an error
    /// answer if the worker does not know this request.
    pub fn tracemalloc(&mut self, loops: u64) -> Result<u64, WorkerFailure> {
        let request = format!("tracemalloc {loops}");
        let line = self.exchange(Some(&request), b"", None, true)?;
        answer::number(&line, b"memory")
            .ok_or_else(|| self.rubbish(Some(&request), &line, AnswerFault::Form))
    }

    fn ok(
        &mut self,
        request: &str,
        payload: &[u8],
        limit: Option<Duration>,
    ) -> Result<(), WorkerFailure> {
        let line = self.exchange(Some(request), payload, limit, true)?;
        if line == b"ok" {
            Ok(())
        } else {
            Err(self.rubbish(Some(request), &line, AnswerFault::Form))
        }
    }

    /// A request that is answered by many lines and `end`. Each line has its own time limit.
    fn lines<T>(
        &mut self,
        request: &str,
        limit: Option<Duration>,
        parse: impl Fn(&[u8]) -> Option<T>,
    ) -> Result<Vec<T>, WorkerFailure> {
        let mut line = self.exchange(Some(request), b"", limit, false)?;
        let mut lines = Vec::new();
        let mut n_bytes = 0;
        while line != b"end" {
            n_bytes += line.len();
            if n_bytes > ANSWER_BYTES_MAX {
                return Err(self.rubbish(Some(request), &line, AnswerFault::TooLong));
            }
            match parse(&line) {
                Some(one) => lines.push(one),
                None => return Err(self.rubbish(Some(request), &line, AnswerFault::Form)),
            }
            line = self.next_line(Some(request), limit)?;
        }
        let nothing_left = self.channel.nothing_left();
        nothing_left.map_err(|broken| self.broken(Some(request), broken, limit))?;
        Ok(lines)
    }
}
