//! The conclusion of a session.

use crate::conclusion::next::{find_noise, measure_longer};
use crate::conclusion::{Conclusion, Effect, FinalVerdict, MeasuredArm};
use analysis::verdict::{Judged, Judgement, Verdict};
use analysis::{
    ArmSummary, ComparedTimes, Comparison, Disturbance, Evidence, UncertainValue, throughput,
};
use model::values::DecideOn;
use record::plan::Plan;

/// Smallest taken share of the time that is worth an investigation.
const TAKEN_MIN: f64 = 0.1;

pub fn session_conclusion(judged: Judged<'_>) -> Conclusion {
    let Judged { record, analysis, judgements } = judged;
    let plan = &record.header.plan;
    let arms = analysis.arms.iter().filter(|arm| !arm.is_hidden);
    let times = ComparedTimes::of(analysis, judgements);
    let measured = |arm: &ArmSummary| MeasuredArm {
        value: times.get(arm.arm).map(|it| UncertainValue { value: it.value, err: it.err }),
        copies_per_second: times.get(arm.arm).and_then(|it| throughput(plan, it.value)),
        ..measured_arm(plan, arm)
    };
    let measured: Vec<MeasuredArm> = arms.map(measured).collect();
    let disturbance = Disturbance::of(analysis);
    let is_taken = |disturbance: &Disturbance| {
        disturbance.is_limit_only || disturbance.taken_share.is_some_and(|share| share >= TAKEN_MIN)
    };
    let effect = |(comparison, judgement): (&Comparison, &Judgement)| {
        let names = [comparison.arm, comparison.reference].map(|arm| plan.full_label(arm));
        comparison_effect(names, &comparison.evidence, judgement)
    };
    let effects = judged.pairs().map(effect).collect();
    let verdict = match whole(judgements) {
        _ if measured.iter().all(|arm| arm.n_runs == 0) => FinalVerdict::NotMeasured,
        verdict => verdict,
    };
    let next = measure_longer(judged).or_else(|| {
        // Less noise does not make a missing test possible.
        let is_open = |it: &Judgement| it.verdict == Verdict::Undecided && it.no_test.is_none();
        let is_of_use = verdict == FinalVerdict::Measured || judgements.iter().any(is_open);
        disturbance.as_ref().filter(|it| is_of_use && is_taken(it)).and_then(|_| find_noise(record))
    });
    Conclusion { verdict, effects, measured, disturbance, next }
}

/// The verdict on all comparisons together.
pub fn whole(judgements: &[Judgement]) -> FinalVerdict {
    let Some(first) = judgements.first() else { return FinalVerdict::Measured };
    if judgements.iter().any(|it| it.verdict != first.verdict) {
        return FinalVerdict::Mixed;
    }
    match first.verdict {
        Verdict::Faster => FinalVerdict::Faster,
        Verdict::Slower => FinalVerdict::Slower,
        Verdict::Same => FinalVerdict::Same,
        Verdict::Undecided => FinalVerdict::Undecided,
    }
}

/// The effect between two arms, with the names of both.
pub fn comparison_effect(
    [name, against]: [String; 2],
    evidence: &Evidence,
    judgement: &Judgement,
) -> Effect {
    let effect = match evidence {
        Evidence::Paired(paired) => {
            let shown = judgement.interval.unwrap_or(paired.ratio);
            Effect {
                smallest_visible: Some(paired.smallest_visible),
                doubt: paired.doubt,
                ..Effect::of_ratio(name, shown, 1.0 - paired.alpha)
            }
        }
        Evidence::Unpaired { ratio, .. } => {
            Effect { name, ratio: Some(ratio.value), ..Effect::default() }
        }
        Evidence::None { .. } => Effect { name, ..Effect::default() },
    };
    let (verdict, no_test) = (Some(judgement.verdict), judgement.no_test);
    Effect { against: Some(against), verdict, no_test, ..effect }
}

pub fn measured_arm(plan: &Plan, arm: &ArmSummary) -> MeasuredArm {
    let times = arm.times.as_ref();
    let unit = match plan.policy.decide_on {
        Some(decides) if decides != DecideOn::Value => decides.unit(),
        _ => plan.arms[arm.arm].unit,
    };
    let t0 = arm.net_t0();
    MeasuredArm {
        copies_per_second: None,
        name: plan.full_label(arm.arm),
        n_runs: arm.n_runs,
        n_lost: arm.n_failed + arm.n_timed_out,
        unit,
        value: t0,
        own: arm.net.map_or(t0, |net| net.t0),
        median: arm.net.map(|net| net.median).or(times.map(|it| it.median)),
        is_upper_limit: times.is_some_and(|it| it.is_upper_limit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclusion::next::ActionKind;
    use crate::fixture::{analysis, compare, judgements, paired, too_few};
    use record::fixture::record;

    #[test]
    fn noise_is_worth_a_search_while_something_is_open() {
        let record = record(&["a", "b"]);
        let next = |evidence: Option<Evidence>, is_limit: bool| {
            let mut analysis = analysis(&record, &[1e9, 1e9]);
            analysis.arms[1].times.as_mut().unwrap().is_upper_limit = is_limit;
            evidence.into_iter().for_each(|evidence| compare(&mut analysis, 1, evidence));
            let judgements = judgements(&record, &analysis);
            let judged = Judged { record: &record, analysis: &analysis, judgements: &judgements };
            session_conclusion(judged).next.map(|it| it.action)
        };
        let test = |lo, hi| Some(Evidence::Paired(paired(1.0, lo, hi)));
        assert_eq!(next(test(0.9, 1.1), true), Some(ActionKind::FindNoise));
        assert_eq!(next(None, true), Some(ActionKind::FindNoise));
        assert_eq!(next(test(0.9, 1.1), false), None);
        assert_eq!(next(test(0.999, 1.001), true), None);
        assert_eq!(next(Some(too_few()), true), None);
    }
}
