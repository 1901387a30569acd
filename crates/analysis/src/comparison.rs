//! The comparison of two arms: the ratio with its test, or the reason for no test.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use stats::Interval;

use crate::summary::UncertainValue;
use model::values::Better;

/// A candidate against the reference.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// Index of the candidate.
    pub arm: usize,
    /// Index of the reference.
    pub reference: usize,
    /// The evidence on the ratio.
    pub evidence: Evidence,
}

/// The evidence on a ratio (new ÷ reference as a cost, above 1 is worse).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Evidence {
    /// The runs were interleaved at random: a calibrated test.
    Paired(PairedTest),
    /// The runs were not interleaved: an estimate, no test.
    Unpaired {
        /// Ratio of the t0, by first-order propagation of their errors. With several past sessions it is the ratio to the
        /// median of their t0, and has no error.
        ratio: UncertainValue,
        /// Reason why there is no test.
        because: NoTest,
        /// The place of the new session among several past ones.
        #[serde(skip_serializing_if = "Option::is_none")]
        past: Option<PastSessions>,
    },
    /// There is no estimate.
    None {
        /// Reason why there is no estimate.
        because: NoTest,
    },
}

impl Evidence {
    /// The test, or why there is none.
    pub fn test(&self) -> Result<&PairedTest, NoTest> {
        match self {
            Self::Paired(paired) => Ok(paired),
            Self::Unpaired { because, .. } | Self::None { because } => Err(*because),
        }
    }

    /// The evidence with ratios of the values instead of the costs.
    pub(crate) fn of_values(self, better: Better) -> Self {
        match self {
            Self::Paired(paired) => Self::Paired(PairedTest {
                ratio: paired.ratio.of_values(better),
                net_ratio: paired.net_ratio.map(|it| it.of_values(better)),
                ..paired
            }),
            Self::Unpaired { ratio, because, past } => {
                let past = past.map(|past| past.of_values(better));
                Self::Unpaired { ratio: ratio.of_values(better), because, past }
            }
            Self::None { because } => Self::None { because },
        }
    }
}

/// Reason why there is no calibrated verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum NoTest {
    /// The runs were not interleaved: `--order sequential`, or a parameter in `--setup` or `--cleanup`.
    Sequential,
    /// Another program measured the arms; the order of the runs is not known.
    Imported,
    /// The arms are from different sessions.
    SeparateRecords,
    /// Too few complete pairs for any verdict at this alpha.
    TooFewPairs {
        /// Number of complete pairs.
        have: usize,
        /// Number of complete pairs that the test needs.
        need: usize,
    },
    /// The session ended before its first interim analysis, and alpha is planned for no other analysis.
    NoLook {
        /// Number of complete pairs.
        have: usize,
    },
    /// The family is so large that no p-value can be small enough.
    FamilyTooLarge {
        /// Comparisons in the family.
        n: usize,
    },
    /// The numbers are unfit for a test; for instance, one is not above zero.
    UnfitNumbers,
    /// The peak memory of at least one run is not above the launcher's. The program may use less, and that decides.
    MemoryFloor,
    /// While one task of a program ran, another waited for a CPU that other programs had. Clean time contains this wait,
    /// and without it the decision may be another.
    TasksWaited,
}

impl NoTest {
    /// Number of complete pairs, if they are too few.
    pub fn n_pairs(self) -> Option<usize> {
        match self {
            Self::TooFewPairs { have, .. } | Self::NoLook { have } => Some(have),
            _ => None,
        }
    }
}

/// The result of a re-labelling test on random pairs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PairedTest {
    /// Complete pairs at the last interim analysis, without the warm-up.
    pub n_pairs: usize,
    /// Pairs left out at the beginning as warm-up.
    pub n_warmup_pairs: usize,
    /// Interim analyses; their error rates sum to `alpha`.
    pub n_looks: usize,
    /// Comparisons in the family, this one included.
    pub family: usize,
    /// p-value of "no difference", adjusted for the interim analyses and the family; exact or conservative.
    pub p: f64,
    /// p-value adjusted for the interim analyses and, by Benjamini & Hochberg, for the family. Of all comparisons
    /// with at most this q, at most this share is expected to be falsely called different. No verdict uses it.
    pub q: f64,
    /// The statistic of the ratio.
    pub statistic: StatisticName,
    /// Ratio of the times as measured.
    pub ratio: RatioInterval,
    /// Ratio of the times minus the control's; `None` without a control, or if what is left of a time without it is not
    /// known: the reference takes no longer, or a t0 is only a limit.
    pub net_ratio: Option<RatioInterval>,
    /// 1 − level of the intervals: the family's error rate, or the share that Holm's procedure leaves.
    pub alpha: f64,
    /// Smallest difference that a session like this finds in 80 % of cases, as a fraction.
    pub smallest_visible: f64,
    /// A session that would decide, if this one does not; `None` if it cannot be estimated.
    pub to_decide: Option<DecisionEstimate>,
    /// Time of the second run of a block ÷ time of the first; 1 if the position does not matter.
    pub position_ratio: f64,
    /// The decision. `p`, `ratio` and the printed word agree with it.
    pub decision: PairedDecision,
    /// Reason why the decision is not "same" although the whole interval is inside the margin.
    pub doubt: Option<SameDoubt>,
    /// Ratio of the mean times, which is the total cost; without the control's time if there is a `net_ratio`.
    pub mean_ratio: RatioInterval,
    /// Smallest share of slow runs that these pairs would have shown, except with probability `alpha`.
    pub hidden_tail: f64,
    /// The runs in which one arm is slower than the other, if `doubt` is about the mean or the tail.
    pub slow_runs: Option<SlowRuns>,
    /// Whether interim analyses contradict each other: the ratio changed during the session, or one of them erred.
    pub is_contradicted: bool,
    /// Ratios of floor and typical time, if they differ.
    pub shape: Option<UnevenShape>,
    /// Whether the ratios of all pairs agree within a ten-thousandth, as for counts that repeat. Then there is no test;
    /// without any difference, both ends of the interval are the ratio itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeats: bool,
    /// Whether the times of one of the arms drifted or stepped meanwhile. Then nothing is forecast from this session.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_unsteady: bool,
}

impl PairedTest {
    /// Whether the mean certainly differs by less than `margin`, a log ratio, and the floor and the typical time do,
    /// whatever the compared statistic says.
    pub(crate) fn is_small_everywhere(&self, margin: f64) -> bool {
        let parts = self.shape.map_or([1.0; 2], |shape| [shape.floor, shape.typical]);
        let is_small = |part: &f64| part.ln().abs() < margin;
        // The parts are of whole times, with what a net ratio leaves out.
        let are_known = self.net_ratio.is_none() || self.shape.is_none();
        self.mean_ratio.logs().is_within(margin) && are_known && parts.iter().all(is_small)
    }

    /// Whether the mean certainly has another ratio than the compared statistic.
    pub fn has_other_mean(&self) -> bool {
        let shown = self.net_ratio.unwrap_or(self.ratio).logs();
        shown.intersect(self.mean_ratio.logs()).is_none()
    }

    /// Takes a forecast back that rests on times which changed during the session. A hidden tail needs a fixed number of
    /// runs.
    pub(crate) fn withdraw_forecast(&mut self) {
        if self.doubt.is_none() && self.to_decide.take().is_some() {
            self.is_unsteady = true;
        }
    }
}

/// The decision of a paired test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairedDecision {
    /// The arms differ: p is at most alpha, and 1 is outside of the interval.
    Different,
    /// The interval is inside the margin, and nothing speaks against "the same".
    Same,
    /// Neither.
    Undecided,
}

/// Reason why two arms are not the same although their typical times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SameDoubt {
    /// A slow tail of a twentieth of the runs could be hidden.
    HiddenTail,
    /// Floor and typical time differ by different ratios.
    Uneven,
    /// The mean times differ by more than the margin.
    MeanDiffers,
    /// One arm has more of the slowest runs.
    TailDiffers,
    /// The mean times may differ by more than the margin.
    MeanUnknown,
    /// The steps in which the times were read could hide a difference beyond the margin.
    CoarseSteps,
}

/// The runs in which one arm is slower than the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SlowRuns {
    /// Whether the candidate has more slow runs, not the reference.
    pub is_candidate: bool,
    /// Share of its runs by which its slow runs outnumber the other arm's.
    pub share: f64,
    /// Median of the runs by which they outnumber the other arm's ÷ median of the other arm's runs of the same ranks.
    pub factor: f64,
}

/// A session that would decide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DecisionEstimate {
    /// Number of pairs.
    pub n_pairs: usize,
    /// Time at the pace of this session, ns; `None` for less than two blocks.
    pub time_ns: Option<f64>,
}

/// The place of a new session among several past ones. It is no test: a machine has fast and slow weeks, so sessions are
/// not exchangeable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PastSessions {
    /// Past sessions.
    pub n_sessions: usize,
    /// Past sessions with a better t0.
    pub n_faster: usize,
    /// Past sessions with a worse t0.
    pub n_slower: usize,
    /// The best past t0 ÷ the median of the past ones, as a cost.
    pub lowest: f64,
    /// The worst past t0 ÷ the median of the past ones, as a cost.
    pub highest: f64,
    /// The last change of level that still holds, if there are enough sessions to see one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<SessionChange>,
}

impl PastSessions {
    /// The place with ratios of the values instead of the costs. `lowest` is the smaller one again.
    pub fn of_values(self, better: Better) -> Self {
        if better.is_lower() {
            return self;
        }
        let inverse = |it: SessionChange| SessionChange { ratio: it.ratio.inverse(), ..it };
        Self {
            lowest: 1.0 / self.highest,
            highest: 1.0 / self.lowest,
            change: self.change.map(inverse),
            ..self
        }
    }
}

/// A change of level among sessions, as `history changes` finds it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionChange {
    /// Number of the first session of the new level, from 1.
    pub since: usize,
    /// After ÷ before, at 95 %.
    pub ratio: RatioInterval,
    /// p-value of "there is no such change".
    pub p: f64,
}

/// A ratio with the interval that the test does not reject.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RatioInterval {
    /// Best estimate.
    pub ratio: f64,
    /// Lower end; 0 (null in JSON) when it is not known.
    #[serde(serialize_with = "lower_end")]
    #[schemars(with = "f64")]
    pub lo: f64,
    /// Upper end; infinite (null in JSON) when it is not known.
    pub hi: f64,
}

fn lower_end<S: Serializer>(lo: &f64, to: S) -> Result<S::Ok, S::Error> {
    Some(lo).filter(|lo| **lo > 0.0).serialize(to)
}

impl RatioInterval {
    /// The ratio of a log ratio with its interval.
    pub fn of_logs(theta: f64, interval: Interval) -> Self {
        let Interval { lo, hi } = interval.exp();
        Self { ratio: theta.exp(), lo, hi }
    }

    /// The ratio of a log that is moved into its interval if it is outside.
    pub(crate) fn clamped(theta: f64, interval: Interval) -> Self {
        Self::of_logs(theta.clamp(interval.lo, interval.hi), interval)
    }

    /// The ends of the interval, without one that is not bounded.
    pub fn ends(self) -> [Option<f64>; 2] {
        [self.lo, self.hi].map(|end| Some(end).filter(|end| end.is_finite() && *end > 0.0))
    }

    /// The interval of the log ratio.
    pub fn logs(self) -> Interval {
        Interval { lo: self.lo.ln(), hi: self.hi.ln() }
    }

    /// A ratio of costs as one of the values, and the other way round.
    pub fn of_values(self, better: Better) -> Self {
        if better.is_lower() { self } else { self.inverse() }
    }

    pub fn inverse(self) -> Self {
        Self { ratio: 1.0 / self.ratio, lo: 1.0 / self.hi, hi: 1.0 / self.lo }
    }
}

/// Not a uniform slowdown: two ratios instead of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnevenShape {
    /// Ratio of the floors.
    pub floor: f64,
    /// Ratio of the typical times.
    pub typical: f64,
}

/// A statistic of the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatisticName {
    Typical,
    LocalFloor,
    Floor,
    GeometricMean,
    Mean,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_end_is_null_in_json() {
        let open = RatioInterval { ratio: 1.5, lo: 0.0, hi: f64::INFINITY };
        let json = |interval: RatioInterval| serde_json::to_string(&interval).unwrap();
        assert_eq!(json(open), r#"{"ratio":1.5,"lo":null,"hi":null}"#);
        assert_eq!(
            json(RatioInterval { lo: 1.25, ..open }),
            r#"{"ratio":1.5,"lo":1.25,"hi":null}"#
        );
    }
}
