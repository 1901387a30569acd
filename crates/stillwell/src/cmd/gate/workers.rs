//! Programs of a gate that speak the worker protocol.

use host::user_of_commands;
use measure::harnesses::{BenchmarkList, may_be_worker};
use measure::slices::{WorkerFactory, list_benchmarks};
use measure::worker::FailureCause;
use model::spec::GateVerb;
use model::values::DecideOn;
use model::words::in_words;
use record::plan::Arm;
use render::failure::worker::explain;
use render::remedies::Audience;

use super::timeout;

pub(super) const NOT_COUNTED: &str = "instructions are not counted for the loops of a worker";

/// The benchmarks of a program that speaks the worker protocol; `None` if it is another program. `is_named`: the user
/// named it, so it has to answer.
pub(super) fn worker_benchmarks(
    verb: &GateVerb,
    arm: &Arm,
    is_named: bool,
) -> Result<Option<BenchmarkList>, String> {
    let user = user_of_commands(verb.machine.rights.as_root);
    if !may_be_worker(arm, user.as_ref()) {
        return Ok(None);
    }
    let mut maker = WorkerFactory::new(None, user).map_err(|error| in_words(&error))?;
    let listed = list_benchmarks(&mut maker, std::slice::from_ref(arm), Some(timeout(verb)), None);
    let benchmarks = match listed {
        Ok(listed) => listed.concat(),
        // The protocol's argument is also in programs that start workers.
        Err((_, failure))
            if !is_named && matches!(failure.what, FailureCause::NotAWorker { .. }) =>
        {
            return Ok(None);
        }
        Err((_, failure)) => {
            return Err(explain("it", "nothing was measured", &failure, Audience::Gate));
        }
    };
    if verb.decide_on == Some(DecideOn::Instructions) {
        return Err(NOT_COUNTED.into());
    }
    if benchmarks.is_empty() && is_named {
        return Err("asked for its benchmarks, it lists no benchmark".into());
    }
    Ok(Some(BenchmarkList { benchmarks, ..BenchmarkList::default() }))
}
