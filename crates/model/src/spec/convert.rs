//! The options of `convert` and of exports: the output, and the changes before it is written.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use formats::edit::LaunchNumbers;

use crate::spec::input::InputOptions;

/// `convert`.
#[derive(Debug, clap::Args)]
pub struct ConvertVerb {
    /// The files to read; - is standard input, and a folder is the results below it. Several become one: a benchmark that is
    /// in more than one gets the processes of all
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
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
    /// In a record: the first NUM runs of each command are warm-ups; tim makes 1 [default: 0]
    #[arg(short = 'w', long, value_name = "NUM")]
    pub warmup: Option<u32>,
    /// In a record: the command that the others are compared with [default: the first one in FILE]
    #[arg(long, value_name = "COMMAND")]
    pub reference: Option<String>,
    #[command(flatten)]
    pub edits: EditOptions,
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WriteFormat {
    /// A record of Stillwell, *.swell.
    Record,
    /// pyperf JSON, version 1.0.
    Pyperf,
    /// Bencher Metric Format.
    Bmf,
    /// A line of comma-separated text for each value.
    Csv,
    /// A Markdown table.
    Markdown,
    /// hyperfine's JSON, schema 2.
    Hyperfine,
    /// The whole analysis as JSON, as `show --json`.
    Json,
}

/// How a table of benchmarks is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableStyle {
    /// For a terminal.
    #[default]
    Text,
    /// reStructuredText.
    #[value(alias = "rest")]
    Rst,
    /// Markdown.
    #[value(alias = "markdown")]
    Md,
}

/// Changes, made in this order.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Changes, made in this order")]
pub struct EditOptions {
    /// Keep only this benchmark; can be repeated
    #[arg(long, value_name = "NAME")]
    pub include_benchmark: Vec<String>,
    /// Drop this benchmark; can be repeated
    #[arg(long, value_name = "NAME")]
    pub exclude_benchmark: Vec<String>,
    /// Keep only these processes of each benchmark, for example 1-3,7
    #[arg(long, value_name = "NUMS", conflicts_with = "exclude_runs")]
    pub include_runs: Option<LaunchNumbers>,
    /// Drop these processes of each benchmark
    #[arg(long, value_name = "NUMS")]
    pub exclude_runs: Option<LaunchNumbers>,
    /// Drop warm-ups, and processes that have nothing else
    #[arg(long)]
    pub remove_warmups: bool,
    /// The number that each process has under this key becomes its value
    #[arg(long, value_name = "KEY")]
    pub extract_metadata: Option<String>,
    /// Drop all metadata
    #[arg(long)]
    pub remove_all_metadata: bool,
    /// Set metadata; name=NAME renames the only benchmark
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',')]
    pub update_metadata: Vec<String>,
    /// Indent JSON for pyperf
    #[arg(long)]
    pub indent: bool,
}

impl EditOptions {
    pub fn is_empty(&self) -> bool {
        self.include_benchmark.is_empty()
            && self.exclude_benchmark.is_empty()
            && self.include_runs.is_none()
            && self.exclude_runs.is_none()
            && !self.remove_warmups
            && self.extract_metadata.is_none()
            && !self.remove_all_metadata
            && self.update_metadata.is_empty()
    }
}
