//! Decides from two comparisons whether a probe is like the old end, like the new end, or neither.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One commit against another: new ÷ old as a cost, above 1 is worse.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Relation {
    /// Best estimate.
    pub ratio: f64,
    /// Lower end of the interval; `None` if it has none.
    pub lo: Option<f64>,
    /// Upper end.
    pub hi: Option<f64>,
    /// Error rate of the interval.
    pub alpha: f64,
    /// Whether the test rejects that both take the same time.
    pub is_different: bool,
    /// Whether the interval is inside the margin that counts as the same.
    pub is_same: bool,
}

impl Relation {
    pub fn theta(&self) -> f64 {
        self.ratio.ln()
    }

    #[must_use]
    pub fn inverse(&self) -> Self {
        let of = |end: f64| 1.0 / end;
        Self { ratio: of(self.ratio), lo: self.hi.map(of), hi: self.lo.map(of), ..*self }
    }

    /// Standard error of the log ratio, from its interval as for a normal distribution.
    fn error(&self) -> Option<f64> {
        let half_width = (self.hi?.ln() - self.lo?.ln()) / 2.0;
        let z = stats::verdict::z(1.0 - self.alpha / 2.0).ok()?;
        (half_width.is_finite() && half_width > 0.0).then(|| half_width / z)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The probe differs from the new end, and not from the old one.
    LikeOld,
    /// The probe differs from the old end, and not from the new one.
    LikeNew,
    /// The probe differs from both by more than the margin: both sides have a change.
    Neither,
    /// The probe differs from neither so far.
    Undecided,
}

/// The answer of a probe. If the probe is the same program as one end, a wrong answer requires a false rejection, so
/// its probability is at most the error rate of the step.
pub fn answer(of_old: &Relation, of_new: &Relation, margin: f64) -> Answer {
    let [from_old, from_new] = [of_old, of_new].map(|it| it.theta().abs());
    match (of_old.is_different, of_new.is_different) {
        (false, true) if from_old < from_new => Answer::LikeOld,
        (true, false) if from_new < from_old => Answer::LikeNew,
        (true, true) => match (from_old <= margin, from_new <= margin) {
            (true, _) if from_old < from_new => Answer::LikeOld,
            (_, true) if from_new < from_old => Answer::LikeNew,
            _ => Answer::Neither,
        },
        _ => Answer::Undecided,
    }
}

/// How many times more likely the probe's times are if it has the change. `delta`: log ratio of the ends.
pub fn odds_of_new(answer: Answer, of_old: &Relation, delta: f64) -> f64 {
    /// Limit for an undecided probe.
    const UNDECIDED_MAX: f64 = 20.0;
    let wrong = of_old.alpha.clamp(1e-9, 0.5);
    match answer {
        Answer::LikeOld => wrong / (1.0 - wrong),
        Answer::LikeNew => (1.0 - wrong) / wrong,
        Answer::Neither => 1.0,
        Answer::Undecided => of_old.error().map_or(1.0, |error| {
            let log_odds = delta * (2.0 * of_old.theta() - delta) / (2.0 * error * error);
            log_odds.exp().clamp(1.0 / UNDECIDED_MAX, UNDECIDED_MAX)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bisection::fixture::relation;

    #[test]
    fn a_probe_is_like_the_end_that_it_does_not_differ_from() {
        let told = |old, new| answer(&old, &new, 0.005);
        assert_eq!(told(relation(0.1, 1.0), relation(-2.9, 1.0)), Answer::LikeOld);
        assert_eq!(told(relation(3.1, 1.0), relation(0.1, 1.0)), Answer::LikeNew);
        assert_eq!(told(relation(1.5, 0.5), relation(-1.5, 0.5)), Answer::Neither);
        assert_eq!(told(relation(1.0, 2.0), relation(-2.0, 2.0)), Answer::Undecided);
        // A shift of the layout, below the margin, is not a change.
        assert_eq!(told(relation(0.3, 0.1), relation(-2.7, 0.1)), Answer::LikeOld);
        assert_eq!(told(relation(2.8, 0.1), relation(-0.2, 0.1)), Answer::LikeNew);
        // Contradictory: nearer to the end that it differs from.
        assert_eq!(told(relation(0.5, 0.1), relation(-2.5, 3.0)), Answer::Undecided);
    }

    #[test]
    fn an_undecided_probe_still_says_something() {
        let delta = 0.03_f64;
        let odds = |percent| odds_of_new(Answer::Undecided, &relation(percent, 5.0), delta);
        assert!(odds(3.0) > 1.2 && odds(0.0) < 0.8);
        assert!((odds(100.0 * ((delta / 2.0).exp() - 1.0)) - 1.0).abs() < 1e-6);
        assert!(odds_of_new(Answer::LikeNew, &relation(3.0, 1.0), delta) > 900.0);
    }
}
