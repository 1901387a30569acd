//! The result of a gate for one benchmark.

use schemars::JsonSchema;
use serde::Serialize;

use crate::ratios::{exact_percent, is_exact, tested_ratio};
use crate::uncertain;
use crate::units::{counted, percent};
use analysis::verdict::{GateAnswer, Verdict};
use analysis::work::{DecidedBy, WorkCounted};
use analysis::{PairedTest, RatioInterval};

/// A benchmark of a gate.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GateRow {
    /// Name of the benchmark.
    pub(super) name: String,
    #[serde(skip)]
    pub(super) base: String,
    #[serde(skip)]
    pub(super) head: String,
    /// New ÷ old; null without an estimate.
    pub(super) ratio: Option<RatioInterval>,
    #[serde(skip)]
    pub(super) numbers: String,
    /// The meaning in a few words.
    #[serde(skip)]
    pub(super) meaning: String,
    /// The verdict on the times.
    pub(super) verdict: Verdict,
    /// Whether it passes, by times and work together.
    pub answer: GateAnswer,
    /// The quantity that the answer rests on.
    pub(super) by: DecidedBy,
    /// The instructions, if they were counted.
    #[serde(rename = "instructions")]
    pub(super) work: Option<WorkCounted>,
    /// Smallest difference that was visible, as a fraction.
    pub(super) smallest_visible: Option<f64>,
}

impl GateRow {
    /// A benchmark of which nothing is known but this count.
    pub(super) fn of_count(name: &str, work: WorkCounted) -> Self {
        let (verdict, answer, by) = match work.is_known {
            true => (Verdict::Same, GateAnswer::Pass, DecidedBy::SameWork),
            false => (Verdict::Undecided, GateAnswer::Undecided, DecidedBy::Nothing),
        };
        let row = Self {
            name: name.into(),
            base: String::new(),
            head: String::new(),
            ratio: Some(work.ratio),
            numbers: String::new(),
            meaning: String::new(),
            verdict,
            answer,
            by,
            work: Some(work),
            smallest_visible: None,
        };
        let meaning = match answer {
            GateAnswer::Pass => format!("instructions: {}", row.instructions()),
            _ => format!("undecided, counted once: {} instructions", row.instructions()),
        };
        Self { meaning, ..row }
    }

    /// Whether nothing but counts is known.
    pub(super) fn is_counted_alone(&self) -> bool {
        self.work.is_some() && self.base.is_empty()
    }

    /// Size of the worsening, for the order of rows with the same answer.
    pub(super) fn badness(&self) -> f64 {
        let work = self.work.filter(|_| self.by == DecidedBy::MoreWork);
        work.map(|work| work.ratio).or(self.ratio).map_or(0.0, |ratio| ratio.ratio)
    }

    /// The instructions in the table: `+9.6 % in 3 counts`, `the same`, `the same, as a sum of 8`.
    pub(super) fn instructions(&self) -> String {
        let Some(work) = &self.work else { return String::new() };
        let sign = if work.ratio.ratio < 1.0 { "-" } else { "+" };
        let more = format!("{sign}{}", work_percent(work.ratio));
        match (work.ratio, work.is_known) {
            (ratio, _) if is_exact(ratio) && ratio.ratio.total_cmp(&1.0).is_eq() => {
                let sum = |n| format!("the same, as a sum of {n}");
                Some(work.n_together).filter(|n| *n > 1).map_or("the same".into(), sum)
            }
            (_, true) => more + &in_counts(work.n_counts),
            (_, false) => format!("about {more}"),
        }
    }

    /// Whether the row belongs in the first table.
    pub(super) fn is_remarkable(&self) -> bool {
        self.answer == GateAnswer::Fail
            || matches!(self.verdict, Verdict::Slower | Verdict::Faster)
            || self.by == DecidedBy::TimeInSpiteOfWork
    }
}

fn in_counts(n: usize) -> String {
    format!(" in {}", counted(n, "count"))
}

pub(super) fn work_percent(ratio: RatioInterval) -> String {
    let share = (ratio.ratio - 1.0).abs();
    if is_exact(ratio) { exact_percent(share) } else { percent(share) }
}

/// A ratio with its interval, or a remark on the missing interval.
pub(super) fn numbers(paired: &PairedTest, ratio: RatioInterval) -> String {
    if (ratio.hi - ratio.lo).is_finite() || ratio.lo >= 1.0 {
        let of = if paired.repeats { in_counts(paired.n_pairs) } else { String::new() };
        return tested_ratio(paired, ratio) + &of;
    }
    format!("about {}, too few blocks for an interval", uncertain::significant(ratio.ratio, 3))
}

/// The largest difference in the interval of a ratio, if it has both ends.
pub(super) fn told_to(ratio: Option<RatioInterval>) -> Option<String> {
    let ratio = ratio.filter(|ratio| ratio.lo > 0.0)?;
    let share = (ratio.hi - 1.0).max(1.0 - ratio.lo);
    (share.is_finite() && share > 0.0).then(|| percent(share))
}
