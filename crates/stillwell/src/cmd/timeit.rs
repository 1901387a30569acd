//! `timeit`: statements in any interpreters.

use anyhow::Result;

use crate::cmd::conclusion::{Presentation, measure_and_show};
use crate::cmd::exports::by_suffix;
use crate::cmd::revisions;
use crate::session::{Guard, Opening, surroundings, told_gap};
use host::Host;
use measure::programs::behind_shim;
use model::spec::TimeitVerb;
use record::Readers;
use record::plan::programs::{decide_workers, statements};
use record::plan::{Terms, across};

pub fn timeit(verb: &TimeitVerb) -> Result<u8> {
    let session = &by_suffix(&verb.spec.session)?;
    let revisions = revisions::built(&verb.spec.revisions)?;
    Guard::for_workers(&verb.host_root, &session.workers)?.hold(|guard| {
        let host = Host::new(&verb.host_root);
        let mut survey = guard.survey(&host);
        let statements = statements(&verb.spec.statement.join("\n"), &verb.spec.code)?;
        let mut arms = across(statements, &revisions);
        for arm in &mut arms {
            if let Some(executable) = behind_shim(&arm.argv[0], guard.user()) {
                arm.argv[0] = executable;
            }
        }
        let around = surroundings(&host, guard, &survey, false)?;
        let plan = decide_workers(arms, &verb.spec.session, &Terms::default(), &around)?;
        survey.gaps.extend(told_gap(&around, &session.workers.machine.placement));
        let presentation = Presentation::of_workers(session);
        let opening = Opening {
            record: session.output.record.as_deref(),
            readers: Readers::of(session.output.shared),
            ..Opening::new(survey, guard, presentation.screen())
        };
        let (_, code) = measure_and_show(&plan, opening, &presentation)?;
        Ok(code)
    })
}
