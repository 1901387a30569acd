//! Two arms → what is known about their ratio.

use rayon::prelude::*;
use stats::Sorted;
use stats::relabel::{self, Orbit, Pairs, Statistic};

use crate::analysis::{
    AcrossSessions, ArmSummary, Comparison, Evidence, NoTest, Paired, RatioInterval, Shape,
    StatisticName, Times, Uncertain,
};
use crate::metric::Metric;
use crate::plan::{Estimand, Order, Plan, Policy};
use crate::record::Record;

/// Separates the stream of re-labellings from those of the schedule.
pub(super) const ORBIT_STREAM: u64 = 0xd1b5_4a32_d192_ed03;
/// More pairs than this are tested in groups: the time of a test grows with pairs × re-labellings.
const GROUPS_MAX: usize = 4000;

/// Every candidate against the reference of the same record.
pub fn compare(record: &Record, arms: &[ArmSummary]) -> Vec<Comparison> {
    let plan = &record.header.plan;
    let reference = plan.reference;
    let walls = walls_by_block(record);
    let others: Vec<usize> =
        plan.candidates().map(|(arm, _)| arm).filter(|&arm| arm != reference).collect();
    others
        .par_iter()
        .map(|&arm| {
            let evidence = match plan.order {
                Order::Interleave => paired(plan, &walls[reference], &walls[arm], arms),
                Order::Sequential => unpaired(&arms[reference], &arms[arm], NoTest::Sequential),
            };
            Comparison { arm, reference, evidence }
        })
        .collect()
}

/// Past sessions from which the scatter between sessions can be told (statistics of the prediction test).
const SESSIONS_MIN: usize = 5;

/// An arm of one record against the same arm of earlier ones. Within a session drift cancels; between sessions nothing
/// does, so with few of them there is an estimate and no verdict, and with enough of them their own scatter is the
/// measure.
pub fn across_records(old: &[&ArmSummary], new: &ArmSummary, alpha: f64) -> Evidence {
    if let [old] = old {
        return unpaired(old, new, NoTest::SeparateRecords);
    }
    let (have, need) = (old.len(), SESSIONS_MIN);
    let past: Vec<f64> = old.iter().filter_map(|arm| shown_t0(arm)).map(|t0| t0.value).collect();
    let logs = stats::logs(&past).ok().zip(shown_t0(new).map(|t0| t0.value.ln()));
    let Some((past, new)) = logs.filter(|(past, new)| past.len() == have && new.is_finite()) else {
        return Evidence::None { because: NoTest::UnfitNumbers };
    };
    if have < need {
        let mean = stats::mean(&past).unwrap_or(new);
        let ratio = Uncertain { value: (new - mean).exp(), err: None };
        return Evidence::Unpaired { ratio, because: NoTest::FewSessions { have, need } };
    }
    match stats::across_sessions::across_sessions(&past, new, alpha) {
        Ok(found) => Evidence::AcrossSessions(AcrossSessions {
            n_sessions: have,
            p: found.test.p,
            ratio: RatioInterval {
                ratio: found.difference.exp(),
                lo: found.interval.lo.exp(),
                hi: found.interval.hi.exp(),
            },
            alpha,
        }),
        Err(_) => Evidence::None { because: NoTest::UnfitNumbers },
    }
}

/// t0, net of the control where there is one.
fn shown_t0(arm: &ArmSummary) -> Option<Uncertain> {
    arm.net.map(|net| net.t0).or(arm.wall.as_ref().map(|wall| wall.t0))
}

/// The measured run of an arm in one block: its step and wall time, ns.
pub(super) type Run = Option<(u32, f64)>;

/// By arm, then by block.
pub(super) fn walls_by_block(record: &Record) -> Vec<Vec<Run>> {
    let mut walls = vec![Vec::new(); record.header.plan.arms.len()];
    let rows = &record.rows;
    for index in (0..rows.len()).filter(|&index| rows.is_measurement(index)) {
        let (Some(block), Some(wall_ns)) = (rows.block(index), rows.get(index, Metric::WallNs))
        else {
            continue;
        };
        let runs: &mut Vec<Run> = &mut walls[rows.arm(index)];
        // Blocks come in order; a damaged record may skip some, but not by more than it has rows.
        if block < rows.len() {
            runs.resize(runs.len().max(block + 1), None);
            runs[block] = Some((rows.step(index), wall_ns as f64));
        }
    }
    walls
}

fn unpaired(old: &ArmSummary, new: &ArmSummary, because: NoTest) -> Evidence {
    let Some((old, new)) = shown_t0(old).zip(shown_t0(new)) else {
        return Evidence::None { because };
    };
    let ratio = match (old.measured(), new.measured()) {
        (Some(old), Some(new)) => {
            let ratio = new.over(old);
            Uncertain { value: ratio.value, err: Some(ratio.err) }
        }
        _ => Uncertain { value: new.value / old.value, err: None },
    };
    Evidence::Unpaired { ratio, because }
}

fn paired(plan: &Plan, old: &[Run], new: &[Run], arms: &[ArmSummary]) -> Evidence {
    let complete: Vec<_> = old.iter().zip(new).filter_map(|(old, new)| old.zip(*new)).collect();
    let policy = &plan.policy;
    let unfit = Evidence::None { because: NoTest::UnfitNumbers };
    let Ok(need) = stats::verdict::minimum_pairs(policy.alpha) else { return unfit };
    let too_few = |have| Evidence::None { because: NoTest::TooFewPairs { have, need } };
    if complete.len() < need {
        return too_few(complete.len());
    }
    let coins: Vec<bool> = complete.iter().map(|(old, new)| new.0 < old.0).collect();
    let slot = |first: bool| -> Vec<f64> {
        let is_new = coins.iter().map(|&new_first| new_first == first);
        complete
            .iter()
            .zip(is_new)
            .map(|((old, new), is_new)| if is_new { new.1 } else { old.1 })
            .collect()
    };
    let (slot1, slot2) = (slot(true), slot(false));
    let Ok(pairs) = Pairs::new(&slot1, &slot2, &coins) else { return unfit };
    let n_warmup_pairs = stats::warmup::prefix(&pairs.means()).unwrap_or(0);
    let n_pairs = complete.len() - n_warmup_pairs;
    if n_pairs < need {
        return too_few(n_pairs);
    }
    let pairs = if n_pairs > GROUPS_MAX {
        let (slot1, slot2) = (&slot1[n_warmup_pairs..], &slot2[n_warmup_pairs..]);
        grouped(slot1, slot2, &coins[n_warmup_pairs..], GROUPS_MAX, policy.estimand)
    } else {
        pairs.skip(n_warmup_pairs)
    };
    pairs
        .and_then(|pairs| test(&pairs, plan, n_pairs, n_warmup_pairs, arms))
        .map_or(unfit, Evidence::Paired)
}

/// Consecutive pairs put together: each group is one pair of summaries. Swapping all labels of a group at once is a
/// subgroup of all re-labellings, and the re-labelling test is exact over any of them (Lehmann & Romano, Testing
/// Statistical Hypotheses, section 15.2), so the groups may be tested as if they were pairs.
fn grouped(
    slot1: &[f64],
    slot2: &[f64],
    coins: &[bool],
    n_groups_max: usize,
    estimand: Estimand,
) -> Result<Pairs, stats::Invalid> {
    let size = slot1.len().div_ceil(n_groups_max);
    let (mut first, mut second, mut labels) = (Vec::new(), Vec::new(), Vec::new());
    for from in (0..slot1.len()).step_by(size) {
        let range = from..(from + size).min(slot1.len());
        // Labels of a group that agree with its first pair's keep their slot, others change it.
        let is_kept = |pair: usize| coins[pair] == coins[from];
        let side = |other: bool| -> Result<f64, stats::Invalid> {
            let times = range
                .clone()
                .map(|pair| if is_kept(pair) != other { slot1[pair] } else { slot2[pair] });
            let sorted = Sorted::new(&times.collect::<Vec<_>>())?;
            Ok(match estimand {
                Estimand::Adaptive | Estimand::Typical => sorted.median(),
                Estimand::Floor => sorted.min(),
                Estimand::Mean => stats::mean(sorted.as_slice())?,
            })
        };
        first.push(side(false)?);
        second.push(side(true)?);
        labels.push(coins[from]);
    }
    Pairs::new(&first, &second, &labels)
}

fn test(
    pairs: &Pairs,
    plan: &Plan,
    n_pairs: usize,
    n_warmup_pairs: usize,
    arms: &[ArmSummary],
) -> Result<Paired, stats::Invalid> {
    let Policy { alpha, same_within, estimand } = plan.policy;
    let orbit = Orbit::new(pairs.len(), relabel::draws(alpha), plan.seed ^ ORBIT_STREAM)?;
    let found = pairs.compare(&orbit, estimand_of(estimand), alpha)?;
    let shape = pairs.shape(&orbit)?;
    let statistic = statistic_name(found.test.selected.statistic);
    let ratio = RatioInterval {
        ratio: found.theta.exp(),
        lo: found.interval.lo.exp(),
        hi: found.interval.hi.exp(),
    };
    let control = plan.control.and_then(|control| arms[control.arm].wall.as_ref());
    let reference = arms[plan.reference].wall.as_ref();
    let net_ratio = control
        .zip(reference)
        .and_then(|(control, reference)| net(ratio, reference, control, statistic));
    let half_width = found.interval.half_width();
    let decided = stats::Verdict::of(found.interval, same_within.ln_1p()).is_decided();
    let n_pairs_to_decide =
        stats::verdict::pairs_to_decide(n_pairs, found.interval, same_within.ln_1p());
    Ok(Paired {
        n_pairs,
        n_warmup_pairs,
        p: found.test.p,
        statistic,
        ratio,
        net_ratio,
        alpha,
        smallest_visible: stats::verdict::mde80(half_width, alpha)?.exp_m1(),
        n_pairs_to_decide: n_pairs_to_decide.filter(|_| !decided),
        position_ratio: found.test.position.exp(),
        shape: Some(shape)
            .filter(|shape| is_uneven(shape, same_within))
            .map(|shape| Shape { floor: shape.floor.exp(), typical: shape.typical.exp() }),
    })
}
/// Whether to show two ratios. Beside the test there is a practical size, a tenth of the margin of "the same": on a
/// coarse clock equal programs differ by rounding, always in the same way.
fn is_uneven(shape: &relabel::Shape, same_within: f64) -> bool {
    shape.is_uneven() && (shape.typical - shape.floor).abs() > 0.1 * same_within.ln_1p()
}

fn estimand_of(estimand: Estimand) -> relabel::Estimand {
    match estimand {
        Estimand::Adaptive => relabel::Estimand::Adaptive,
        Estimand::Typical => relabel::Estimand::Typical,
        Estimand::Floor => relabel::Estimand::Floor,
        Estimand::Mean => relabel::Estimand::Mean,
    }
}

fn statistic_name(statistic: Statistic) -> StatisticName {
    match statistic {
        Statistic::Typical => StatisticName::Typical,
        Statistic::LocalFloor => StatisticName::LocalFloor,
        Statistic::Floor => StatisticName::Floor,
        Statistic::Mean => StatisticName::Mean,
    }
}

/// From the ratio R of whole times to that of times minus a control s: with the reference at A it is
/// R' = (R A − s) / (A − s). It is 1 exactly if R is 1, so the verdict "different" is the same for both. Each end is
/// widened by the error that A and s bring in: dR'/ds = A (R − 1) / (A − s)², dR'/dA = −s (R − 1) / (A − s)²; the
/// control is the same for both arms, so near R = 1 its error cancels.
fn net(
    raw: RatioInterval,
    reference: &Times,
    control: &Times,
    statistic: StatisticName,
) -> Option<RatioInterval> {
    let level = |times: &Times| match statistic {
        StatisticName::Typical => times.median,
        StatisticName::LocalFloor | StatisticName::Floor => times.t0,
        StatisticName::Mean => times.mean,
    };
    let (a, s) = (level(reference).measured()?, level(control).measured()?);
    let below = a.value - s.value;
    // Not distinguishable from the control: a ratio to nothing.
    if below <= 2.0 * a.minus(s).err {
        return None;
    }
    let shifted = |ratio: f64| (ratio * a.value - s.value) / below;
    let widening = |ratio: f64| {
        let per_unit = (ratio - 1.0).abs() / (below * below);
        (per_unit * a.value * s.err).hypot(per_unit * s.value * a.err)
    };
    Some(RatioInterval {
        ratio: shifted(raw.ratio),
        lo: (shifted(raw.lo) - widening(raw.lo)).max(0.0),
        hi: if raw.hi.is_finite() { shifted(raw.hi) + widening(raw.hi) } else { raw.hi },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(value: f64, err: f64) -> Times {
        let uncertain = Uncertain { value, err: Some(err) };
        Times {
            t0: uncertain,
            has_floor: true,
            min: value,
            max: value,
            low20: uncertain,
            median: uncertain,
            mean: uncertain,
            sd: Some(0.0),
            cv: Some(0.0),
            quantiles: [value; 4],
        }
    }

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
    fn there_is_no_ratio_to_nothing() {
        let raw = RatioInterval { ratio: 1.1, lo: 1.0, hi: 1.2 };
        assert_eq!(net(raw, &times(50.0, 1.0), &times(50.0, 1.0), StatisticName::Typical), None);
        assert_eq!(net(raw, &times(52.0, 1.0), &times(50.0, 1.0), StatisticName::Typical), None);
    }

    fn session(t0: f64) -> ArmSummary {
        ArmSummary {
            arm: 0,
            label: "x".into(),
            is_control: false,
            n_runs: 30,
            n_timed_out: 0,
            n_nonzero_exits: 0,
            wall: Some(times(t0, 1.0)),
            net: None,
            metrics: Vec::new(),
        }
    }

    #[test]
    fn past_sessions_say_how_much_sessions_differ() {
        let past: Vec<_> = [100.0, 101.0, 99.0, 102.0, 98.0, 100.0].map(session).into();
        let past: Vec<_> = past.iter().collect();
        let verdict_at = |t0: f64| match across_records(&past, &session(t0), 0.01) {
            Evidence::AcrossSessions(found) => {
                (found.ratio.lo > 1.0, found.n_sessions, found.p <= 0.01)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(verdict_at(103.0), (false, 6, false));
        assert_eq!(verdict_at(110.0), (true, 6, true));
        let few = across_records(&past[..3], &session(110.0), 0.01);
        let because = NoTest::FewSessions { have: 3, need: 5 };
        assert!(matches!(few, Evidence::Unpaired { because: found, .. } if found == because));
    }

    #[test]
    fn groups_keep_the_arms_apart() {
        // The new arm takes twice as long in every pair, whichever slot it ran in; 1 003 pairs make 10 groups.
        let mut stream = stats::Stream::new(5);
        let coins = stream.bits(1003);
        let slot = |new_here: bool| if new_here { 2.0 } else { 1.0 };
        let slot1: Vec<f64> = coins.iter().map(|&coin| slot(coin)).collect();
        let slot2: Vec<f64> = coins.iter().map(|&coin| slot(!coin)).collect();
        for estimand in [Estimand::Adaptive, Estimand::Floor, Estimand::Mean] {
            let pairs = grouped(&slot1, &slot2, &coins, 10, estimand).unwrap();
            assert_eq!(pairs.len(), 10);
            let orbit = Orbit::new(10, 999, 1).unwrap();
            let found = pairs.compare(&orbit, relabel::Estimand::Typical, 0.05).unwrap();
            assert!((found.theta - 2f64.ln()).abs() < 1e-9, "{}", found.theta);
        }
    }
}
