//! `--program`: a benchmark of a program in place of a command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Parser as _;

use crate::cmd::bench;
use crate::plan::programs::ProgramBenchmark;
use crate::plan::{BlockRule, BuiltRevision, Plan, defaults};
use crate::session::SessionEnd;
use crate::spec::workers::Affinity;
use crate::spec::{BenchVerb, BisectVerb, Cli, Verb};

/// Measures a benchmark of a program.
pub(super) struct ProgramMeasurer {
    /// The session without its record and its seed.
    verb: BenchVerb,
    /// The benchmark, as the program lists it at each commit.
    listed: HashMap<String, ProgramBenchmark>,
}

impl ProgramMeasurer {
    /// The program of the command line, if it has one.
    ///
    /// # Errors
    /// An option has no meaning for programs.
    pub(super) fn of(verb: &BisectVerb) -> Result<Option<Self>> {
        let Some(program) = &verb.program else { return Ok(None) };
        let name = verb.only.as_deref().context("--program needs --only")?;
        let budget = verb.budget.unwrap_or(defaults::BISECT_BUDGET);
        let same = verb.same.map_or(defaults::BISECT_SAME_PCT, |same| same.0);
        let words = ["stillwell", "bench", "--only", name, "--budget"].map(str::to_owned);
        let mut words: Vec<String> = words.into();
        words.push(format!("{}s", budget.ns as f64 / 1e9));
        words.extend(["--same".into(), same.to_string(), "--".into(), program.clone()]);
        let Verb::Bench(mut bench) = Cli::try_parse_from(words)?.verb else {
            unreachable!("the words begin with bench")
        };
        let (process, workers) = (&verb.process, &mut bench.spec.session.workers);
        workers.affinity = process.affinity.clone().map(Affinity::Cpus);
        workers.tuning = process.tuning.clone();
        (workers.placement, workers.rights) = (process.placement, process.rights);
        (workers.priority, workers.layout) = (process.priority, process.layout);
        bench.spec.session.judgement.decide_on = verb.decide_on;
        let answer = verb.output.answer;
        bench.spec.session.output.style = answer.style;
        bench.spec.session.output.json = answer.json;
        bench.host_root.clone_from(&verb.host_root);
        Ok(Some(Self { verb: *bench, listed: HashMap::new() }))
    }

    /// Lists the program of a build. The error is why it cannot be measured there.
    ///
    /// # Errors
    /// No program can be started at all.
    pub(super) fn list(&mut self, revision: &BuiltRevision) -> Result<Result<(), String>> {
        Ok(bench::listed_at(&self.verb, revision)?.map(|listed| {
            self.listed.insert(revision.git.revision.clone(), listed);
        }))
    }

    /// Measures builds that were listed in turns. Returns the record, and the end of the session.
    ///
    /// # Errors
    /// The session cannot start or be recorded.
    pub(super) fn measure(
        &mut self,
        (record, seed): (&Path, u64),
        revisions: &[BuiltRevision],
        n_blocks: u32,
        change: impl FnOnce(&mut Plan),
    ) -> Result<(PathBuf, SessionEnd)> {
        let listed = |it: &BuiltRevision| {
            self.listed.get(&it.git.revision).cloned().context("a program is not listed yet")
        };
        let found: Vec<ProgramBenchmark> = revisions.iter().map(listed).collect::<Result<_>>()?;
        self.verb.spec.session.output.record = Some(record.to_owned());
        self.verb.spec.session.workers.seed = Some(seed);
        bench::measure_at(&self.verb, revisions, &found, |plan| {
            if let BlockRule::Budget { max, .. } = &mut plan.blocks {
                *max = n_blocks;
            }
            change(plan);
        })
    }
}
