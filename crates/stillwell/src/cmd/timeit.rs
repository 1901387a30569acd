//! `timeit`: statements, in any interpreters.

use anyhow::Result;

use crate::cli::TimeitVerb;
use crate::cmd::measuring::{Measuring, drawn_seed};
use crate::host::{self, Host};
use crate::measure::programs::behind_shim;
use crate::plan::programs::decide_timeit;

/// Measures, then shows.
pub fn timeit(verb: &TimeitVerb) -> Result<u8> {
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
    let mut plan = decide_timeit(&verb.spec, &facts, drawn_seed()?)?;
    for arm in &mut plan.arms {
        if let Some(executable) = behind_shim(&arm.argv[0]) {
            arm.argv[0] = executable;
        }
    }
    let mut measuring = Measuring {
        plan,
        facts,
        gaps,
        output: &verb.spec.session.output,
        fail_on: verb.spec.session.judging.fail_on,
        script: None,
        maker: None,
        pyperf: Some(&verb.spec.session.pyperf),
        attribute: false,
        run_as: None,
    };
    measuring.run()
}
