//! `run`: ask, look, decide; then measure and show.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::RunVerb;
use crate::cmd::explain;
use crate::cmd::isolating::Isolating;
use crate::cmd::measuring::{Measuring, drawn_seed};
use crate::host::{self, Facts, Gap, Host, priority};
use crate::plan::{Plan, decide};
use crate::record::EndReason;

/// Measures, then shows; with `--explain` a second time, without the largest source of noise.
pub fn run(verb: &RunVerb) -> Result<u8> {
    let (path, code) = measure_and_show(verb)?;
    if verb.explain {
        explain::explain(verb, &path, code)?;
    }
    Ok(code)
}

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let mut isolating = Isolating::start(&verb.host_root, &verb.spec.process)?;
    // The facts are those of the tuned machine.
    let host = Host::new(&verb.host_root);
    let (facts, mut gaps) = isolating.look(&host);
    let is_shielded = isolating.isolation.as_ref().is_some_and(|it| it.how.is_shield());
    gaps.extend(priority::caveats(&host, &verb.spec.process, is_shielded));
    let measured =
        measuring(verb, (facts, gaps), |plan| isolating.bind(plan)).and_then(|mut measuring| {
            if isolating.has_guardian() {
                measuring.run_as = host::invoking_user();
            }
            measuring.isolating = Some(&mut isolating);
            let (path, ended) = measuring.measure()?;
            let code = measuring.finish(&path, &ended)?;
            Ok((path, code))
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
        _ => measuring.finish(&path, &ended)?,
    };
    Ok((path, code))
}

/// `adjust` has the last word on the plan.
fn measuring<'a>(
    verb: &'a RunVerb,
    (facts, gaps): (Facts, Vec<Gap>),
    adjust: impl FnOnce(&mut Plan),
) -> Result<Measuring<'a>> {
    let mut plan = decide(&verb.spec, &facts, drawn_seed()?)?;
    adjust(&mut plan);
    Ok(Measuring {
        plan,
        facts,
        gaps,
        output: &verb.spec.output,
        fail_on: verb.spec.judging.fail_on,
        script: verb.script.as_deref(),
        maker: None,
        pyperf: None,
        attribute: verb.attribute,
        run_as: None,
        isolating: None,
    })
}
