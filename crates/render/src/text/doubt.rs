//! Differences that equal typical times can hide.

use crate::quantity::QuantityWords;
use crate::ratios::ratio_and_interval;
use crate::uncertain;
use crate::units::percent;
use analysis::verdict::{Judgement, Verdict};
use analysis::{PairedTest, SameDoubt, SlowRuns, StatisticName};
use record::plan::Plan;

/// The reason against "the same".
pub(super) fn doubt_text(doubt: SameDoubt, paired: &PairedTest, plan: &Plan) -> String {
    let quantity = QuantityWords::of(plan);
    let slow = slow_text(paired.slow_runs, quantity);
    match doubt {
        SameDoubt::Uneven => "not by one ratio".into(),
        SameDoubt::HiddenTail => {
            let need = paired.to_decide.map_or(0, |to_decide| to_decide.n_pairs);
            format!(
                "{} could be hidden in {} blocks; {need} would show it",
                tail(paired, quantity),
                paired.n_pairs
            )
        }
        SameDoubt::MeanDiffers => {
            let mean = plan.policy.better.turned(paired.mean_ratio.ratio);
            format!("{} {}{slow}", quantity.change(mean), quantity.on_average())
        }
        SameDoubt::TailDiffers => format!("not the same tail{slow}"),
        SameDoubt::MeanUnknown => "too little is known of the mean".into(),
        SameDoubt::CoarseSteps => {
            "the times are read in steps too coarse to call them the same".into()
        }
    }
}

/// `a slow tail of 7.4 % of the runs`, the largest that a session can miss.
pub(super) fn tail(paired: &PairedTest, quantity: QuantityWords) -> String {
    let slow = if quantity.is_time() { "slow" } else { "bad" };
    format!("a {slow} tail of {} of the runs", percent(paired.hidden_tail))
}

/// `: 10 % more of the runs take 3 times as long`, than of the other arm's.
pub(super) fn slow_text(slow: Option<SlowRuns>, quantity: QuantityWords) -> String {
    let slow = slow.filter(|_| quantity.is_time());
    let Some(SlowRuns { is_candidate, share, factor }) = slow else { return String::new() };
    let whose = if is_candidate { "" } else { "of the reference " };
    let longer = match factor {
        2.0.. => format!("{} times as long", uncertain::significant(factor, 2)),
        _ => format!("{} longer", percent(factor - 1.0)),
    };
    format!(": {} more of the runs {whose}take {longer}", percent(share))
}

/// The ratio of the mean times, if it says more than the ratio of the verdict.
pub(super) fn mean_text(paired: &PairedTest, judgement: &Judgement) -> Option<String> {
    let mean = paired.mean_ratio.of_values(judgement.better);
    let shown = judgement.shown(paired);
    let is_typical = mean.lo <= shown.ratio && shown.ratio <= mean.hi;
    let is_about_same = judgement.verdict == Verdict::Same || paired.doubt.is_some();
    let is_other = paired.statistic != StatisticName::Mean && (is_about_same || !is_typical);
    let name = if judgement.better.is_lower() { "mean" } else { "harmonic mean" };
    is_other.then(|| format!("{name} {}", ratio_and_interval(mean)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::paired;
    use analysis::RatioInterval;
    use analysis::verdict::undecided;
    use model::values::{Better, DecideOn, ValueUnit};
    use record::fixture::record;

    #[test]
    fn bad_runs_of_values_are_not_slow() {
        let mut plan = record(&["a", "b"]).header.plan;
        plan.arms.iter_mut().for_each(|arm| arm.unit = ValueUnit::Count);
        (plan.policy.decide_on, plan.policy.better) = (Some(DecideOn::Value), Better::Higher);
        let doubt = Some(SameDoubt::MeanDiffers);
        let mean_ratio = RatioInterval { ratio: 1.25, lo: 1.2, hi: 1.3 };
        let slow_runs = Some(SlowRuns { is_candidate: true, share: 0.1, factor: 3.0 });
        let paired = PairedTest { doubt, mean_ratio, slow_runs, ..paired(1.0, 0.999, 1.001) };
        let text = |doubt| doubt_text(doubt, &paired, &plan);
        assert_eq!(text(SameDoubt::MeanDiffers), "gives a value 20 % lower in the harmonic mean");
        assert!(text(SameDoubt::HiddenTail).starts_with("a bad tail of 7.4 % of the runs"));
        assert_eq!(text(SameDoubt::TailDiffers), "not the same tail");
        let mean = mean_text(&paired, &undecided(&plan.policy)).unwrap();
        assert!(mean.starts_with("harmonic mean 0.80"), "{mean}");
    }
}
