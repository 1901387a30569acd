//! `bench` verbs with which other verbs measure programs.

use std::path::Path;

use model::spec::BenchVerb;
use model::spec::answer::AnswerOptions;
use model::spec::groups::StopOptions;
use model::spec::run::{OutputOptions, ProcessOptions};
use model::spec::workers::{Affinity, BenchSpec, MachineOptions, SessionOptions, WorkerOptions};
use model::values::TimeSpan;

/// The verb that measures all benchmarks of these command lines with the options of another verb; without record and
/// seed.
pub fn bench_verb(
    commands: Vec<String>,
    budget: TimeSpan,
    process: &ProcessOptions,
    answer: AnswerOptions,
    host_root: &Path,
) -> BenchVerb {
    let machine = MachineOptions {
        affinity: process.affinity.clone().map(Affinity::Cpus),
        tuning: process.tuning.clone(),
        placement: process.placement,
        rights: process.rights,
        priority: process.priority,
        layout: process.layout,
    };
    let stop = StopOptions { budget: Some(budget), ..StopOptions::default() };
    let workers = WorkerOptions { stop, machine, ..WorkerOptions::default() };
    let output = OutputOptions::driven(answer, None);
    let session = SessionOptions { workers, output, ..SessionOptions::default() };
    let spec = BenchSpec { commands, session, ..BenchSpec::default() };
    BenchVerb::new(spec, host_root.to_owned())
}
