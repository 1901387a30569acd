//! Analysis × decision rule → verdict, with the reasons as data.

use serde::Serialize;

use crate::analysis::{Comparison, Evidence, NoTest, RatioInterval};
use crate::plan::DecisionRule;
use crate::values::{FailOn, exit_code};

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
    /// Reason why there is no test.
    pub no_test: Option<NoTest>,
}

/// Judges one comparison.
pub fn judge(comparison: &Comparison, policy: &DecisionRule) -> Judgement {
    let undecided = |no_test| Judgement {
        verdict: Verdict::Undecided,
        within_margin: false,
        interval: None,
        no_test,
    };
    let (shown, as_measured, is_uneven) = match &comparison.evidence {
        Evidence::Paired(paired) => {
            (paired.net_ratio.unwrap_or(paired.ratio), paired.ratio, paired.shape.is_some())
        }
        Evidence::Unpaired { because, .. } | Evidence::None { because } => {
            return undecided(Some(*because));
        }
    };
    of_interval(shown, as_measured.ratio, policy, is_uneven)
}

/// Judges an interval. `as_measured`: the ratio before the control is subtracted, which gives the direction.
/// `is_uneven`: the interval stands for two ratios.
pub fn of_interval(
    shown: RatioInterval,
    as_measured: f64,
    policy: &DecisionRule,
    is_uneven: bool,
) -> Judgement {
    let log = stats::Interval { lo: shown.lo.ln(), hi: shown.hi.ln() };
    let direction = if as_measured > 1.0 { Verdict::Slower } else { Verdict::Faster };
    let (verdict, within_margin) = match stats::IntervalVerdict::of(log, policy.same_within.ln_1p())
    {
        stats::IntervalVerdict::Different => (direction, false),
        stats::IntervalVerdict::DifferentWithinMargin => (direction, true),
        // With two ratios, an interval around one of them cannot show that nothing changed.
        stats::IntervalVerdict::Same if is_uneven => (Verdict::Undecided, false),
        stats::IntervalVerdict::Same => (Verdict::Same, false),
        stats::IntervalVerdict::Undecided => (Verdict::Undecided, false),
    };
    Judgement { verdict, within_margin, interval: Some(shown), no_test: None }
}

/// Exit code of `--fail-on`: 1 for a slowdown that is certainly above the limit, 3 for an undecided comparison, 0
/// otherwise.
pub fn exit_code(judgements: &[Judgement], fail_on: FailOn) -> u8 {
    let limit = 1.0 + fail_on.slower_pct / 100.0;
    let is_too_slow = |judgement: &Judgement| {
        judgement.verdict == Verdict::Slower
            && judgement.interval.is_some_and(|interval| interval.lo > limit)
    };
    // The slowdown is certainly within the limit, or the verdict is no slowdown.
    let is_fine = |judgement: &Judgement| {
        matches!(judgement.verdict, Verdict::Faster | Verdict::Same)
            || judgement.interval.is_some_and(|interval| interval.hi <= limit)
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
    use crate::analysis::{PairedTest, StatisticName, UnevenShape};
    use crate::values::Estimand;

    const POLICY: DecisionRule =
        DecisionRule { alpha: 0.01, same_within: 0.01, estimand: Estimand::Adaptive };

    fn comparison(lo: f64, hi: f64, shape: Option<UnevenShape>) -> Comparison {
        let paired = PairedTest {
            n_pairs: 50,
            n_warmup_pairs: 0,
            n_looks: 1,
            family: 1,
            p: 0.5,
            q: 0.5,
            statistic: StatisticName::Typical,
            ratio: RatioInterval { ratio: (lo * hi).sqrt(), lo, hi },
            net_ratio: None,
            alpha: 0.01,
            smallest_visible: 0.01,
            to_decide: None,
            position_ratio: 1.0,
            is_contradicted: false,
            shape,
        };
        Comparison { arm: 1, reference: 0, evidence: Evidence::Paired(paired) }
    }

    #[track_caller]
    fn check(lo: f64, hi: f64, verdict: Verdict, within_margin: bool) {
        let found = judge(&comparison(lo, hi, None), &POLICY);
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
    fn two_ratios_are_never_the_same() {
        let shape = Some(UnevenShape { floor: 1.0, typical: 1.001 });
        assert_eq!(judge(&comparison(0.995, 1.005, shape), &POLICY).verdict, Verdict::Undecided);
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
        let judge = |&(lo, hi): &(f64, f64)| judge(&comparison(lo, hi, None), &POLICY);
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
