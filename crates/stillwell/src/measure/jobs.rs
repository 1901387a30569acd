//! The jobs of a step: its run, and the hooks around it.

use crate::measure::Hook;
use crate::measure::wire::{Job, RowId};
use crate::schedule::Step;

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

/// A job of a step.
pub fn job(step: &Step, purpose: JobPurpose, command: u32) -> Job {
    let row = RowId { step: step.step, arm: step.arm, block: step.block };
    let prefix = if step.block.is_some() { "" } else { "warmup-" };
    Job {
        command,
        row: matches!(purpose, JobPurpose::Run).then_some(row),
        iteration: Some(format!("{prefix}{}", step.round)),
        padding_bytes: step.padding_bytes,
    }
}
