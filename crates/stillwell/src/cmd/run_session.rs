//! One session of commands: look, decide, measure, show.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cmd::conclusion::{self, Presentation};
use crate::cmd::revisions;
use crate::session::{
    Guard, Opening, SampledSession, Session, SessionEnd, bare_surroundings, instruction_counters,
    surroundings, told_gap,
};
use host::priority::caveats;
use host::shield::Isolation;
use host::{Host, Survey};
use model::spec::RunVerb;
use model::values::{DecideOn, exit_code};
use record::plan::{ArmTerms, Ending, Plan, ProcessPlan, Terms, decide_session};
use record::{EndReason, Readers};

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let revisions = revisions::built(&verb.spec.revisions)?;
    let terms = Terms { arms: ArmTerms::Revisions(&revisions), ..Terms::default() };
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let (plan, survey) = planned(verb, &terms, guard)?;
        let presentation = Presentation::of_run(&verb.spec);
        conclusion::measure_and_show(&plan, opening(verb, survey, guard), &presentation)
    })
}

/// Measures and shows only progress. Returns the record, the end of the session, and the isolation of its runs.
pub fn measure_quietly(
    verb: &RunVerb,
    terms: &Terms<'_>,
) -> Result<(PathBuf, SessionEnd, Option<Isolation>)> {
    Guard::for_commands_quietly(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let isolation = guard.isolation().cloned();
        let (plan, survey) = planned(verb, terms, guard)?;
        let (path, end) = Session::open(&plan, opening(verb, survey, guard))?.run()?;
        Ok((path, end, isolation))
    })
}

/// Measures with samples and shows only progress. Returns the record and the end of the session.
pub fn measure_profiled(
    verb: &RunVerb,
    terms: &Terms<'_>,
    sampling: SampledSession,
) -> Result<(PathBuf, SessionEnd)> {
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let (plan, survey) = planned(verb, terms, guard)?;
        let opening = Opening { sampling: Some(sampling), ..opening(verb, survey, guard) };
        Session::open(&plan, opening)?.run()
    })
}

/// Measures a series of one command to its last run. Precision does not end the series early. Prints the errors of the
/// session. Returns the record and the exit code.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let terms = Terms { ending: Ending::AtTheEnd, ..Terms::default() };
    Guard::bare(verb.spec.process.rights).hold(|guard| {
        let (plan, survey) = planned(verb, &terms, guard)?;
        let (path, end) = Session::open(&plan, opening(verb, survey, guard))?.run()?;
        let code = match end.reason {
            EndReason::Complete => exit_code::SUCCESS,
            _ => conclusion::finish(&Presentation::of_run(&verb.spec), &path, &end)?,
        };
        Ok((path, code))
    })
}

/// Shows the runs of a failed session. Returns the exit code.
pub fn conclude_failed(verb: &RunVerb, record: &Path, end: &SessionEnd) -> Result<u8> {
    conclusion::finish(&Presentation::of_run(&verb.spec), record, end)
}

/// Examines the machine under a guard, and decides the plan there.
fn planned(verb: &RunVerb, terms: &Terms<'_>, guard: &Guard) -> Result<(Plan, Survey)> {
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
    let ProcessPlan { nice, sched, .. } = plan.process;
    survey.gaps.extend(caveats(&host, nice, sched, around.is_shielded));
    survey.gaps.extend(told_gap(&around, &process.placement));
    Ok((plan, survey))
}

fn opening<'a>(verb: &'a RunVerb, survey: Survey, guard: &'a mut Guard) -> Opening<'a> {
    let RunVerb { spec, script, attribute, .. } = verb;
    Opening {
        record: spec.output.record.as_deref(),
        readers: Readers::of(spec.output.shared),
        script: script.as_deref(),
        attribute: *attribute,
        ..Opening::new(survey, guard, Presentation::of_run(spec).screen())
    }
}
