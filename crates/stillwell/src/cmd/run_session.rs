//! One session of `run`: look, decide, measure, show.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cmd::conclusion::{self, Presentation};
use crate::cmd::revisions;
use crate::session::{Guard, SampledSession, SessionEnd, SessionStart, count, drawn_seed, place};
use host::Host;
use host::shield::Isolation;
use host::sys::may_raise_priority;
use model::spec::RunVerb;
use model::values::exit_code;
use record::plan::{BuiltRevision, Plan, Stopping, decide_run, decide_run_across, priority};
use record::{EndReason, Readers};

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let revisions = revisions::built(&verb.spec.revisions)?;
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        started(
            (verb, &revisions),
            guard,
            |_| (),
            |start| conclusion::measure_and_show(start, &Presentation::of_run(&verb.spec)),
        )
    })
}

/// Measures without output. Returns the end of the session and the isolation of its runs.
pub fn measure_quietly(verb: &RunVerb) -> Result<(SessionEnd, Option<Isolation>)> {
    Guard::for_commands_quietly(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let isolation = guard.isolation().cloned();
        let screen = Presentation::of_run(&verb.spec).screen();
        let (_, end) = started((verb, &[]), guard, |_| (), |start| start.measure(screen))?;
        Ok((end, isolation))
    })
}

/// Measures these builds and shows only progress. Returns the record and the end of the session.
pub fn measure_revisions(
    verb: &RunVerb,
    revisions: &[BuiltRevision],
    change: impl FnOnce(&mut Plan),
) -> Result<(PathBuf, SessionEnd)> {
    Guard::for_commands_quietly(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let screen = Presentation::of_run(&verb.spec).screen();
        started((verb, revisions), guard, change, |start| start.measure(screen))
    })
}

/// Measures a changed plan and shows only progress. Returns the record and the end of the session.
pub fn measure_changed(
    verb: &RunVerb,
    change: impl FnOnce(&mut Plan),
) -> Result<(PathBuf, SessionEnd)> {
    measure_revisions(verb, &[], change)
}

/// Measures with samples to the last run, without output. `change` has the last word about the plan. Returns the record
/// and the end of the session.
pub fn measure_profiled(
    verb: &RunVerb,
    sampling: SampledSession,
    change: impl FnOnce(&mut Plan),
) -> Result<(PathBuf, SessionEnd)> {
    let to_the_end = |plan: &mut Plan| {
        change(plan);
        plan.stopping = Stopping::AtTheEnd;
        plan.precision = None;
    };
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        let screen = Presentation::of_run(&verb.spec).screen();
        started((verb, &[]), guard, to_the_end, |mut start| {
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
    (verb, revisions): (&RunVerb, &[BuiltRevision]),
    guard: &mut Guard,
    change: impl FnOnce(&mut Plan),
    act: impl FnOnce(SessionStart<'_>) -> Result<T>,
) -> Result<T> {
    // The facts describe the tuned machine.
    let host = Host::new(&verb.host_root);
    let mut survey = guard.survey(&host);
    let is_shielded = guard.isolation().is_some_and(|it| it.how.is_shield());
    let mut plan = decide_run_across(&verb.spec, revisions, &survey.facts, drawn_seed()?)?;
    raise(verb, &mut plan);
    survey.gaps.extend(priority::caveats(&host, &plan.process, is_shielded));
    guard.bind(&mut plan);
    change(&mut plan);
    if verb.script.is_none() {
        count([&mut plan], verb.spec.judgement.counter, verb.spec.process.rights.as_root)?;
        place(&host, &mut plan, &verb.spec.process.placement, guard, &mut survey)?;
        plan.place_copies(&host, &survey.facts);
    }
    let mut start = SessionStart::new(&plan, survey, verb.spec.output.record.as_deref(), guard);
    start.script = verb.script.as_deref();
    start.attribute = verb.attribute;
    start.readers = Readers::of(verb.spec.output.shared);
    act(start)
}

/// Made-up times have no priority.
fn raise(verb: &RunVerb, plan: &mut Plan) {
    let may_raise = || verb.script.is_none() && may_raise_priority(priority::HIGHEST);
    priority::raise(&mut plan.process, &verb.spec.process.priority, may_raise);
}

/// Measures a series of one command to its last run. Precision does not end the series early. Prints the errors of the
/// session. Returns the record and the exit code.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    Guard::bare(verb.spec.process.rights).hold(|guard| {
        let survey = guard.survey(&Host::new(&verb.host_root));
        let mut plan = decide_run(&verb.spec, &survey.facts, drawn_seed()?)?;
        raise(verb, &mut plan);
        plan.precision = None;
        let mut start = SessionStart::new(&plan, survey, verb.spec.output.record.as_deref(), guard);
        start.script = verb.script.as_deref();
        start.attribute = verb.attribute;
        start.readers = Readers::of(verb.spec.output.shared);
        let presentation = Presentation::of_run(&verb.spec);
        let (path, end) = start.measure(presentation.screen())?;
        let code = match end.reason {
            EndReason::Complete => exit_code::SUCCESS,
            _ => conclusion::finish(&presentation, &path, &end)?,
        };
        Ok((path, code))
    })
}
