//! One session of `run`: look, decide, measure, show.

use std::path::PathBuf;

use anyhow::Result;

use crate::cmd::conclusion::{self, Presentation};
use crate::host::Host;
use crate::plan::{decide_run, priority};
use crate::record::EndReason;
use crate::session::{Guard, SessionStart, drawn_seed};
use crate::spec::RunVerb;
use crate::values::exit_code;

/// Measures, then shows. Returns the record and the exit code.
pub fn measure_and_show(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    Guard::for_commands(&verb.host_root, &verb.spec.process)?.hold(|guard| {
        // The facts are those of the tuned machine.
        let host = Host::new(&verb.host_root);
        let mut survey = guard.survey(&host);
        let is_shielded = guard.isolation().is_some_and(|it| it.how.is_shield());
        survey.gaps.extend(priority::caveats(&host, &verb.spec.process.priority, is_shielded));
        let mut plan = decide_run(&verb.spec, &survey.facts, drawn_seed()?)?;
        guard.bind(&mut plan);
        let mut start = SessionStart::new(&plan, survey, verb.spec.output.record.as_deref(), guard);
        start.script = verb.script.as_deref();
        start.attribute = verb.attribute;
        conclusion::measure_and_show(start, &Presentation::of_run(&verb.spec))
    })
}

/// Measures a series of one command to its last run; precision does not end it early. Returns the record and the exit
/// code. Errors of the session are printed.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    Guard::default().hold(|guard| {
        let survey = guard.survey(&Host::new(&verb.host_root));
        let mut plan = decide_run(&verb.spec, &survey.facts, drawn_seed()?)?;
        plan.precision = None;
        let mut start = SessionStart::new(&plan, survey, verb.spec.output.record.as_deref(), guard);
        start.script = verb.script.as_deref();
        start.attribute = verb.attribute;
        let presentation = Presentation::of_run(&verb.spec);
        let (path, end) = start.measure(presentation.screen())?;
        let code = match end.reason {
            EndReason::Complete => exit_code::SUCCESS,
            _ => conclusion::finish(&presentation, &path, &end)?,
        };
        Ok((path, code))
    })
}
