//! The knobs: what on a machine makes the times of a benchmark vary, one row each, in the order in which they are
//! turned. This table is all that knows files of the machine that may be written: tuning, restoring and the privileged
//! helper take a knob and a path, and refuse what is not in it.
//!
//! Nothing here outlives a reboot.

mod format;
mod frequency;
mod kernel;
mod knob;
mod machine;
mod memory;
mod placement;
mod power;
mod reported;

pub use format::Format;
pub use knob::{Confidence, File, Group, Knob, Reading, Setting, State, Undo};
pub use machine::{Machine, bench_cpus};

/// All knobs in the order in which they are turned.
pub fn knobs() -> impl Iterator<Item = &'static Knob> {
    [
        placement::FIRST,
        frequency::KNOBS,
        power::KNOBS,
        placement::KNOBS,
        kernel::KNOBS,
        memory::KNOBS,
        reported::KNOBS,
    ]
    .into_iter()
    .flatten()
}

/// The knob of this name.
pub fn knob(name: &str) -> Option<&'static Knob> {
    knobs().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests;
