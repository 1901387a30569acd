//! The jobs of a step: its run, and the hooks around it.

use crate::Hook;
use crate::wire::{Job, RowId};
use record::plan::Plan;
use record::schedule::Step;
use stats::Stream;

/// Separates the hash seeds from the other random choices.
const HASH_STREAM: u64 = 0x1f83_d9ab_fb41_bd6b;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobPurpose {
    Hook(Hook),
    Run,
}

/// The index of a job's step, and the purpose of the job.
#[derive(Clone, Copy)]
pub struct JobOrigin<'a> {
    pub index: usize,
    pub purpose: JobPurpose,
    pub hook: &'a str,
}

/// Whether the runs of a plan must not know that they are measured.
pub fn is_undercover(plan: &Plan) -> bool {
    plan.fair_play.as_ref().is_some_and(|rules| rules.is_undercover)
}

/// A job of a step. If a run is undercover or its instructions are counted, its number is not in its variables, and
/// both arms of a block have the same hash seed.
pub fn job(step: &Step, purpose: JobPurpose, command: u32, plan: &Plan) -> Job {
    let is_run = purpose == JobPurpose::Run;
    let is_counted = is_run && plan.is_under_valgrind(step.block);
    let seed = step.block.filter(|_| is_counted).map(|block| hash_seed(plan.seed, block));
    let row = RowId { step: step.step, arm: step.arm, block: step.block };
    let prefix = if step.block.is_some() { "" } else { "warmup-" };
    Job {
        command,
        row: is_run.then_some(row),
        iteration: (!is_run || !(is_undercover(plan) || is_counted))
            .then(|| format!("{prefix}{}", step.round)),
        padding_bytes: step.padding_bytes,
        hash_seed: seed,
    }
}

fn hash_seed(seed: u64, block: u32) -> u32 {
    let mut stream = Stream::new(seed ^ HASH_STREAM).after(block.into());
    stream.below(1 << 32) as u32
}
