//! The machine as a session finds it, before the plan is decided.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::session::drawn_seed;
use crate::session::guard::Guard;
use host::sys::may_raise_priority;
use host::terminal::say;
use host::{Gap, Host, Survey, cores, environment_for, memory_nodes, user_of_commands};
use measure::{can_count_instructions, valgrind};
use model::spec::groups::PlacementOptions;
use record::plan::counting::InstructionCounters;
use record::plan::placement::memory_gap;
use record::plan::{HIGHEST_PRIORITY, MachinePlaces, Surroundings};

/// The surroundings of runs under a guard. `are_copied`: copies of a command are one run. Errors: no seed can be drawn.
pub fn surroundings(
    host: &Host,
    guard: &Guard,
    survey: &Survey,
    are_copied: bool,
) -> Result<Surroundings> {
    let inherited = environment_for(guard.user());
    let name = |name: &std::ffi::OsString| name.to_str().map(str::to_owned);
    Ok(Surroundings {
        may_raise: may_raise_priority(HIGHEST_PRIORITY),
        places: Some(MachinePlaces {
            nodes: memory_nodes(host),
            cores: if are_copied { cores(host) } else { BTreeMap::new() },
            variables: inherited.iter().filter_map(|(it, _)| name(it)).collect(),
        }),
        ..bare_surroundings(guard, survey)?
    })
}

/// The surroundings of a session that executes nothing. Errors: no seed can be drawn.
pub fn bare_surroundings(guard: &Guard, survey: &Survey) -> Result<Surroundings> {
    Ok(Surroundings {
        bound_cpus: guard.bound_cpus(),
        is_shielded: guard.isolation().is_some_and(|isolation| isolation.how.is_shield()),
        ..Surroundings::of(&survey.facts, drawn_seed()?)
    })
}

/// The counters of instructions on this machine. `as_root`: the runs have root rights.
pub fn instruction_counters(as_root: bool) -> InstructionCounters {
    let valgrind = valgrind::found(user_of_commands(as_root).as_ref());
    InstructionCounters { pmu: can_count_instructions(), valgrind }
}

/// A requested ability that this machine lacks. It is also reported at once.
pub fn told_gap(known: &Surroundings, options: &PlacementOptions) -> Option<Gap> {
    let gap = known.places.as_ref().and_then(|places| memory_gap(&places.nodes, options));
    gap.inspect(|gap| say(&gap.why))
}
