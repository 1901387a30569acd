//! Judges an analysis by a decision rule; the reasons are data.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Analysis, Comparison, NoTest, PairedDecision, PairedTest, RatioInterval};
use model::values::{Better, Estimand, FailOn, exit_code};
use record::Record;
use record::plan::DecisionRule;

/// The verdict on a candidate against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate takes less time, or is better in the quantity that decides.
    Faster,
    /// The candidate takes more time, or is worse.
    Slower,
    /// The difference, if any, is inside the margin.
    Same,
    /// The data do not decide yet.
    Undecided,
}

/// A record, its analysis, and the judgement of each comparison.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    pub record: &'a Record,
    pub analysis: &'a Analysis,
    pub judgements: &'a [Judgement],
}

impl<'a> Judged<'a> {
    /// Each comparison with its judgement.
    pub fn pairs(self) -> impl DoubleEndedIterator<Item = (&'a Comparison, &'a Judgement)> {
        self.analysis.comparisons.iter().zip(self.judgements)
    }
}

/// A verdict and its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the difference is decided, but smaller than the margin that counts as the same.
    pub within_margin: bool,
    /// The interval behind the verdict.
    pub interval: Option<RatioInterval>,
    /// Ratio up to which a slowdown counts as the same.
    pub same_limit: f64,
    /// Upper end of the interval of the mean times' ratio, if the question is about them as well.
    pub mean_hi: Option<f64>,
    /// Reason why there is no test.
    pub no_test: Option<NoTest>,
    /// The direction in which the compared quantity is better. The interval is about costs: above 1 is worse.
    #[serde(skip_serializing_if = "Better::is_lower")]
    pub better: Better,
}

pub fn judge(comparison: &Comparison, policy: &DecisionRule) -> Judgement {
    match comparison.evidence.test() {
        Ok(paired) => judge_paired(paired, policy),
        Err(because) => Judgement { no_test: Some(because), ..undecided(policy) },
    }
}

/// The judgement without evidence.
pub fn undecided(policy: &DecisionRule) -> Judgement {
    Judgement {
        verdict: Verdict::Undecided,
        within_margin: false,
        interval: None,
        same_limit: 1.0 + policy.same_within,
        mean_hi: None,
        no_test: None,
        better: policy.better,
    }
}

/// Words the decision of the test. The shown ratio excludes the control's time: a ratio of 1 stays 1, others move away
/// from it and may leave the margin.
fn judge_paired(paired: &PairedTest, policy: &DecisionRule) -> Judgement {
    let shown = paired.net_ratio.unwrap_or(paired.ratio);
    let margin = policy.same_within.ln_1p();
    let is_within = shown.logs().is_within(margin);
    let verdict = match paired.decision {
        PairedDecision::Different if paired.ratio.lo >= 1.0 => Verdict::Slower,
        PairedDecision::Different => Verdict::Faster,
        PairedDecision::Same if is_within => Verdict::Same,
        PairedDecision::Same | PairedDecision::Undecided => Verdict::Undecided,
    };
    // A user who asks for one part of the distribution does not ask for the others.
    let asks_for_all = policy.estimand == Estimand::Adaptive;
    let is_small = is_within && (!asks_for_all || paired.is_small_everywhere(margin));
    let within_margin = paired.decision == PairedDecision::Different && is_small;
    let mean_hi = asks_for_all.then_some(paired.mean_ratio.hi);
    Judgement { verdict, within_margin, interval: Some(shown), mean_hi, ..undecided(policy) }
}

pub fn judge_interval(ratio: RatioInterval, policy: &DecisionRule) -> Judgement {
    let margin = policy.same_within.ln_1p();
    let direction = if ratio.ratio > 1.0 { Verdict::Slower } else { Verdict::Faster };
    let (verdict, within_margin) = match stats::IntervalVerdict::of(ratio.logs(), margin) {
        stats::IntervalVerdict::Different => (direction, false),
        stats::IntervalVerdict::DifferentWithinMargin => (direction, true),
        stats::IntervalVerdict::Same => (Verdict::Same, false),
        stats::IntervalVerdict::Undecided => (Verdict::Undecided, false),
    };
    Judgement { verdict, within_margin, interval: Some(ratio), ..undecided(policy) }
}

/// The answer to `--fail-on`, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateAnswer {
    /// Nothing is above the limit.
    Pass,
    /// A slowdown or a value may be above the limit.
    Undecided,
    /// A slowdown or a value is certainly above the limit.
    Fail,
}

/// The answer to `--fail-on` and the deciding comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    pub answer: GateAnswer,
    /// Index of the deciding comparison: of those that fail (else are undecided, else pass), the one with the largest
    /// ratio. `None` without comparisons.
    pub by: Option<usize>,
}

impl Gate {
    /// Judges all comparisons against the limit of `--fail-on`.
    pub fn of(judgements: &[Judgement], fail_on: FailOn) -> Self {
        let limit = fail_on.limit();
        // Not the upper end: with few blocks it is infinite.
        let ratio = |judgement: &Judgement| judgement.interval.map_or(0.0, |it| it.ratio);
        let by = worst_of(judgements, |it| (it.answer(limit), ratio(it)));
        let by = by.filter(|_| fail_on.slower_pct.is_some());
        Self { answer: by.map_or(GateAnswer::Pass, |at| judgements[at].answer(limit)), by }
    }

    pub fn exit_code(self) -> u8 {
        self.answer.exit_code()
    }
}

impl GateAnswer {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Pass => exit_code::SUCCESS,
            Self::Fail => exit_code::CHECK_FAILED,
            Self::Undecided => exit_code::UNDECIDED,
        }
    }
}

/// The place of the one with the worst answer; of equally bad ones, the first with the largest value.
pub fn worst_of<T>(all: &[T], key: impl Fn(&T) -> (GateAnswer, f64)) -> Option<usize> {
    (0..all.len()).rev().max_by(|&one, &other| {
        let ((one, value), (other, larger)) = (key(&all[one]), key(&all[other]));
        one.cmp(&other).then(value.total_cmp(&larger))
    })
}

impl Judgement {
    /// The interval to show. If higher values are better, it is the inverse of the costs' interval.
    pub fn shown(&self, paired: &PairedTest) -> RatioInterval {
        self.interval.unwrap_or(paired.ratio).of_values(self.better)
    }

    /// Whether the slowdown exceeds this limit of the ratio.
    pub fn answer(&self, limit: f64) -> GateAnswer {
        let is_too_slow = self.verdict == Verdict::Slower
            && self.interval.is_some_and(|interval| interval.lo > limit);
        if is_too_slow {
            GateAnswer::Fail
        } else if self.is_within(limit) && self.mean_is_within(limit) {
            GateAnswer::Pass
        } else {
            GateAnswer::Undecided
        }
    }

    /// Whether the slowdown is certainly within the limit, or counts as the same.
    pub fn is_within(&self, limit: f64) -> bool {
        let limit_or_same = limit.max(self.same_limit);
        let is_below = |limit: f64| self.interval.is_some_and(|interval| interval.hi <= limit);
        match self.verdict {
            Verdict::Faster => true,
            Verdict::Slower => is_below(limit),
            Verdict::Same | Verdict::Undecided => is_below(limit_or_same),
        }
    }

    /// Whether the mean is certainly within the limit. A tail of slow runs can hide behind a typical time, so the mean
    /// must be bounded too.
    fn mean_is_within(&self, limit: f64) -> bool {
        self.mean_hi.is_none_or(|hi| hi <= limit.max(self.same_limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::paired;
    use crate::{Evidence, UnevenShape};

    fn judged(paired: PairedTest, policy: &DecisionRule) -> Judgement {
        let evidence = Evidence::Paired(paired);
        judge(&Comparison { arm: 1, reference: 0, evidence }, policy)
    }

    fn of_interval((lo, hi): (f64, f64)) -> Judgement {
        judged(paired((lo * hi).sqrt(), lo, hi), &DecisionRule::default())
    }

    #[track_caller]
    fn check(lo: f64, hi: f64, verdict: Verdict, within_margin: bool) {
        let found = of_interval((lo, hi));
        assert_eq!((found.verdict, found.within_margin), (verdict, within_margin));
    }

    #[test]
    fn intervals_become_verdicts() {
        check(1.02, 1.05, Verdict::Slower, false);
        check(0.90, 0.95, Verdict::Faster, false);
        check(1.002, 1.008, Verdict::Slower, true);
        check(0.995, 1.005, Verdict::Same, false);
        check(0.98, 1.05, Verdict::Undecided, false);
        check(0.0, f64::INFINITY, Verdict::Undecided, false);
    }

    #[test]
    fn the_decision_makes_the_verdict_and_not_the_interval() {
        let verdict = |found| judged(found, &DecisionRule::default()).verdict;
        let decided = |decision| verdict(PairedTest { decision, ..paired(1.0, 0.995, 1.005) });
        assert_eq!(decided(PairedDecision::Same), Verdict::Same);
        assert_eq!(decided(PairedDecision::Undecided), Verdict::Undecided);
        // A difference of a hundredth, with nine tenths of the time in the control.
        let net = RatioInterval { ratio: 1.0, lo: 0.98, hi: 1.02 };
        let found = PairedTest { net_ratio: Some(net), ..paired(1.0, 0.998, 1.002) };
        assert_eq!(verdict(found), Verdict::Undecided);
    }

    #[test]
    fn a_difference_is_small_only_if_it_is_small_in_every_part() {
        let is_small = |found: PairedTest, estimand| {
            judged(found, &DecisionRule { estimand, ..DecisionRule::default() }).within_margin
        };
        let mean_ratio = RatioInterval { ratio: 1.2, lo: 1.1, hi: 1.3 };
        let slow_on_average = || PairedTest { mean_ratio, ..paired(1.005, 1.002, 1.008) };
        assert!(!is_small(slow_on_average(), Estimand::Adaptive));
        assert!(is_small(slow_on_average(), Estimand::Floor));
        let shape = Some(UnevenShape { floor: 1.005, typical: 1.2 });
        let uneven = PairedTest { shape, ..paired(1.005, 1.002, 1.008) };
        assert!(!is_small(uneven, Estimand::Adaptive));
    }

    #[test]
    fn a_check_passes_only_if_the_mean_is_bounded() {
        let code = |hi: f64, estimand: Estimand, slower_pct: f64| {
            let mean_ratio = RatioInterval { ratio: 1.2, lo: 0.9, hi };
            let found = PairedTest { mean_ratio, ..paired(1.0, 0.995, 1.005) };
            let judged = judged(found, &DecisionRule { estimand, ..DecisionRule::default() });
            Gate::of(&[judged], FailOn::slower(slower_pct)).exit_code()
        };
        assert_eq!(code(1.5, Estimand::Adaptive, 5.0), exit_code::UNDECIDED);
        assert_eq!(code(1.5, Estimand::Typical, 5.0), exit_code::SUCCESS);
        assert_eq!(code(1.5, Estimand::Adaptive, 60.0), exit_code::SUCCESS);
        assert_eq!(code(1.009, Estimand::Adaptive, 0.0), exit_code::SUCCESS, "the margin");
    }

    #[test]
    fn without_a_test_there_is_no_verdict() {
        let because = NoTest::Sequential;
        let comparison = Comparison { arm: 1, reference: 0, evidence: Evidence::None { because } };
        let found = judge(&comparison, &DecisionRule::default());
        assert_eq!((found.verdict, found.no_test), (Verdict::Undecided, Some(because)));
    }

    #[track_caller]
    fn check_exit(intervals: &[(f64, f64)], slower_pct: f64, expected: u8) {
        let judgements: Vec<_> = intervals.iter().copied().map(of_interval).collect();
        assert_eq!(Gate::of(&judgements, FailOn::slower(slower_pct)).exit_code(), expected);
    }

    #[test]
    fn the_exit_code_says_whether_something_got_slower() {
        check_exit(&[], 0.0, 0);
        check_exit(&[(1.02, 1.05)], 0.0, 1);
        check_exit(&[(0.9, 0.95), (1.02, 1.05)], 0.0, 1);
        check_exit(&[(0.9, 0.95), (0.995, 1.005)], 0.0, 0);
        check_exit(&[(0.98, 1.05)], 0.0, 3);
        // Slower, but certainly within the limit; or perhaps above it.
        check_exit(&[(1.02, 1.03)], 5.0, 0);
        check_exit(&[(1.02, 1.08)], 5.0, 3);
        check_exit(&[(1.06, 1.08)], 5.0, 1);
        check_exit(&[(0.98, 1.04)], 5.0, 0);
    }

    #[test]
    fn the_gate_names_the_comparison_that_decides() {
        let gate = |intervals: &[(f64, f64)]| {
            let judgements: Vec<_> = intervals.iter().copied().map(of_interval).collect();
            Gate::of(&judgements, FailOn::slower(5.0))
        };
        let found = |answer, by| Gate { answer, by };
        let passed = gate(&[(0.9, 0.95), (1.01, 1.04), (1.0, 1.02)]);
        assert_eq!(passed, found(GateAnswer::Pass, Some(1)), "the slowest of those that pass");
        let open = gate(&[(1.02, 1.03), (0.98, 1.2), (0.9, 1.3)]);
        assert_eq!(
            open,
            found(GateAnswer::Undecided, Some(1)),
            "the widest interval does not decide"
        );
        let failed = gate(&[(0.9, 1.3), (1.06, 1.08), (1.2, 1.3)]);
        assert_eq!(failed, found(GateAnswer::Fail, Some(2)), "a failure outranks an open one");
        assert_eq!(gate(&[]), found(GateAnswer::Pass, None));
    }
}
