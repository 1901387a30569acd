//! `calibrate`: how often tests err on this machine.

use std::path::PathBuf;

use crate::spec::groups::RightsOptions;
use crate::values::{CALIBRATION_RUNS_MIN, Cpus, Percent, Shell, TimeSpan};

/// `calibrate`.
#[derive(Debug, clap::Args)]
pub struct CalibrateVerb {
    /// Command to time, one argument
    #[arg(required_unless_present = "from")]
    pub command: Option<String>,
    /// Replay the first command of this record instead of timing one
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["command", "budget", "runs", "record"])]
    pub from: Option<PathBuf>,
    /// Time to spend on the series, for example 30s or 5min; the replays after it take minutes of their own [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Exactly this many runs, at least 120 [default: as many as fit the budget, at least 600]
    #[arg(short = 'r', long, value_name = "NUM", conflicts_with = "budget",
          value_parser = clap::value_parser!(u32).range(i64::try_from(CALIBRATION_RUNS_MIN).unwrap_or(1)..))]
    pub runs: Option<u32>,
    /// Experiments that are replayed for each slowdown, at least 50 [default: 500]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(50..=1_000_000))]
    pub replays: Option<u32>,
    /// Seed of the replayed experiments [default: drawn anew]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    /// Error rate of all tests, in percent [default: 1]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// How the command is executed: auto (a shell only if it needs one), none, default (sh), or a shell's command line
    /// [default: auto]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Allow only these CPUs, for example 2 or 0-3,6 [default: those allowed now]
    #[arg(long, value_name = "CPUS")]
    pub affinity: Option<Cpus>,
    #[command(flatten)]
    pub rights: RightsOptions,
    /// Where to keep the series; the file must not exist [default: a new file in $XDG_STATE_HOME/stillwell]
    #[arg(short = 'o', long = "record", value_name = "RECORD")]
    pub record: Option<PathBuf>,
    /// Let other users read the series, as far as the umask and the directory do [default: only you]
    #[arg(long)]
    pub shared: bool,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Play these times instead of running anything (for tests)
    #[arg(long, hide = true, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}
