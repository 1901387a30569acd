//! The command line: one verb, and its options.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::spec::RunSpec;
use crate::spec::run::ExportOptions;
use crate::spec::values::FailOn;

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
    /// Show the summary of a saved record
    Show(ShowVerb),
    /// Show every statistic of a saved record
    Stats(RecordVerb),
    /// Show the histograms of a saved record
    Hist(HistVerb),
    /// Write the rows of a saved record as CSV or JSON
    Dump(DumpVerb),
    /// Compare the commands of one record, or records that were taken in different sessions
    Compare(CompareVerb),
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
    /// Play these times instead of running anything (for tests)
    #[arg(long, hide = true, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// A verb that reads one record.
#[derive(Debug, clap::Args)]
pub struct RecordVerb {
    /// The record [default: the newest one in $XDG_STATE_HOME/stillwell]
    pub record: Option<PathBuf>,
}

/// `show`.
#[derive(Debug, clap::Args)]
pub struct ShowVerb {
    #[command(flatten)]
    pub record: RecordVerb,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when a command is slower than the reference (by more than PCT percent), with 3 when that cannot
    /// be told yet
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
    #[command(flatten)]
    pub exports: ExportOptions,
}

/// `hist`.
#[derive(Debug, clap::Args)]
pub struct HistVerb {
    #[command(flatten)]
    pub record: RecordVerb,
    /// Number of bins
    #[arg(long, value_name = "NUM", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub bins: u16,
}

/// `dump`.
#[derive(Debug, clap::Args)]
pub struct DumpVerb {
    #[command(flatten)]
    pub record: RecordVerb,
    /// How to write the rows
    #[arg(long, value_enum, default_value_t = DumpFormat::Csv)]
    pub format: DumpFormat,
}

/// Format of `dump`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DumpFormat {
    /// Comma-separated values with a header line; what was not measured is empty.
    Csv,
    /// One JSON object a line; what was not measured is null.
    Json,
}

/// `compare`.
#[derive(Debug, clap::Args)]
pub struct CompareVerb {
    /// One record, whose commands are compared with its reference; or records of past sessions, then the record of
    /// the new one. From five past sessions on there is a test
    #[arg(required = true, num_args = 1.., value_name = "RECORD")]
    pub records: Vec<PathBuf>,
    /// Show where they differ too: the ratio at each decile, with a band for all of them, and the distance of the whole
    /// distributions
    #[arg(long)]
    pub distributions: bool,
    /// Print the analysis as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Exit with 1 when a command is slower (by more than PCT percent), with 3 when that cannot be told; of
    /// separate sessions it never can with fewer than five past ones
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
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
