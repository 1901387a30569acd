//! The jobs of a step: its run, and the hooks around it.

use crate::Hook;
use crate::wire::{Job, RowId};
use record::schedule::Step;

/// Purpose of a job of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobPurpose {
    Hook(Hook),
    Run,
}

/// The step that a job belongs to, by its index, and the purpose of the job.
#[derive(Clone, Copy)]
pub struct JobOrigin<'a> {
    pub index: usize,
    pub purpose: JobPurpose,
    pub hook: &'a str,
}

/// A job of a step. A run that is undercover has no variable with its number.
pub fn job(step: &Step, purpose: JobPurpose, command: u32, is_undercover: bool) -> Job {
    let row = RowId { step: step.step, arm: step.arm, block: step.block };
    let prefix = if step.block.is_some() { "" } else { "warmup-" };
    Job {
        command,
        row: (purpose == JobPurpose::Run).then_some(row),
        iteration: (purpose != JobPurpose::Run || !is_undercover)
            .then(|| format!("{prefix}{}", step.round)),
        padding_bytes: step.padding_bytes,
    }
}
