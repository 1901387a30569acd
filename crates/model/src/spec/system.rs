//! `system`: what makes noise on this machine.

use std::path::PathBuf;

use clap::Subcommand;

use crate::spec::groups::RightsOptions;
use crate::values::{Clock, Cpus, Shell, TimeSpan};
use crate::words::command_parser;

/// `system`.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct SystemVerb {
    #[command(subcommand)]
    pub action: Option<SystemAction>,
    /// Without an action it is `show`.
    #[command(flatten)]
    pub show: SystemShow,
}

/// What to do about the machine.
#[derive(Debug, Subcommand)]
pub enum SystemAction {
    /// Say what makes noise, what is fine, and what cannot be changed here; changes nothing (the default)
    Show(SystemShow),
    /// Turn the knobs, until `system reset` or the next boot
    Tune(SystemTune),
    /// Put back what was there before
    Reset(SystemRoot),
    /// Say what is changed now, by whom and since when
    Status(SystemRoot),
    /// Measure what each step of tuning is worth for a command on this machine, and name those worth taking
    Advise(Box<SystemAdvise>),
    /// Say with which kernel parameters to boot, and how to set them and take them out again; changes nothing without
    /// --remove
    Boot(SystemBoot),
    /// Print the files of this machine that Stillwell looks at, for a bug report; what names it is replaced
    Capture(SystemRoot),
    /// Turn knobs while standard input is open (what `run --tune` executes)
    #[command(hide = true)]
    Guard(SystemGuard),
}

/// `system advise`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Everything is put back after each visit to a step, also after ^C and kill -9. \
    Exit code: 0, 130 after ^C, 2 after an error"
)]
pub struct SystemAdvise {
    /// The command: one argument as for `run`, or its words after --
    #[arg(required = true, value_parser = command_parser())]
    pub command: Vec<String>,
    /// Time to spend, for example 30s or 5min; every step gets at least 12 visits of 2 runs [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Exactly this many visits of each step [default: as many as fit the budget, from 12 to 60]
    #[arg(long = "runs", value_name = "NUM", conflicts_with = "budget", value_parser = clap::value_parser!(u32).range(1..))]
    pub blocks: Option<u32>,
    /// The CPU of the steps that bind the runs to one [default: one that was isolated at boot, else the quietest]
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<usize>,
    /// Measure only these steps, by their names in the table, for example affinity,shield
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub only: Option<Vec<String>>,
    /// Leave these steps out
    #[arg(long, value_name = "STEPS", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// The time that is compared: clean, wall or cpu [default: clean]
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<Clock>,
    /// How the command is executed: auto (a shell only if it needs one), none, default (sh), or a shell's command line
    /// [default: auto]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Seed of the random order [default: drawn anew]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub rights: RightsOptions,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub root: SystemRoot,
}

/// `system guard`.
#[derive(Debug, clap::Args)]
pub struct SystemGuard {
    #[command(flatten)]
    pub root: SystemRoot,
    /// Do nothing: to see whether sudo or doas allows it
    #[arg(long)]
    pub probe: bool,
}

/// `system tune`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if all that was asked for is set, 1 if something could not be, 2 after an error"
)]
pub struct SystemTune {
    /// The CPUs that benchmarks are to have, for example 2,3 [default: those that were isolated at boot]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// Turn only these knobs, for example turbo,governor [default: all but those that do harm too]
    #[arg(long, value_name = "KNOBS", value_delimiter = ',')]
    pub only: Option<Vec<String>>,
    /// Leave these alone
    #[arg(long, value_name = "KNOBS", value_delimiter = ',')]
    pub skip: Vec<String>,
    /// Print what would be written, in this order, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub root: SystemRoot,
}

/// Which machine.
#[derive(Debug, clap::Args)]
pub struct SystemRoot {
    /// Work on the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `system show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit code: 0 if all is fine, 1 if something is not tuned that could be")]
pub struct SystemShow {
    /// The CPUs that benchmarks are to have, for example 2,3 [default: those that were isolated at boot]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// Show also the knobs that are fine, those to know of, and those that this machine does not have
    #[arg(short, long)]
    pub all: bool,
    /// Show also what noise each knob removes, its files, and how sure we are
    #[arg(short, long)]
    pub verbose: bool,
    /// Count interrupts for this long, for example 1s [default: since the machine was booted]
    #[arg(long, value_name = "TIME")]
    pub count: Option<TimeSpan>,
    /// Print what was found as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `system boot`.
#[derive(Debug, clap::Args)]
pub struct SystemBoot {
    /// The CPUs that benchmarks are to have, for example 2,3 [default: the recommended ones]
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<Cpus>,
    /// Remove the entry that earlier versions could add to the menu of GRUB or systemd-boot
    #[arg(long, conflicts_with_all = ["json", "cpus", "no_smt"])]
    pub remove: bool,
    /// Boot with one thread of each core only
    #[arg(long)]
    pub no_smt: bool,
    /// Print the parameters as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}
