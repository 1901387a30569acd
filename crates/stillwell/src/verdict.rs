//! Analysis × policy → verdict, with the reasons as data.

use serde::Serialize;

use crate::analysis::{Comparison, Evidence, NoTest, RatioInterval};
use crate::plan::Policy;
use crate::spec::values::FailOn;

/// What can be said of a candidate against the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It takes less time.
    Faster,
    /// It takes more time.
    Slower,
    /// The difference, if any, is inside the margin.
    Same,
    /// It cannot be told yet.
    Undecided,
}

/// A verdict and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Faster or slower, but by less than the margin that counts as the same.
    pub within_margin: bool,
    /// The interval it was read from.
    pub interval: Option<RatioInterval>,
    /// Why there is no test, when there is none.
    pub no_test: Option<NoTest>,
}

/// Judges one comparison.
pub fn judge(comparison: &Comparison, policy: &Policy) -> Judgement {
    let undecided = |no_test| Judgement {
        verdict: Verdict::Undecided,
        within_margin: false,
        interval: None,
        no_test,
    };
    let paired = match &comparison.evidence {
        Evidence::Paired(paired) => paired,
        Evidence::Unpaired { because, .. } | Evidence::None { because } => {
            return undecided(Some(*because));
        }
    };
    let shown = paired.net_ratio.unwrap_or(paired.ratio);
    let log = stats::Interval { lo: shown.lo.ln(), hi: shown.hi.ln() };
    let is_slower = paired.ratio.ratio > 1.0;
    let direction = if is_slower { Verdict::Slower } else { Verdict::Faster };
    let (verdict, within_margin) = match stats::Verdict::of(log, policy.same_within.ln_1p()) {
        stats::Verdict::Different => (direction, false),
        stats::Verdict::DifferentWithinMargin => (direction, true),
        // Two ratios instead of one: an interval around one of them cannot say that nothing changed.
        stats::Verdict::Same if paired.shape.is_some() => (Verdict::Undecided, false),
        stats::Verdict::Same => (Verdict::Same, false),
        stats::Verdict::Undecided => (Verdict::Undecided, false),
    };
    Judgement { verdict, within_margin, interval: Some(shown), no_test: None }
}

/// What `--fail-on` makes of some judgements: 1 for a slowdown that is certain to be above the limit, 3 when one of
/// them is not decided, 0 otherwise.
pub fn exit_code(judgements: &[Judgement], fail_on: FailOn) -> u8 {
    let limit = 1.0 + fail_on.slower_pct / 100.0;
    let is_too_slow = |judgement: &Judgement| {
        judgement.verdict == Verdict::Slower
            && judgement.interval.is_some_and(|interval| interval.lo > limit)
    };
    // Not slower than the limit for certain, or decided to be no slowdown at all.
    let is_fine = |judgement: &Judgement| {
        matches!(judgement.verdict, Verdict::Faster | Verdict::Same)
            || judgement.interval.is_some_and(|interval| interval.hi <= limit)
    };
    if judgements.iter().any(is_too_slow) {
        1
    } else if judgements.iter().all(is_fine) {
        0
    } else {
        3
    }
}
