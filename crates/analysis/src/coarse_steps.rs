//! Comparisons of times that were read in coarse steps.

use stats::Interval;
use stats::series::Resolution;

use crate::clocks::{compares_times, is_read_elsewhere};
use crate::comparison::{Comparison, RatioInterval, SameDoubt};
use crate::finding::{Finding, Note};
use crate::walls::Slots;
use record::Record;

/// Log ratio of an end that is beside 1, because the test rejects 1.
const BESIDE: f64 = 1e-6;

/// The step in which the times of two arms were read.
#[derive(Clone, Copy, Debug)]
pub struct ReadingStep {
    /// The step ÷ the shortest time.
    pub share: f64,
    /// By how much the ratio of two typical times may be off, as a share of it. A share f of an arm's times are its commonest
    /// one, and each of these may have been anywhere within the step. So the typical time is off by up to f/2 steps. f is
    /// small if the times scatter over many steps.
    pub misread: f64,
}

impl ReadingStep {
    /// The step of the times of two arms; `None` without one.
    pub fn of(arms: [Vec<f64>; 2]) -> Option<Self> {
        let mut read = Resolution::default();
        arms.iter().flatten().for_each(|&time| read.add(time));
        let share = read.share()?;
        let [old, new] = arms.map(commonest_share);
        Some(Self { share, misread: share * (old + new) / 2.0 })
    }
}

/// Whether the compared times may have a step: Stillwell's own clocks read in none, and a geometric mean of several
/// benchmarks has none.
pub fn may_have_steps(record: &Record) -> bool {
    let plan = &record.header.plan;
    is_read_elsewhere(record) && compares_times(plan) && !plan.by_geometric_mean
}

fn step(record: &Record, arms: [usize; 2]) -> Option<ReadingStep> {
    let rows = &record.rows;
    let times_of = |arm: usize| -> Vec<f64> {
        rows.measurements_of(&[arm]).filter_map(|index| rows.headline(index)).collect()
    };
    may_have_steps(record).then(|| ReadingStep::of(arms.map(times_of))).flatten()
}

/// [`ReadingStep::misread`] of pairs; 0 without a step.
pub fn misread(slots: &Slots, may_have_steps: bool) -> f64 {
    let step = may_have_steps.then(|| ReadingStep::of(slots.by_arm())).flatten();
    step.map_or(0.0, |step| step.misread)
}

/// [`ReadingStep::misread`] of two arms of a session; 0 without a step.
pub(super) fn misread_in(record: &Record, arms: [usize; 2]) -> f64 {
    step(record, arms).map_or(0.0, |step| step.misread)
}

/// The share of the commonest of these times.
fn commonest_share(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    let most = times.chunk_by(|a, b| a == b).map(<[f64]>::len).max();
    most.unwrap_or(0) as f64 / times.len().max(1) as f64
}

/// The interval of a log ratio, with at least what the ratio may be off on both sides of the estimate. An end that a test
/// keeps off 1 stays there.
pub fn widened(interval: Interval, theta: f64, misread: f64) -> Interval {
    let (theta, off) = (theta.clamp(interval.lo, interval.hi), misread.ln_1p());
    let (lo, hi) = (interval.lo.min(theta - off), interval.hi.max(theta + off));
    Interval {
        lo: if interval.lo > 0.0 { lo.max(interval.lo.min(BESIDE)) } else { lo },
        hi: if interval.hi < 0.0 { hi.min(interval.hi.max(-BESIDE)) } else { hi },
    }
}

/// A ratio whose interval has at least what the ratio may be off.
pub fn widened_ratio(it: RatioInterval, misread: f64) -> RatioInterval {
    let theta = it.ratio.ln();
    RatioInterval::of_logs(theta, widened(it.logs(), theta, misread))
}

/// The note on the largest step by which a ratio may be off by more than the margin, or which is the reason for a doubt.
pub(super) fn coarse_steps(record: &Record, comparisons: &[Comparison]) -> Option<Note> {
    let of_comparison = |found: &Comparison| {
        let is_doubt = found.evidence.test().ok()?.doubt == Some(SameDoubt::CoarseSteps);
        let step = step(record, [found.reference, found.arm])?;
        (is_doubt || step.misread > record.header.plan.policy.same_within).then_some(step)
    };
    let steps = comparisons.iter().filter_map(of_comparison);
    let ReadingStep { share, misread } = steps.max_by(|a, b| a.misread.total_cmp(&b.misread))?;
    Some(Note { finding: Finding::CoarseSteps { share, misread }, weight: misread })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyse;
    use crate::verdict::{Verdict, judge};
    use model::values::DecideOn;
    use model::values::metric::Metric;
    use record::{Rows, fixture};

    /// A session of 60 blocks in which a run of an arm (0 or 1) in a block takes so many steps of 10 ms, by the word of the
    /// program or by Stillwell's clock.
    fn session(is_said: bool, steps: impl Fn(u32, u32) -> u32) -> Record {
        let mut record = fixture::record(&["a", "b"]);
        if is_said {
            record.header.plan.policy.decide_on = Some(DecideOn::Value);
            record.rows = Rows::of(record.header.plan.policy.compared());
        }
        for (block, mut row) in fixture::pairs(60) {
            let time_ns = 10_000_000 * u64::from(steps(row.arm, block));
            match is_said {
                true => row.value = Some(time_ns as f64),
                false => row.set(Metric::WallNs, Some(time_ns)),
            }
            record.rows.push(&row);
        }
        record
    }

    fn note_of(record: &Record) -> Option<Finding> {
        let mut findings = analyse(record).notes.into_iter().map(|note| note.finding);
        findings.find(|it| matches!(it, Finding::CoarseSteps { .. }))
    }

    #[test]
    fn an_interval_is_a_step_wide_on_both_sides() {
        // 230 against 240 ms, and now and then a step more.
        let steps = |arm: u32, block: u32| 23 + arm + u32::from(block.is_multiple_of(5 + 2 * arm));
        let record = session(true, steps);
        let found = analyse(&record);
        let paired = found.comparisons[0].evidence.test().unwrap();
        let (ratio, share) = (paired.ratio, 10.0 / 230.0);
        assert!(ratio.lo > 1.0 && ratio.lo < 1.02, "{ratio:?}");
        // Of 60 times, 48 and 51 are the commonest one.
        let misread = share * (48.0 + 51.0) / 120.0;
        assert!(ratio.hi > ratio.ratio * (1.0 + misread) - 1e-9, "{ratio:?}");
        let judged = judge(&found.comparisons[0], &record.header.plan.policy);
        assert_eq!((judged.verdict, judged.within_margin), (Verdict::Slower, false));
        assert_eq!(note_of(&record), Some(Finding::CoarseSteps { share, misread }));
        // Stillwell's own clock does not read in steps.
        let own = session(false, steps);
        let narrow = analyse(&own).comparisons[0].evidence.test().unwrap().ratio;
        assert!(narrow.lo > ratio.lo && note_of(&own).is_none(), "{narrow:?}");
    }

    /// Times that scatter over many steps are known better than a step.
    #[test]
    fn a_step_that_is_seldom_repeated_widens_little() {
        let steps = |arm: u32, block: u32| 23 + 7 * (block + arm) % 20;
        let found = step(&session(true, steps), [0, 1]).unwrap();
        assert!((found.share - 1.0 / 23.0).abs() < 1e-9);
        assert!((found.misread - found.share / 20.0).abs() < 1e-9);
    }

    #[test]
    fn equal_readings_in_large_steps_are_not_the_same() {
        let steps = |_: u32, block: u32| 23 + u32::from(block.is_multiple_of(5));
        let doubt = |record: &Record| analyse(record).comparisons[0].evidence.test().unwrap().doubt;
        assert_eq!(doubt(&session(true, steps)), Some(SameDoubt::CoarseSteps));
        assert_ne!(doubt(&session(false, steps)), Some(SameDoubt::CoarseSteps));
        let judged =
            |record: &Record| judge(&analyse(record).comparisons[0], &record.header.plan.policy);
        assert_eq!(judged(&session(true, steps)).verdict, Verdict::Undecided);
    }

    #[test]
    fn an_end_that_is_off_1_stays_off() {
        let slower = widened(Interval { lo: 0.04, hi: 0.05 }, 0.045, 0.1);
        assert_eq!(slower, Interval { lo: BESIDE, hi: 0.045 + 0.1f64.ln_1p() });
        let faster = widened(Interval { lo: -0.5, hi: -0.04 }, -0.04, 0.1);
        assert_eq!(faster, Interval { lo: -0.5, hi: -BESIDE });
        let wide = Interval { lo: -0.5, hi: f64::INFINITY };
        assert_eq!(widened(wide, 0.0, 0.1), wide);
    }
}
