//! The options of `stillwell timeit` and `stillwell bench`. Options that pyperf also has have pyperf's names.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

use crate::spec::argument_ids::ArgumentIds;
use crate::spec::groups::RevisionOptions;
use crate::spec::groups::{
    JudgementOptions, LayoutOptions, PlacementOptions, PriorityOptions, RightsOptions, StopOptions,
    TuneOptions,
};
use crate::spec::run::OutputOptions;
use crate::values::{Clock, Cpus, Gc, Headline, TimeSpan};

/// `timeit`.
#[derive(Debug, clap::Args)]
pub struct TimeitVerb {
    #[command(flatten)]
    pub spec: TimeitSpec,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

/// Options of `stillwell timeit`.
#[derive(Args, Clone, Debug, Default)]
#[command(
    mut_arg("decide_on", |arg| arg.hide_possible_values(true).help(
        "What is compared and shown: clean (wall time without the time in which the process was ready and other programs \
         had the CPU), wall, cpu or maxrss (memory of the process) [default: clean; wall where the kernel does not tell]"
    )),
    mut_arg("counter", |arg| arg.hide(true)),
)]
pub struct TimeitSpec {
    /// Python statement to time; several are the lines of one
    #[arg(value_name = "STMT", required = true)]
    pub statement: Vec<String>,
    #[command(flatten)]
    pub code: CodeOptions,
    #[command(flatten)]
    pub revisions: RevisionOptions,
    #[command(flatten)]
    pub session: SessionOptions,
}

/// What is compared.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "What is compared")]
pub struct CodeOptions {
    /// Code to run before the loops of each slice, not timed; several are lines
    #[arg(short = 's', long, value_name = "CODE", allow_hyphen_values = true)]
    pub setup: Vec<String>,
    /// Code to run after them, not timed; several are lines
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    pub teardown: Vec<String>,
    /// Compare with this statement too; can be repeated
    #[arg(long, value_name = "STMT", allow_hyphen_values = true)]
    pub vs: Vec<String>,
    /// Interpreter; several are compared with the first. Nothing needs to be installed in it [default: python3]
    #[arg(long, value_name = "PYTHON")]
    pub python: Vec<String>,
    /// Compare the interpreter of --python with this one
    #[arg(long, value_name = "PYTHON")]
    pub compare_to: Option<String>,
    /// Argument for the interpreters, for example -E or -Xfrozen_modules=off; can be repeated
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub python_arg: Vec<String>,
    /// Name to show for what is compared; give it once for each
    #[arg(long = "command-name", value_name = "NAME")]
    pub arm_name: Vec<String>,
    /// Name of the benchmark [default: timeit]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// How often the statement repeats itself inside: the time is divided by it [default: 1]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u64).range(1..))]
    pub inner_loops: Option<u64>,
    /// Repeat the statement so many times in each loop, to make the cost of the loop small [default: 1]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub duplicate: Option<u32>,
}

/// `bench`.
#[derive(Debug, clap::Args)]
pub struct BenchVerb {
    #[command(flatten)]
    pub(super) given: ArgumentIds,
    #[command(flatten)]
    pub spec: BenchSpec,
    /// Look at the machine whose files are below this directory (for tests)
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    pub host_root: PathBuf,
}

impl BenchVerb {
    pub fn new(spec: BenchSpec, host_root: PathBuf) -> Self {
        Self { given: ArgumentIds::default(), spec, host_root }
    }
}

/// Options of `stillwell bench`.
#[derive(Args, Clone, Debug, Default)]
#[command(mut_arg("decide_on", |arg| arg.help(
    "What is compared and shown, as for run; of statements and of programs that speak the worker protocol clean, wall, cpu \
     or maxrss alone [default: value, or the time that a framework says, if there is one, else clean; wall where the kernel \
     does not tell]"
)))]
pub struct BenchSpec {
    /// A suite file (its name ends with .toml); or benchmark programs, each with its arguments in one word, quoted as in a
    /// shell, of which the first is the reference; or the word pyperformance, for the scripts of that Python package in
    /// the interpreters of --arms
    #[arg(value_name = "SUITE.toml|COMMAND", required_unless_present_any = ["fork_server", "resume", "suite_schema"])]
    pub commands: Vec<String>,
    /// Only this benchmark; can be repeated [default: all]
    #[arg(short = 'b', long, visible_alias = "only", value_name = "NAME")]
    pub benchmark: Vec<String>,
    #[command(flatten)]
    pub suite: SuiteOptions,
    #[command(flatten)]
    pub revisions: RevisionOptions,
    /// Print the names of the benchmarks, and measure nothing
    #[arg(long)]
    pub list: bool,
    /// Run Python scripts that import pyperf, unchanged; a SCRIPT.py without an interpreter runs in python3
    #[arg(long, conflicts_with_all = ["fork_server", "resume", "suite_schema"])]
    pub as_pyperf: bool,
    /// Name to show for a program; give it once for each
    #[arg(long = "command-name", value_name = "NAME")]
    pub arm_name: Vec<String>,
    /// Socket on which forks of a running program are asked for (docs/worker-protocol.md)
    #[arg(long, value_name = "FD", hide = true, conflicts_with = "commands")]
    pub fork_server: Option<i32>,
    #[command(flatten)]
    pub session: SessionOptions,
}

/// What only suite files have.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Suite files (docs/suites.md)")]
pub struct SuiteOptions {
    /// Whether a gate makes the suite.
    #[arg(skip)]
    pub is_gate: bool,
    /// Only benchmarks with TEXT in their names; can be repeated: any of them
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Only benchmarks with this tag; can be repeated: any of them
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// Compare these instead of the file's variants: PREFIX is put in front of commands, and is the interpreter of statements.
    /// A variant of the file with that name keeps the rest of what it says. The first is the reference
    #[arg(long, value_name = "NAME=PREFIX,...", value_delimiter = ',')]
    pub arms: Vec<NamedPrefix>,
    /// The commit of a variant that is of a revision, whatever that revision is now; can be repeated
    #[arg(long, value_name = "NAME=COMMIT", hide = true, value_parser = pinned)]
    pub pin: Vec<(String, String)>,
    /// Go on with a suite that was interrupted, from the directory of its results. Finished blocks are not repeated
    #[arg(long, value_name = "DIR", conflicts_with_all = ["commands", "filter", "tag", "arms", "pin", "benchmark", "list"])]
    pub resume: Option<PathBuf>,
    /// Print the JSON Schema of suite files, and measure nothing
    #[arg(long)]
    pub suite_schema: bool,
}

/// A variant on the command line: `NAME=PREFIX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPrefix {
    pub name: String,
    /// Words in front of its commands.
    pub prefix: String,
}

impl FromStr for NamedPrefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, prefix)) if !name.trim().is_empty() => {
                Ok(Self { name: name.trim().into(), prefix: prefix.into() })
            }
            _ => Err(format!("{text:?} is not NAME=PREFIX, like new=./new")),
        }
    }
}

/// A variant and its commit as a pool resolved it: `NAME=COMMIT`.
fn pinned(text: &str) -> Result<(String, String), String> {
    // A name may contain "="; a commit does not.
    let parts = text.rsplit_once('=').filter(|(_, commit)| !commit.is_empty());
    let (name, commit) = parts.ok_or_else(|| format!("{text:?} is not NAME=COMMIT"))?;
    Ok((name.into(), commit.into()))
}

/// What both have.
#[derive(Args, Clone, Debug, Default)]
#[command(mut_arg("record", |arg| arg.help(
    "Where to keep the record, of a suite a directory; it must not exist. A name that ends with .json, .csv or .md, or with \
     .gz after it, gets the results instead, as pyperf's JSON or as a table [default: a new file in \
     $XDG_STATE_HOME/stillwell]"
)))]
pub struct SessionOptions {
    #[command(flatten)]
    pub workers: WorkerOptions,
    #[command(flatten)]
    pub judgement: JudgementOptions,
    #[command(flatten)]
    pub output: OutputOptions,
    #[command(flatten)]
    pub pyperf: PyperfOptions,
}

/// How long to measure, and how.
#[derive(Args, Clone, Debug, Default)]
#[command(
    next_help_heading = "How long, and how",
    mut_arg("budget", |arg| arg.help(
        "Most time to spend on timed processes, of all benchmarks together [default: 10s for each benchmark, or 3s where \
         nothing is compared]"
    )),
    mut_arg("precision", |arg| arg.help(
        "Stop when the error falls below this many percent: that of t0 where nothing is compared, else of every ratio (half \
         its interval), unless all is decided before [default: 0.5 where nothing is compared]"
    )),
)]
pub struct WorkerOptions {
    /// Exactly this many runs of each: processes; of a suite, blocks [default: until everything is decided, or --budget is used
    /// up]
    #[arg(short = 'r', long = "runs", value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "budget")]
    pub processes: Option<u32>,
    /// Slices that each process is timed for [default: found out: 1 to 50]
    #[arg(long, value_name = "NUM", value_parser = clap::value_parser!(u32).range(1..))]
    pub values: Option<u32>,
    /// Slices at the beginning of each process that are left out [default: found out: 1 or more]
    #[arg(short = 'w', long, value_name = "NUM")]
    pub warmups: Option<u32>,
    /// Loops in each slice, the same for all; 2^8 is 256 [default: as many as take --min-time]
    #[arg(short = 'l', long, value_name = "NUM", value_parser = loop_count)]
    pub loops: Option<u64>,
    /// How long a slice should take. Short ones fit between what else the machine does [default: 1ms]
    #[arg(long, value_name = "TIME")]
    pub min_time: Option<TimeSpan>,
    #[command(flatten)]
    pub stop: StopOptions,
    /// Take three times as long
    #[arg(long, conflicts_with_all = ["fast", "budget", "processes"])]
    pub rigorous: bool,
    /// Take a third of the time
    #[arg(long, conflicts_with_all = ["budget", "processes"])]
    pub fast: bool,
    /// One process, one slice, one loop: to see that it works
    #[arg(long, conflicts_with_all = ["fast", "rigorous", "processes", "values", "warmups", "loops"])]
    pub debug_single_value: bool,
    /// End a process that takes longer to answer, as a failure, for example 30s [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<TimeSpan>,
    /// Compare the peak memory of the processes instead of times
    #[arg(long, conflicts_with = "tracemalloc")]
    pub track_memory: bool,
    /// Compare the peak of the memory that Python has given out, by its module tracemalloc, instead of times
    #[arg(long)]
    pub tracemalloc: bool,
    /// Garbage collection while it is timed: on (as the interpreter has it), off, or collect (on, and a collection
    /// before each slice) [default: on]
    #[arg(long, value_name = "MODE", value_enum)]
    pub gc: Option<Gc>,
    /// Take turns with n and 2n loops, and show the difference: what does not grow with the loops cancels
    #[arg(long)]
    pub delta: bool,
    /// Take off what an empty loop costs; it is shown in any case
    #[arg(long)]
    pub subtract_loop: bool,
    #[command(flatten)]
    pub machine: MachineOptions,
    /// Variables that the processes inherit, separated by commas; PATH, HOME and the locale always [default: all]
    #[arg(long, value_name = "VARS", value_delimiter = ',')]
    pub inherit_environ: Option<Vec<String>>,
    /// Seed of all random choices [default: drawn anew, and recorded]
    #[arg(long, value_name = "NUM")]
    pub seed: Option<u64>,
}

/// Where the processes of workers run, with which rights, and what the machine is like meanwhile.
#[derive(Args, Clone, Debug, Default)]
#[command(
    mut_arg("sched", |arg| arg.help(
        "Scheduling policy: other, batch, fifo[:PRIO] or rr[:PRIO] (needs root) [default: as it is now]"
    )),
    mut_arg("env_padding", |arg| arg.help(
        "Bytes of padding in the environment: random, off, or a number [default: random, below 4096]"
    )),
)]
pub struct MachineOptions {
    /// CPUs for the processes, for example 2 or 0-3; or all [default: one: the last that is isolated, or allowed]
    #[arg(long, value_name = "CPUS")]
    pub affinity: Option<Affinity>,
    #[command(flatten)]
    pub tuning: TuneOptions,
    #[command(flatten)]
    pub placement: PlacementOptions,
    #[command(flatten)]
    pub rights: RightsOptions,
    #[command(flatten)]
    pub priority: PriorityOptions,
    #[command(flatten)]
    pub layout: LayoutOptions,
}

impl MachineOptions {
    /// The CPUs that the user chose, unless all are meant.
    pub fn chosen_cpus(&self) -> Option<&Cpus> {
        match &self.affinity {
            Some(Affinity::Cpus(cpus)) => Some(cpus),
            Some(Affinity::All) | None => None,
        }
    }
}

/// Files and output as pyperf has them.
#[derive(Args, Clone, Debug, Default)]
pub struct PyperfOptions {
    /// Add the results to this file, in pyperf's format; it need not exist
    #[arg(long, value_name = "FILE")]
    pub append: Option<PathBuf>,
    /// Show also the statistics behind the answer, every note, and the values of each process
    #[arg(short = 'v', long)]
    pub verbose: bool,
    /// Print nothing but errors
    #[arg(short = 'q', long, conflicts_with_all = ["verbose", "style"])]
    pub quiet: bool,
}

impl WorkerOptions {
    /// The quantity that is compared.
    pub fn headline(&self, clock: Option<Clock>) -> Headline {
        match (self.track_memory, self.tracemalloc) {
            (true, _) => Headline::Memory,
            (_, true) => Headline::Tracemalloc,
            _ => clock.unwrap_or_default().into(),
        }
    }
}

/// CPUs for the workers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// All CPUs; the scheduler chooses.
    All,
    Cpus(Cpus),
}

impl FromStr for Affinity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Self::All) } else { text.parse().map(Self::Cpus) }
    }
}

/// A number of loops: `1000`, or `2^10`.
fn loop_count(text: &str) -> Result<u64, String> {
    let count = match text.split_once('^') {
        Some((base, exponent)) => base
            .parse::<u64>()
            .ok()
            .zip(exponent.parse().ok())
            .and_then(|(base, exponent)| base.checked_pow(exponent)),
        None => text.parse().ok(),
    };
    let count = count.filter(|count| (1..=1 << 62).contains(count));
    count.ok_or_else(|| format!("{text:?} is not a number from 1 to 2^62, like 1000 or 2^10"))
}
