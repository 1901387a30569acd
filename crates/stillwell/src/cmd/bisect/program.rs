//! `--program`: a benchmark of a program in place of a command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cmd::bench;
use crate::cmd::program_sessions::bench_verb;
use crate::cmd::unmeasured::Unmeasured;
use crate::session::SessionEnd;
use model::spec::{BenchVerb, BisectVerb};
use model::values::Percent;
use record::plan::programs::{ProgramBenchmark, programs};
use record::plan::{Arm, BuiltRevision, Terms, across, defaults};

pub(super) struct ProgramMeasurer {
    /// The session without record and seed.
    verb: BenchVerb,
    /// The benchmark at each commit.
    listed: HashMap<String, ProgramBenchmark>,
}

impl ProgramMeasurer {
    /// Errors: an option has no meaning for programs.
    pub(super) fn of(verb: &BisectVerb) -> Result<Option<Self>> {
        let Some(program) = &verb.program else { return Ok(None) };
        let name = verb.only.as_ref().context("--program needs --only")?;
        let budget = verb.budget.unwrap_or(defaults::BISECT_BUDGET);
        let same = verb.same.unwrap_or(Percent(defaults::BISECT_SAME_PCT));
        let (commands, answer) = (vec![program.clone()], verb.output.answer);
        let mut bench = bench_verb(commands, budget, &verb.process, answer, &verb.host_root);
        bench.spec.benchmark = vec![name.clone()];
        bench.spec.session.judgement.same = Some(same);
        bench.spec.session.judgement.decide_on = verb.decide_on;
        bench.spec.session.judgement.counter = verb.counter;
        Ok(Some(Self { verb: bench, listed: HashMap::new() }))
    }

    /// Lists the program of a build.
    pub(super) fn list(&mut self, revision: &BuiltRevision) -> Result<(), Unmeasured> {
        let programs = self.programs(std::slice::from_ref(revision))?;
        let listed = bench::listed_at(&self.verb, &programs[0])?;
        let name = self.verb.spec.benchmark.first().map_or("", String::as_str);
        let wanted = listed.into_iter().find(|it| it.name == name);
        let missing = || Unmeasured::Program(0, format!("it has no benchmark {name:?}"));
        self.listed.insert(revision.git.revision.clone(), wanted.ok_or_else(missing)?);
        Ok(())
    }

    fn programs(&self, revisions: &[BuiltRevision]) -> Result<Vec<Arm>> {
        Ok(across(programs(&self.verb.spec)?, revisions))
    }

    /// Measures listed builds in turns. Returns the record and the end of the session.
    pub(super) fn measure(
        &mut self,
        record: &Path,
        seed: u64,
        revisions: &[BuiltRevision],
        terms: &Terms<'_>,
    ) -> Result<(PathBuf, SessionEnd)> {
        let listed = |it: &BuiltRevision| {
            let listed = self.listed.get(&it.git.revision).cloned();
            listed.map(|listed| vec![listed]).context("a program is not listed yet")
        };
        let found: Vec<Vec<ProgramBenchmark>> =
            revisions.iter().map(listed).collect::<Result<_>>()?;
        self.verb.spec.session.output.record = Some(record.to_owned());
        self.verb.spec.session.workers.seed = Some(seed);
        let programs = self.programs(revisions)?;
        bench::measure_at(&self.verb, &programs, &found, terms)
    }
}
