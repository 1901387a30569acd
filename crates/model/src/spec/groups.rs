//! Groups of options that several measuring verbs share. A verb that words a help text differently does so where it
//! flattens the group.

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::spec::argument_ids::given;
use crate::values::{
    Clock, CounterChoice, DecideOn, Estimand, FailOn, NameList, Numa, Padding, Percent, Priority,
    Sched, Threads, TimeSpan,
};

/// When a session stops by itself.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct StopOptions {
    /// Most time to spend on timed runs, with the hooks between them but without --setup and warm-up, for example 30s or
    /// 5min. A block that does not fit is not begun; one is always measured, and what --min-runs asks for. A bare number is
    /// in seconds [default: 10s, or 3s for a single command]
    #[arg(long, value_name = "TIME", value_parser = TimeSpan::above_zero)]
    pub budget: Option<TimeSpan>,
    /// Stop when the error falls below this many percent: that of t0 with a single command, of every ratio (half its
    /// interval) with several, unless all is decided before [default: 0.5 for a single command; none for several]
    #[arg(long, value_name = "PCT")]
    pub precision: Option<Percent>,
}

/// How the scheduler treats the timed processes.
#[derive(Args, Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PriorityOptions {
    /// Whether the processes go before others: auto (nice level -20 where that is allowed, as for root) or off; --nice and
    /// --sched go before this [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub priority: Option<Priority>,
    /// Nice level, -20 (needs root) to 19 [default: as --priority says]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clap::value_parser!(i32).range(-20..=19))]
    pub nice: Option<i32>,
    /// Scheduling policy: other, batch, fifo[:PRIO] or rr[:PRIO], priority 1 to 99 (default 50; needs root)
    /// [default: as it is now]
    #[arg(long, value_name = "POLICY")]
    pub sched: Option<Sched>,
}

/// Where the threads of the timed processes run, and where their memory is.
#[derive(Args, Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlacementOptions {
    /// Whether programs with several threads are told to make one for each CPU, and where: auto (if --affinity has several
    /// CPUs, or CPUs are kept free; by OMP_NUM_THREADS, OMP_PLACES, GOMAXPROCS, RAYON_NUM_THREADS and others, unless you have
    /// set them) or off [default: auto]
    #[arg(long, value_name = "WHEN")]
    pub threads: Option<Threads>,
    /// Memory nodes of the processes: bind (those of their CPUs), interleave (all, page by page) or the number of one
    /// [default: bind if CPUs are kept free, else the kernel's choice]
    #[arg(long, value_name = "NODES")]
    pub numa: Option<Numa>,
}

/// Whose rights the commands have.
#[derive(Args, Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RightsOptions {
    /// Under sudo, doas or pkexec, run the commands and hooks as root [default: as the user who called it]
    #[arg(long)]
    pub as_root: bool,
}

/// What decides where the timed processes lie in memory.
#[derive(Args, Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LayoutOptions {
    /// Switch address space randomisation off [default: left on, so that the layout is averaged]
    #[arg(long)]
    pub no_aslr: bool,
    /// Bytes of padding in the environment: random (new for each block, the same for all commands), off, or a number
    /// up to 65536 [default: random, below 4096]
    #[arg(long, value_name = "BYTES")]
    pub env_padding: Option<Padding>,
}

/// What the machine is like meanwhile.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneOptions {
    /// Tune the machine while this runs, and put it back whatever happens; with KNOBS only these, for example
    /// --tune=turbo,governor. The CPUs of --affinity are kept free. As a user it needs sudo or doas without a password
    #[arg(long, value_name = "KNOBS", num_args = 0..=1, require_equals = true)]
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub tune: Option<Option<NameList>>,
}

/// How differences are judged.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The verdict")]
pub struct JudgementOptions {
    /// In how many percent of sessions the same program may be called different; with several commands, any of them
    /// [default: 1]
    #[arg(long, value_name = "PCT", value_parser = Percent::parse_alpha)]
    pub alpha: Option<Percent>,
    /// Differences below this many percent count as the same [default: 1]
    #[arg(long, value_name = "PCT")]
    pub same: Option<Percent>,
    /// What is compared: adaptive (the sharpest of typical, the two floors and the geometric mean), typical (trimmed
    /// mean), floor (lowest runs, local or of all) or mean [default: adaptive]
    #[arg(long, value_name = "WHICH")]
    pub estimand: Option<Estimand>,
    /// The clock, where other options say it.
    #[arg(skip)]
    pub clock: Option<Clock>,
    /// What is compared and shown: clean (wall time without the time in which the run was ready and other programs had the
    /// CPU), wall, cpu, user or sys (CPU time), maxrss (memory of the largest process),
    /// tree-memory (of all processes together; needs root), faults, switches, instructions, cycles, or value (of --value) [default: value if there is one, else clean; wall where the kernel does not tell]
    #[arg(long, value_name = "METRIC")]
    pub decide_on: Option<DecideOn>,
    /// What counts the instructions of `--decide-on instructions`: pmu (the counters of the processor), valgrind (which
    /// executes the program 10 to 40 times slower, and needs no rights) or auto (pmu where it counts, else valgrind)
    /// [default: auto]
    #[arg(long, value_name = "WHICH")]
    pub counter: Option<CounterChoice>,
    /// Run the reference a second time in every block and report, as a self-check, how it compares with itself
    #[arg(long)]
    pub aa: bool,
    /// Exit with 1 when a command is slower than the reference (by more than PCT percent), with 3 when that cannot
    /// be told yet. above:VALUE is for its own time, or the value that decides: above:20ms; slower:2%,above:20ms. A run that leaves processes behind fails, unless `,allow-processes` follows
    #[arg(long, value_name = "slower[:PCT]")]
    pub fail_on: Option<FailOn>,
}

/// Which value of a run decides, where the rest of the judgement is not the user's choice.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JudgedValueOptions {
    /// What is compared: adaptive, typical, floor or mean, as for run [default: adaptive]
    #[arg(long, value_name = "WHICH")]
    pub estimand: Option<Estimand>,
    /// What is compared: clean, wall, cpu, user, sys, maxrss, tree-memory, faults, switches, instructions, cycles or value,
    /// as for run [default: value if there is one, else the time]
    #[arg(long, value_name = "METRIC")]
    pub decide_on: Option<DecideOn>,
}

impl JudgedValueOptions {
    /// Copies the options into a session's judgement.
    pub fn apply(&self, judgement: &mut JudgementOptions) {
        judgement.estimand = self.estimand;
        judgement.decide_on = self.decide_on;
    }
}

/// Revisions, and how they are built.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Revisions of the git repository here (docs/revisions.md)")]
pub struct RevisionOptions {
    /// Run in a checkout of each of these revisions and compare them with the first: HEAD~1,HEAD. A..B is where B branched
    /// off from A, then each commit up to B; WORK is HEAD with the uncommitted changes. {revision} in commands and hooks is
    /// the commit [default: run here]
    #[arg(long, value_name = "REV,...", value_delimiter = ',')]
    pub revisions: Vec<String>,
    /// Build each checkout with this command, executed by a shell in the directory that corresponds to the current one.
    /// Builds are kept, and found again by the next session [default: nothing is built]
    #[arg(long, value_name = "COMMAND", requires = "revisions")]
    pub build: Option<String>,
}
