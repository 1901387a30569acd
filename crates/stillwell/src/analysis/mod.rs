//! Record → analysis: every number that any output shows, and no formatting. Pure; all statistics come from `stats`.

mod arm;
pub mod calibrate;
mod compare;
pub mod distributions;
pub mod estimators;
pub mod files;
#[cfg(test)]
mod fixture;
pub mod histogram;
pub mod launches;
pub mod ledger;
pub mod live;
mod notes;
mod outliers;
pub mod pool;
pub mod report;
pub mod select;
pub mod series;
mod sessions;
mod sliced;
mod steadiness;
pub mod suite;
pub mod walls;
pub mod watch;

use serde::Serialize;

pub use arm::summarise;
use compare::{FamilyAdjustment, RecordLooks};
pub use compare::{compare, cpu_comparisons};
pub use estimators::{Estimators, Ratios, estimators};
pub use notes::{Finding, Note, notes, queued_ns};
pub use outliers::{Cause, CountName, ExcessTime, Outlier, Outliers};
pub use sessions::across_records;
pub use steadiness::{
    ArmCheck, RUNS_MIN, RecordCheck, Steadiness, SteadinessCheck, SteadinessFlag, check_record,
    raised,
};

use crate::analysis::ledger::{RecordLedger, has_evidence, of_record};
use crate::record::{EndReason, Event, Record};

/// Everything that is known from one record. Times are in nanoseconds, memory in bytes.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Analysis {
    /// One summary for each arm of the plan, controls included, in its order.
    pub arms: Vec<ArmSummary>,
    /// One comparison for each candidate but the reference.
    pub comparisons: Vec<Comparison>,
    /// The same of the CPU times of slices, where waiting for a CPU was a large share of their wall times.
    pub cpu_comparisons: Vec<Comparison>,
    /// The reference against its twin, with `--aa`.
    pub self_check: Option<Comparison>,
    /// Where the time above t0 went; `None` where nothing was recorded that could tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<RecordLedger>,
    /// What a reader should know, the most important first.
    pub notes: Vec<Note>,
    /// Why the session ended; `None` when it was killed.
    pub end: Option<EndReason>,
}

/// One arm.
#[derive(Clone, Debug, Serialize)]
pub struct ArmSummary {
    /// Index in the plan.
    pub arm: usize,
    /// What to call it.
    pub label: String,
    /// Whether it is only there for others: to be subtracted, or as the twin of the reference.
    pub is_hidden: bool,
    /// Timed runs that count: processes.
    pub n_runs: usize,
    /// Timed runs that were ended by the timeout and do not count.
    pub n_timed_out: usize,
    /// Timed runs that failed, and so ended their session, and do not count.
    pub n_failed: usize,
    /// Timed runs that count and had another exit than 0.
    pub n_nonzero_exits: usize,
    /// Wall time as measured; `None` without a run.
    pub wall: Option<TimeSummary>,
    /// Wall time minus that of the control, as far as that can be said of a distribution; `None` without a control.
    pub net: Option<NetTimes>,
    /// Every metric that was measured, as measured, wall time included; also `cpu`, user + system time.
    pub metrics: Vec<MetricSummary>,
    /// What its slices say beside their values, where it was measured in slices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sliced: Option<SliceSummary>,
}

/// The slices of an arm, all its runs together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SliceSummary {
    /// How many there are.
    pub n_slices: usize,
    /// Loops of the largest one.
    pub loops: u64,
    /// t0 of the CPU time of a loop, ns; the workers' own clocks.
    pub cpu: Option<UncertainValue>,
    /// Share of their time for which they were ready and had no CPU.
    pub wait_share: Option<f64>,
    /// Median cost of one turn of an empty loop, ns.
    pub empty_loop_ns: Option<f64>,
    /// What the user's counters counted in a loop, on average; by name.
    pub counters: Vec<(String, f64)>,
    /// Whether it is taken off the values.
    pub is_empty_loop_off: bool,
}

/// A series of times, as measured, ns (or of what else the arm's values are, in its unit). t0 and low20 are of the runs;
/// all others, where runs have slices, of these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeSummary {
    /// Noise-free time.
    pub t0: UncertainValue,
    /// Whether the low tail ends, so that t0 could be extrapolated; otherwise t0 is the minimum.
    pub has_floor: bool,
    /// Smallest.
    pub min: f64,
    /// Largest.
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
}

/// A value and its error, when there were enough runs for one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UncertainValue {
    /// Best estimate.
    pub value: f64,
    /// Its error.
    pub err: Option<f64>,
}

/// Location statistics minus the same of the control, ns. Can be negative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NetTimes {
    /// t0 minus the control's.
    pub t0: UncertainValue,
    /// Median minus the control's.
    pub median: UncertainValue,
    /// Mean minus the control's.
    pub mean: UncertainValue,
}

/// One metric of one arm, in its base unit: ns, bytes or pieces.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

/// A candidate against the reference.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Index of the candidate.
    pub arm: usize,
    /// Index of the reference.
    pub reference: usize,
    /// What is known.
    pub evidence: Evidence,
}

/// What is known about a ratio (new ÷ reference, above 1 is slower).
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// The runs were interleaved at random: a calibrated test.
    Paired(PairedTest),
    /// They are from different sessions, of which enough are known to tell how sessions differ by themselves.
    AcrossSessions(SessionPrediction),
    /// They were not: an estimate, no test.
    Unpaired {
        /// Ratio of the t0, by first-order propagation of their errors.
        ratio: UncertainValue,
        /// Why there is no test.
        because: NoTest,
    },
    /// There is nothing to compare.
    None {
        /// Why.
        because: NoTest,
    },
}

/// Why there is no calibrated verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoTest {
    /// `--order sequential`.
    Sequential,
    /// Another program has measured them; in which order, and why in that, is not known.
    Imported,
    /// The two are from different sessions.
    SeparateRecords,
    /// They are from different sessions, and too few to know how much sessions differ by themselves.
    FewSessions {
        /// Past sessions.
        have: usize,
        /// How many there must be.
        need: usize,
    },
    /// Not enough complete pairs for any verdict at this alpha.
    TooFewPairs {
        /// How many there are.
        have: usize,
        /// How many there must be.
        need: usize,
    },
    /// The session was cut short before its first look at them, and no other look is paid for.
    NoLook {
        /// Complete pairs there are.
        have: usize,
    },
    /// So many comparisons are judged together that nothing could be told from chance.
    FamilyTooLarge {
        /// How many there are.
        n: usize,
    },
    /// A time was zero or the numbers were otherwise unfit.
    UnfitNumbers,
}

/// The result of a re-labelling test on random pairs.
#[derive(Clone, Debug, Serialize)]
pub struct PairedTest {
    /// Complete pairs at the last look, without the warm-up.
    pub n_pairs: usize,
    /// Pairs left out at the beginning as warm-up.
    pub n_warmup_pairs: usize,
    /// Looks that were taken; what they may err sums to `alpha`.
    pub n_looks: usize,
    /// Comparisons that are judged together with this one, itself included.
    pub family: usize,
    /// p-value of "no difference", adjusted for the looks and the family: exact, or too large.
    pub p: f64,
    /// Adjusted for the looks and, by Benjamini & Hochberg, for the family: of all comparisons with at most this q, at most
    /// this share is expected to be false if they are called different. Beside `p`; no verdict is made of it.
    pub q: f64,
    /// Which statistic the ratio is of.
    pub statistic: StatisticName,
    /// Ratio of the times as measured.
    pub ratio: RatioInterval,
    /// Ratio of the times minus the control's; `None` without a control, or when the reference does not take longer
    /// than the control.
    pub net_ratio: Option<RatioInterval>,
    /// 1 − level of the intervals: the error rate of the family, or the share that Holm's procedure leaves of it.
    pub alpha: f64,
    /// Smallest difference that a session like this finds in 80 % of cases, as a fraction.
    pub smallest_visible: f64,
    /// What would decide, if nothing is decided; `None` when that cannot be said.
    pub to_decide: Option<DecisionEstimate>,
    /// How much slower the second run of a block was, as a ratio; 1 when it did not matter.
    pub position_ratio: f64,
    /// Whether looks contradict each other: the ratio changed while it was measured, or one of them erred.
    pub is_contradicted: bool,
    /// Whether floor and typical time changed by different ratios.
    pub shape: Option<UnevenShape>,
}

/// A session that would decide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DecisionEstimate {
    /// Its pairs.
    pub n_pairs: usize,
    /// How long it would take at the pace of this one, ns; `None` for less than two blocks.
    pub time_ns: Option<f64>,
}

/// A new session against several past ones: a prediction test, which assumes that sessions scatter normally.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SessionPrediction {
    /// Past sessions.
    pub n_sessions: usize,
    /// p-value of "one more session of the same".
    pub p: f64,
    /// The new t0 ÷ the geometric mean of the past ones.
    pub ratio: RatioInterval,
    /// 1 − level of the interval.
    pub alpha: f64,
}

/// A ratio with the interval that the test does not reject.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatioInterval {
    /// Best estimate.
    pub ratio: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end; infinite (null in JSON) when there are too few pairs.
    pub hi: f64,
}

/// Not a uniform slowdown: two ratios instead of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct UnevenShape {
    /// Ratio of the floors.
    pub floor: f64,
    /// Ratio of the typical times.
    pub typical: f64,
}

/// Which statistic a ratio is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StatisticName {
    Typical,
    LocalFloor,
    Floor,
    Mean,
}

/// Analyses a record.
pub fn analyse(record: &Record) -> Analysis {
    if record.parts.is_empty() {
        analyse_alone(record, summarise(record), None)
    } else {
        suite::analyse(record)
    }
}

/// Analyses a record that is no suite. With its looks and the shares of alpha that its comparisons have, if more are
/// judged together with them.
fn analyse_alone(
    record: &Record,
    arms: Vec<ArmSummary>,
    looked: Option<(&RecordLooks<'_>, &[FamilyAdjustment])>,
) -> Analysis {
    let (comparisons, self_check) = match looked {
        Some((looked, judged)) => looked.compare(judged),
        None => compare(record, &arms),
    };
    let ledger = if has_evidence(record) { of_record(record, &arms) } else { None };
    let notes = notes(record, &arms, &comparisons, ledger.as_ref());
    let cpu_comparisons = cpu_comparisons(record, &arms);
    let end = end_reason(record);
    Analysis { arms, comparisons, cpu_comparisons, self_check, ledger, notes, end }
}

/// How the session ended.
pub fn end_reason(record: &Record) -> Option<EndReason> {
    record.events.iter().rev().find_map(|event| match event {
        Event::End { reason } => Some(*reason),
        _ => None,
    })
}
