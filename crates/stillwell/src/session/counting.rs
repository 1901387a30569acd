//! What counts the instructions of a session's runs, once it is known what this machine has.

use anyhow::Result;

use host::user_of_commands;
use measure::{can_count_instructions, valgrind};
use model::values::CounterChoice;
use record::plan::Plan;
use record::plan::counting::choose;

/// Decides what counts, if instructions decide. `as_root`: the runs have the rights of root.
///
/// # Errors
/// Nothing counts them here.
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
