//! Analysis × decision rule → verdict, with the reasons as data.

use serde::Serialize;

use crate::analysis::{Comparison, Evidence, NoTest, PairedDecision, PairedTest, RatioInterval};
use crate::plan::DecisionRule;
use crate::values::{Estimand, FailOn, exit_code};

/// The verdict on a candidate against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The candidate takes less time.
    Faster,
    /// The candidate takes more time.
    Slower,
    /// The difference, if any, is inside the margin.
    Same,
    /// The data do not decide yet.
    Undecided,
}

/// A verdict and its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
}

/// Judges one comparison.
pub fn judge(comparison: &Comparison, policy: &DecisionRule) -> Judgement {
    let undecided = |no_test| Judgement {
        verdict: Verdict::Undecided,
        within_margin: false,
        interval: None,
        same_limit: 1.0 + policy.same_within,
        mean_hi: None,
        no_test,
    };
    match &comparison.evidence {
        Evidence::Paired(paired) => of_paired(paired, policy),
        Evidence::Unpaired { because, .. } | Evidence::None { because } => {
            undecided(Some(*because))
        }
    }
}

/// The decision of the test in words. The shown ratio has no time of the control in it: a ratio of 1 stays 1, but other
/// ratios are further away from it, so it may be outside the margin.
fn of_paired(paired: &PairedTest, policy: &DecisionRule) -> Judgement {
    let shown = paired.net_ratio.unwrap_or(paired.ratio);
    let is_within = log_interval(shown).is_within(policy.same_within.ln_1p());
    let verdict = match paired.decision {
        PairedDecision::Different if paired.ratio.lo >= 1.0 => Verdict::Slower,
        PairedDecision::Different => Verdict::Faster,
        PairedDecision::Same if is_within => Verdict::Same,
        PairedDecision::Same | PairedDecision::Undecided => Verdict::Undecided,
    };
    let within_margin = paired.decision == PairedDecision::Different && is_within;
    // Someone who asks for one part of the distribution does not ask for the mean.
    let mean_hi = (policy.estimand == Estimand::Adaptive).then_some(paired.mean_ratio.hi);
    let same_limit = 1.0 + policy.same_within;
    Judgement { verdict, within_margin, interval: Some(shown), same_limit, mean_hi, no_test: None }
}

fn log_interval(ratio: RatioInterval) -> stats::Interval {
    stats::Interval { lo: ratio.lo.ln(), hi: ratio.hi.ln() }
}

/// Judges an interval of a ratio.
pub fn of_interval(ratio: RatioInterval, policy: &DecisionRule) -> Judgement {
    let margin = policy.same_within.ln_1p();
    let direction = if ratio.ratio > 1.0 { Verdict::Slower } else { Verdict::Faster };
    let (verdict, within_margin) = match stats::IntervalVerdict::of(log_interval(ratio), margin) {
        stats::IntervalVerdict::Different => (direction, false),
        stats::IntervalVerdict::DifferentWithinMargin => (direction, true),
        stats::IntervalVerdict::Same => (Verdict::Same, false),
        stats::IntervalVerdict::Undecided => (Verdict::Undecided, false),
    };
    let same_limit = 1.0 + policy.same_within;
    Judgement {
        verdict,
        within_margin,
        interval: Some(ratio),
        same_limit,
        mean_hi: None,
        no_test: None,
    }
}

/// Exit code of `--fail-on`: 1 for a slowdown that is certainly above the limit, 3 for an undecided comparison, 0
/// otherwise.
pub fn exit_code(judgements: &[Judgement], fail_on: FailOn) -> u8 {
    let limit = 1.0 + fail_on.slower_pct / 100.0;
    let is_too_slow = |judgement: &Judgement| {
        judgement.verdict == Verdict::Slower
            && judgement.interval.is_some_and(|interval| interval.lo > limit)
    };
    // The slowdown is certainly within the limit, or counts as the same. A tail of slow runs can hide behind a typical
    // time, so the mean has to be bounded as well.
    let is_fine = |judgement: &Judgement| {
        let limit_or_same = limit.max(judgement.same_limit);
        let is_below = |limit: f64| judgement.interval.is_some_and(|interval| interval.hi <= limit);
        let is_typical_fine = match judgement.verdict {
            Verdict::Faster => true,
            Verdict::Slower => is_below(limit),
            Verdict::Same | Verdict::Undecided => is_below(limit_or_same),
        };
        is_typical_fine && judgement.mean_hi.is_none_or(|hi| hi <= limit_or_same)
    };
    if judgements.iter().any(is_too_slow) {
        exit_code::CHECK_FAILED
    } else if judgements.iter().all(is_fine) {
        exit_code::SUCCESS
    } else {
        exit_code::UNDECIDED
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixture::paired;
    use crate::values::{Clock, ProcessValue};

    const POLICY: DecisionRule = DecisionRule {
        alpha: 0.01,
        same_within: 0.01,
        estimand: Estimand::Adaptive,
        clock: Clock::Clean,
        process_value: ProcessValue::Mean,
    };

    fn of(paired: PairedTest) -> Comparison {
        Comparison { arm: 1, reference: 0, evidence: Evidence::Paired(paired) }
    }

    fn comparison(lo: f64, hi: f64) -> Comparison {
        of(paired((lo * hi).sqrt(), lo, hi))
    }

    #[track_caller]
    fn check(lo: f64, hi: f64, verdict: Verdict, within_margin: bool) {
        let found = judge(&comparison(lo, hi), &POLICY);
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
        let decided = |decision| {
            judge(&of(PairedTest { decision, ..paired(1.0, 0.995, 1.005) }), &POLICY).verdict
        };
        assert_eq!(decided(PairedDecision::Same), Verdict::Same);
        assert_eq!(decided(PairedDecision::Undecided), Verdict::Undecided);
        // A difference of a hundredth, of which the control takes nine tenths.
        let net = RatioInterval { ratio: 1.0, lo: 0.98, hi: 1.02 };
        let found = PairedTest { net_ratio: Some(net), ..paired(1.0, 0.998, 1.002) };
        assert_eq!(judge(&of(found), &POLICY).verdict, Verdict::Undecided);
    }

    #[test]
    fn a_check_passes_only_if_the_mean_is_bounded() {
        let code = |hi: f64, estimand: Estimand, slower_pct: f64| {
            let mean_ratio = RatioInterval { ratio: 1.2, lo: 0.9, hi };
            let found = PairedTest { mean_ratio, ..paired(1.0, 0.995, 1.005) };
            let judged = judge(&of(found), &DecisionRule { estimand, ..POLICY });
            exit_code(&[judged], FailOn { slower_pct })
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
        let found = judge(&comparison, &POLICY);
        assert_eq!((found.verdict, found.no_test), (Verdict::Undecided, Some(because)));
    }

    #[track_caller]
    fn check_exit(intervals: &[(f64, f64)], slower_pct: f64, expected: u8) {
        let judge = |&(lo, hi): &(f64, f64)| judge(&comparison(lo, hi), &POLICY);
        let judgements: Vec<_> = intervals.iter().map(judge).collect();
        assert_eq!(exit_code(&judgements, FailOn { slower_pct }), expected);
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
}
