//! `--program`: benchmarks of programs in place of commands.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cmd::bench;
use crate::cmd::campaign::folder::CampaignOptions;
use crate::cmd::campaign::measuring::{CampaignMeasurer, Runnable, command_of};
use crate::cmd::commits::Place;
use crate::cmd::program_sessions::bench_verb;
use crate::cmd::unmeasured::Unmeasured;
use crate::session::SessionEnd;
use model::spec::BenchVerb;
use model::values::TimeSpan;
use record::plan::programs::{ProgramBenchmark, names, programs};
use record::plan::{Arm, Terms, across};
use search::campaign::Program;

/// The deciding benchmarks, as the original program lists them; none without `--program`. Errors: the program cannot be
/// built or listed, or lacks a named benchmark.
pub(super) fn benchmarks(
    options: &CampaignOptions,
    place: Option<Place>,
    original: &Program,
) -> Result<Vec<String>> {
    if options.new.program.is_none() {
        return Ok(Vec::new());
    }
    let measurer = CampaignMeasurer::new(options, place, 0);
    let runnable = measurer.build("beginning", original).map_err(Unmeasured::into_error)?;
    names(&options.new.only, &[runnable.listed])
}

impl CampaignMeasurer<'_> {
    /// The deciding benchmarks of a program; all before there are any.
    pub(super) fn list(&self, runnable: &Runnable) -> Result<Vec<ProgramBenchmark>, Unmeasured> {
        let verb = self.bench(&[runnable], self.options.budget)?;
        let listed = bench::listed_at(&verb, &arms(&verb, &[runnable])?[0])?;
        let is_missing = |name: &&String| !listed.iter().any(|it| it.name == **name);
        // Without its slowest benchmark a program would seem faster.
        if let Some(name) = self.options.benchmarks.iter().find(is_missing) {
            return Err(Unmeasured::Program(0, format!("it has no benchmark {name:?}")));
        }
        Ok(listed)
    }

    fn bench(&self, runnables: &[&Runnable], budget: TimeSpan) -> Result<BenchVerb> {
        let new = &self.options.new;
        let commands = runnables.iter().map(|it| command_of(it)).collect();
        let mut bench = bench_verb(commands, budget, &new.process, self.answer, &new.host_root);
        bench.spec.benchmark.clone_from(&self.options.benchmarks);
        bench.spec.arm_name = runnables.iter().map(|it| it.name.clone()).collect();
        new.judged.apply(&mut bench.spec.session.judgement);
        bench.spec.session.workers.seed = Some(self.seed);
        Ok(bench)
    }

    /// Measures the benchmarks in turns. Returns the record and the end of the session.
    pub(super) fn measure_programs(
        &self,
        runnables: &[&Runnable],
        budget: TimeSpan,
        record: &Path,
        terms: &Terms<'_>,
    ) -> Result<(PathBuf, SessionEnd)> {
        let mut verb = self.bench(runnables, budget)?;
        verb.spec.session.output.record = Some(record.to_owned());
        let found: Vec<_> = runnables.iter().map(|it| it.listed.clone()).collect();
        bench::measure_at(&verb, &arms(&verb, runnables)?, &found, terms)
    }
}

/// The programs, each in its own checkout.
fn arms(verb: &BenchVerb, runnables: &[&Runnable]) -> Result<Vec<Arm>> {
    let arms = programs(&verb.spec)?.into_iter().zip(runnables);
    Ok(arms.flat_map(|(arm, it)| across(vec![arm], it.built.as_slice())).collect())
}
