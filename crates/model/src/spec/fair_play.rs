//! What keeps an attempt honest: options of `campaign`, and the hidden verb `fair-play`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::values::CheatKind;
use crate::words::command_parser;

/// What keeps an attempt honest.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Fair play (docs/fair-play.md)")]
pub struct FairPlayOptions {
    /// Start each run in a fresh copy of this directory; {fresh} in a command is the copy's path [default: none; the runs
    /// share the current directory]
    #[arg(long, value_name = "DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh: Option<PathBuf>,
    /// A file that each run writes, relative to its directory. It must have the same contents as the reference's; can be
    /// repeated [default: none]
    #[arg(long = "file", value_name = "PATH")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Give each block another file of this directory: {input} in a command is its path. One half of the files is for
    /// attempts, the other half for confirmations [default: none]
    #[arg(long, value_name = "DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_set: Option<PathBuf>,
    /// Give each block another number: {seed} in a command
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub seeds: bool,
    /// Permit what would count as cheating, by its name in docs/fair-play.md; can be repeated [default: nothing]
    #[arg(long, value_name = "KIND", hide_possible_values = true)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<CheatKind>,
}

/// `fair-play`: what to do.
#[derive(Debug, Subcommand)]
pub enum FairPlayAction {
    /// Make the fresh copy of a run (a hook)
    Prepare(FairPlayHook),
    /// Take the digests of a run (a hook)
    Digest(FairPlayHook),
    /// Run one command under watch: a request on standard input, facts on standard output
    Watch,
    /// Run two commands, untimed, and say what is not fair
    Audit(Box<FairPlayAudit>),
}

/// A hook of a session.
#[derive(Debug, Args)]
pub struct FairPlayHook {
    /// The directory of the session
    pub folder: PathBuf,
    /// The arm, for digests
    pub arm: Option<usize>,
}

/// `fair-play audit`.
#[derive(Debug, Args)]
pub struct FairPlayAudit {
    /// The command to compare with
    #[arg(long, value_name = "COMMAND", value_parser = command_parser())]
    pub reference: String,
    /// The command to look at
    #[arg(long, value_name = "COMMAND", value_parser = command_parser())]
    pub attempt: String,
    #[command(flatten)]
    pub options: FairPlayOptions,
    /// A command that decides about the output of each run instead of digests
    #[arg(long, value_name = "COMMAND", value_parser = command_parser())]
    pub validate: Option<String>,
    /// Use the half of the inputs that is for confirmations
    #[arg(long)]
    pub confirm: bool,
    /// Measure both first, so many runs of each, and look at that session too
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Hide from the runs of that session that they are measured
    #[arg(long, requires = "runs")]
    pub undercover: bool,
    /// Seed of all random choices [default: 0]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}
