//! `load`: keeps the machine busy on purpose, in a way the user chooses.

use std::ffi::OsString;

use clap::ValueEnum;

use crate::spec::groups::RightsOptions;
use crate::values::{Cpus, TimeSpan, option_value};

/// `load`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: that of COMMAND (128 + its number for a signal); without one 0, also after ^C, and 130 when \
                  ^C came before the end of --for"
)]
pub struct LoadVerb {
    /// Processes that are always ready to run: the load average goes to this and above
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub n: u32,
    /// What they do, several in turn: cpu (compute), mem (copy memory), fork (make processes) [default: cpu]
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub kind: Vec<LoadKind>,
    /// The CPUs that are made busy, for example 0-3 [default: all that this process may use]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// For how long, for example 30s [default: until ^C]
    #[arg(long = "for", value_name = "TIME", conflicts_with = "command")]
    pub time: Option<TimeSpan>,
    #[command(flatten)]
    pub rights: RightsOptions,
    /// For as long as this command runs
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// What a busy process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoadKind {
    /// It computes.
    Cpu,
    /// It copies memory, more than the caches hold.
    Mem,
    /// It makes processes.
    Fork,
}

impl LoadKind {
    /// Name on the command line.
    pub fn name(self) -> String {
        option_value(&self)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_found_by_its_name() {
        for kind in LoadKind::value_variants() {
            assert_eq!(LoadKind::named(&kind.name()), Some(*kind));
        }
    }
}
