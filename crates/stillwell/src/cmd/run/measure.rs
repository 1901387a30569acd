//! One session of `run`: look, decide, measure, show.

use std::path::PathBuf;

use anyhow::Result;

use crate::cmd::conclusion;
use crate::host::{self, Facts, Gap, Host};
use crate::plan::{Plan, decide_run, priority};
use crate::record::EndReason;
use crate::session::{Isolating, Measuring, drawn_seed};
use crate::spec::RunVerb;

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let mut isolating = Isolating::start(&verb.host_root, &verb.spec.process)?;
    // The facts are those of the tuned machine.
    let host = Host::new(&verb.host_root);
    let (facts, mut gaps) = isolating.look(&host);
    let is_shielded = isolating.isolation.as_ref().is_some_and(|it| it.how.is_shield());
    gaps.extend(priority::caveats(&host, &verb.spec.process.priority, is_shielded));
    let measured =
        measuring(verb, (facts, gaps), |plan| isolating.bind(plan)).and_then(|mut measuring| {
            if isolating.has_guardian() {
                measuring.run_as = host::invoking_user();
            }
            measuring.isolating = Some(&mut isolating);
            conclusion::measure_and_show(&mut measuring)
        });
    isolating.end()?;
    measured
}

/// Measures a series of one command, to its last run however precise it is. Returns the record and the exit code; what
/// went wrong is said.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let facts = host::look(&Host::new(&verb.host_root));
    let mut measuring = measuring(verb, facts, |plan| plan.precision = None)?;
    let (path, ended) = measuring.measure()?;
    let code = match ended.reason {
        EndReason::Complete => 0,
        _ => conclusion::finish(&measuring, &path, &ended)?,
    };
    Ok((path, code))
}

/// `adjust` has the last word on the plan.
fn measuring<'a>(
    verb: &'a RunVerb,
    (facts, gaps): (Facts, Vec<Gap>),
    adjust: impl FnOnce(&mut Plan),
) -> Result<Measuring<'a>> {
    let mut plan = decide_run(&verb.spec, &facts, drawn_seed()?)?;
    adjust(&mut plan);
    Ok(Measuring {
        plan,
        facts,
        gaps,
        output: &verb.spec.output,
        fail_on: verb.spec.judgement.fail_on,
        script: verb.script.as_deref(),
        maker: None,
        pyperf: None,
        attribute: verb.attribute,
        run_as: None,
        isolating: None,
    })
}
