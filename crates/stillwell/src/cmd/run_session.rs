//! One session of commands: look, decide, measure, show.

use std::path::PathBuf;

use anyhow::Result;

use crate::cmd::conclusion::{Presentation, finish};
use crate::cmd::revisions;
use crate::session::{
    Guard, Opening, SampledSession, Session, SessionEnd, Voice, bare_surroundings,
    instruction_counters, surroundings, told_gap,
};
use host::Host;
use host::priority::caveats;
use model::spec::RunVerb;
use model::values::{DecideOn, exit_code};
use record::plan::{ArmTerms, Ending, ProcessPlan, Terms, decide_session};
use record::{EndReason, Readers};

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let revisions = revisions::built(&verb.spec.revisions)?;
    let terms = Terms { arms: ArmTerms::Revisions(&revisions), ..Terms::default() };
    let presentation = Presentation::of_run(&verb.spec);
    presentation.check_exports()?;
    let mut guard = Guard::for_commands(&verb.host_root, &verb.spec.process, Voice::Normal)?;
    let shown = measure(verb, &terms, None, &mut guard).and_then(|(path, end)| {
        let code = finish(&presentation, &path, &end)?;
        Ok((path, code))
    });
    guard.restore(shown)
}

/// Measures and shows only progress. Returns the record and the end of the session.
pub fn measure_quietly(verb: &RunVerb, terms: &Terms<'_>) -> Result<(PathBuf, SessionEnd)> {
    let mut guard = Guard::for_commands(&verb.host_root, &verb.spec.process, Voice::Quiet)?;
    let measured = measure(verb, terms, None, &mut guard);
    guard.restore(measured)
}

/// Measures with samples and shows only progress. Returns the record and the end of the session.
pub fn measure_profiled(
    verb: &RunVerb,
    terms: &Terms<'_>,
    sampling: SampledSession,
) -> Result<(PathBuf, SessionEnd)> {
    let mut guard = Guard::for_commands(&verb.host_root, &verb.spec.process, Voice::Normal)?;
    let measured = measure(verb, terms, Some(sampling), &mut guard);
    guard.restore(measured)
}

/// Measures a series of one command to its last run. Precision does not end the series early. Prints the errors of the
/// session. Returns the record and the exit code.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let terms = Terms { ending: Ending::AtTheEnd, ..Terms::default() };
    let mut guard = Guard::bare(verb.spec.process.rights);
    let (path, end) = measure(verb, &terms, None, &mut guard)?;
    let code = match end.reason {
        EndReason::Complete => exit_code::SUCCESS,
        _ => finish(&Presentation::of_run(&verb.spec), &path, &end)?,
    };
    Ok((path, code))
}

/// Examines the machine under the guard, decides the plan there, and measures. Returns the record and the end of the
/// session.
fn measure(
    verb: &RunVerb,
    terms: &Terms<'_>,
    sampling: Option<SampledSession>,
    guard: &mut Guard,
) -> Result<(PathBuf, SessionEnd)> {
    let RunVerb { spec, script, attribute, .. } = verb;
    // The facts describe the tuned machine.
    let host = Host::new(&verb.host_root);
    let mut survey = guard.survey(&host);
    let mut around = match script {
        Some(_) => bare_surroundings(guard, &survey)?,
        None => surroundings(&host, guard, &survey, spec.copies.is_some())?,
    };
    if script.is_none() && spec.judgement.decide_on == Some(DecideOn::Instructions) {
        around.counters = Some(instruction_counters(spec.process.rights.as_root));
    }
    let plan = decide_session(spec, terms, &around)?;
    let ProcessPlan { nice, sched, .. } = plan.process;
    survey.gaps.extend(caveats(&host, nice, sched, around.is_shielded));
    survey.gaps.extend(told_gap(&around, &spec.process.placement));
    let opening = Opening {
        record: spec.output.record.as_deref(),
        readers: Readers::of(spec.output.shared),
        script: script.as_deref(),
        attribute: *attribute,
        sampling,
        ..Opening::new(survey, guard, Presentation::of_run(spec).screen())
    };
    Session::open(&plan, opening)?.run()
}
