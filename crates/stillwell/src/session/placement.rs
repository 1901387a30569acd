//! Threads and memory of a session's runs, once their CPUs are known.

use std::ffi::OsStr;

use anyhow::Result;

use crate::session::guard::{Guard, say};
use host::{Gap, Host, Survey, environment_for};
use model::spec::groups::PlacementOptions;
use record::plan::placement::{place_memory, place_threads};
use record::plan::{Plan, ProcessPlan};

/// Places the threads and memory of the runs. Reports the abilities that this machine lacks, and adds them to the
/// survey's gaps. Errors: a memory node of `options` does not exist.
pub fn place(
    host: &Host,
    plan: &mut Plan,
    options: &PlacementOptions,
    guard: &Guard,
    survey: &mut Survey,
) -> Result<()> {
    let gap = place_process(host, &mut plan.process, options, guard, survey)?;
    survey.gaps.extend(gap.inspect(|gap| say(std::slice::from_ref(&gap.why))));
    Ok(())
}

/// [`place`] for all benchmarks of a suite.
pub fn place_all<'a>(
    host: &Host,
    plans: impl Iterator<Item = &'a mut Plan>,
    options: &PlacementOptions,
    guard: &Guard,
    survey: &Survey,
) -> Result<()> {
    let mut gap = None;
    for plan in plans {
        gap = place_process(host, &mut plan.process, options, guard, survey)?;
    }
    gap.inspect(|gap| say(std::slice::from_ref(&gap.why)));
    Ok(())
}

fn place_process(
    host: &Host,
    process: &mut ProcessPlan,
    options: &PlacementOptions,
    guard: &Guard,
    survey: &Survey,
) -> Result<Option<Gap>> {
    let is_shielded = guard.isolation().is_some_and(|isolation| isolation.how.is_shield());
    let inherited = environment_for(guard.user());
    let is_set = |name: &str| inherited.iter().any(|(other, _)| other == OsStr::new(name));
    place_threads(process, options, is_shielded, is_set);
    let allowed = survey.facts.cpus_allowed.as_deref();
    place_memory(host, process, options, is_shielded, allowed)
}
