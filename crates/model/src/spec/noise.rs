//! `noise`: where lost time went.

use std::path::PathBuf;

use crate::values::{Cpus, TimeSpan};

/// `noise`.
#[derive(Debug, clap::Args)]
pub struct NoiseVerb {
    /// Say of these records where the time above t0 went, instead of watching this machine
    #[arg(value_name = "RECORD", conflicts_with_all = ["cpus", "for_", "raw", "no_trace"])]
    pub records: Vec<PathBuf>,
    /// Watch these CPUs, for example 2 or 0-3,6 [default: those allowed now]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// Watch for this long, for example 10s or 1min; ^C ends it earlier [default: 10s]
    #[arg(long = "for", value_name = "TIME")]
    pub for_: Option<TimeSpan>,
    /// Write every pause as a line of comma-separated values: CPU, start by CLOCK_MONOTONIC and length in ns; - is standard
    /// output, which then has nothing else
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,
    /// Use no tracepoints, also where the rights are there: what a user without them sees, at no cost
    #[arg(long)]
    pub no_trace: bool,
    /// Print all: each CPU, its pauses, how all of that is known, and what was not seen
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}
