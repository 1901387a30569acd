//! `bisect`: the commits that made a program slower.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::spec::answer::KeptAnswerOptions;
use crate::spec::argument_ids::ArgumentIds;
use crate::spec::run::{HookOptions, ProcessOptions};
use crate::values::{CounterChoice, DecideOn, Percent, Shell, TimeSpan};
use crate::words::command_parser;

/// `bisect`.
#[derive(Clone, Debug, Default, clap::Args, Serialize, Deserialize)]
#[serde(default)]
#[command(
    override_usage = "stillwell bisect [OPTIONS] [--build CMD] GOOD BAD -- COMMAND\n       stillwell bisect [OPTIONS] [--build CMD] GOOD BAD --program CMD --only NAME\n       stillwell bisect --gate DIR [--build CMD] --program CMD\n       stillwell bisect --resume DIR",
    after_help = "Exit code: 0 if a commit was found and confirmed, 3 if not, 2 after an error, 130 after ^C. With --step: 0 like \
                  GOOD, 1 like BAD, 125 neither or not measured, 128 after an error. docs/bisect.md shows a whole search"
)]
pub struct BisectVerb {
    #[command(flatten)]
    #[serde(skip)]
    pub given: ArgumentIds,
    /// The old end: a commit whose time is the old one. If it is no ancestor of BAD, their merge base takes its place
    #[arg(value_name = "GOOD", required_unless_present_any = ["resume", "gate"])]
    pub good: Option<String>,
    /// The new end: a commit whose time is the new one, slower or faster
    #[arg(value_name = "BAD", required_unless_present_any = ["resume", "gate"])]
    pub bad: Option<String>,
    /// The command to time, executed in the checkout of each commit: one word is read as a shell would, several are its arguments.
    /// {revision} in it is the commit
    #[arg(last = true, value_name = "COMMAND", required_unless_present_any = ["resume", "program"], value_parser = command_parser())]
    pub command: Vec<String>,
    /// Measure a benchmark of this program in place of a command: a program of a benchmark framework, or one that speaks the
    /// worker protocol (docs/frameworks.md). --only names the benchmark
    #[arg(long, value_name = "COMMAND", conflicts_with = "command")]
    pub program: Option<String>,
    /// The benchmark of --program or --gate [default: of --gate, the one that became slower most]
    #[arg(long, value_name = "NAME")]
    pub only: Option<String>,
    /// Search for the cause of a gate that failed, from the directory of its results (`gate -o DIR`): its commits are GOOD and
    /// BAD, and its slowest benchmark is that of --program
    #[arg(long, value_name = "DIR", requires = "program", conflicts_with_all = ["good", "bad", "command", "resume"])]
    #[serde(skip)]
    pub gate: Option<PathBuf>,
    /// Build each checkout with this command, executed by a shell. Builds are kept, and found again [default: nothing is built]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Search only the first parents of merges: the answer may be a merge [default: all commits]
    #[arg(long)]
    pub first_parent: bool,
    /// In how many percent of searches a commit may be named whose program is that of its parent. All steps share it [default: 1]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// Differences below this many percent count as the same [default: 0.3]
    #[arg(long, value_name = "PCT")]
    pub same: Option<Percent>,
    /// In how many link orders a commit and its parent are measured before the commit is called slower: one that only moved
    /// code is called layout. 0: none [default: 12]
    #[arg(long, value_name = "NUM")]
    pub layouts: Option<u32>,
    /// Most time for each comparison; it ends as soon as it is decided [default: 120s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// What is compared: clean, wall, cpu, user, sys, maxrss, tree-memory, faults, switches, instructions, cycles or value, as
    /// for run [default: value if there is one, else the time]
    #[arg(long, value_name = "METRIC")]
    pub decide_on: Option<DecideOn>,
    /// What counts instructions: auto, pmu or valgrind, as for run [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub counter: Option<CounterChoice>,
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
    /// Say only whether HEAD is like GOOD or like BAD, for `git bisect run`
    #[arg(long, conflicts_with_all = ["resume", "directory", "json", "report", "history"])]
    pub step: bool,
    /// Go on with the search that is in this directory. The same command line does so as well
    #[arg(long, value_name = "DIR", conflicts_with_all = ["good", "directory"])]
    #[serde(skip)]
    pub resume: Option<PathBuf>,
    #[command(flatten)]
    pub output: KeptAnswerOptions,
    /// Write a page for the browser into this file: the answer, the curve of all measured commits, every step
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub report: Option<PathBuf>,
    /// Keep the commits that it finds in this history, where `history changes` and its site show them
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub history: Option<PathBuf>,
    /// Name of the benchmark in the history [default: as `history add` names it: the command]
    #[arg(long, value_name = "NAME", requires = "history", help_heading = "Output")]
    pub benchmark: Option<String>,
    /// Take builds and times from this file (for tests)
    #[arg(long, hide = true, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}
