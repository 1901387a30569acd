//! Sessions of benchmark programs for other verbs: the verb `bench` that measures them.

use std::path::Path;

use anyhow::Result;
use clap::Parser as _;

use model::spec::run::{ProcessOptions, Style};
use model::spec::workers::{Affinity, MachineOptions};
use model::spec::{BenchVerb, Cli, Verb};
use model::values::TimeSpan;

/// What a verb says about its sessions of programs.
pub struct ProgramSessions<'a> {
    /// The command lines of the programs.
    pub programs: &'a [String],
    /// The benchmarks that count; empty: all.
    pub only: &'a [String],
    pub budget: TimeSpan,
    pub process: &'a ProcessOptions,
    pub json: bool,
    pub style: Option<Style>,
    pub host_root: &'a Path,
}

impl ProgramSessions<'_> {
    /// The verb, without the record and the seed of a session.
    ///
    /// # Errors
    /// A name is none that the command line can have.
    pub fn verb(&self) -> Result<BenchVerb> {
        let mut words: Vec<String> = ["stillwell", "bench", "--budget"].map(str::to_owned).into();
        words.push(format!("{}s", self.budget.ns as f64 / 1e9));
        words.extend(self.only.iter().map(|name| format!("--only={name}")));
        words.push("--".into());
        words.extend_from_slice(self.programs);
        let Verb::Bench(mut bench) = Cli::try_parse_from(words)?.verb else {
            unreachable!("the words begin with bench")
        };
        let process = self.process;
        bench.spec.session.workers.machine = MachineOptions {
            affinity: process.affinity.clone().map(Affinity::Cpus),
            tuning: process.tuning.clone(),
            placement: process.placement,
            rights: process.rights,
            priority: process.priority,
            layout: process.layout,
        };
        bench.spec.session.output.style = self.style;
        bench.spec.session.output.json = self.json;
        self.host_root.clone_into(&mut bench.host_root);
        Ok(*bench)
    }
}
