//! A gate's answer on a benchmark, from its times and its instruction counts together.
//!
//! Decided times decide. Otherwise more instructions than the limit allows are more work, and equal instructions are
//! the same work. Instructions miss the kernel's work, caches and vectors, so they never overrule a decided time.

use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::RatioInterval;
use crate::exact::SAME_WORK;
use crate::verdict::{GateAnswer, Judgement, Verdict};

/// Above this share of what is not counted, equal instructions do not mean equal work.
pub const SYSTEM_SHARE_MAX: f64 = 0.3;

/// What is known of the instructions of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct WorkCounted {
    /// New ÷ old; an exact ratio has no width.
    pub ratio: RatioInterval,
    /// Whether the interval is one: the counts repeat exactly, or a test has bounded them.
    pub is_known: bool,
    /// Counts of each build.
    pub n_counts: usize,
    /// Number of benchmarks that were counted as one sum with it, itself included.
    pub n_together: u32,
    /// The share of both builds' work that is not counted: the kernel's of the CPU time, without the start of their processes,
    /// or 0 if the iterations make no system calls; and the instructions of Go's scheduler and collector.
    pub system_share: f64,
}

/// What decided, or what is to be said beside what decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// The times alone.
    Time,
    /// What `--decide-on` names.
    DecideOn,
    /// The times pass; the instructions are more than the limit allows.
    TimeInSpiteOfWork,
    /// The times fail; the instructions are the same.
    TimeAtTheSameWork,
    /// The times are undecided; the instructions are more than the limit allows.
    MoreWork,
    /// The times are undecided; the instructions are the same.
    SameWork,
    /// Neither tells: the instructions are the same, but much of the work is the kernel's or the collector's.
    NothingForTheKernel,
    /// Neither tells.
    Nothing,
    /// The value of the new build, which is above the most that it may be, or may be above it.
    Ceiling,
}

impl WorkCounted {
    /// Whether both builds certainly execute the same instructions, within a thousandth.
    fn is_same(&self) -> bool {
        let same = 1.0 + SAME_WORK;
        self.is_known && self.ratio.lo >= 1.0 / same && self.ratio.hi <= same
    }

    /// Whether the work certainly exceeds this limit of the ratio, if what is not counted is equal.
    fn is_above(&self, limit: f64) -> bool {
        let counted = 1.0 - self.system_share.clamp(0.0, 1.0);
        self.is_known && 1.0 + (self.ratio.lo - 1.0) * counted > limit.max(1.0 + SAME_WORK)
    }
}

/// The answer of a gate with this limit of the ratio.
pub fn answer(time: &Judgement, work: Option<&WorkCounted>, limit: f64) -> (GateAnswer, DecidedBy) {
    let by_time = time.answer(limit);
    let Some(work) = work else {
        let is_open = by_time == GateAnswer::Undecided;
        return (by_time, if is_open { DecidedBy::Nothing } else { DecidedBy::Time });
    };
    let (is_same, is_above) = (work.is_same(), work.is_above(limit));
    match by_time {
        GateAnswer::Fail if is_same => (GateAnswer::Fail, DecidedBy::TimeAtTheSameWork),
        GateAnswer::Fail => (GateAnswer::Fail, DecidedBy::Time),
        GateAnswer::Pass if is_above => (GateAnswer::Pass, DecidedBy::TimeInSpiteOfWork),
        GateAnswer::Pass => (GateAnswer::Pass, DecidedBy::Time),
        GateAnswer::Undecided if is_above => (GateAnswer::Fail, DecidedBy::MoreWork),
        // A decided difference of the times is not the same work.
        GateAnswer::Undecided if !is_same || time.verdict == Verdict::Slower => {
            (GateAnswer::Undecided, DecidedBy::Nothing)
        }
        GateAnswer::Undecided if work.system_share > SYSTEM_SHARE_MAX => {
            (GateAnswer::Undecided, DecidedBy::NothingForTheKernel)
        }
        GateAnswer::Undecided => (GateAnswer::Pass, DecidedBy::SameWork),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::judge_interval;
    use record::plan::DecisionRule;

    fn time(lo: f64, hi: f64) -> Judgement {
        let ratio = RatioInterval { ratio: (lo * hi).sqrt(), lo, hi };
        judge_interval(ratio, &DecisionRule::default())
    }

    fn work(lo: f64, hi: f64) -> WorkCounted {
        let ratio = RatioInterval { ratio: (lo * hi).sqrt(), lo, hi };
        WorkCounted { ratio, is_known: true, n_counts: 3, n_together: 1, system_share: 0.05 }
    }

    #[track_caller]
    fn check(time: Judgement, work: WorkCounted, expected: (GateAnswer, DecidedBy)) {
        assert_eq!(answer(&time, Some(&work), 1.01), expected);
    }

    #[test]
    fn a_decided_time_stays() {
        let (slower, faster, same) = (time(1.02, 1.05), time(0.9, 0.95), time(0.995, 1.005));
        check(slower, work(1.1, 1.1), (GateAnswer::Fail, DecidedBy::Time));
        check(slower, work(1.0, 1.0), (GateAnswer::Fail, DecidedBy::TimeAtTheSameWork));
        check(faster, work(1.1, 1.1), (GateAnswer::Pass, DecidedBy::TimeInSpiteOfWork));
        check(same, work(1.1, 1.1), (GateAnswer::Pass, DecidedBy::TimeInSpiteOfWork));
        check(same, work(0.9, 0.9), (GateAnswer::Pass, DecidedBy::Time));
    }

    #[test]
    fn work_decides_where_time_cannot() {
        let open = time(0.9, 1.2);
        check(open, work(1.096, 1.096), (GateAnswer::Fail, DecidedBy::MoreWork));
        check(open, work(1.0, 1.0), (GateAnswer::Pass, DecidedBy::SameWork));
        check(open, work(0.9995, 1.0005), (GateAnswer::Pass, DecidedBy::SameWork));
        // Not within a thousandth, and not certainly above the limit.
        check(open, work(0.997, 1.003), (GateAnswer::Undecided, DecidedBy::Nothing));
        check(open, work(1.005, 1.005), (GateAnswer::Undecided, DecidedBy::Nothing));
        check(open, work(1.008, 1.1), (GateAnswer::Undecided, DecidedBy::Nothing));
        check(open, work(0.9, 0.9), (GateAnswer::Undecided, DecidedBy::Nothing));
        let unknown = WorkCounted { is_known: false, ..work(1.2, 1.2) };
        check(open, unknown, (GateAnswer::Undecided, DecidedBy::Nothing));
        assert_eq!(answer(&open, None, 1.01), (GateAnswer::Undecided, DecidedBy::Nothing));
        // Certainly slower, but perhaps within the limit.
        check(time(1.005, 1.05), work(1.0, 1.0), (GateAnswer::Undecided, DecidedBy::Nothing));
    }

    #[test]
    fn the_work_of_the_kernel_is_not_counted() {
        let open = time(0.9, 1.2);
        let in_kernel = |work: WorkCounted, system_share| WorkCounted { system_share, ..work };
        let undecided = (GateAnswer::Undecided, DecidedBy::NothingForTheKernel);
        check(open, in_kernel(work(1.0, 1.0), 0.5), undecided);
        // Four times the limit in a tenth of the time is not above the limit.
        check(open, in_kernel(work(1.04, 1.04), 0.9), (GateAnswer::Undecided, DecidedBy::Nothing));
        check(open, in_kernel(work(1.04, 1.04), 0.5), (GateAnswer::Fail, DecidedBy::MoreWork));
    }
}
