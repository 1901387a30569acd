//! `shield`: keeps CPUs free for the programs that the user puts there.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Subcommand;

use crate::spec::SystemRoot;
use crate::spec::groups::RightsOptions;
use crate::values::Cpus;

/// `shield`: what to do about it.
#[derive(Debug, Subcommand)]
pub enum ShieldAction {
    /// Take everything else off some CPUs, until `shield off` or the next boot
    On(ShieldOptions),
    /// Give the CPUs back, also those of one that was killed
    Off(SystemRoot),
    /// Say which CPUs are kept free, how, and what may run there all the same
    Status(SystemRoot),
    /// Execute a command on CPUs that are kept free, as the user who called sudo
    Exec(ShieldExec),
}

/// How a shield is made.
#[derive(Debug, clap::Args)]
pub struct ShieldOptions {
    /// The CPUs, for example 2,3; the other threads of their cores are kept free too [default: one whole core]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// Let the scheduler spread threads over the CPUs, for commands with several
    #[arg(long)]
    pub balance: bool,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `shield exec`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: that of COMMAND (128 + its number for a signal), 2 after an error"
)]
pub struct ShieldExec {
    #[command(flatten)]
    pub options: ShieldOptions,
    #[command(flatten)]
    pub rights: RightsOptions,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}
