//! The command line: one verb, and its options.

mod history;
mod load;
mod noise;
mod shield;
mod system;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::analysis::calibrate::RUNS_MIN;
use crate::analysis::files::Middle;
use crate::spec::RunSpec;
use crate::spec::convert::{EditOptions, TableStyle, WriteFormat};
use crate::spec::input::{FromOptions, InputOptions};
use crate::spec::run::{ExportOptions, NumberOptions};
use crate::spec::tim::TimShape;
use crate::spec::values::{Cpus, FailOn, Percent, Shell, TimeSpan};
use crate::spec::workers::{BenchSpec, TimeitSpec};

pub use history::{
    HistoryAction, HistoryAdd, HistoryChanges, HistoryFile, HistoryGet, HistorySearch, HistoryShow,
    HistoryVerb,
};
pub use load::LoadVerb;
pub use noise::NoiseVerb;
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
    /// Say where lost time went, and who took it
    Noise(NoiseVerb),
    /// Say what makes noise on this machine, and what can be done about it
    System(Box<SystemVerb>),
    /// Keep CPUs free of everything but what is put there
    Shield(Box<ShieldVerb>),
    /// Make the machine busy on purpose, to see whether a result survives it
    Load(LoadVerb),
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
    /// alone: a scheduling policy, one quiet CPU, or a knob of --tune
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
    pub spec: BenchSpec,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// A verb that reads files.
#[derive(Debug, clap::Args)]
pub struct FilesVerb {
    /// Records, or files of other programs; - is standard input [default: the newest record in
    /// $XDG_STATE_HOME/stillwell]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputOptions,
}

/// `show`.
#[derive(Debug, clap::Args)]
pub struct ShowVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Print the analysis as JSON instead of text, one document for each file
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub numbers: NumberOptions,
    /// Exit with 1 when a command is slower than the reference (by more than PCT percent), with 3 when that cannot
    /// be told yet
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
    #[command(flatten)]
    pub exports: ExportOptions,
}

/// `stats`.
#[derive(Debug, clap::Args)]
pub struct StatsVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Print the statistics as JSON instead of text, one document for each file
    #[arg(long)]
    pub json: bool,
    /// Show also what the program tim makes of these runs with its options -k, -n, -m and -o; --tim alone: its defaults,
    /// 1,6,4,6
    #[arg(long, value_name = "K,N,M[,O]", num_args = 0..=1, default_missing_value = "1,6,4,6")]
    pub tim: Option<TimShape>,
    #[command(flatten)]
    pub numbers: NumberOptions,
}

/// `check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if every command is stable, 1 if one is not, 3 if that cannot be told"
)]
pub struct CheckVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Print what was found as JSON instead of text, one document for each file
    #[arg(long)]
    pub json: bool,
}

/// `hist`.
#[derive(Debug, clap::Args)]
pub struct HistVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Number of bins
    #[arg(short = 'n', long, value_name = "NUM", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub bins: u16,
    /// All values in bins of equal ratio, instead of equal width up to the 95 % quantile of the slowest
    #[arg(long)]
    pub log: bool,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
}

/// `plot`.
#[derive(Debug, clap::Args)]
pub struct PlotVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// What to draw
    #[arg(short = 'k', long, value_enum, default_value_t = PlotKind::Time)]
    pub kind: PlotKind,
    /// All values on a logarithmic scale, instead of those up to the 95 % quantile of the slowest
    #[arg(long)]
    pub log: bool,
    /// Columns of the terminal [default: as many as it has, 80 without one]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u16).range(30..=1000))]
    pub width: Option<u16>,
    /// Lines of the picture
    #[arg(long, value_name = "NUM", default_value_t = 16, value_parser = clap::value_parser!(u16).range(4..=200))]
    pub height: u16,
    /// Draw with ASCII characters only [default: if the locale has no UTF-8]
    #[arg(long)]
    pub ascii: bool,
}

/// What `plot` draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlotKind {
    /// Every run, or slice, when it was measured.
    Time,
    /// The share of the values that is not above a value, all files on one scale.
    Ecdf,
    /// New ÷ reference in each block.
    Diff,
}

/// `dump`.
#[derive(Debug, clap::Args)]
pub struct DumpVerb {
    /// Records, or files of other programs; - is standard input [default: the newest record in
    /// $XDG_STATE_HOME/stillwell]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub input: FromOptions,
    /// How to write the rows
    #[arg(long, value_enum, default_value_t = DumpFormat::Csv)]
    pub format: DumpFormat,
    /// In text: the times of all loops together, as they were measured, instead of times per loop
    #[arg(long)]
    pub raw: bool,
}

/// Format of `dump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// Comma-separated values with a header line; what was not measured is empty.
    Csv,
    /// One JSON object a line; what was not measured is null.
    Json,
    /// Each process with its warm-ups and values.
    Text,
}

/// `metadata`.
#[derive(Debug, clap::Args)]
pub struct MetadataVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Print it as JSON instead of text, one document for each file
    #[arg(long)]
    pub json: bool,
}

/// `slowest`.
#[derive(Debug, clap::Args)]
pub struct SlowestVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// How many to show
    #[arg(short = 'n', value_name = "NUM", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub n: u32,
}

/// `compare`.
#[derive(Debug, clap::Args)]
pub struct CompareVerb {
    /// One record, whose commands are compared with its reference. Or records of past sessions, then the record of the new
    /// one: from five past sessions on there is a test. Or files with benchmarks: those of the first are compared with the
    /// same ones in each of the others, as long as they are fewer than six
    #[arg(required = true, num_args = 1.., value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputOptions,
    #[command(flatten)]
    pub table: TableOptions,
    /// Show where they differ too: the ratio at each decile, with a band for all of them, and the distance of the whole
    /// distributions
    #[arg(long)]
    pub distributions: bool,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub numbers: NumberOptions,
    /// Exit with 1 when a command is slower (by more than PCT percent), with 3 when that cannot be told; of
    /// separate sessions it never can with fewer than five past ones
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
}

/// `report`.
#[derive(Debug, clap::Args)]
pub struct ReportVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Where to write the page; - is standard output
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    /// What the page is called [default: what was compared]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// How files with benchmarks are compared.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files with benchmarks")]
pub struct TableOptions {
    /// Compare the benchmarks of the first file with those of each other one, in a table
    #[arg(long, value_name = "STYLE", value_enum, num_args = 0..=1, default_missing_value = "text")]
    pub table: Option<TableStyle>,
    /// Group the benchmarks by their ratio: slower, faster, no difference beyond its error
    #[arg(short = 'G', long)]
    pub group_by_speed: bool,
    /// Leave out what differs by less than this many percent
    #[arg(long, value_name = "PCT")]
    pub min_speed: Option<Percent>,
    /// What the ratio is of
    #[arg(long, value_name = "STATISTIC", value_enum, default_value_t = Middle::Mean)]
    pub by: Middle,
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
          value_parser = clap::value_parser!(u32).range(i64::try_from(RUNS_MIN).unwrap_or(1)..))]
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
