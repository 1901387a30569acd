//! The knobs: settings of the machine that make benchmark times vary, one row each, in the order of tuning. None
//! survives a reboot.
//!
//! Only this table names files of the machine that Stillwell may write. Tuning, restoring and the privileged helper
//! take a knob and a path, and refuse a path that is not in the table.

mod frequency;
mod kernel;
mod knob;
mod machine;
mod placement;
mod power;
mod realtime;
mod reported;
mod services;

pub use crate::value_format::Format;
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
        realtime::KNOBS,
        reported::KNOBS,
        services::KNOBS,
    ]
    .into_iter()
    .flatten()
}

pub fn knob(name: &str) -> Option<&'static Knob> {
    knobs().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_files_are_relative() {
        let mut names: Vec<_> = knobs().map(|knob| knob.name).collect();
        names.sort_unstable();
        let n = names.len();
        names.dedup();
        assert_eq!(names.len(), n);
        for file in knobs().flat_map(|knob| knob.files) {
            assert!(!file.path.starts_with('/') && !file.path.contains(".."), "{}", file.path);
        }
    }
}
