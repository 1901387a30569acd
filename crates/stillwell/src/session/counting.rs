//! Chooses a counter of instructions for a session's runs, given the counters of this machine.

use anyhow::{Result, ensure};

use host::user_of_commands;
use measure::{can_count_instructions, valgrind};
use model::prose::prose;
use model::values::CounterChoice;
use record::plan::Plan;
use record::plan::counting::choose;

/// Chooses a counter if instructions decide. `as_root`: the runs have root rights. Errors: nothing counts instructions
/// here.
pub fn count<'a>(
    plans: impl IntoIterator<Item = &'a mut Plan>,
    choice: Option<CounterChoice>,
    as_root: bool,
) -> Result<()> {
    let mut plans = plans.into_iter().filter(|plan| plan.needs_counter()).peekable();
    if plans.peek().is_none() {
        return Ok(());
    }
    let valgrind = valgrind::found(user_of_commands(as_root).as_ref());
    let choice = choice.unwrap_or_default();
    let mut plans: Vec<&mut Plan> = plans.collect();
    let is_stepped = plans.iter().any(|plan| plan.needs_stepped_clock());
    let by_clock = "a framework that chooses its iterations by the clock is counted by valgrind";
    ensure!(!(is_stepped && choice == CounterChoice::Pmu), prose![Counter " pmu: {by_clock}"]);
    let pmu = || if is_stepped { Err(by_clock.to_owned()) } else { can_count_instructions() };
    let counter = choose(choice, pmu, valgrind)?;
    plans.iter_mut().for_each(|plan| plan.count_by(counter.clone()));
    Ok(())
}
