//! The plan of a session: every default resolved, saved with the result.

pub mod advice;
mod again;
mod arm;
mod arms;
mod blocks;
mod copies;
pub mod counting;
mod decide;
mod deciding;
pub mod defaults;
mod derived;
mod fair_play;
mod parameters;
pub mod placement;
pub mod programs;
mod revisions;
mod shell;
pub mod suite;
mod surroundings;
mod terms;
mod value;
pub mod workers;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model::values::metric::Metric;
use model::values::{
    Better, Ceiling, Clock, Compared, DecideOn, Estimand, MemoryPolicy, MetricChoice, Order,
    Padding, ProcessValue, Sched,
};

pub use again::{EarlierArm, EarlierArms, PYTHON_NAMES};
pub use arm::{Arm, Control, CountedIterations, Role};
pub use blocks::{BlockRule, Stopping, TrialRule};
pub use copies::Copies;
pub use counting::InstructionCounter;
#[cfg(any(test, feature = "fixtures"))]
pub use decide::decide_run;
pub use decide::{decide_session, default_metrics, require_comparison};
pub use derived::{ImportedArms, plan_of_imported};
pub use fair_play::{ARM_WORD, BlockWord, FairPlayRules, FairPlayTerms, FreshDirectory, for_arm};
pub use revisions::{BuiltRevision, across};
pub use shell::shell_syntax;
pub use suite::SuiteMembership;
pub use surroundings::{HIGHEST_PRIORITY, MachinePlaces, Surroundings};
pub use terms::{ArmPlace, ArmTerms, Ending, Terms};
pub use value::{ValueReader, ValueRule, ValueSource};
use workers::Workers;

/// A whole session, decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    /// The arms, in the order of the command line; controls come last.
    pub arms: Vec<Arm>,
    /// Index of the arm that the others are compared with.
    pub reference: usize,
    /// The arm that the analysis subtracts from every other one.
    pub control: Option<Control>,
    /// The shell and its options; `None` when commands are executed directly.
    pub shell: Option<Vec<String>>,
    /// The reason why a shell is used, or not.
    pub shell_reason: ShellReason,
    /// Order of the runs.
    pub order: Order,
    /// Seed of all random choices.
    pub seed: u64,
    /// Warm-up runs of each arm.
    pub n_warmups: u32,
    /// The rule for the number of blocks.
    pub blocks: BlockRule,
    /// Whether the session may end before its last block because everything is decided.
    #[serde(default)]
    pub stopping: Stopping,
    /// The limit of `--fail-on`, as a fraction: a comparison is decided when its slowdown is above or below this.
    #[serde(default)]
    pub slower_limit: f64,
    /// Whether only what is above `ceiling` fails, however slow it is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tolerates_slowdowns: bool,
    /// The most that the value of an arm may be, for `--fail-on above:VALUE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
    /// Whether a process that a run leaves behind is a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refuses_survivors: bool,
    /// The rule of a session that tries whether its second arm is faster than the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialRule>,
    /// A further rule to stop before the last block.
    pub precision: Option<Precision>,
    /// Limit for one run.
    pub timeout_ns: Option<u64>,
    /// Command before everything else.
    pub setup: Option<String>,
    /// Command after everything else.
    pub cleanup: Option<String>,
    /// Command that checks the output of each run.
    pub validate: Option<String>,
    /// Whether the page cache is dropped before each run.
    pub cold_cache: bool,
    /// Standard input of the runs; `None` is /dev/null.
    pub input: Option<String>,
    /// State of the timed processes.
    pub process: ProcessPlan,
    /// The copies of a command that run at the same time, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
    /// Whether schedstat is read and perf events are opened.
    pub evidence: bool,
    /// The counter of instructions, if they decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter: Option<InstructionCounter>,
    /// The metrics that the summary shows.
    pub metrics: Vec<MetricChoice>,
    /// The rule for judging differences.
    pub policy: DecisionRule,
    /// The use of workers; `None` where every run is a process that is timed as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<Workers>,
    /// Whether a run has several rows: the slices of one process, from which a value of the run is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_slices: bool,
    /// The suite that this benchmark belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<SuiteMembership>,
    /// Settings that keep an attempt of a campaign honest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fair_play: Option<FairPlayRules>,
    /// Whether programs are compared by the geometric mean of all their benchmarks. Each benchmark has all programs, in
    /// the same order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_geometric_mean: bool,
}

impl Plan {
    /// The command line of an arm in a block.
    pub fn argv(&self, arm: usize, block: Option<u32>) -> Vec<String> {
        let (argv, shell) = (&self.arms[arm].argv, self.shell.as_deref());
        let rules = self.fair_play.as_ref();
        rules.map_or_else(|| argv.clone(), |rules| rules.filled_argv(argv, shell, block))
    }

    pub fn hook(&self, script: &str, block: Option<u32>) -> String {
        let rules = self.fair_play.as_ref();
        rules.map_or_else(|| script.to_owned(), |rules| rules.filled_script(script, block))
    }

    /// Whether a run of this arm failed. `shell_exit`: its exit status as in a shell; `value`: its own value. A failed
    /// run ends the session, and its time does not count.
    pub fn rejects(&self, arm: u32, shell_exit: i32, value: Option<f64>) -> bool {
        let Some(arm) = self.arms.get(arm as usize) else { return false };
        let lacks_value = arm.value.is_some() && value.is_none();
        arm.accept.as_ref().is_some_and(|accept| lacks_value || !accept.contains(&shell_exit))
    }

    /// Number of comparisons that are judged together.
    pub fn family(&self) -> usize {
        self.suite.as_ref().map_or_else(|| self.compared().len(), |suite| suite.family)
    }

    /// The arms to compare, with their indices.
    pub fn candidates(&self) -> impl Iterator<Item = (usize, &Arm)> {
        self.arms.iter().enumerate().filter(|(_, arm)| arm.role == Role::Candidate)
    }

    pub fn compared(&self) -> Vec<usize> {
        let candidates = self.candidates().map(|(arm, _)| arm);
        let compared = candidates.filter(|&arm| arm != self.reference_of(arm));
        // The arms of the first benchmark stand for their programs.
        let is_one = |arm: &usize| !self.by_geometric_mean || self.leader(*arm) == *arm;
        compared.filter(is_one).collect()
    }

    /// Whether blocks that comparisons leave out as warm-up are replaced. The user's number of runs is then the number
    /// of pairs that count.
    pub fn replaces_warmup(&self) -> bool {
        let is_compared = !self.compared().is_empty() || self.twin().is_some();
        let is_exact = matches!(self.blocks, BlockRule::Exactly(_));
        is_compared && is_exact && self.order.has_blocks()
    }

    /// The arm with the same program in the first benchmark.
    pub fn leader(&self, arm: usize) -> usize {
        let benchmark = &self.arms[arm].benchmark;
        self.arms[..arm].iter().filter(|other| other.benchmark == *benchmark).count()
    }

    /// The arm that this one is compared with: the reference, or with several benchmarks the first arm of its
    /// benchmark.
    pub fn reference_of(&self, arm: usize) -> usize {
        let benchmark = &self.arms[arm].benchmark;
        if *benchmark == self.arms[self.reference].benchmark {
            return self.reference;
        }
        let mut arms = self.candidates();
        arms.find(|(_, other)| other.benchmark == *benchmark).map_or(arm, |(first, _)| first)
    }

    /// Whether the workers are forks of a running program.
    pub fn is_forked(&self) -> bool {
        self.workers.is_some() && self.arms.iter().all(|arm| arm.argv.is_empty())
    }

    /// Whether there are several benchmarks with their own arms.
    pub fn has_benchmarks(&self) -> bool {
        self.arms.iter().any(|arm| arm.benchmark != self.arms[0].benchmark)
    }

    /// Whether the arms run different programs.
    pub fn has_programs(&self) -> bool {
        self.candidates().any(|(_, arm)| arm.label() != self.arms[self.reference].label())
    }

    /// The name of an arm next to other benchmarks' arms, also of other sessions. Where all benchmarks have one program,
    /// its name says nothing. A program or variant that is called like its benchmark, as in imports, is written once.
    pub fn full_label(&self, arm: usize) -> String {
        let arm = &self.arms[arm];
        let suite = self.suite.as_ref().map(|suite| &suite.benchmark);
        let alone = arm.known_benchmark().filter(|_| self.candidates().nth(1).is_none());
        match arm.benchmark.as_ref().filter(|_| self.has_benchmarks()).or(suite).or(alone) {
            Some(benchmark) if !self.has_programs() => benchmark.clone(),
            Some(benchmark) if self.has_benchmarks() && benchmark != arm.label() => {
                format!("{benchmark}: {}", arm.label())
            }
            _ => arm.label().into(),
        }
    }

    /// The second copy of the reference, for the self-check.
    pub fn twin(&self) -> Option<usize> {
        self.arms.iter().position(|arm| arm.role == Role::Twin)
    }

    /// Whether the memory of all processes of a run is measured, which needs a control group for each run.
    pub fn needs_tree_memory(&self) -> bool {
        let is_it = |metric: Metric| metric == Metric::TreePeakBytes;
        let decides = self.policy.decide_on.map_or(&[][..], DecideOn::metrics);
        let shown = self.metrics.iter().filter_map(|choice| Metric::from_name(&choice.name));
        decides.iter().copied().chain(shown).any(is_it)
    }
}

/// The reason why commands run in a shell or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellReason {
    /// The user chose it.
    #[serde(rename = "asked")]
    UserChoice,
    /// No command has shell syntax.
    NotNeeded,
    /// This command has this piece of shell syntax.
    Needed {
        /// Index of the arm.
        arm: usize,
        /// The piece of syntax.
        syntax: String,
    },
}

/// Stop when the error is small enough: the error of t0 with one arm, of every ratio with several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Precision {
    /// In percent of t0.
    pub pct: f64,
    /// Not before this many blocks.
    pub n_blocks_min: u32,
    /// Not before so much time, ns.
    #[serde(default)]
    pub time_min_ns: u64,
}

/// A soft resource limit of the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rlimit {
    /// Name of the resource, as in setrlimit(2) without `RLIMIT_`, lower case.
    pub resource: String,
    /// Number of the resource, `RLIMIT_…`.
    pub number: u32,
    /// The soft limit; `u64::MAX` is no limit.
    pub value: u64,
}

/// State of the timed processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessPlan {
    /// CPUs they may use.
    pub affinity: Option<Vec<usize>>,
    /// CPUs of the launcher: the benchmark's, so that no launch includes a migration.
    pub launcher_cpus: Option<Vec<usize>>,
    /// Nice level.
    pub nice: Option<i32>,
    /// Whether Stillwell chose the nice level, because the user's rights allow it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_raised: bool,
    /// Scheduling policy.
    pub sched: Option<Sched>,
    /// Soft resource limits, in records of earlier versions.
    pub rlimits: Vec<Rlimit>,
    /// Whether address space randomisation is off.
    pub no_aslr: bool,
    /// Padding of the environment.
    pub env_padding: Padding,
    /// Variables that tell threading runtimes how many threads to make, and where. An arm's own variables override
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thread_variables: Vec<(String, String)>,
    /// Memory nodes; `None` leaves them to the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPolicy>,
}

/// The rule for judging differences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRule {
    /// Rate of false "different" verdicts.
    pub alpha: f64,
    /// Differences below this fraction count as the same.
    pub same_within: f64,
    /// The statistic to compare.
    pub estimand: Estimand,
    /// The time of a run that the statistic is about.
    #[serde(default = "Clock::for_old_plans")]
    pub clock: Clock,
    /// The value of a process with several slices.
    #[serde(default = "ProcessValue::for_old_plans")]
    pub process_value: ProcessValue,
    /// The quantity that decides, if the user chose one or the program says a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decide_on: Option<DecideOn>,
    /// The direction in which the deciding quantity is better.
    #[serde(default, skip_serializing_if = "Better::is_lower")]
    pub better: Better,
}

impl DecisionRule {
    pub fn compared(&self) -> Compared {
        Compared { clock: self.clock, decide_on: self.decide_on, better: self.better }
    }
}
