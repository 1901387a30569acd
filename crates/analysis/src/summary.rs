//! The summary of one arm: location, scatter and metrics, each with its error.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use stats::{Interval, PointEstimate, SortedSample};

use crate::low_runs::LoneRun;
use model::values::Better;

/// The summary of one arm.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct ArmSummary {
    /// Index in the plan.
    pub arm: usize,
    /// Label of the arm.
    pub label: String,
    /// Whether the arm is only a control, or the twin of the reference.
    pub is_hidden: bool,
    /// Timed runs that count: processes.
    pub n_runs: usize,
    /// Timed runs that the timeout ended; they do not count.
    pub n_timed_out: usize,
    /// Timed runs that failed or have no value to compare; they do not count.
    pub n_failed: usize,
    /// Timed runs that count and had an exit status other than 0.
    pub n_nonzero_exits: usize,
    /// The compared time, or the compared values of another kind; `None` without a run. One of those below.
    #[serde(skip)]
    pub times: Option<TimeSummary>,
    /// The compared time minus the control's, for location statistics only; `None` without a control. Documents have none
    /// either if the control's t0 is only a limit.
    #[serde(serialize_with = "with_t0")]
    #[schemars(with = "Option<NetTimes>")]
    pub net: Option<NetTimes>,
    /// Clean time: wall time without the time in which the run was ready and did not run.
    pub clean: Option<TimeSummary>,
    /// Why there is no clean time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_clean: Option<NoClean>,
    /// Wall time as measured, or the values of an arm whose values are no times of runs.
    pub wall: Option<TimeSummary>,
    /// CPU time of all tasks.
    pub cpu: Option<TimeSummary>,
    /// The time that other programs took; `None` without evidence.
    pub stalls: Option<StallSummary>,
    /// The cost of interruptions in the runs; `None` where they are too few to matter.
    pub interruptions: Option<InterruptionSummary>,
    /// Every recorded metric as measured, wall time included; also `cpu`, user + system time.
    pub metrics: Vec<MetricSummary>,
    /// Summary of the slices, if the arm was measured in slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sliced: Option<SliceSummary>,
}

/// The reason why an arm has no clean time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoClean {
    /// The values are no times that Stillwell measured.
    OtherValues,
    /// Nothing tells how long the runs waited for a CPU.
    NoEvidence,
}

/// The reason why t0 is only an upper limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitCause {
    /// Every run was interrupted, for a time that is not known.
    Interruptions,
    /// The other hardware thread of the core was busy when most of the lowest runs began, or in most slices.
    Neighbours,
    /// Peak memory is not above the launcher's.
    MemoryFloor,
}

/// The time that other programs took from the runs of an arm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StallSummary {
    /// Mean wall time of a run, ns.
    pub wall_mean_ns: f64,
    /// Mean time in which a run was ready and did not run, ns.
    pub stalled_mean_ns: f64,
    /// Mean time in which a run slept, or waited unseen, ns.
    pub unclear_mean_ns: f64,
    /// Runs without complete evidence: their clean time is their wall time.
    pub n_without: usize,
}

/// The cost of being interrupted: CPU time for cold caches and predictors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InterruptionSummary {
    /// Median number of interruptions of a run.
    pub usual: f64,
    /// Cost of one interruption, ns; `None` if the runs do not show it. The error of t0 then allows for it.
    pub each: Option<UncertainValue>,
    /// Measured t0 minus clean t0, ns.
    pub removed_ns: Option<f64>,
    /// If the cost is unknown: the part of the error of t0 that allows for it, ns.
    pub left_ns_max: Option<f64>,
}

/// The slices of an arm, all its runs together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SliceSummary {
    /// Number of slices.
    pub n_slices: usize,
    /// Loops of the largest slice.
    pub loops: u64,
    /// t0 of the CPU time of a loop, ns; the workers' own clocks.
    pub cpu: Option<UncertainValue>,
    /// Run-queue delay ÷ time.
    pub wait_share: Option<f64>,
    /// Median cost of one turn of an empty loop, ns.
    pub empty_loop_ns: Option<f64>,
    /// Mean count per loop of each of the user's counters, by name.
    pub counters: Vec<(String, f64)>,
    /// Whether the values are without the empty loop.
    pub is_empty_loop_off: bool,
    /// The state of the core during the slices; `None` without probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<SliceCore>,
}

/// The state of the core during an arm's slices.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SliceCore {
    /// Slices with a probe before them.
    pub n_probed: usize,
    /// Number of probed slices that began on a shared core.
    pub n_shared: usize,
    /// Number of slices on a quiet core that t0 rests on; `None` if they are too few and t0 rests on all.
    pub n_of_t0: Option<usize>,
}

impl TimeSummary {
    /// Makes t0 the median, for quantities to which noise does not only add.
    pub(super) fn center(&mut self) {
        (self.t0, self.has_floor, self.lone_run) = (self.median, true, None);
    }

    pub(super) fn limit(&mut self, most: f64, cause: LimitCause) {
        (self.is_upper_limit, self.limited_by) = (true, Some(cause));
        self.t0 = UncertainValue { value: most, err: None };
    }

    /// The lowest run that counts. The noise-free time is at most this.
    pub fn most(&self) -> f64 {
        let lone_run = self.lone_run.as_ref().filter(|lone| lone.is_left_out());
        lone_run.map_or(self.min, |lone| lone.next)
    }
}

/// Statistics of a series of measured times, in ns (or in the unit of the arm's values). t0 and low20 are for runs; the
/// others are for slices, if there are any.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TimeSummary {
    /// Noise-free time.
    pub t0: UncertainValue,
    /// Whether t0 is only an upper limit.
    pub is_upper_limit: bool,
    /// The reason why t0 is only an upper limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<LimitCause>,
    /// A lowest run that stands alone far below the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lone_run: Option<LoneRun>,
    /// Whether the low tail ends, so that t0 could be extrapolated; otherwise t0 is the minimum.
    pub has_floor: bool,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Mean of the lowest fifth, with its window error.
    pub low20: UncertainValue,
    /// Median, with its window error.
    pub median: UncertainValue,
    /// Mean, with its window error.
    pub mean: UncertainValue,
    /// Standard deviation of single runs; `None` for one run.
    pub sd: Option<f64>,
    /// `sd / mean`.
    pub cv: Option<f64>,
    /// 10 %, 25 %, 75 % and 90 % quantiles (type 7).
    pub quantiles: [f64; 4],
    /// 90 %, 95 % and 99 % quantiles, where there are enough values.
    pub slow_tail: [TailQuantile; 3],
}

/// A quantile of the slow end. With fewer values than needed, all of them may be below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TailQuantile {
    /// Share of the values below.
    pub p: f64,
    /// Smallest number of values that have an interval.
    pub n_needed: usize,
    /// The quantile (type 7) and its interval; `None` with fewer values.
    pub found: Option<QuantileInterval>,
}

/// A quantile and its 95 % interval between two of the values, for independent values of any distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct QuantileInterval {
    /// The quantile.
    pub value: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
}

pub const SLOW_TAIL: [f64; 3] = [0.90, 0.95, 0.99];
/// Error rate of the intervals of the slow-tail quantiles.
const SLOW_TAIL_ALPHA: f64 = 0.05;

impl TailQuantile {
    pub(super) fn of(sorted: &SortedSample, p: f64) -> Self {
        let n_needed = stats::quantile_needs(p, SLOW_TAIL_ALPHA).unwrap_or(usize::MAX);
        let interval = sorted.quantile_interval(p, SLOW_TAIL_ALPHA).ok().flatten();
        let found = interval.map(|Interval { lo, hi }| QuantileInterval {
            value: sorted.quantile(p),
            lo,
            hi,
        });
        Self { p, n_needed, found }
    }
}

/// A value and its error, if there were enough runs for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UncertainValue {
    /// Best estimate.
    pub value: f64,
    /// Error of the value.
    pub err: Option<f64>,
}

impl UncertainValue {
    /// The difference. The error is known if both errors are.
    pub fn minus(self, other: Self) -> Self {
        let difference = self.measured_or_zero().minus(other.measured_or_zero());
        let err = self.err.and(other.err).map(|_| difference.err);
        Self { value: difference.value, err }
    }

    /// The quotient. The error is known if both errors are. `None` if it is 0 or not finite.
    pub(crate) fn over(self, other: Self) -> Option<Self> {
        let quotient = self.measured_or_zero().over(other.measured_or_zero());
        let err = self.err.and(other.err).map(|_| quotient.err);
        quotient.value.is_normal().then_some(Self { value: quotient.value, err })
    }

    /// A ratio of costs as one of the values.
    pub fn of_values(self, better: Better) -> Self {
        if better.is_lower() {
            return self;
        }
        Self { value: 1.0 / self.value, err: self.err.map(|err| err / self.value.powi(2)) }
    }

    pub fn measured(self) -> Option<PointEstimate> {
        self.err.map(|err| PointEstimate { value: self.value, err })
    }

    pub(crate) fn measured_or_zero(self) -> PointEstimate {
        PointEstimate { value: self.value, err: self.err.unwrap_or(0.0) }
    }
}

impl From<PointEstimate> for UncertainValue {
    fn from(PointEstimate { value, err }: PointEstimate) -> Self {
        Self { value, err: Some(err) }
    }
}

/// Location statistics minus the same of the control, ns. Can be negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NetTimes {
    /// t0 minus the control's. `None` if that is only a limit: the control may have taken less.
    #[schemars(with = "UncertainValue")]
    pub t0: Option<UncertainValue>,
    /// Median minus the control's.
    pub median: UncertainValue,
    /// Mean minus the control's.
    pub mean: UncertainValue,
}

fn with_t0<S: Serializer>(net: &Option<NetTimes>, to: S) -> Result<S::Ok, S::Error> {
    net.filter(|net| net.t0.is_some()).serialize(to)
}

impl ArmSummary {
    /// Number of values behind the statistics of the spread: slices, else runs.
    pub fn n_values(&self) -> usize {
        self.sliced.as_ref().map_or(self.n_runs, |sliced| sliced.n_slices)
    }

    /// Share of the time of the slices in which their processes waited for a CPU: what clean time leaves out, or the
    /// kernel's count between a request and its answer.
    pub fn waited_share(&self) -> Option<f64> {
        let sliced = self.sliced.as_ref()?;
        let left_out = self.stalls.filter(|_| self.clean.is_some());
        left_out.map(|it| it.stalled_mean_ns / it.wall_mean_ns).or(sliced.wait_share)
    }

    /// The summary of the metric with this name; `None` if no run has it.
    pub fn metric(&self, name: &str) -> Option<&MetricSummary> {
        self.metrics.iter().find(|metric| metric.name == name)
    }

    /// t0 minus the control's, if there is one. Where that is only a limit, the limit of the whole.
    pub fn net_t0(&self) -> Option<UncertainValue> {
        self.net.and_then(|net| net.t0).or(self.times.as_ref().map(|times| times.t0))
    }

    /// t0 for a ratio, minus the control's if there is one. It must be above 0, and a difference by more than its
    /// error.
    pub fn ratio_t0(&self) -> Option<UncertainValue> {
        let t0 = self.net_t0()?;
        (t0.value > 0.0 && !self.is_too_short()).then_some(t0)
    }

    /// Whether the control leaves hardly anything: t0 is not above 0 by more than its error.
    pub fn is_too_short(&self) -> bool {
        let t0 = self.net.and_then(|net| net.t0);
        t0.is_some_and(|t0| t0.value <= t0.err.unwrap_or(0.0))
    }
}

/// One metric of one arm, in its base unit: ns, bytes or pieces.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricSummary {
    /// Name, as in `--metrics`.
    pub name: String,
    /// Runs that have it.
    pub n: usize,
    /// Mean.
    pub mean: f64,
    /// Standard deviation; `None` for one run.
    pub sd: Option<f64>,
    /// Median.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl MetricSummary {
    /// The summary of these values; `None` without any.
    pub fn of(name: &str, values: &[f64]) -> Option<Self> {
        let sorted = SortedSample::new(values).ok()?;
        Some(Self {
            name: name.into(),
            n: values.len(),
            mean: stats::mean(values).ok()?,
            sd: stats::sample_sd(values).ok(),
            median: sorted.median(),
            min: sorted.min(),
            max: sorted.max(),
        })
    }
}
