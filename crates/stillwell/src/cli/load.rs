//! `load`: a machine made busy on purpose.

use std::ffi::OsString;

use crate::spec::load::Kind;
use crate::spec::values::{Cpus, TimeSpan};

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
    /// What they do, several in turn: cpu (compute), mem (copy memory), cache (take cache lines), io (write to an unnamed
    /// file in $TMPDIR and wait for the disk), fork (make processes), timer (have the CPU interrupted), irq (packets to
    /// themselves)
    #[arg(
        long,
        value_name = "KINDS",
        value_enum,
        value_delimiter = ',',
        default_value = "cpu",
        hide_possible_values = true
    )]
    pub kind: Vec<Kind>,
    /// The CPUs that are made busy, for example 0-3 [default: all that this process may use]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// For how long, for example 30s [default: until ^C]
    #[arg(long = "for", value_name = "TIME", conflicts_with = "command")]
    pub time: Option<TimeSpan>,
    /// For as long as this command runs
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
