//! The verbs that look at saved records, and at files of other programs.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::spec::convert::TableStyle;
use crate::spec::input::{FromOptions, InputOptions};
use crate::spec::run::ExportOptions;
use crate::values::{FailOn, FileStatistic, Percent};

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
    /// Show also the statistics behind the answer (spread, means, histograms, p, the statistic and the level of each
    /// comparison), every note, and what perf stat shows, from the same runs: CPUs in use, context switches, moves, page
    /// faults and, where they were counted, cycles, instructions, branches and cache misses
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
    /// Print the analysis as JSON instead of text, one document for each file
    #[arg(long)]
    pub json: bool,
    /// List the records in $XDG_STATE_HOME/stillwell instead, the newest first; with FILE, those whose commands contain it
    #[arg(long, conflicts_with_all = ["verbose", "json", "metadata", "slowest", "fail_on"])]
    pub list: bool,
    /// Show what is known beside the values instead: machine, interpreter, plan
    #[arg(long, conflicts_with_all = ["verbose", "slowest", "fail_on"])]
    pub metadata: bool,
    /// Show what took longest to measure instead, NUM benchmarks or commands of all files [default: 5]
    #[arg(long, value_name = "NUM", num_args = 0..=1, require_equals = true, conflicts_with_all = ["verbose", "json", "fail_on"],
          value_parser = clap::value_parser!(u32).range(1..))]
    pub slowest: Option<Option<u32>>,
    /// Exit with 1 when a command is slower than the reference (by more than PCT percent), or with above:VALUE when its
    /// time or other value is above this (above:20ms), with 3 when that cannot be told yet
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
}

/// `check`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 0 if every command is stable, 1 if one is not, 3 if that cannot be told"
)]
pub struct CheckVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Show the statistics of stable commands too
    #[arg(short, long)]
    pub all: bool,
    /// Print what was found as JSON instead of text, one document for each file
    #[arg(long)]
    pub json: bool,
}

/// `hist`.
#[derive(Debug, clap::Args)]
pub struct HistVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Number of bins [default: 20]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub bins: Option<u16>,
    /// As many bins as the terminal has lines for
    #[arg(long, conflicts_with = "bins")]
    pub extend: bool,
    /// All values in bins of equal ratio, instead of equal width up to the 95 % quantile of the slowest
    #[arg(long)]
    pub log: bool,
    /// Draw with ASCII characters only [default: if the locale has no UTF-8]
    #[arg(long)]
    pub ascii: bool,
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
    /// How to write the rows [default: csv]
    #[arg(long, value_enum)]
    pub format: Option<DumpFormat>,
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
    /// How many to show [default: 5]
    #[arg(long = "first", value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub n: Option<u32>,
}

/// `compare`.
#[derive(Debug, clap::Args)]
pub struct CompareVerb {
    /// One record, whose commands are compared with its reference. Or records of past sessions, then the record of the new
    /// one: its place among them and their range. Or files with benchmarks: those of the first are compared with the same
    /// ones in each of the others, as long as they are fewer than six
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
    /// For one record: show also the statistic, p and the level of each comparison, and every note
    #[arg(short, long, conflicts_with = "json")]
    pub verbose: bool,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when a command is slower (by more than PCT percent), with 3 when that cannot be told; of
    /// separate sessions it never can. With above:VALUE, when the value of a command of one record is above this
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
}

/// `report`.
#[derive(Debug, clap::Args)]
pub struct ReportVerb {
    #[command(flatten)]
    pub files: FilesVerb,
    /// Where to write the page; - is standard output [default: beside the first file, with its name and .html]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What the page is called [default: what was compared]
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
}

/// How files with benchmarks are compared.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files with benchmarks")]
pub struct TableOptions {
    /// Say each difference in words, as pyperf's tables do: 1.02× faster, or not significant, which is closer than twice the
    /// error of the ratio
    #[arg(long)]
    pub table: bool,
    /// How the table is written [default: text]
    #[arg(long, value_name = "STYLE", value_enum)]
    pub table_format: Option<TableStyle>,
    /// Group the benchmarks by their ratio: slower, faster, no difference beyond its error
    #[arg(short = 'G', long)]
    pub group_by_speed: bool,
    /// Leave out what differs by less than this many percent
    #[arg(long, value_name = "PCT")]
    pub min_speed: Option<Percent>,
    /// Pair benchmarks of Go whatever their number of processors is: BenchmarkGet-8 with BenchmarkGet-4
    #[arg(long)]
    pub ignore_procs: bool,
    /// What the ratio is of [default: t0]
    #[arg(long, value_name = "STATISTIC", value_enum)]
    pub by: Option<FileStatistic>,
}
