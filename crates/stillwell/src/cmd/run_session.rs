//! One session of commands: look, decide, measure, show.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cmd::conclusion::{self, Presentation};
use crate::cmd::revisions;
use crate::session::{
    Guard, SampledSession, SessionEnd, SessionStart, bare_surroundings, instruction_counters,
    surroundings, told_gap,
};
use host::Host;
use host::shield::Isolation;
use model::spec::RunVerb;
use model::values::{DecideOn, exit_code};
use record::plan::{ArmTerms, Ending, Terms, decide_session, priority};
use record::{EndReason, Readers};

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let revisions = revisions::built(&verb.spec.revisions)?;
    let terms = Terms { arms: ArmTerms::Revisions(&revisions), ..Terms::default() };
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        started(verb, &terms, guard, |start| {
            conclusion::measure_and_show(start, &Presentation::of_run(&verb.spec))
        })
    })
}

/// Measures and shows nothing but progress. Returns the record, the end of the session, and the isolation of its runs.
pub fn measure_quietly(
    verb: &RunVerb,
    terms: &Terms<'_>,
) -> Result<(PathBuf, SessionEnd, Option<Isolation>)> {
    Guard::for_commands_quietly(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let isolation = guard.isolation().cloned();
        let screen = Presentation::of_run(&verb.spec).screen();
        let (path, end) = started(verb, terms, guard, |start| start.measure(screen))?;
        Ok((path, end, isolation))
    })
}

/// Measures with samples, and shows nothing but progress. Returns the record, and the end of the session.
pub fn measure_profiled(
    verb: &RunVerb,
    terms: &Terms<'_>,
    sampling: SampledSession,
) -> Result<(PathBuf, SessionEnd)> {
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let screen = Presentation::of_run(&verb.spec).screen();
        started(verb, terms, guard, |mut start| {
            start.sampling = Some(sampling);
            start.measure(screen)
        })
    })
}

/// Shows the runs of a failed session. Returns the exit code.
pub fn conclude_failed(verb: &RunVerb, record: &Path, end: &SessionEnd) -> Result<u8> {
    conclusion::finish(&Presentation::of_run(&verb.spec), record, end)
}

/// Plans a session under a guard, then starts it. `change` has the last word about the plan.
fn started<T>(
    verb: &RunVerb,
    terms: &Terms<'_>,
    guard: &mut Guard,
    act: impl FnOnce(SessionStart<'_>) -> Result<T>,
) -> Result<T> {
    // The facts describe the tuned machine.
    let host = Host::new(&verb.host_root);
    let mut survey = guard.survey(&host);
    let (judgement, process) = (&verb.spec.judgement, &verb.spec.process);
    let mut around = match verb.script {
        Some(_) => bare_surroundings(guard, &survey)?,
        None => surroundings(&host, guard, &survey, verb.spec.copies.is_some())?,
    };
    if verb.script.is_none() && judgement.decide_on == Some(DecideOn::Instructions) {
        around.counters = Some(instruction_counters(process.rights.as_root));
    }
    let plan = decide_session(&verb.spec, terms, &around)?;
    survey.gaps.extend(priority::caveats(&host, &plan.process, around.is_shielded));
    survey.gaps.extend(told_gap(&around, &process.placement));
    let mut start = SessionStart::new(&plan, survey, verb.spec.output.record.as_deref(), guard);
    start.script = verb.script.as_deref();
    start.attribute = verb.attribute;
    start.readers = Readers::of(verb.spec.output.shared);
    act(start)
}

/// Measures a series of one command to its last run; precision does not end it early. Returns the record and the exit
/// code. Errors of the session are printed.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let terms = Terms { ending: Ending::AtTheEnd, ..Terms::default() };
    Guard::bare(verb.spec.process.rights).hold(|guard| {
        let presentation = Presentation::of_run(&verb.spec);
        let (path, end) =
            started(verb, &terms, guard, |start| start.measure(presentation.screen()))?;
        let code = match end.reason {
            EndReason::Complete => exit_code::SUCCESS,
            _ => conclusion::finish(&presentation, &path, &end)?,
        };
        Ok((path, code))
    })
}
