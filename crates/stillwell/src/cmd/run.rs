//! `run`: ask, look, decide; then measure and show.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::RunVerb;
use crate::cmd::measuring::{Measuring, drawn_seed};
use crate::cmd::{explain, tuning};
use crate::host::{self, Host};
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
    let process = &verb.spec.process;
    let cpus = process.affinity.as_ref().map(|cpus| cpus.0.clone());
    // The facts are those of the tuned machine.
    tuning::tuned(&process.tuning, &verb.host_root, cpus, || {
        let mut measuring = measuring(verb, |_| ())?;
        let (path, ended) = measuring.measure()?;
        let code = measuring.finish(&path, &ended)?;
        Ok((path, code))
    })
}

/// Measures a series of one command, to its last run however precise it is. Returns the record and the exit code; what
/// went wrong is said.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let mut measuring = measuring(verb, |plan| plan.precision = None)?;
    let (path, ended) = measuring.measure()?;
    let code = match ended.reason {
        EndReason::Complete => 0,
        _ => measuring.finish(&path, &ended)?,
    };
    Ok((path, code))
}

/// `adjust` has the last word on the plan.
fn measuring(verb: &RunVerb, adjust: impl FnOnce(&mut Plan)) -> Result<Measuring<'_>> {
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
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
        run_as: tuning::user_of_commands(&verb.spec.process.tuning),
    })
}
