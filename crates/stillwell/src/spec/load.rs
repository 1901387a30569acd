//! What a machine can be made busy with.

use clap::ValueEnum;

/// What a busy process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// It computes.
    Cpu,
    /// It copies memory, more than the caches hold.
    Mem,
    /// It takes cache lines from others.
    Cache,
    /// It writes to a file without a name in $TMPDIR, and waits for the disk.
    Io,
    /// It makes processes.
    Fork,
    /// It has its CPU interrupted by a timer, 20 000 times a second.
    Timer,
    /// It sends packets to itself: software interrupts.
    Irq,
}

impl Kind {
    const ALL: [(Self, &str); 7] = [
        (Self::Cpu, "cpu"),
        (Self::Mem, "mem"),
        (Self::Cache, "cache"),
        (Self::Io, "io"),
        (Self::Fork, "fork"),
        (Self::Timer, "timer"),
        (Self::Irq, "irq"),
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for kind in Kind::value_variants() {
            let value = kind.to_possible_value().unwrap();
            assert_eq!((value.get_name(), Kind::named(kind.name())), (kind.name(), Some(*kind)));
        }
    }
}
