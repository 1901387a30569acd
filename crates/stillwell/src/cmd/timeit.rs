//! `timeit`: statements in any interpreters.

use anyhow::Result;

use crate::cmd::conclusion::{Presentation, measure_and_show};
use crate::cmd::exports::by_suffix;
use crate::cmd::revisions;
use crate::session::{Guard, SessionStart, drawn_seed, place};
use host::Host;
use host::sys::may_raise_priority;
use measure::programs::behind_shim;
use model::spec::TimeitVerb;
use record::Readers;
use record::plan::priority::{HIGHEST, raise};
use record::plan::programs::decide_timeit;

pub fn timeit(verb: &TimeitVerb) -> Result<u8> {
    let session = &by_suffix(&verb.spec.session)?;
    let revisions = revisions::built(&verb.spec.revisions)?;
    Guard::for_workers(&verb.host_root, &session.workers)?.hold(|guard| {
        let host = Host::new(&verb.host_root);
        let mut survey = guard.survey(&host);
        let mut plan = decide_timeit(&verb.spec, &revisions, &survey.facts, drawn_seed()?)?;
        raise(&mut plan.process, &session.workers.machine.priority, || may_raise_priority(HIGHEST));
        place(&host, &mut plan, &session.workers.machine.placement, guard, &mut survey)?;
        for arm in &mut plan.arms {
            if let Some(executable) = behind_shim(&arm.argv[0], guard.user()) {
                arm.argv[0] = executable;
            }
        }
        let mut start = SessionStart::new(&plan, survey, session.output.record.as_deref(), guard);
        start.readers = Readers::of(session.output.shared);
        let (_, code) = measure_and_show(start, &Presentation::of_workers(session))?;
        Ok(code)
    })
}
