//! `timeit`: statements, in any interpreters.

use anyhow::Result;

use crate::cmd::conclusion::measure_and_show;
use crate::cmd::tuning;
use crate::host::{self, Host};
use crate::measure::programs::behind_shim;
use crate::plan::programs::decide_timeit;
use crate::session::{Measuring, drawn_seed};
use crate::spec::TimeitVerb;

/// Measures, then shows.
pub fn timeit(verb: &TimeitVerb) -> Result<u8> {
    let workers = &verb.spec.session.workers;
    tuning::tuned(workers, &verb.host_root, || measure(verb))
}

fn measure(verb: &TimeitVerb) -> Result<u8> {
    let run_as = tuning::user_of_commands(&verb.spec.session.workers.tuning);
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
    let mut plan = decide_timeit(&verb.spec, &facts, drawn_seed()?)?;
    for arm in &mut plan.arms {
        if let Some(executable) = behind_shim(&arm.argv[0], run_as.as_ref()) {
            arm.argv[0] = executable;
        }
    }
    let mut measuring = Measuring {
        plan,
        facts,
        gaps,
        output: &verb.spec.session.output,
        fail_on: verb.spec.session.judgement.fail_on,
        script: None,
        maker: None,
        pyperf: Some(&verb.spec.session.pyperf),
        attribute: false,
        run_as,
        isolating: None,
    };
    let (_, code) = measure_and_show(&mut measuring)?;
    Ok(code)
}
