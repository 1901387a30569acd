//! Workers: processes that run a benchmark a given number of times and report the time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model::spec::RunSpec;
use model::spec::groups::JudgementOptions;
use model::spec::run::{LengthOptions, ProcessOptions};
use model::spec::workers::WorkerOptions;
use model::values::{Cpus, Gc, Headline};

/// Everything about the workers of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workers {
    /// The intended length of a slice, ns.
    pub slice_ns: u64,
    /// Whether the user named this length.
    #[serde(default)]
    pub is_slice_named: bool,
    /// Loops in a slice; `None` where calibration finds them.
    pub loops: Option<u64>,
    /// Slices of each launch; `None` where calibration finds them.
    pub n_slices: Option<u32>,
    /// Warm-up slices to leave out before these; `None` where calibration finds them.
    pub n_warmup_slices: Option<u32>,
    /// Garbage collection while the benchmark runs.
    pub gc: Gc,
    /// Whether slices of n and of 2n loops take turns, so that constant costs cancel.
    pub delta: bool,
    /// Whether to subtract the cost of an empty loop.
    pub subtract_empty_loop: bool,
    /// The quantity that is compared.
    pub headline: Headline,
    /// Variables that the workers inherit; `None` for all.
    pub inherit: Option<Vec<String>>,
}

impl Workers {
    /// Whether calibration may lengthen slices: the user did not set a length. With `delta`, the slope contains no cost
    /// of a slice.
    pub fn is_slice_free(&self) -> bool {
        self.loops.is_none() && !self.is_slice_named && !self.delta
    }
}

/// The options of `timeit`, `bench` and suites, in the fields of `run`. `affinity`: the CPUs of `--affinity`.
pub(super) fn run_spec(
    options: &WorkerOptions,
    judgement: &JudgementOptions,
    affinity: Option<Cpus>,
) -> RunSpec {
    RunSpec {
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
        ..RunSpec::default()
    }
}

/// The benchmark name of `timeit` unless the user gives another: the standard library's module.
pub(super) const TIMEIT: &str = "timeit";

/// Code to send to a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerCode {
    /// Code before the loops of each slice, not timed.
    pub setup: String,
    /// The timed code.
    pub statement: String,
    /// Code after the loops of each slice, not timed.
    pub teardown: String,
    /// Copies of the statement in one loop.
    pub duplicate: u32,
}
