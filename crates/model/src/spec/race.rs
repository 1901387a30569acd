//! `race`: the best of many.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::answer::KeptAnswerOptions;
use crate::spec::argument_ids::ArgumentIds;
use crate::spec::groups::JudgedValueOptions;
use crate::spec::run::{ArmOptions, HookOptions, ProcessOptions};
use crate::values::{Percent, TimeSpan};
use crate::words::command_parser;

/// `race`.
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
#[serde(default)]
#[command(
    override_usage = "stillwell race [OPTIONS] COMMAND...\n       stillwell race [OPTIONS] --arms-from FILE\n       stillwell race [OPTIONS] --suite FILE [PREFIX...]\n       stillwell race --resume DIR",
    after_help = "Exit code: 0 if there is a winner, 3 if that is not decided, 2 after an error, 130 after ^C. docs/race.md shows a \
                  whole race",
    mut_arg("subtract", |arg| arg.hide(true)),
    mut_arg("reference", |arg| arg.help(
        "Race this command too, in every block, and give the winner's time relative to it; it becomes number 1 [default: the first \
         COMMAND]"
    )),
)]
pub struct RaceVerb {
    #[command(flatten)]
    #[serde(skip)]
    pub(super) given: ArgumentIds,
    /// The commands that race, each one argument; from 2 to 200 with those of -L, -P and --arms-from. The first is the
    /// reference: it runs in every block
    #[arg(value_name = "COMMAND", required_unless_present_any = ["resume", "arms_from", "suite"], value_parser = command_parser())]
    pub commands: Vec<String>,
    /// Read more commands from this file: one on a line, or NAME<TAB>COMMAND. Empty lines and those that begin with # do not
    /// count [default: none]
    #[arg(long, value_name = "FILE")]
    pub arms_from: Option<PathBuf>,
    /// Race on the commands of this suite together (docs/suites.md): the geometric mean of their times or values decides. Each
    /// COMMAND is then what they begin with, or what their {prefix} is. Without a COMMAND, the suite's variants race; they are
    /// built once [default: no suite]
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "shell", "setup", "prepare", "conclude", "cleanup", "validate", "env", "input", "output", "show_output", "ignore_failure",
        "expect_exit", "value", "value_json", "script",
    ])]
    pub suite: Option<PathBuf>,
    /// The winner has to be the best within this many percent [default: 0.5]
    #[arg(long, value_name = "PCT")]
    pub within: Option<Percent>,
    /// In how many percent of races the winner may be worse than that [default: 1]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// Most time for the race, without --setup. It ends as soon as there is a winner [default: 600s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// End a run that takes longer; its command is then left out, for example 30s [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<TimeSpan>,
    /// Seed of all random choices [default: drawn anew, and kept]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub judged: JudgedValueOptions,
    #[command(flatten)]
    pub arms: ArmOptions,
    #[command(flatten)]
    pub hooks: HookOptions,
    #[command(flatten)]
    pub process: ProcessOptions,
    /// Go on with the race that is in this directory. The same command line does so as well
    #[arg(long, value_name = "DIR", conflicts_with_all = ["commands", "directory"])]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub output: KeptAnswerOptions,
    /// Play these times instead of running anything, a line for each command (for tests)
    #[arg(long, hide = true, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}
