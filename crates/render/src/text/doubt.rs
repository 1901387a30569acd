//! Differences that equal typical times can hide.

use crate::ratios::{change, ratio_and_interval};
use crate::uncertain;
use crate::units::percent;
use analysis::verdict::{Judgement, Verdict};
use analysis::{PairedTest, SameDoubt, SlowRuns, StatisticName};

/// The reason against "the same".
pub(super) fn doubt_text(doubt: SameDoubt, paired: &PairedTest) -> String {
    match doubt {
        SameDoubt::Uneven => "not by one ratio".into(),
        SameDoubt::HiddenTail => {
            let need = paired.to_decide.map_or(0, |to_decide| to_decide.n_pairs);
            format!(
                "a slow tail of {} of the runs could be hidden in {} blocks; {need} would show it",
                percent(paired.hidden_tail),
                paired.n_pairs
            )
        }
        SameDoubt::MeanDiffers => {
            format!("{} on average{}", change(paired.mean_ratio.ratio), slow_text(paired.slow_runs))
        }
        SameDoubt::TailDiffers => {
            format!("not the same tail{}", slow_text(paired.slow_runs))
        }
        SameDoubt::MeanUnknown => "too little is known of the mean".into(),
    }
}

/// `: 10 % of the runs take 3 times as long`.
pub(super) fn slow_text(slow: Option<SlowRuns>) -> String {
    let Some(SlowRuns { is_candidate, share, factor }) = slow else { return String::new() };
    let whose = if is_candidate { "" } else { "of the reference " };
    let longer = match factor {
        2.0.. => format!("{} times as long", uncertain::significant(factor, 2)),
        _ => format!("{} longer", percent(factor - 1.0)),
    };
    format!(": {} of the runs {whose}take {longer}", percent(share))
}

/// The ratio of the mean times, if it says more than the ratio of the verdict.
pub(super) fn mean_text(paired: &PairedTest, judgement: &Judgement) -> Option<String> {
    let mean = paired.mean_ratio.of_values(judgement.better);
    let shown = judgement.shown(paired);
    let is_typical = mean.lo <= shown.ratio && shown.ratio <= mean.hi;
    let is_about_same = judgement.verdict == Verdict::Same || paired.doubt.is_some();
    let is_other = paired.statistic != StatisticName::Mean && (is_about_same || !is_typical);
    is_other.then(|| format!("mean {}", ratio_and_interval(mean)))
}
