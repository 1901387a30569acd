//! Chooses a counter of instructions for a session's runs, given the counters of this machine.

use anyhow::Result;

use host::user_of_commands;
use measure::{can_count_instructions, valgrind};
use model::values::CounterChoice;
use record::plan::Plan;
use record::plan::counting::choose;

/// Chooses a counter, if instructions decide. `as_root`: the runs have root rights. Errors: nothing counts instructions
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
    let counter = choose(choice.unwrap_or_default(), can_count_instructions, valgrind)?;
    plans.for_each(|plan| plan.count_by(counter.clone()));
    Ok(())
}
