//! `history`: results over months.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use crate::spec::input::InputOptions;
use crate::values::{Estimate, FailOn, Percent};

/// `history`: what to do with it.
#[derive(Debug, Subcommand)]
pub enum HistoryAction {
    /// Keep records, or other programs' files, with all that is in them
    Add(HistoryAdd),
    /// List the benchmarks, or the results of those with NAME in their name
    Show(HistoryShow),
    /// List when benchmarks became slower or faster, by how much, how sure that is, and the commits between
    Changes(HistoryChanges),
    /// Write a site: a page for each benchmark with its results and changes, and an index
    Report(HistoryReport),
    /// Get a record back, as it was added
    Get(HistoryGet),
}

/// The file of a history.
#[derive(Debug, clap::Args)]
pub struct HistoryFile {
    /// The history [default: history.jsonl in $XDG_STATE_HOME/stillwell]
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
}

/// `history add`.
#[derive(Debug, clap::Args)]
pub struct HistoryAdd {
    /// Records, or files of other programs; a directory stands for all results in it and below
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputOptions,
    /// The commit that was measured [default: what the file says]
    #[arg(long, value_name = "REV", value_parser = NonEmptyStringValueParser::new())]
    pub revision: Option<String>,
    /// The machine it was measured on, if the file does not say or two names are of one machine
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub machine: Option<String>,
    /// The git repository that knows when a commit was made [default: the one around us]
    #[arg(long, value_name = "DIR")]
    pub repository: Option<PathBuf>,
    #[command(flatten)]
    pub file: HistoryFile,
}

/// Which series, and how changes are looked for.
#[derive(Debug, clap::Args)]
pub struct HistorySearch {
    /// Only benchmarks with this in their name
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Only results of machines with this in their name
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// The number of each result that is looked at [default: t0]
    #[arg(long, value_enum)]
    pub by: Option<Estimate>,
    /// Error rate: a benchmark that never changed is said to have changed this often [default: 1]
    #[arg(long, value_name = "PCT")]
    pub alpha: Option<Percent>,
    /// Leave out changes smaller than this
    #[arg(long, value_name = "PCT")]
    pub min: Option<Percent>,
    #[command(flatten)]
    pub file: HistoryFile,
}

/// `history show`.
#[derive(Debug, clap::Args)]
pub struct HistoryShow {
    #[command(flatten)]
    pub search: HistorySearch,
    /// Print it as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// So many results of each benchmark, the newest [default: 20]
    #[arg(long, value_name = "NUM")]
    pub last: Option<usize>,
}

/// `history changes`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 1 if --fail-on was given and a benchmark became slower, otherwise 0; 2 after an error"
)]
pub struct HistoryChanges {
    #[command(flatten)]
    pub search: HistorySearch,
    /// Print it as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Only changes among the newest NUM results of each benchmark, three at least: a change is seen when three results are after it
    #[arg(long, value_name = "NUM")]
    pub last: Option<usize>,
    /// Leave out what all benchmarks of a machine do at once: look at each relative to the median of the others, five or more in all,
    /// that were measured within half a day
    #[arg(long)]
    pub relative: bool,
    /// The git repository that knows the commits [default: the one around us]
    #[arg(long, value_name = "DIR")]
    pub repository: Option<PathBuf>,
    /// Search for the commit of change NUM of this list, with the command of its record (`stillwell bisect`). What it finds
    /// goes into the history
    #[arg(long, value_name = "NUM", conflicts_with_all = ["json", "fail_on", "relative"])]
    pub bisect: Option<usize>,
    /// With --bisect: build each commit with this command, executed by a shell in the repository [default: nothing is built]
    #[arg(long, value_name = "COMMAND", requires = "bisect")]
    pub build: Option<String>,
    /// Exit with 1 when the level of a listed benchmark became slower (by more than PCT percent); spells and drifts do
    /// not count
    #[arg(long, value_name = "slower[:PCT]", value_parser = FailOn::parse_ratios)]
    pub fail_on: Option<FailOn>,
}

/// `history report`.
#[derive(Debug, clap::Args)]
pub struct HistoryReport {
    #[command(flatten)]
    pub search: HistorySearch,
    /// The directory: a new or empty one, or that of an earlier report, whose pages are replaced; other files in it stay
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Heading of the index
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// The git repository that knows the commits [default: the one around us]
    #[arg(long, value_name = "DIR")]
    pub repository: Option<PathBuf>,
}

/// `history get`.
#[derive(Debug, clap::Args)]
pub struct HistoryGet {
    /// Its number, as `history show NAME` has it
    pub record: i64,
    /// Where to write; the file must not exist
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub file: HistoryFile,
}
