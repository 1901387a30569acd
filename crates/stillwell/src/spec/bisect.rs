//! `bisect`: the commits that made a program slower.

use std::path::PathBuf;

use crate::spec::run::{HookOptions, ProcessOptions, Style};
use crate::values::{Percent, Shell, TimeSpan};
use crate::words::command_parser;

/// `bisect`.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "stillwell bisect [OPTIONS] --build COMMAND GOOD BAD -- COMMAND\n       stillwell bisect --resume DIR",
    after_help = "Exit code: 0 if a commit was found and confirmed, 3 if not, 2 after an error, 130 after ^C. With --step: 0 like \
                  GOOD, 1 like BAD, 125 neither or not measured. docs/bisect.md shows a whole search"
)]
pub struct BisectVerb {
    /// The old end: a commit whose time is the old one. It has to be an ancestor of BAD
    #[arg(value_name = "GOOD", required_unless_present = "resume")]
    pub good: Option<String>,
    /// The new end: a commit whose time is the new one, slower or faster
    #[arg(value_name = "BAD", required_unless_present = "resume")]
    pub bad: Option<String>,
    /// The command to time, executed in the checkout of each commit: one word is read as a shell would, several are its arguments.
    /// {revision} in it is the commit
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "resume", value_parser = command_parser())]
    pub command: Vec<String>,
    /// Build each checkout with this command, executed by a shell. Builds are kept, and found again [default: nothing is built]
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Search only the first parents of merges: the answer may be a merge [default: all commits]
    #[arg(long)]
    pub first_parent: bool,
    /// In how many percent of searches a commit may be named whose program is that of its parent. All steps share it [default: 1]
    #[arg(long, value_name = "PCT")]
    pub alpha: Option<Percent>,
    /// Differences below this many percent count as the same [default: 0.3]
    #[arg(long, value_name = "PCT")]
    pub same: Option<Percent>,
    /// Most time for each comparison; it ends as soon as it is decided [default: 120s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
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
    #[arg(long, conflicts_with_all = ["resume", "directory", "json"])]
    pub step: bool,
    /// Go on with the search that is in this directory. The same command line does so as well
    #[arg(long, value_name = "DIR", conflicts_with_all = ["good", "directory"])]
    pub resume: Option<PathBuf>,
    /// Where to keep the search and its records [default: a directory in $XDG_STATE_HOME/stillwell, by the command line]
    #[arg(short = 'o', long = "directory", value_name = "DIR", help_heading = "Output")]
    pub directory: Option<PathBuf>,
    /// Print the answer as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Style of the output: auto, basic (no progress), full, nocolor, color (no progress), none (errors only)
    /// [default: auto]
    #[arg(long, value_name = "STYLE", help_heading = "Output")]
    pub style: Option<Style>,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}
