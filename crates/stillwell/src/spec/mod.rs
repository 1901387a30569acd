//! The request of the user: the command line, and suite files. Pure, and without defaults: `plan` decides those.

pub mod convert;
mod files;
pub mod groups;
mod history;
pub mod input;
mod link_order;
pub mod load;
mod noise;
mod pool;
mod resume;
pub mod run;
mod shield;
pub mod suite;
mod system;
pub mod workers;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::spec::convert::{EditOptions, WriteFormat};
use crate::spec::input::InputOptions;
use crate::spec::resume::GivenArguments;
use crate::spec::run::NumberOptions;
use crate::spec::workers::{BenchSpec, TimeitSpec};
use crate::values::{CALIBRATION_RUNS_MIN, Cpus, Percent, Shell, TimeSpan};

pub use files::{
    CheckVerb, CompareVerb, DumpFormat, DumpVerb, FilesVerb, HistVerb, MetadataVerb, PlotKind,
    PlotVerb, ReportVerb, ShowVerb, SlowestVerb, StatsVerb,
};
pub use history::{
    HistoryAction, HistoryAdd, HistoryChanges, HistoryFile, HistoryGet, HistoryReport,
    HistorySearch, HistoryShow, HistoryVerb,
};
pub use link_order::LinkOrderVerb;
pub use load::LoadVerb;
pub use noise::NoiseVerb;
pub use pool::{PoolAction, PoolCollect, PoolRun, PoolStatus, PoolTask, PoolVerb};
pub use run::RunSpec;
pub use shield::{ShieldAction, ShieldExec, ShieldOptions, ShieldVerb};
pub use system::{SystemAction, SystemBoot, SystemRoot, SystemShow, SystemTune, SystemVerb};

/// The same, true timing on a busy machine as on an idle one, with an honest error bar
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Time shell commands, interleaved, and compare them
    Run(Box<RunVerb>),
    /// Time Python statements in any interpreter, with nothing installed there
    Timeit(Box<TimeitVerb>),
    /// Time and compare the benchmarks of programs that speak the worker protocol
    Bench(Box<BenchVerb>),
    /// Show the summary of saved records, or of other programs' files
    Show(ShowVerb),
    /// Show every statistic of saved records, or of other programs' files
    Stats(StatsVerb),
    /// Show histograms on one scale
    Hist(HistVerb),
    /// Draw on the terminal: rows over time, distribution functions, differences block by block
    Plot(PlotVerb),
    /// Say whether the times are steady, and why runs are outliers
    Check(CheckVerb),
    /// Write the rows as CSV, JSON or text
    Dump(DumpVerb),
    /// Show what is known beside the values: machine, interpreter, plan
    Metadata(MetadataVerb),
    /// Show what took longest to measure
    Slowest(SlowestVerb),
    /// Compare the commands of one record, or files of different sessions
    Compare(CompareVerb),
    /// Make one page for the browser of records: verdicts, charts and tables, without a network
    Report(ReportVerb),
    /// Change files: their format, their benchmarks, their metadata
    Convert(Box<ConvertVerb>),
    /// How often this machine makes tests call a command different from itself, and which slowdown they can see
    Calibrate(Box<CalibrateVerb>),
    /// Keep results over months, and say when they changed
    History(Box<HistoryVerb>),
    /// Measure a suite on many machines through Slurm or another queue, and put their results together
    Pool(PoolVerb),
    /// Say where lost time went, and who took it
    Noise(NoiseVerb),
    /// Say what makes noise on this machine, and what can be done about it
    System(Box<SystemVerb>),
    /// Keep CPUs free of everything but what is put there
    Shield(Box<ShieldVerb>),
    /// Make the machine busy on purpose, to see whether a result survives it
    Load(LoadVerb),
    /// Link a program with its object files in another order, so that the luck of its layout can be averaged
    LinkOrder(LinkOrderVerb),
    /// Print the manual page
    Man,
    /// Print the completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `run`.
#[derive(Debug, clap::Args)]
pub struct RunVerb {
    #[command(flatten)]
    pub spec: RunSpec,
    /// Afterwards, measure again with what removes the largest source of noise, and show both. It is turned on for the runs
    /// alone: --isolate, --affinity with one quiet CPU, or a knob of --tune
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// Watch by tracepoints who takes the CPU from the runs, by name; `stillwell noise` shows it. Needs root or CAP_PERFMON,
    /// and makes every switch and interrupt take a little longer
    #[arg(long)]
    pub attribute: bool,
    /// Play these times instead of running anything (for tests)
    #[arg(long, hide = true, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `timeit`.
#[derive(Debug, clap::Args)]
pub struct TimeitVerb {
    #[command(flatten)]
    pub spec: TimeitSpec,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `bench`.
#[derive(Debug, clap::Args)]
pub struct BenchVerb {
    #[command(flatten)]
    given: GivenArguments,
    #[command(flatten)]
    pub spec: BenchSpec,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `convert`.
#[derive(Debug, clap::Args)]
pub struct ConvertVerb {
    /// The file to read; - is standard input
    pub file: PathBuf,
    /// Where to write; the file must not exist. Its name says the format, if --to does not: .swell is a record, .csv and
    /// .md are tables, all others are for pyperf; .gz at the end is compressed
    #[arg(
        short = 'o',
        long,
        visible_alias = "record",
        value_name = "OUT",
        required_unless_present = "stdout"
    )]
    pub output: Option<PathBuf>,
    /// Write to standard output
    #[arg(long, conflicts_with = "output")]
    pub stdout: bool,
    /// What to write
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub to: Option<WriteFormat>,
    #[command(flatten)]
    pub input: InputOptions,
    /// In a record: the first NUM runs of each command are warm-ups; tim makes 1
    #[arg(short = 'w', long, value_name = "NUM", default_value_t = 0)]
    pub warmup: u32,
    /// In a record: the command that the others are compared with [default: the first one in FILE]
    #[arg(long, value_name = "COMMAND")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub edits: EditOptions,
}

/// `calibrate`.
#[derive(Debug, clap::Args)]
pub struct CalibrateVerb {
    /// Command to time, one argument
    #[arg(required_unless_present = "from")]
    pub command: Option<String>,
    /// Replay the first command of this record instead of timing one
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["command", "budget", "runs", "record"])]
    pub from: Option<PathBuf>,
    /// Time to spend on the series, for example 30s or 5min [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub budget: Option<TimeSpan>,
    /// Exactly this many runs, at least 120 [default: as many as fit the budget, at least 600]
    #[arg(short = 'r', long, value_name = "NUM", conflicts_with = "budget",
          value_parser = clap::value_parser!(u32).range(i64::try_from(CALIBRATION_RUNS_MIN).unwrap_or(1)..))]
    pub runs: Option<u32>,
    /// Experiments that are replayed for each slowdown, at least 50
    #[arg(long, value_name = "NUM", default_value_t = 2000, value_parser = clap::value_parser!(u32).range(50..=1_000_000))]
    pub replays: u32,
    /// Seed of the replayed experiments [default: drawn anew]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    /// Error rate of all tests, in percent [default: 1]
    #[arg(long, value_name = "PCT")]
    pub alpha: Option<Percent>,
    /// How the command is executed: auto (a shell only if it needs one), none, default (sh), or a shell's command line
    /// [default: auto]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Allow only these CPUs, for example 2 or 0-3,6 [default: those allowed now]
    #[arg(long, value_name = "CPUS")]
    pub affinity: Option<Cpus>,
    /// Where to keep the series; the file must not exist [default: a new file in $XDG_STATE_HOME/stillwell]
    #[arg(short = 'o', long = "record", value_name = "RECORD")]
    pub record: Option<PathBuf>,
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

impl Verb {
    /// How the numbers of its text output are written.
    pub fn numbers(&self) -> NumberOptions {
        match self {
            Self::Run(verb) => verb.spec.output.numbers,
            Self::Timeit(verb) => verb.spec.session.output.numbers,
            Self::Bench(verb) => verb.spec.session.output.numbers,
            Self::Show(verb) => verb.numbers,
            Self::Stats(verb) => verb.numbers,
            Self::Compare(verb) => verb.numbers,
            _ => NumberOptions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
