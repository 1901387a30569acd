//! `timeit`: statements, in any interpreters.

use anyhow::Result;

use crate::cli::TimeitVerb;
use crate::cmd::measuring::{Measuring, drawn_seed};
use crate::host::{self, Host};
use crate::plan::programs::decide_timeit;

/// Measures, then shows.
pub fn timeit(verb: &TimeitVerb) -> Result<u8> {
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
    let plan = decide_timeit(&verb.spec, &facts, drawn_seed()?)?;
    let measuring = Measuring {
        plan,
        facts,
        gaps,
        output: &verb.spec.output,
        fail_on: verb.spec.judging.fail_on,
        script: None,
        fork_server: None,
        run_as: None,
    };
    measuring.run()
}
