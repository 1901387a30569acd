//! The evidence on the ratio of two arms.

use rayon::prelude::*;
use stats::IntervalVerdict;
use stats::relabel::Statistic;
use stats::sequential::{Conclusion, SAME_TAIL, hidden_tail_pairs, holm_shares, is_uneven};

use crate::coarse_steps::{misread_in, widened};
use crate::comparison::{
    Comparison, DecisionEstimate, Evidence, NoTest, PairedDecision, PairedTest, RatioInterval,
    SameDoubt, SlowRuns, StatisticName, UnevenShape,
};
use crate::crowding::holds_without_waits;
use crate::exact::{repeated, repeated_ratio};
use crate::launches::gathered;
use crate::memory_floor::MemoryLimits;
use crate::sessions::unpaired;
use crate::sliced::WAIT_MIN;
use crate::summary::{ArmSummary, TimeSummary};
use crate::walls::Walls;
use crate::watch::{ArmComparison, SessionComparisons};
use model::values::{Headline, Order};
use record::Record;
use record::plan::Plan;

/// Every candidate against the reference of the same record, and the reference against its twin.
pub fn compare(record: &Record, arms: &[ArmSummary]) -> (Vec<Comparison>, Option<Comparison>) {
    let plan = &record.header.plan;
    let comparison =
        |arm, evidence| Comparison { arm, reference: plan.reference_of(arm), evidence };
    if plan.order == Order::Sequential {
        let is_imported = record.header.imported.is_some();
        let because = if is_imported { NoTest::Imported } else { NoTest::Sequential };
        let one = |arm| {
            let old = &arms[plan.reference_of(arm)];
            comparison(arm, unpaired(old, &arms[arm], plan.policy.better, because))
        };
        return (plan.compared().into_iter().map(one).collect(), plan.twin().map(one));
    }
    let Ok(looks) = RecordLooks::of(record, arms) else {
        let unfit = |arm| comparison(arm, Evidence::None { because: NoTest::UnfitNumbers });
        return (plan.compared().into_iter().map(unfit).collect(), plan.twin().map(unfit));
    };
    let judged = family(&[&looks], plan.family());
    looks.compare(&judged[0])
}

/// The comparisons by the CPU times of slices, if the wall times contain run-queue delay.
pub fn cpu_comparisons(record: &Record, arms: &[ArmSummary]) -> Vec<Comparison> {
    let plan = &record.header.plan;
    let is_of_wall =
        plan.workers.as_ref().is_some_and(|workers| workers.headline == Headline::Wall);
    let waited =
        arms.iter().filter_map(|arm| arm.sliced.as_ref()?.wait_share).any(|it| it > WAIT_MIN);
    let Some(slices) = record.slices.as_ref().filter(|_| is_of_wall && waited) else {
        return Vec::new();
    };
    let by_cpu = Record {
        path: record.path.clone(),
        header: record.header.clone(),
        rows: gathered(plan, slices, Some(Headline::Cpu)),
        slices: None,
        events: record.events.clone(),
        torn_bytes: 0,
        parts: Vec::new(),
        not_begun: Vec::new(),
    };
    compare(&by_cpu, arms).0
}

/// How a comparison is adjusted for its family: Holm's share of alpha, the adjusted p, and the false discovery rate
/// (Benjamini-Hochberg).
#[derive(Clone, Copy, Debug)]
pub struct FamilyAdjustment {
    share: f64,
    p: f64,
    q: f64,
}

/// Adjusts the comparisons of several records as one family of `n_total`. Missing comparisons count as not different.
/// The result is by record, in the order of its plan.
pub fn family(looks: &[&RecordLooks<'_>], n_total: usize) -> Vec<Vec<FamilyAdjustment>> {
    let tested = || looks.iter().flat_map(|one| one.watch.candidates());
    let tests: Vec<_> = tested().map(|tested| &tested.test).collect();
    let shares = holm_shares(&tests, n_total);
    let mut p: Vec<f64> = tested().map(|tested| tested.test.p()).collect();
    p.resize(n_total.max(p.len()), 1.0);
    let rates = stats::multiplicity::benjamini_hochberg(&p).unwrap_or_else(|_| p.clone());
    let adjusted = stats::multiplicity::holm(&p).unwrap_or(p);
    let judged = shares.into_iter().zip(adjusted).zip(rates);
    let mut all = judged.map(|((share, p), q)| FamilyAdjustment { share, p, q });
    let of = |one: &&RecordLooks<'_>| all.by_ref().take(one.watch.candidates().len()).collect();
    looks.iter().map(of).collect()
}

/// A record with its session's interim analyses.
#[derive(Debug)]
pub struct RecordLooks<'a> {
    record: &'a Record,
    arms: &'a [ArmSummary],
    walls: Walls,
    watch: SessionComparisons,
}

impl<'a> RecordLooks<'a> {
    /// Repeats the interim analyses of the session. Errors: the times are unfit for a test.
    pub fn of(record: &'a Record, arms: &'a [ArmSummary]) -> Result<Self, stats::Invalid> {
        let walls = Walls::of(record);
        let watch = SessionComparisons::of(record, &walls)?;
        Ok(Self { record, arms, walls, watch })
    }

    /// Every candidate against its reference, and the reference against its twin.
    pub fn compare(&self, judged: &[FamilyAdjustment]) -> (Vec<Comparison>, Option<Comparison>) {
        let paired = |tested: &ArmComparison, judged: FamilyAdjustment| Comparison {
            arm: tested.arm,
            reference: tested.reference,
            evidence: self.paired(tested, judged),
        };
        let candidates = self.watch.candidates().par_iter().zip(judged);
        let twin = self.watch.twin().map(|twin| {
            let p = twin.test.p();
            paired(twin, FamilyAdjustment { share: 1.0, p, q: p })
        });
        (candidates.map(|(tested, &judged)| paired(tested, judged)).collect(), twin)
    }

    fn plan(&self) -> &Plan {
        &self.record.header.plan
    }

    fn paired(&self, tested: &ArmComparison, judged: FamilyAdjustment) -> Evidence {
        let (plan, old, new) = (self.plan(), tested.reference, tested.arm);
        if let Some(ratio) = repeated_ratio(plan, &self.walls, (old, new)) {
            let alpha = plan.policy.alpha * judged.share;
            let test = repeated(ratio, self.walls.n_pairs(old, new), tested.family, alpha);
            return Evidence::Paired(test);
        }
        let because = match self.conclusion(tested, judged.share) {
            Ok(found) => match self.describe(tested, &found, judged) {
                Ok(paired) if !holds_without_waits(self.record, [old, new], &paired) => {
                    NoTest::TasksWaited
                }
                Ok(paired) => {
                    return MemoryLimits::of(self.record, &self.walls, old, new).evidence(paired);
                }
                Err(_) => NoTest::UnfitNumbers,
            },
            Err(because) => because,
        };
        match because {
            // What gives no verdict still gives an estimate.
            NoTest::TooFewPairs { .. } | NoTest::NoLook { .. } | NoTest::TasksWaited => {
                unpaired(&self.arms[old], &self.arms[new], plan.policy.better, because)
            }
            _ => Evidence::None { because },
        }
    }

    fn conclusion(&self, tested: &ArmComparison, share: f64) -> Result<Conclusion, NoTest> {
        let reference = tested.reference;
        let have = self.walls.n_pairs(reference, tested.arm);
        if tested.test.n_pairs_seen() == 0 {
            let need = tested.test.spending().n_pairs_needed();
            return Err(match need {
                None => NoTest::FamilyTooLarge { n: tested.family },
                Some(need) if have < need => NoTest::TooFewPairs { have, need },
                Some(_) => NoTest::NoLook { have },
            });
        }
        let pairs = self.walls.slots(reference, tested.arm).pairs();
        let conclusion = pairs.and_then(|pairs| tested.test.conclude(&pairs, share));
        conclusion.ok().flatten().ok_or(NoTest::UnfitNumbers)
    }

    fn describe(
        &self,
        tested: &ArmComparison,
        conclusion: &Conclusion,
        FamilyAdjustment { share, p, q }: FamilyAdjustment,
    ) -> Result<PairedTest, stats::Invalid> {
        let plan = self.plan();
        let (alpha, margin) = (plan.policy.alpha * share, plan.policy.same_within.ln_1p());
        let misread = misread_in(self.record, [tested.reference, tested.arm]);
        let interval = conclusion.interval;
        let wide = widened(interval, conclusion.last.theta, misread);
        let is_alike = conclusion.verdict == IntervalVerdict::Same || conclusion.doubt.is_some();
        let is_coarse = is_alike && misread > 0.0 && !wide.is_within(margin);
        let (decision, doubt) = match is_coarse {
            true => (PairedDecision::Undecided, Some(SameDoubt::CoarseSteps)),
            false => (decision(conclusion.verdict), conclusion.doubt.map(doubt)),
        };
        let ratio = RatioInterval::clamped(conclusion.last.theta, wide);
        let statistic = statistic_name(conclusion.statistic());
        let net_ratio = self.net_ratio(tested, ratio, statistic);
        let (mean, of_mean) = conclusion.mean;
        let mean_ratio = RatioInterval::clamped(mean, widened(of_mean, mean, misread));
        let net_mean = self.net_ratio(tested, mean_ratio, StatisticName::Mean);
        let n_pairs = conclusion.n_pairs - conclusion.n_warmup;
        let shape = Some(conclusion.shape).filter(|shape| is_uneven(shape, margin));
        let n_to_decide = match doubt {
            Some(SameDoubt::HiddenTail) => {
                let independent = hidden_tail_pairs(plan.policy.alpha, SAME_TAIL) as f64;
                Some((independent * conclusion.clustering).ceil() as usize)
            }
            Some(_) => None,
            // With two ratios, more pairs change the ratio, not only its interval.
            None if shape.is_some() => None,
            None => {
                // The steps take their part of the margin.
                let (theta, margin) = (conclusion.last.theta, margin - misread.ln_1p());
                stats::verdict::pairs_to_decide(n_pairs, interval, theta, margin)
            }
        };
        let half_width = wide.half_width();
        Ok(PairedTest {
            n_pairs,
            n_warmup_pairs: conclusion.n_warmup,
            n_looks: tested.test.n_looks(),
            family: tested.family,
            p,
            q,
            statistic,
            ratio,
            net_ratio,
            alpha,
            smallest_visible: stats::verdict::mde80(half_width, alpha)?.exp_m1(),
            to_decide: n_to_decide
                .filter(|_| !conclusion.verdict.is_decided())
                .map(|n_pairs| self.deciding(n_pairs)),
            position_ratio: conclusion.last.test.position.exp(),
            decision,
            doubt,
            mean_ratio: net_ratio.and(net_mean).unwrap_or(mean_ratio),
            hidden_tail: 1.0 - alpha.powf(conclusion.clustering / n_pairs as f64),
            slow_runs: slow_runs(conclusion).filter(|_| !is_coarse),
            is_contradicted: conclusion.is_contradicted,
            repeats: false,
            is_unsteady: false,
            shape: shape.map(|shape| UnevenShape {
                floor: shape.floor.exp(),
                typical: shape.typical.exp(),
            }),
        })
    }

    fn net_ratio(
        &self,
        tested: &ArmComparison,
        ratio: RatioInterval,
        statistic: StatisticName,
    ) -> Option<RatioInterval> {
        let plan = self.plan();
        if plan.twin() == Some(tested.arm) {
            return None;
        }
        let control = plan.control.and_then(|control| self.arms[control.arm].times.as_ref())?;
        net(ratio, self.arms[tested.reference].times.as_ref()?, control, statistic)
    }

    /// The estimated number of blocks for a decision, and their time at this session's pace.
    fn deciding(&self, n_pairs: usize) -> DecisionEstimate {
        let rows = &self.record.rows;
        let timed = (0..rows.len()).filter(|&index| rows.block(index).is_some());
        let started = |index: usize| rows.started_ns(index) as f64;
        let mut ends = timed.map(|index| (started(index), rows.block(index).unwrap_or(0)));
        let pace_ns = ends.next().zip(ends.next_back()).and_then(|(first, last)| {
            let n_blocks = last.1.checked_sub(first.1).filter(|&n| n > 0)?;
            Some((last.0 - first.0) / n_blocks as f64)
        });
        DecisionEstimate { n_pairs, time_ns: pace_ns.map(|pace_ns| pace_ns * n_pairs as f64) }
    }
}

fn decision(verdict: IntervalVerdict) -> PairedDecision {
    match verdict {
        IntervalVerdict::Different | IntervalVerdict::DifferentWithinMargin => {
            PairedDecision::Different
        }
        IntervalVerdict::Same => PairedDecision::Same,
        IntervalVerdict::Undecided => PairedDecision::Undecided,
    }
}

fn doubt(doubt: stats::sequential::SameDoubt) -> SameDoubt {
    match doubt {
        stats::sequential::SameDoubt::HiddenTail => SameDoubt::HiddenTail,
        stats::sequential::SameDoubt::Uneven => SameDoubt::Uneven,
        stats::sequential::SameDoubt::MeanDiffers => SameDoubt::MeanDiffers,
        stats::sequential::SameDoubt::TailDiffers => SameDoubt::TailDiffers,
        stats::sequential::SameDoubt::MeanUnknown => SameDoubt::MeanUnknown,
    }
}

/// The slow runs, if they are the reason for a doubt.
fn slow_runs(conclusion: &Conclusion) -> Option<SlowRuns> {
    let is_reason = matches!(
        conclusion.doubt,
        Some(stats::sequential::SameDoubt::MeanDiffers | stats::sequential::SameDoubt::TailDiffers)
    );
    let stats::relabel::SlowRuns { is_new, share, factor } = conclusion.slow_runs?;
    is_reason.then_some(SlowRuns { is_candidate: is_new, share, factor })
}

fn statistic_name(statistic: Statistic) -> StatisticName {
    match statistic {
        Statistic::Typical => StatisticName::Typical,
        Statistic::LocalFloor => StatisticName::LocalFloor,
        Statistic::Floor => StatisticName::Floor,
        Statistic::GeometricMean => StatisticName::GeometricMean,
        Statistic::Mean => StatisticName::Mean,
    }
}

/// Converts the ratio R of whole times into the ratio R' of times minus a control s. With the reference at A, R' = (R A
/// − s) / (A − s). R' is 1 exactly if R is, so the verdict "different" is the same. The errors of A and s widen each
/// end: dR'/ds = A (R − 1) / (A − s)², dR'/dA = −s (R − 1) / (A − s)². Both arms share the control, so its error
/// cancels near R = 1. Limits cannot be subtracted, so where a t0 is one, A and s are medians.
fn net(
    raw: RatioInterval,
    reference: &TimeSummary,
    control: &TimeSummary,
    statistic: StatisticName,
) -> Option<RatioInterval> {
    let is_limit = reference.is_upper_limit || control.is_upper_limit;
    let level = |times: &TimeSummary| match statistic {
        StatisticName::Mean => times.mean,
        StatisticName::LocalFloor | StatisticName::Floor if !is_limit => times.t0,
        _ => times.median,
    };
    let (a, s) = (level(reference).measured()?, level(control).measured()?);
    let below = a.value - s.value;
    // The reference is not distinguishable from the control.
    if below <= 2.0 * a.minus(s).err {
        return None;
    }
    let shifted = |ratio: f64| (ratio * a.value - s.value) / below;
    let widening = |ratio: f64| {
        let per_unit = (ratio - 1.0).abs() / (below * below);
        (per_unit * a.value * s.err).hypot(per_unit * s.value * a.err)
    };
    // Nothing is left of the new arm.
    if shifted(raw.ratio) <= 0.0 {
        return None;
    }
    Some(RatioInterval {
        ratio: shifted(raw.ratio),
        lo: (shifted(raw.lo) - widening(raw.lo)).max(0.0),
        hi: if raw.hi.is_finite() { shifted(raw.hi) + widening(raw.hi) } else { raw.hi },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::times;

    #[test]
    fn a_control_is_taken_out_of_a_ratio() {
        let raw = RatioInterval { ratio: 1.1, lo: 1.0, hi: 1.2 };
        let found = net(raw, &times(100.0, 0.0), &times(50.0, 0.0), StatisticName::Floor).unwrap();
        let expected = RatioInterval { ratio: 1.2, lo: 1.0, hi: 1.4 };
        for (found, expected) in
            [(found.ratio, expected.ratio), (found.lo, expected.lo), (found.hi, expected.hi)]
        {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    #[test]
    fn the_error_of_the_control_widens_a_difference_but_not_its_absence() {
        let at = |raw: f64, err: f64| {
            let raw = RatioInterval { ratio: raw, lo: raw, hi: raw };
            net(raw, &times(100.0, err), &times(50.0, err), StatisticName::Mean).unwrap()
        };
        assert_eq!(at(1.0, 5.0), RatioInterval { ratio: 1.0, lo: 1.0, hi: 1.0 });
        assert!(at(1.1, 5.0).hi > at(1.1, 0.0).hi && at(1.1, 5.0).lo < at(1.1, 0.0).lo);
    }

    #[test]
    fn limits_are_not_subtracted() {
        let raw = RatioInterval { ratio: 1.1, lo: 1.0, hi: 1.2 };
        let [mut reference, mut control] = [times(100.0, 0.1), times(50.0, 0.1)];
        let of_medians = net(raw, &reference, &control, StatisticName::Typical);
        for times in [&mut reference, &mut control] {
            times.limit(times.most(), crate::summary::LimitCause::Neighbours);
            times.t0.value = 1.0;
        }
        assert_eq!(net(raw, &reference, &control, StatisticName::Floor), of_medians);
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let raw = RatioInterval { ratio: 1.1, lo: 1.0, hi: 1.2 };
        assert_eq!(net(raw, &times(50.0, 1.0), &times(50.0, 1.0), StatisticName::Typical), None);
        assert_eq!(net(raw, &times(52.0, 1.0), &times(50.0, 1.0), StatisticName::Typical), None);
        let half = RatioInterval { ratio: 0.5, lo: 0.4, hi: 0.6 };
        assert_eq!(net(half, &times(100.0, 0.0), &times(50.0, 0.0), StatisticName::Floor), None);
    }
}
