//! `gate`: the benchmarks of a change, old and new side by side.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::spec::workers::MachineOptions;
use crate::values::{CounterChoice, DecideOn, FailOn, NamePattern, Percent, TimeSpan};

/// `gate`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit code: 1 if a benchmark is slower than --fail-on allows, 3 if that is undecided, 2 after an error or if a benchmark fails, \
                  otherwise 0"
)]
pub struct GateVerb {
    /// Benchmark programs, as paths in each tree (NAME also means the newest NAME-HASH of Cargo), or commands in one word
    /// [default: all programs of known frameworks and of the worker protocol in both trees]
    #[arg(value_name = "PROGRAM")]
    pub programs: Vec<String>,
    /// Compare HEAD with its merge base with this revision. Each is checked out in a work tree of its own and built there
    #[arg(long, value_name = "REV", conflicts_with = "old", required_unless_present = "old")]
    pub base: Option<String>,
    /// Builds the benchmarks; executed by a shell in each work tree [default: nothing is built, as for Python]
    #[arg(long, value_name = "COMMAND", requires = "base")]
    pub build: Option<String>,
    /// Directory with the old build
    #[arg(long, value_name = "DIR", requires = "new")]
    pub old: Option<PathBuf>,
    /// Directory with the new build
    #[arg(long, value_name = "DIR", requires = "old")]
    pub new: Option<PathBuf>,
    /// Which programs to measure: changed (those that differ in what is loaded of them) or all [default: changed]
    #[arg(long, value_name = "WHICH")]
    pub select: Option<GateSelection>,
    /// Only benchmarks with PATTERN in their names, in which * is any text; can be repeated: any of them [default: all]
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<NamePattern>,
    /// Leave out benchmarks with PATTERN in their names; can be repeated. The comment names them
    #[arg(long, value_name = "PATTERN")]
    pub skip: Vec<NamePattern>,
    /// What is compared: a metric of the processes, for example maxrss or instructions [default: the time that the
    /// framework says]
    #[arg(long, value_name = "METRIC")]
    pub decide_on: Option<DecideOn>,
    /// Whether instructions are counted beside the times: auto (of benchmarks whose times are left undecided), on (of all) or
    /// off. Up to 60 % of the budget is kept for them [default: auto]
    #[arg(long, value_name = "WHEN", conflicts_with = "decide_on")]
    pub instructions: Option<GateCounting>,
    /// What counts instructions: auto, pmu or valgrind, as for run [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub counter: Option<CounterChoice>,
    /// End a process that takes longer, as a failure: one that lists its benchmarks, or measures one [default: --budget]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub timeout: Option<TimeSpan>,
    /// Most time to measure; the gate ends as soon as all is decided [default: 300s]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Seed of all random choices [default: drawn anew, and recorded]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
    /// Slowdowns that fail: slower, or slower:PCT for those above PCT percent. above:VALUE fails if the time of a benchmark,
    /// or the value that decides, is above it: slower:1%,above:20ms. A run that leaves processes behind fails, unless
    /// `,allow-processes` follows [default: slower:1%]
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
    /// Differences below this many percent count as the same [default: 1]
    #[arg(long, value_name = "PCT")]
    pub same: Option<Percent>,
    /// In how many percent of gates anything that is the same may be called different [default: 1]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// Write the verdict for a comment on a pull request, as Markdown
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write one test case for each benchmark, as JUnit's XML
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write the verdict for programs, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write a page for the browser
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Directory for the records; it must not exist [default: a new one in $XDG_STATE_HOME/stillwell]
    #[arg(short = 'o', long = "record", value_name = "DIR")]
    pub record: Option<PathBuf>,
    #[command(flatten, next_help_heading = "The processes and the machine")]
    pub machine: MachineOptions,
}

/// Whether a gate counts instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GateCounting {
    /// Of the benchmarks whose times are left undecided.
    #[default]
    Auto,
    /// Of all benchmarks.
    On,
    Off,
}

/// Which programs a gate measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GateSelection {
    #[default]
    Changed,
    All,
}
