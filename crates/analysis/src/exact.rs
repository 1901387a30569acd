//! Counts that repeat. They have hardly any noise, so three pairs of runs give the ratio without a test.
//!
//! The ratios of three pairs must agree within a ten-thousandth, or within a fortieth of their difference from 1. If the
//! counts had normal noise of any size, agreement and a ratio beyond [`SAME_WORK`] would coincide in less than 0.03 % of
//! sessions (docs/methodology.md). A count that alternates between two values is not normal and can agree three times;
//! so the verdict says in how many runs it repeats.

use crate::comparison::{PairedDecision, PairedTest, RatioInterval, StatisticName};
use crate::walls::Walls;
use record::plan::Plan;
use record::plan::counting::AGREEING_RUNS;

/// Counts that differ by less mean the same work. A program's path, or the length of a printed number, may cost some
/// instructions.
pub const SAME_WORK: f64 = 0.001;
/// Counts that differ by less repeat.
pub const AGREE_WITHIN: f64 = 1e-4;

/// Ratios that differ by less than this share of the change repeat too. Python's work depends on its hash seed.
const SHARE_OF_CHANGE: f64 = 1.0 / 40.0;
/// Half of the 99 % interval of a mean of three ÷ their range, at most: Student's t for two degrees of freedom, 9.925, by
/// √3, by the standard deviation of a range of one, which is at most 1 ÷ √3.
const HALF_INTERVAL: f64 = 9.925 / 3.0;

/// The ratio of two arms whose counts repeat; `None` if they do not repeat or are no such counts. Without any
/// difference, both ends are the ratio itself.
pub fn repeated_ratio(
    plan: &Plan,
    walls: &Walls,
    (old, new): (usize, usize),
) -> Option<RatioInterval> {
    plan.valgrind()?;
    let ratios: Vec<f64> = walls.ratios(old, new).into_iter().map(|(_, ratio)| ratio).collect();
    let least = ratios.iter().copied().reduce(f64::min)?;
    let most = ratios.iter().copied().reduce(f64::max)?;
    let agree = ratios.len() >= AGREEING_RUNS as usize
        && ratios.len() == walls.n_pairs(old, new)
        && least > 0.0;
    let (range, ratio) = (most / least - 1.0, (least * most).sqrt());
    let within = AGREE_WITHIN.max(SHARE_OF_CHANGE * ratio.ln().abs());
    let wider = 1.0 + AGREE_WITHIN + HALF_INTERVAL * range;
    let interval = match least.total_cmp(&most).is_eq() {
        true => RatioInterval { ratio: least, lo: least, hi: least },
        false => RatioInterval { ratio, lo: ratio / wider, hi: ratio * wider },
    };
    (agree && range <= within).then_some(interval)
}

/// The share within which the ratios of this interval agree.
pub fn agree_within(interval: RatioInterval) -> f64 {
    let wider = (interval.hi / interval.lo).sqrt();
    ((wider - 1.0 - AGREE_WITHIN) / HALF_INTERVAL).max(AGREE_WITHIN)
}

pub fn repeated(ratio: RatioInterval, n_pairs: usize, family: usize, alpha: f64) -> PairedTest {
    let is_same = ratio.ratio.ln().abs() <= SAME_WORK.ln_1p();
    let p = if is_same { 1.0 } else { 0.0 };
    PairedTest {
        repeats: true,
        is_unsteady: false,
        n_pairs,
        n_warmup_pairs: 0,
        n_looks: 0,
        family,
        p,
        q: p,
        statistic: StatisticName::Typical,
        ratio,
        net_ratio: None,
        alpha,
        smallest_visible: 0.0,
        to_decide: None,
        position_ratio: 1.0,
        decision: if is_same { PairedDecision::Same } else { PairedDecision::Different },
        doubt: None,
        mean_ratio: ratio,
        hidden_tail: 0.0,
        slow_runs: None,
        is_contradicted: false,
        shape: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::metric::Metric;
    use model::values::{Compared, DecideOn};
    use record::Row;
    use record::fixture::record;
    use record::plan::InstructionCounter;

    fn ratio_of(counts: &[(u64, u64)]) -> Option<RatioInterval> {
        let mut plan = record(&["a", "b"]).header.plan;
        let valgrind =
            InstructionCounter::Valgrind { path: "valgrind".into(), version: String::new() };
        plan.counter = Some(valgrind);
        let mut walls = Walls::new(&plan);
        let compared = Compared { decide_on: Some(DecideOn::Instructions), ..Compared::default() };
        for (block, (old, new)) in (0..).zip(counts) {
            for (arm, count) in [(0, old), (1, new)] {
                let mut row = Row::new(2 * block + arm, arm, Some(block), u64::from(block));
                row.compared = compared;
                row.set(Metric::Instructions, Some(*count));
                walls.add(&row);
            }
        }
        let found = repeated_ratio(&plan, &walls, (0, 1));
        plan.counter = Some(InstructionCounter::Pmu);
        assert!(repeated_ratio(&plan, &walls, (0, 1)).is_none());
        found
    }

    #[test]
    fn three_runs_that_agree_tell_the_ratio() {
        let exact = |ratio| Some(RatioInterval { ratio, lo: ratio, hi: ratio });
        assert_eq!(ratio_of(&[(100, 110); 3]), exact(1.1));
        assert_eq!(ratio_of(&[(100, 110); 2]), None);
        assert_eq!(ratio_of(&[(100, 110), (100, 110), (100, 111)]), None);
        // Each pair has its own hash seed.
        assert_eq!(ratio_of(&[(100, 100), (103, 103), (99, 99)]), exact(1.0));
        // A printed number has one digit more.
        let (old, new) = (1_000_000, 1_100_000);
        let found = ratio_of(&[(old, new), (old + 50, new), (old, new + 40)]).unwrap();
        assert!(found.lo < 1.1 && 1.1 < found.hi && found.hi / found.lo < 1.001, "{found:?}");
        assert_eq!(agree_within(found), AGREE_WITHIN);
        // What differs by a thousandth differs little beside a tenth, and much beside nothing.
        let found = ratio_of(&[(old, new), (old + 1000, new), (old, new)]).unwrap();
        assert!((agree_within(found) - 0.001).abs() < 1e-9, "{found:?}");
        assert!(found.lo < 1.0972 && 1.102 < found.hi && found.hi < 1.104, "{found:?}");
        assert_eq!(ratio_of(&[(old, new), (old + 3000, new), (old, new)]), None);
        assert_eq!(ratio_of(&[(old, old), (old + 200, old), (old, old)]), None);
    }

    #[test]
    fn one_arm_repeats_within_the_same_share() {
        let mut walls = Walls::new(&record(&["a", "b"]).header.plan);
        for (block, ns) in [(0, 1_000_000), (1, 1_000_090), (2, 1_000_000)] {
            let mut row = Row::new(block, 0, Some(block), 0);
            row.set(Metric::WallNs, Some(ns));
            walls.add(&row);
        }
        assert!(walls.is_constant(0, 3, AGREE_WITHIN) && !walls.is_constant(0, 4, AGREE_WITHIN));
        assert!(!walls.is_constant(0, 3, 1e-5) && !walls.is_constant(1, 3, AGREE_WITHIN));
    }

    #[test]
    fn a_thousandth_is_the_same_work() {
        let exact = |ratio| repeated(RatioInterval { ratio, lo: ratio, hi: ratio }, 3, 1, 0.01);
        let found = exact(1.0009);
        assert_eq!((found.decision, found.p), (PairedDecision::Same, 1.0));
        let found = exact(1.0011);
        assert_eq!((found.decision, found.p), (PairedDecision::Different, 0.0));
        assert_eq!((found.ratio.lo, found.ratio.hi), (1.0011, 1.0011));
    }
}
