//! The times shown beside ratios. The reference has its own time, every other arm ratio × that time, so dividing two
//! times in a table gives the ratio in it. Dividing the arms' own t0 would give another, less certain ratio.

use std::collections::BTreeMap;

use crate::comparison::RatioInterval;
use crate::single::Analysis;
use crate::summary::{ArmSummary, UncertainValue};
use crate::verdict::Judgement;

/// Fewest and most significant digits of a time beside a ratio.
const DIGITS: std::ops::RangeInclusive<f64> = 3.0..=6.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComparedTime {
    /// The time, or another kind of value, in its base unit.
    pub value: f64,
    /// Error of the arm's own time; `None` for ratio × reference.
    pub err: Option<f64>,
    /// Whether the time is ratio × reference.
    pub is_from_ratio: bool,
    /// Whether the t0 that the time comes from is only an upper limit.
    pub is_upper_limit: bool,
    /// Digits that the place beside the ratio needs; `None` if nothing is compared.
    pub n_digits: Option<i32>,
    pub statistic: ComparedStatistic,
}

/// The statistic of a time beside a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedStatistic {
    /// t0, minus the control's if there is one.
    T0,
    /// t0 as measured, because nothing is known of the rest without the control.
    WholeT0,
    /// The median minus the control's. The control's t0 is only a limit, which cannot be subtracted.
    NetMedian,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedTimes {
    by_arm: Vec<Option<ComparedTime>>,
}

impl ComparedTimes {
    /// The times beside the ratios of an analysis. `judgements` are in the order of the comparisons.
    pub fn of(analysis: &Analysis, judgements: &[Judgement]) -> Self {
        let mut by_arm: Vec<_> = analysis.arms.iter().map(own).collect();
        let mut by_reference: BTreeMap<usize, Vec<Tested>> = BTreeMap::new();
        for (found, judgement) in analysis.comparisons.iter().zip(judgements) {
            let Ok(paired) = found.evidence.test() else { continue };
            if found.arm < analysis.arms.len() {
                let (has_net, shown) = (paired.net_ratio.is_some(), judgement.shown(paired));
                let group = by_reference.entry(found.reference).or_default();
                group.push(Tested { arm: found.arm, has_net, shown });
            }
        }
        for (reference, group) in by_reference {
            let Some(summary) = analysis.arms.get(reference) else { continue };
            let has_net = group.iter().any(|one| one.has_net);
            let n_digits = Some(digits(group.iter().map(|one| one.shown)));
            let base = base(summary, has_net).map(|time| ComparedTime { n_digits, ..time });
            by_arm[reference] = base;
            for one in group {
                // Nothing is left of the arm: the ratio is between whole times.
                if has_net && !one.has_net {
                    by_arm[one.arm] = None;
                } else if let Some(base) = base {
                    let value = base.value * one.shown.ratio;
                    let time = ComparedTime { value, err: None, is_from_ratio: true, ..base };
                    by_arm[one.arm] = Some(time);
                }
            }
        }
        Self { by_arm }
    }

    /// The time of an arm; `None` without a run, or if it hardly differs from the control.
    pub fn get(&self, arm: usize) -> Option<ComparedTime> {
        self.by_arm.get(arm).copied().flatten()
    }

    /// Whether any time is ratio × reference.
    pub fn has_ratios(&self) -> bool {
        self.by_arm.iter().flatten().any(|time| time.is_from_ratio)
    }

    /// The statistic of the times.
    pub fn statistic(&self) -> ComparedStatistic {
        let all = self.by_arm.iter().flatten().map(|time| time.statistic);
        all.max_by_key(|it| *it as u8).unwrap_or(ComparedStatistic::T0)
    }
}

/// An arm that was tested, and the ratio that is shown.
struct Tested {
    arm: usize,
    /// Whether there is a ratio without the control.
    has_net: bool,
    shown: RatioInterval,
}

/// The arm's own t0, minus the control if t0 exceeds it.
fn own(arm: &ArmSummary) -> Option<ComparedTime> {
    let is_whole = arm.net.is_some_and(|net| net.t0.is_none());
    let statistic = if is_whole { ComparedStatistic::WholeT0 } else { ComparedStatistic::T0 };
    let time = time(arm, arm.net_t0()?, statistic);
    time.filter(|_| !arm.is_too_short())
}

fn time(
    arm: &ArmSummary,
    UncertainValue { value, err }: UncertainValue,
    statistic: ComparedStatistic,
) -> Option<ComparedTime> {
    let is_t0 = statistic != ComparedStatistic::NetMedian;
    Some(ComparedTime {
        value,
        err,
        is_from_ratio: false,
        is_upper_limit: is_t0 && arm.times.as_ref()?.is_upper_limit,
        n_digits: None,
        statistic,
    })
}

/// The time of a reference; net if the ratios are.
fn base(reference: &ArmSummary, has_net: bool) -> Option<ComparedTime> {
    match reference.net {
        Some(net) if has_net && net.t0.is_none() => {
            time(reference, net.median, ComparedStatistic::NetMedian)
        }
        Some(_) if !has_net => {
            time(reference, reference.times.as_ref()?.t0, ComparedStatistic::WholeT0)
        }
        _ => own(reference),
    }
}

/// Digits that make the quotient of two times equal to their ratio, to a tenth of the ratio's interval.
fn digits(ratios: impl Iterator<Item = RatioInterval>) -> i32 {
    let relative = ratios.map(|it| (it.hi - it.lo) / 2.0 / it.ratio);
    let least = relative.filter(|half| half.is_finite() && *half > 0.0).fold(1.0, f64::min);
    ((-least.log10()).ceil() + 2.0).clamp(*DIGITS.start(), *DIGITS.end()) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{Comparison, Evidence, PairedTest};
    use crate::fixture::{no_runs, paired, times};
    use crate::summary::NetTimes;
    use crate::verdict::judge;
    use record::plan::DecisionRule;

    fn arm(arm: usize, t0: f64, net: Option<(f64, f64)>) -> ArmSummary {
        let net = net.map(|(value, err)| {
            let value = UncertainValue { value, err: Some(err) };
            NetTimes { t0: Some(value), median: value, mean: value }
        });
        ArmSummary { arm, times: Some(times(t0, 1.0)), net, ..no_runs() }
    }

    fn shown(arms: Vec<ArmSummary>, tests: Vec<PairedTest>) -> ComparedTimes {
        let rule = DecisionRule::default();
        let comparison = |(at, paired)| Comparison {
            arm: at + 1,
            reference: 0,
            evidence: Evidence::Paired(paired),
        };
        let comparisons: Vec<_> = tests.into_iter().enumerate().map(comparison).collect();
        let judgements: Vec<_> = comparisons.iter().map(|it| judge(it, &rule)).collect();
        ComparedTimes::of(&Analysis { arms, comparisons, ..Analysis::default() }, &judgements)
    }

    /// The t0 of the arms, 32.1 and 35.9, say 1.12; the test says 1.334.
    #[test]
    fn the_quotient_of_the_times_is_the_ratio() {
        let found = shown(
            vec![arm(0, 32.1, None), arm(1, 35.9, None), arm(2, 30.0, None)],
            vec![paired(1.334, 1.3, 1.37), paired(0.5, 0.49, 0.51)],
        );
        let value = |arm: usize| found.get(arm).unwrap().value;
        assert_eq!(value(0), 32.1);
        assert!((value(1) / value(0) - 1.334).abs() < 1e-12 && value(2) == 16.05);
        assert!(found.has_ratios() && found.statistic() == ComparedStatistic::T0);
        assert_eq!(found.get(1).unwrap().n_digits, Some(4));
    }

    #[test]
    fn a_ratio_of_whole_times_stands_beside_whole_times() {
        let net = |value| Some((value, 30.0));
        let arms = vec![arm(0, 932.0, net(32.0)), arm(1, 972.0, net(72.0))];
        let found = shown(arms, vec![paired(1.09, 1.08, 1.1)]);
        let [old, new] = [0, 1].map(|arm| found.get(arm).unwrap().value);
        assert_eq!(old, 932.0);
        assert!((new / old - 1.09).abs() < 1e-12);
        assert_eq!(found.statistic(), ComparedStatistic::WholeT0);
    }

    /// t0 of the whole × the ratio of what is left would be a time of nothing.
    #[test]
    fn a_ratio_of_what_is_left_stands_beside_medians_of_what_is_left() {
        let mut arms = vec![arm(0, 21.4, Some((10.0, 0.1))), arm(1, 31.5, Some((20.0, 0.1)))];
        for arm in &mut arms {
            arm.net.as_mut().unwrap().t0 = None;
            arm.times.as_mut().unwrap().is_upper_limit = true;
        }
        let net = RatioInterval { ratio: 1.99, lo: 1.95, hi: 2.05 };
        let tests = vec![PairedTest { net_ratio: Some(net), ..paired(1.45, 1.44, 1.47) }];
        let found = shown(arms, tests);
        let [old, new] = [0, 1].map(|arm| found.get(arm).unwrap());
        assert_eq!((old.value, new.value), (10.0, 10.0 * 1.99));
        assert!(!old.is_upper_limit && !new.is_upper_limit);
        assert_eq!(found.statistic(), ComparedStatistic::NetMedian);
    }

    #[test]
    fn nothing_left_of_an_arm_is_no_time() {
        let net = |value| Some((value, 1.0));
        let arms =
            vec![arm(0, 100.0, net(50.0)), arm(1, 150.0, net(100.0)), arm(2, 50.0, net(0.0))];
        let with_net = |ratio: f64| PairedTest {
            net_ratio: Some(RatioInterval { ratio, lo: ratio, hi: ratio }),
            ..paired(1.5, 1.4, 1.6)
        };
        let found = shown(arms, vec![with_net(2.0), paired(0.5, 0.4, 0.6)]);
        assert_eq!(found.get(0).unwrap().value, 50.0);
        assert_eq!(found.get(1).unwrap().value, 100.0);
        assert_eq!(found.get(2), None);
    }

    #[test]
    fn more_digits_for_a_ratio_that_is_known_better() {
        let of = |lo, hi| digits(std::iter::once(RatioInterval { ratio: 1.0, lo, hi }));
        assert_eq!(of(0.998, 1.002), 5);
        assert_eq!(of(0.9998, 1.0002), 6);
        assert_eq!((of(0.5, f64::INFINITY), of(1.0, 1.0)), (3, 3));
    }
}
