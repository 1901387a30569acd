//! The options of a session as [`decide`](crate::plan::decide) takes them, with one conversion for each kind of verb.

use model::spec::RunSpec;
use model::spec::groups::{JudgementOptions, LayoutOptions, PriorityOptions, StopOptions};
use model::spec::run::{ArmOptions, ExecutionOptions, HookOptions};
use model::spec::workers::WorkerOptions;
use model::values::{Cpus, MetricList, Order, Rlimit, TimeSpan, TimeUnit};

/// The options of a session other than its arms; `None` where the user leaves the choice to Stillwell.
#[derive(Clone, Debug, Default)]
pub struct SessionRequest {
    /// The length of the measurement, and the order of the runs.
    pub length: LengthRequest,
    /// The state of the timed processes.
    pub process: ProcessRequest,
    /// The commands around the runs.
    pub hooks: HookOptions,
    /// The rule for judging differences.
    pub judgement: JudgementOptions,
    /// The metrics to collect and show.
    pub metrics: Option<MetricList>,
    /// The unit of times.
    pub time_unit: Option<TimeUnit>,
}

/// The number of blocks, and their order.
#[derive(Clone, Debug, Default)]
pub struct LengthRequest {
    /// Warm-up runs of each arm.
    pub n_warmups: Option<u32>,
    /// Exactly this many blocks.
    pub n_blocks: Option<u32>,
    /// Fewest blocks.
    pub n_blocks_min: Option<u32>,
    /// Most blocks.
    pub n_blocks_max: Option<u32>,
    /// The rules for stopping.
    pub stop: StopOptions,
    /// Limit for one run.
    pub timeout: Option<TimeSpan>,
    /// Order of the runs.
    pub order: Option<Order>,
    /// Seed of all random choices.
    pub seed: Option<u64>,
}

/// The state of the timed processes.
#[derive(Clone, Debug, Default)]
pub struct ProcessRequest {
    /// CPUs they may use.
    pub affinity: Option<Cpus>,
    /// The scheduling of the processes.
    pub priority: PriorityOptions,
    /// The memory layout of the processes.
    pub layout: LayoutOptions,
    /// Soft resource limits.
    pub rlimits: Vec<Rlimit>,
    /// Their standard input: `null` or a file.
    pub input: Option<String>,
}

/// Commands, and the options from which their arms are made.
#[derive(Clone, Copy, Debug)]
pub struct CommandRequest<'a> {
    /// The commands, without that of `--reference`.
    pub commands: &'a [String],
    /// Names, parameters and the shell.
    pub arms: &'a ArmOptions,
    /// The commands around the runs.
    pub hooks: &'a HookOptions,
    /// Options for executing the commands.
    pub execution: &'a ExecutionOptions,
    /// Whether the reference runs a second time in each block.
    pub has_twin: bool,
}

impl From<&RunSpec> for SessionRequest {
    fn from(spec: &RunSpec) -> Self {
        let (length, process) = (&spec.length, &spec.process);
        Self {
            length: LengthRequest {
                // `-r 1 make` must not run for two hours instead of one.
                n_warmups: length.warmup.or(length.runs.map(|_| 0)),
                n_blocks: length.runs,
                n_blocks_min: length.min_runs,
                n_blocks_max: length.max_runs,
                stop: length.stop,
                timeout: length.timeout,
                order: length.order,
                seed: length.seed,
            },
            process: ProcessRequest {
                affinity: process.affinity.clone(),
                priority: process.priority,
                layout: process.layout,
                rlimits: process.rlimits.clone(),
                input: process.execution.input.clone(),
            },
            hooks: spec.hooks.clone(),
            judgement: spec.judgement.clone(),
            metrics: spec.display.metrics.clone(),
            time_unit: spec.display.time_unit,
        }
    }
}

impl<'a> From<&'a RunSpec> for CommandRequest<'a> {
    fn from(spec: &'a RunSpec) -> Self {
        Self {
            commands: &spec.commands,
            arms: &spec.arms,
            hooks: &spec.hooks,
            execution: &spec.process.execution,
            has_twin: spec.judgement.aa,
        }
    }
}

impl SessionRequest {
    /// The request of `timeit`, `bench` and suites. `affinity`: the CPUs that `--affinity` resolves to.
    pub fn of_workers(
        options: &WorkerOptions,
        judgement: &JudgementOptions,
        affinity: Option<Cpus>,
    ) -> Self {
        Self {
            length: LengthRequest {
                n_blocks: options.processes.or(options.debug_single_value.then_some(1)),
                stop: options.stop,
                timeout: options.timeout,
                seed: options.seed,
                ..LengthRequest::default()
            },
            process: ProcessRequest {
                affinity,
                priority: options.machine.priority,
                layout: options.machine.layout,
                ..ProcessRequest::default()
            },
            judgement: judgement.clone(),
            ..Self::default()
        }
    }
}
