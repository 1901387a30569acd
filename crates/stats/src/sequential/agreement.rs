//! Agreement of an interval with the tests of single ratios.

use super::SequentialTest;
use crate::interval::Interval;

/// Distance of an end of the interval from a log ratio that is rejected, relative to that ratio.
const BESIDE: f64 = 1e-6;

impl SequentialTest {
    /// Makes the interval around an estimate agree with the tests of single ratios. The accepted
    /// ratios can have gaps, and the ends have an error.
    pub(super) fn agree(&self, interval: &mut Interval, theta: f64, share: f64) {
        let (margin, limit) = (self.design.margin, self.design.limit);
        if self.is_different(share) && interval.contains(0.0) {
            // The estimate is 0 although an earlier look rejects 0: most times are equal.
            let t = self.tests.get(0.0, &self.looks).and_then(|it| it.crossing(self.level(share)));
            match t.unwrap_or(0.0) {
                t if t < 0.0 => {
                    *interval = Interval { lo: interval.lo.min(t).min(-BESIDE), hi: -BESIDE };
                }
                t => *interval = Interval { lo: BESIDE, hi: interval.hi.max(t).max(BESIDE) },
            }
        } else if self.is_inside(share) && !self.is_different(share) {
            let end = margin * (1.0 - BESIDE);
            let inside = Interval { lo: -end, hi: end };
            // An earlier look put the ratio inside, and the last one alone may put it outside.
            *interval = interval.intersect(inside).unwrap_or(inside);
        } else if !self.is_different(share) && interval.is_within(margin) {
            if !self.is_rejected_towards_zero(margin, share) {
                interval.hi = margin;
            } else {
                interval.lo = -margin;
            }
        }
        let crossing =
            self.tests.get(limit, &self.looks).and_then(|it| it.crossing(self.level(share)));
        // If an earlier look, or another statistic than the estimate's, rejects the limit from one side
        // and the estimate is on the other, the interval stays.
        let is_cut =
            |t: &f64| limit > 0.0 && interval.contains(limit) && (*t > 0.0) == (theta > limit);
        match crossing.filter(is_cut) {
            Some(t) if t > 0.0 => {
                let lo = limit * (1.0 + BESIDE);
                *interval = Interval { lo, hi: interval.hi.max(lo) };
            }
            Some(_) => {
                let hi = limit * (1.0 - BESIDE);
                *interval = Interval { lo: interval.lo.min(hi), hi };
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::prng::Stream;
    use crate::relabel::{Estimand, Pairs};
    use crate::sequential::{Conclusion, SequentialDesign, SequentialTest};
    use crate::spending::{InterimPoint, Spending, by_pairs};
    use crate::verdict::IntervalVerdict;

    const N_PAIRS: usize = 120;

    /// A test with these looks, and its pairs. `time` gives the time of an arm's run
    /// in a block.
    fn session(
        points: &[InterimPoint],
        seed: u64,
        time: impl Fn(&mut Stream, bool, usize) -> f64,
    ) -> (SequentialTest, Pairs) {
        let mut stream = Stream::new(seed);
        let (mut slot1, mut slot2, mut is_new) = (Vec::new(), Vec::new(), Vec::new());
        for at in 0..points.last().unwrap().n_pairs {
            let (old, new) = (time(&mut stream, false, at), time(&mut stream, true, at));
            let new_first = stream.unit() < 0.5;
            let (first, second) = if new_first { (new, old) } else { (old, new) };
            slot1.push(first);
            slot2.push(second);
            is_new.push(new_first);
        }
        let pairs = Pairs::new(&slot1, &slot2, &is_new).unwrap();
        let mut test = SequentialTest::new(SequentialDesign {
            spending: Spending { alpha: 0.05, family: 1, n_min: 0 },
            estimand: Estimand::Adaptive,
            margin: 0.01_f64.ln_1p(),
            limit: 0.01_f64.ln_1p(),
            seed,
        });
        test.take(&pairs, points).unwrap();
        (test, pairs)
    }

    /// The new arm takes `early` times as long in the first pairs and `late` times as long in the
    /// others.
    fn moved(n_early: usize, early: f64, late: f64, seed: u64) -> (SequentialTest, Pairs) {
        session(&by_pairs(N_PAIRS), seed, |stream, is_new, at| {
            let ratio = if at < n_early { early } else { late };
            (if is_new { ratio } else { 1.0 }) * (1.0 + 0.02 * (stream.unit() - 0.5))
        })
    }

    fn is_consistent(conclusion: &Conclusion) -> bool {
        let is_different = matches!(
            conclusion.verdict,
            IntervalVerdict::Different | IntervalVerdict::DifferentWithinMargin
        );
        conclusion.interval.lo <= conclusion.interval.hi
            && is_different != conclusion.interval.contains(0.0)
    }

    /// A test with one look at 60 pairs, and its conclusion, whose parts agree.
    fn one_look(
        seed: u64,
        time: impl Fn(&mut Stream, bool) -> f64,
    ) -> (SequentialTest, Conclusion) {
        let look = [InterimPoint { n_pairs: 60, fraction: 1.0 }];
        let (test, pairs) = session(&look, seed, |stream, is_new, _| time(stream, is_new));
        let found = test.conclude(&pairs, 1.0).unwrap().unwrap();
        assert!(is_consistent(&found) && !found.is_contradicted, "{seed}: {found:?}");
        assert!(found.interval.contains(found.last.theta), "{seed}: {found:?}");
        (test, found)
    }

    /// A core of two speeds, which one arm meets more often. The floors are the same and reject both
    /// ends of the margin; the typical times are not.
    #[test]
    fn between_two_modes_the_same_has_its_estimate_inside() {
        let mut n_rejected_by_the_floor = 0;
        for seed in 0..40 {
            let (test, found) = one_look(seed, |stream, is_new| {
                let is_slow = stream.unit() < if is_new { 0.6 } else { 0.1 };
                (if is_slow { 1.55 } else { 1.0 }) * (1.0 + 0.001 * stream.unit())
            });
            let is_inside = found.verdict == IntervalVerdict::Same || found.doubt.is_some();
            assert!(!is_inside || found.last.theta.abs() < 0.01, "{seed}: {found:?}");
            n_rejected_by_the_floor += usize::from(test.rejects_margin(1.0) && !is_inside);
        }
        assert!(n_rejected_by_the_floor > 0, "no case where the floor rejects the margin");
    }

    /// No single ratio fits. Two speeds: the floor says slower and rejects 0, and the typical ratio is
    /// far on the other side. A coarse clock: somewhat more than a quarter of the pairs differ by a
    /// tick, so the typical ratio is a fraction of a tick.
    #[test]
    fn an_estimate_has_the_direction_in_which_no_difference_is_rejected() {
        let speeds = |stream: &mut Stream, is_new: bool| {
            let is_slow = stream.unit() < if is_new { 0.1 } else { 0.6 };
            let floor = if is_new { 1.002 } else { 1.0 };
            floor * if is_slow { 1.55 } else { 1.0 } * (1.0 + 0.001 * stream.unit())
        };
        let ticks = |stream: &mut Stream, is_new: bool| {
            if is_new && stream.unit() < 0.28 { 11.0 } else { 10.0 }
        };
        for time in [speeds as fn(&mut Stream, bool) -> f64, ticks] {
            let tested = (0..20).map(|seed| one_look(seed, time));
            let different: Vec<Conclusion> =
                tested.filter(|(test, _)| test.is_different(1.0)).map(|(_, found)| found).collect();
            assert!(different.len() > 10, "{}", different.len());
            for found in different {
                assert!(found.last.theta * found.last.test.selected.t > 1e-7, "{found:?}");
                assert!(found.interval.hi > found.interval.lo + 1e-5, "{found:?}");
            }
        }
    }

    /// A core that changes its speed for one of the arms, or a benchmark that settles late.
    #[test]
    fn an_interval_has_its_ends_in_order_wherever_the_ratio_moves() {
        let mut n_contradicted = 0;
        for (n_early, early, late) in [
            (20, 1.03, 0.985),
            (30, 1.03, 0.99),
            (40, 1.04, 0.995),
            (40, 1.0, 1.03),
            (60, 0.99, 1.03),
            (60, 1.0, 0.97),
            (60, 1.02, 1.0),
        ] {
            for seed in 0..3 {
                let (test, pairs) = moved(n_early, early, late, seed);
                let found = test.conclude(&pairs, 1.0).unwrap().unwrap();
                assert!(is_consistent(&found), "{n_early} {early} {late} {seed}: {found:?}");
                n_contradicted += usize::from(found.is_contradicted);
            }
        }
        assert!(n_contradicted > 0, "no case where looks contradict each other");
    }
}
