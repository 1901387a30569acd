//! The options of a session for [`decide`](crate::plan::decide), with one conversion for each kind of verb.

use model::spec::RunSpec;
use model::spec::groups::JudgementOptions;
use model::spec::run::{ArmOptions, ExecutionOptions, HookOptions, LengthOptions, ProcessOptions};
use model::spec::workers::WorkerOptions;
use model::values::{Cpus, MetricList, TimeUnit};

/// The options of a session without its arms; `None`: Stillwell chooses.
#[derive(Clone, Debug, Default)]
pub struct SessionRequest {
    pub length: LengthOptions,
    pub process: ProcessOptions,
    pub hooks: HookOptions,
    pub judgement: JudgementOptions,
    pub metrics: Option<MetricList>,
    pub time_unit: Option<TimeUnit>,
    /// Copies of each command at the same time.
    pub copies: Option<u32>,
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
        let length = &spec.length;
        Self {
            length: LengthOptions {
                // Without this, `-r 1 make` would run for two hours instead of one.
                warmup: length.warmup.or(length.runs.map(|_| 0)),
                ..length.clone()
            },
            process: spec.process.clone(),
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
            length: LengthOptions {
                runs: options.processes.or(options.debug_single_value.then_some(1)),
                stop: options.stop,
                timeout: options.timeout,
                seed: options.seed,
                ..LengthOptions::default()
            },
            process: ProcessOptions {
                affinity,
                priority: options.machine.priority,
                placement: options.machine.placement,
                layout: options.machine.layout,
                ..ProcessOptions::default()
            },
            judgement: judgement.clone(),
            ..Self::default()
        }
    }
}
