//! The options of a session for [`decide`](crate::plan::decide), with one conversion for each kind of verb.

use model::spec::RunSpec;
use model::spec::groups::{
    JudgementOptions, LayoutOptions, PlacementOptions, PriorityOptions, StopOptions,
};
use model::spec::run::{ArmOptions, ExecutionOptions, HookOptions};
use model::spec::workers::WorkerOptions;
use model::values::{Cpus, MetricList, Order, Rlimit, TimeSpan, TimeUnit};

/// The options of a session without its arms; `None`: Stillwell chooses.
#[derive(Clone, Debug, Default)]
pub struct SessionRequest {
    pub length: LengthRequest,
    pub process: ProcessRequest,
    pub hooks: HookOptions,
    pub judgement: JudgementOptions,
    pub metrics: Option<MetricList>,
    pub time_unit: Option<TimeUnit>,
    /// Copies of each command at the same time.
    pub copies: Option<u32>,
}

/// The number of blocks and their order.
#[derive(Clone, Debug, Default)]
pub struct LengthRequest {
    /// Warm-up runs of each arm.
    pub n_warmups: Option<u32>,
    /// Exact number of blocks.
    pub n_blocks: Option<u32>,
    pub n_blocks_min: Option<u32>,
    pub n_blocks_max: Option<u32>,
    pub stop: StopOptions,
    pub timeout: Option<TimeSpan>,
    pub order: Option<Order>,
    pub seed: Option<u64>,
}

/// The state of the timed processes.
#[derive(Clone, Debug, Default)]
pub struct ProcessRequest {
    /// CPUs that the processes may use.
    pub affinity: Option<Cpus>,
    pub priority: PriorityOptions,
    pub placement: PlacementOptions,
    pub layout: LayoutOptions,
    pub rlimits: Vec<Rlimit>,
    /// Standard input: `null` or a file.
    pub input: Option<String>,
}

/// Commands, and the options that make arms of them.
#[derive(Clone, Copy, Debug)]
pub struct CommandRequest<'a> {
    pub commands: &'a [String],
    /// Names, parameters and the shell.
    pub arms: &'a ArmOptions,
    pub hooks: &'a HookOptions,
    pub execution: &'a ExecutionOptions,
    /// Whether the reference runs a second time in each block.
    pub has_twin: bool,
}

impl From<&RunSpec> for SessionRequest {
    fn from(spec: &RunSpec) -> Self {
        let (length, process) = (&spec.length, &spec.process);
        Self {
            length: LengthRequest {
                // Without this, `-r 1 make` would run for two hours instead of one.
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
                placement: process.placement,
                layout: process.layout,
                rlimits: process.rlimits.clone(),
                input: process.execution.input.clone(),
            },
            hooks: spec.hooks.clone(),
            judgement: spec.judgement.clone(),
            metrics: spec.display.metrics.clone(),
            time_unit: spec.display.time_unit,
            copies: spec.copies,
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
    /// The request of `timeit`, `bench` and suites. `affinity`: the CPUs of `--affinity`.
    pub fn for_workers(
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
                placement: options.machine.placement,
                layout: options.machine.layout,
                ..ProcessRequest::default()
            },
            judgement: judgement.clone(),
            ..Self::default()
        }
    }
}
