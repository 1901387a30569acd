//! The part that all documents of `--json` have in common: result, certainty, disturbance and next action. docs/json.md
//! describes it for users.
//!
//! A verb makes one from its own analysis: `Conclusion { effects, next, ..Conclusion::of(FinalVerdict::Accepted) }`, and
//! hands it to [`crate::document::write`] together with its own data.

mod next;
mod session;

use schemars::JsonSchema;
use serde::Serialize;

use analysis::verdict::Verdict;
use analysis::{Disturbance, NoTest, RatioInterval, SameDoubt, UncertainValue};
use model::values::ValueUnit;

pub(crate) use next::quantity_options;
pub use next::{NextAction, find_noise, measure_together, measure_tuned, tune, tune_now};
pub use session::{comparison_effect, measured_arm, session_conclusion, whole};

/// The result, its certainty, and the next action.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Conclusion {
    /// The answer in one word.
    pub verdict: FinalVerdict,
    /// The differences behind the verdict, in the order of the comparisons.
    pub effects: Vec<Effect>,
    /// The measured arms. Empty if nothing was measured, or if the document is about many sessions.
    pub measured: Vec<MeasuredArm>,
    /// How much other programs disturbed the runs; null if nothing was measured, or nothing tells.
    pub disturbance: Option<Disturbance>,
    /// The next sensible action; null if the question is answered, or no action is known to answer it.
    pub next: Option<NextAction>,
}

impl Conclusion {
    pub fn of(verdict: FinalVerdict) -> Self {
        Self { verdict, effects: Vec::new(), measured: Vec::new(), disturbance: None, next: None }
    }
}

/// The answer of a document in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FinalVerdict {
    /// Nothing was compared: the numbers are the answer.
    Measured,
    /// No run has finished, so there are no numbers.
    NotMeasured,
    /// Every effect is "faster": less time, or better in the quantity that decides.
    Faster,
    /// Every effect is "slower": more time, or worse.
    Slower,
    /// Every difference is inside the margin.
    Same,
    /// The data do not decide.
    Undecided,
    /// Several comparisons, with different verdicts.
    Mixed,
    /// A gate: nothing is slower than allowed.
    Pass,
    /// A gate: something is certainly slower than allowed.
    Fail,
    /// The times come from one steady process.
    Stable,
    /// The machine or the program changed during the session.
    Unstable,
    /// A search found what it looked for.
    Found,
    /// An attempt is the new state of its campaign.
    Accepted,
    /// An attempt is not the new state of its campaign.
    Rejected,
    /// A history has a change of level.
    Changed,
    /// A history has none.
    Unchanged,
    /// The machine is as quiet as its knobs allow.
    Tuned,
    /// A knob could make the machine quieter.
    NotTuned,
}

/// One difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Effect {
    /// Name of the command, benchmark, function or commit that differs.
    pub name: String,
    /// Name of the reference.
    pub against: Option<String>,
    /// The verdict on this difference alone; null if it has none of its own.
    pub verdict: Option<Verdict>,
    /// New ÷ reference, as a cost: above 1 is worse.
    pub ratio: Option<f64>,
    /// Lower end of the interval of the ratio; null if there is none.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Probability that the interval holds the true ratio; null without an interval.
    pub confidence: Option<f64>,
    /// Smallest difference that such a session finds in 80 % of cases, as a fraction: 0.01 is 1 %.
    pub smallest_visible: Option<f64>,
    /// Why there is no test.
    pub no_test: Option<NoTest>,
    /// Why it is not "same" although the interval is inside the margin.
    pub doubt: Option<SameDoubt>,
}

impl Effect {
    /// A ratio with its interval. An end that is not bounded is not known.
    pub fn of_ratio(name: String, interval: RatioInterval, confidence: f64) -> Self {
        let [lo, hi] = interval.ends();
        let (ratio, confidence) = (Some(interval.ratio), lo.or(hi).map(|_| confidence));
        Self { name, ratio, lo, hi, confidence, ..Self::default() }
    }

    /// A ratio whose interval alone decides. `alpha` is the probability that the interval misses.
    pub fn of_interval(
        name: &str,
        against: &str,
        ratio: f64,
        (lo, hi): (Option<f64>, Option<f64>),
        alpha: f64,
    ) -> Self {
        let verdict = match (lo, hi) {
            (_, Some(hi)) if hi < 1.0 => Verdict::Faster,
            (Some(lo), _) if lo > 1.0 => Verdict::Slower,
            _ => Verdict::Undecided,
        };
        Self {
            name: name.into(),
            against: Some(against.into()),
            verdict: Some(verdict),
            ratio: Some(ratio),
            lo,
            hi,
            confidence: lo.zip(hi).map(|_| 1.0 - alpha),
            ..Self::default()
        }
    }
}

/// A command, program or statement that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredArm {
    /// Name of the arm.
    pub name: String,
    /// Runs that count.
    pub n_runs: usize,
    /// Runs that failed or took too long; they do not count.
    pub n_lost: usize,
    /// Unit of the values: `time` is ns.
    pub unit: ValueUnit,
    /// The time as the table has it. Where it is compared: t0 of the reference, and for another arm its ratio × this t0,
    /// without an error of its own. Otherwise the noise-free time t0, or the median of another quantity. Net of the
    /// control, if there is one. If the control's t0 is only a limit: the net median where it is compared, else t0 of
    /// the whole.
    pub value: Option<UncertainValue>,
    /// The arm's own t0, or the median of another quantity, from its own runs alone. Null if the control's t0 is only a
    /// limit.
    pub own: Option<UncertainValue>,
    /// The median of the runs. Net of the control, if there is one.
    pub median: Option<UncertainValue>,
    /// Whether the arm's own value is only an upper limit: noise was in every run, or memory may be the launcher's.
    pub is_upper_limit: bool,
    /// Of several copies at the same time (`run -j`): how many end in a second, if a run of all of them takes `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub copies_per_second: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_interval_has_no_ends() {
        let of = |lo, hi| {
            let effect = Effect::of_ratio("a".into(), RatioInterval { ratio: 1.5, lo, hi }, 0.99);
            (effect.lo, effect.hi, effect.confidence)
        };
        assert_eq!(of(0.0, f64::INFINITY), (None, None, None));
        assert_eq!(of(1.25, f64::INFINITY), (Some(1.25), None, Some(0.99)));
        assert_eq!(of(1.25, 2.0), (Some(1.25), Some(2.0), Some(0.99)));
    }
}
