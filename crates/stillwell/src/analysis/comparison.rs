//! The comparison of two arms: the ratio, and the test or the reason why there is none.

use serde::Serialize;

use crate::analysis::summary::UncertainValue;

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
