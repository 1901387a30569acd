//! `bench` verbs with which other verbs measure programs.

use std::path::Path;

use model::spec::BenchVerb;
use model::spec::answer::AnswerOptions;
use model::spec::groups::StopOptions;
use model::spec::run::{OutputOptions, ProcessOptions};
use model::spec::workers::{Affinity, BenchSpec, MachineOptions, SessionOptions, WorkerOptions};
use model::values::TimeSpan;

/// A verb's options for sessions of programs.
pub struct ProgramSessions<'a> {
    /// Command lines.
    pub programs: &'a [String],
    /// The deciding benchmarks; empty: all.
    pub only: &'a [String],
    pub budget: TimeSpan,
    pub process: &'a ProcessOptions,
    pub answer: AnswerOptions,
    pub host_root: &'a Path,
}

impl ProgramSessions<'_> {
    /// The verb without record and seed.
    pub fn verb(&self) -> BenchVerb {
        let process = self.process;
        let machine = MachineOptions {
            affinity: process.affinity.clone().map(Affinity::Cpus),
            tuning: process.tuning.clone(),
            placement: process.placement,
            rights: process.rights,
            priority: process.priority,
            layout: process.layout,
        };
        let stop = StopOptions { budget: Some(self.budget), ..StopOptions::default() };
        let workers = WorkerOptions { stop, machine, ..WorkerOptions::default() };
        let output = OutputOptions::driven(self.answer, None);
        let session = SessionOptions { workers, output, ..SessionOptions::default() };
        let (commands, benchmark) = (self.programs.to_vec(), self.only.to_vec());
        let spec = BenchSpec { commands, benchmark, session, ..BenchSpec::default() };
        BenchVerb::new(spec, self.host_root.to_owned())
    }
}
