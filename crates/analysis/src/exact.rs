//! Counts that repeat exactly. They have no noise, so no test is needed: three runs of each arm that agree tell the ratio.
//!
//! A count that takes one of two values now and then can agree three times. Such a verdict has no error rate; it says that it
//! repeats exactly, and in how many runs.

use crate::comparison::{PairedDecision, PairedTest, RatioInterval, StatisticName};
use crate::walls::Walls;
use record::plan::Plan;
use record::plan::counting::AGREEING_RUNS;

/// Counts that differ by less are those of the same work: the path of a program or the length of a number that it prints may
/// take some instructions.
pub const SAME_WORK: f64 = 0.001;

/// The ratio of two arms whose counts repeat exactly; `None` if they do not, or if the values are no such counts.
pub fn exact_ratio(plan: &Plan, walls: &Walls, old: usize, new: usize) -> Option<f64> {
    plan.valgrind()?;
    walls.exact_ratio(old, new, AGREEING_RUNS as usize)
}

/// Whether the counts of the only arm repeat exactly.
pub fn is_constant(plan: &Plan, walls: &Walls, arm: usize) -> bool {
    plan.valgrind().is_some() && walls.is_constant(arm, AGREEING_RUNS as usize)
}

/// The result of so many pairs with this exact ratio, in a family of so many comparisons.
pub fn exact(ratio: f64, n_pairs: usize, family: usize, alpha: f64) -> PairedTest {
    let is_same = ratio.ln().abs() <= SAME_WORK.ln_1p();
    let p = if is_same { 1.0 } else { 0.0 };
    let whole = RatioInterval { ratio, lo: ratio, hi: ratio };
    PairedTest {
        repeats_exactly: true,
        n_pairs,
        n_warmup_pairs: 0,
        n_looks: 0,
        family,
        p,
        q: p,
        statistic: StatisticName::Typical,
        ratio: whole,
        net_ratio: None,
        alpha,
        smallest_visible: 0.0,
        to_decide: None,
        position_ratio: 1.0,
        decision: if is_same { PairedDecision::Same } else { PairedDecision::Different },
        doubt: None,
        mean_ratio: whole,
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

    /// The exact ratio of these counts of two arms, by blocks.
    fn ratio_of(counts: &[(u64, u64)]) -> Option<f64> {
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
        assert_eq!(
            walls.is_constant(0, 3),
            counts.len() >= 3 && counts.iter().all(|it| it.0 == counts[0].0)
        );
        let found = exact_ratio(&plan, &walls, 0, 1);
        plan.counter = Some(InstructionCounter::Pmu);
        assert_eq!(exact_ratio(&plan, &walls, 0, 1), None);
        found
    }

    #[test]
    fn three_runs_that_agree_tell_the_ratio() {
        assert_eq!(ratio_of(&[(100, 110); 3]), Some(1.1));
        assert_eq!(ratio_of(&[(100, 110); 2]), None);
        assert_eq!(ratio_of(&[(100, 110), (100, 110), (100, 111)]), None);
        assert_eq!(ratio_of(&[(100, 110), (101, 110), (100, 110)]), None);
        // Each pair has its own seed of hashes.
        assert_eq!(ratio_of(&[(100, 100), (103, 103), (99, 99)]), Some(1.0));
    }

    #[test]
    fn a_thousandth_is_the_same_work() {
        let found = exact(1.0009, 3, 1, 0.01);
        assert_eq!((found.decision, found.p), (PairedDecision::Same, 1.0));
        let found = exact(1.0011, 3, 1, 0.01);
        assert_eq!((found.decision, found.p), (PairedDecision::Different, 0.0));
        assert_eq!((found.ratio.lo, found.ratio.hi), (1.0011, 1.0011));
    }
}
