//! `campaign`: attempts to make a program faster, judged together.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use serde::{Deserialize, Serialize};

use crate::spec::answer::AnswerOptions;
use crate::spec::fair_play::FairPlayOptions;
use crate::spec::groups::{JudgedValueOptions, RightsOptions};
use crate::spec::run::{HookOptions, ProcessOptions};
use crate::values::{ErrorControl, Percent, Shell, TimeSpan};
use crate::words::command_parser;

/// `campaign`: what to do with it.
#[derive(Debug, Subcommand)]
pub enum CampaignAction {
    /// Begin one: the program as it is, and the rules
    New(Box<CampaignNew>),
    /// Measure an attempt against the accepted state, and accept it or not
    Try(CampaignTry),
    /// Show the attempts, the state, and what is left
    Status(CampaignStatus),
    /// Measure the accepted state against the program of the beginning, in fresh runs
    Confirm(CampaignConfirm),
    /// Write all of it as Markdown
    Report(CampaignReport),
}

/// `campaign new`.
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
#[serde(default)]
#[command(
    override_usage = "stillwell campaign new [OPTIONS] DIR -- COMMAND\n       stillwell campaign new [OPTIONS] DIR --suite FILE [-- PREFIX]\n       stillwell campaign new [OPTIONS] DIR --program COMMAND --trusted",
    after_help = "docs/campaign.md shows a whole campaign, and what the error rate means"
)]
pub struct CampaignNew {
    /// Where to keep the campaign; it must not exist
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The command to make faster: one word is read as a shell would, several are its arguments. With --build it is executed
    /// in the checkout of each attempt
    #[arg(last = true, required_unless_present_any = ["program", "suite"], value_name = "COMMAND", value_parser = command_parser())]
    pub command: Vec<String>,
    /// Make this program of benchmarks faster in place of a command: one of a benchmark framework, or one that speaks the worker
    /// protocol (docs/frameworks.md). What decides is the geometric mean of its benchmarks. It says its own times, so it needs
    /// --trusted
    #[arg(long, value_name = "COMMAND", requires = "trusted", conflicts_with_all = [
        "command", "shell", "setup", "prepare", "conclude", "cleanup", "validate", "cold_cache", "isolate",
        "env", "input", "output", "show_output", "ignore_failure", "expect_exit", "value", "value_json", "script",
    ])]
    pub program: Option<String>,
    /// Make the commands of this suite faster together in place of one (docs/suites.md). What decides is the geometric mean of
    /// their times or values. COMMAND is then what each of them begins with, or what their {prefix} is. The suite's variants,
    /// budgets and policies do not count
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "program", "shell", "setup", "prepare", "conclude", "cleanup", "validate", "env", "input", "output", "show_output",
        "ignore_failure", "expect_exit", "value", "value_json", "input_set", "seeds", "script",
    ])]
    pub suite: Option<PathBuf>,
    /// With --program: this benchmark counts; can be repeated [default: all]
    #[arg(long, value_name = "NAME", requires = "program")]
    pub only: Vec<String>,
    /// Build each checkout of the git repository around us with this command, executed by a shell. Attempts are then
    /// revisions or patches [default: no repository; attempts are commands]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// With --build: the revision to begin with [default: HEAD]
    #[arg(long, value_name = "REV", requires = "build", value_parser = NonEmptyStringValueParser::new())]
    pub revision: Option<String>,
    /// In how many percent of campaigns anything may be accepted that is not faster, however many attempts there are
    /// [default: 5]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// What --alpha limits: fwer (campaigns that accept anything false) or fdr (what is false among all that is accepted)
    /// [default: fwer]
    #[arg(long, value_name = "ERROR")]
    pub control: Option<ErrorControl>,
    /// How many attempts share half of the error rate; all later ones share the rest [default: 100]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: Option<u32>,
    /// Accept only what is certainly faster by more than this many percent [default: anything that is faster]
    #[arg(long, value_name = "PCT")]
    pub at_least: Option<Percent>,
    /// The gain that is worth finding, in percent: an attempt is rejected as soon as such a gain is refuted, which misses one
    /// in 20 of this size [default: 1]
    #[arg(long, value_name = "PCT")]
    pub aim: Option<Percent>,
    /// Most time for the trial of an attempt, and for its confirmation [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Most time for all attempts together [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub total_budget: Option<TimeSpan>,
    #[command(flatten)]
    pub judged: JudgedValueOptions,
    /// How commands are executed: auto (a shell only if some command needs one), none, default (sh), or a shell's
    /// command line [default: auto]
    #[arg(short = 'S', long, value_name = "SHELL")]
    pub shell: Option<Shell>,
    /// Seed of all random choices [default: drawn anew, and kept]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub hooks: HookOptions,
    #[command(flatten)]
    pub process: ProcessOptions,
    #[command(flatten)]
    pub fair: FairPlayOptions,
    /// Trust the attempts: compare no output, and do not look for cheating
    #[arg(long, help_heading = "Fair play (docs/fair-play.md)", conflicts_with_all = ["fresh", "files", "input_set", "seeds", "allow"])]
    pub trusted: bool,
    /// Take the times of each attempt from this file (for tests)
    #[arg(long, hide = true, value_name = "FILE", requires = "trusted", conflicts_with = "build")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// `campaign try`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stillwell campaign try [OPTIONS] DIR NAME -- COMMAND\n       stillwell campaign try [OPTIONS] --revision REV DIR NAME\n       stillwell campaign try [OPTIONS] --patch FILE DIR NAME",
    after_help = "Exit code: 0 if the attempt is accepted, 1 if it is rejected, 3 if it is not decided, 2 after an error, 130 \
                  after ^C"
)]
pub struct CampaignTry {
    /// The directory of the campaign
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// A name for the attempt; no other attempt has it
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub name: String,
    /// The command of the attempt, or its program [default: that of the accepted state]
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["revision", "patch"], value_parser = command_parser())]
    pub command: Vec<String>,
    /// The attempt is this revision, or WORK for HEAD with the uncommitted changes
    #[arg(long, value_name = "REV", conflicts_with = "patch", value_parser = NonEmptyStringValueParser::new())]
    pub revision: Option<String>,
    /// The attempt is the accepted state with this patch, as git apply reads it
    #[arg(long, value_name = "FILE")]
    pub patch: Option<PathBuf>,
    #[command(flatten)]
    pub rights: RightsOptions,
    #[command(flatten)]
    pub output: AnswerOptions,
}

/// `campaign status`.
#[derive(Debug, clap::Args)]
pub struct CampaignStatus {
    /// The directory of the campaign
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Print it as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// `campaign confirm`.
#[derive(Debug, clap::Args)]
pub struct CampaignConfirm {
    /// The directory of the campaign
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Blocks of each comparison [default: as many as fit the budget]
    #[arg(short = 'r', long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(8..))]
    pub runs: Option<u32>,
    /// Time for each comparison [default: the campaign's --budget]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Then leave out each accepted patch in turn, and measure what the whole loses
    #[arg(long)]
    pub each: bool,
    #[command(flatten)]
    pub rights: RightsOptions,
    #[command(flatten)]
    pub output: AnswerOptions,
}

/// `campaign report`.
#[derive(Debug, clap::Args)]
pub struct CampaignReport {
    /// The directory of the campaign
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The file to write [default: standard output]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
