//! Test inversion: the test of one ratio after another, without all re-labellings for each.
//!
//! Every statistic is a difference of averages of order statistics of the two arms. Such an average
//! rises by no more than the times do. So if the new arm is lowered by another `d` and the position
//! effect moves by `e`, no statistic of any re-labelling changes by more than `|d| + |e|`. A
//! re-labelling that was further than that from the observed size stays on its side. Only those in
//! between are evaluated. The answers are those of [`Pairs::test`]; an interval takes a third of
//! the time.

use super::pairs::Pairs;
use super::statistic::{Statistic, Walk};
use super::{Estimand, ObservedStatistic, Orbit, ROUNDING, RatioTest, closest, score};

/// Share of the re-labellings above which it is better to evaluate all of them. All processors
/// share that work, and it helps with the next ratios.
const UNSURE_MAX: f64 = 0.25;
/// Evaluations to keep: one on each side of the ratio at which the position effect appears.
const EVALUATIONS_MAX: usize = 2;
/// Log ratio far above the rounding error of any statistic.
const SLACK: f64 = 1e-10;

/// One ratio with the values of all statistics under all re-labellings.
struct Evaluation {
    theta: f64,
    position: f64,
    values: Vec<Vec<f64>>,
    scores: Vec<ObservedStatistic>,
}

/// The tests of the same pairs at one ratio after another.
pub(super) struct TestInversion<'a> {
    pairs: &'a Pairs,
    orbit: &'a Orbit,
    statistics: &'static [Statistic],
    /// Ratios at which all re-labellings were evaluated. There are two, because the position effect
    /// can appear and vanish with the ratio, and an end of the interval can be just there. The one
    /// that was useful last comes last.
    evaluations: Vec<Evaluation>,
}

/// The statistic that a test selects.
#[derive(Clone, Copy)]
pub(super) struct Selection {
    /// Observed value.
    pub(super) t: f64,
    /// 90 % quantile of the size.
    pub(super) q90: f64,
}

impl<'a> TestInversion<'a> {
    /// No evaluation yet. `orbit` has the number of `pairs`.
    pub(super) fn new(pairs: &'a Pairs, orbit: &'a Orbit, estimand: Estimand) -> Self {
        Self { pairs, orbit, statistics: estimand.statistics(), evaluations: Vec::new() }
    }

    /// [`Pairs::test`] from all re-labellings.
    pub(super) fn test(&mut self, theta: f64) -> RatioTest {
        let (slots, position) = self.pairs.centered(theta);
        let values: Vec<Vec<f64>> = (self.statistics.iter())
            .map(|statistic| statistic.values(&slots, &self.pairs.labels, self.orbit))
            .collect();
        let scores: Vec<ObservedStatistic> =
            self.statistics.iter().zip(&values).map(|(&which, of)| score(which, of)).collect();
        if self.evaluations.len() == EVALUATIONS_MAX {
            self.evaluations.remove(0);
        }
        self.evaluations.push(Evaluation { theta, position, values, scores: scores.clone() });
        let selected = scores[closest(scores.iter().map(|score| score.q90))];
        RatioTest { p: selected.p, selected, scores, position, n_labellings: self.orbit.len() }
    }

    /// Whether `p > alpha` at a log ratio.
    pub(super) fn accepts(&mut self, theta: f64, alpha: f64) -> bool {
        self.near(theta, |near| near.accepts(alpha)).unwrap_or_else(|| self.test(theta).p > alpha)
    }

    /// The statistic that the test selects at a log ratio.
    pub(super) fn selected(&mut self, theta: f64) -> Selection {
        self.near(theta, |near| near.selected()).unwrap_or_else(|| {
            let ObservedStatistic { t, q90, .. } = self.test(theta).selected;
            Selection { t, q90 }
        })
    }

    /// The estimate of [`Pairs::compare`]: the first statistic, plus three times the rest that is
    /// selected.
    pub(super) fn estimate(&mut self, at_zero: &RatioTest) -> f64 {
        let start = at_zero.scores[0].t;
        (0..3).fold(start, |theta, _| theta + self.selected(theta).t)
    }

    /// The answer that the nearest evaluation gives at another ratio, or `None` if it cannot tell.
    fn near<T>(&mut self, theta: f64, ask: impl Fn(&Neighbour<'_>) -> Option<T>) -> Option<T> {
        let (slots, position) = self.pairs.centered(theta);
        let moved = |evaluation: &Evaluation| {
            (theta - evaluation.theta).abs() + (position - evaluation.position).abs()
        };
        let all = self.evaluations.iter().map(moved).enumerate();
        let (at, moved) = all.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let evaluation = &self.evaluations[at];
        let answer =
            ask(&Neighbour { inversion: self, evaluation, slots: &slots, moved: moved + SLACK })?;
        self.evaluations[at..].rotate_left(1);
        Some(answer)
    }
}

/// A ratio so close to an evaluation that no statistic differs by more than `moved`.
struct Neighbour<'a> {
    inversion: &'a TestInversion<'a>,
    evaluation: &'a Evaluation,
    slots: &'a [[f64; 2]],
    moved: f64,
}

impl Neighbour<'_> {
    /// Whether `p > alpha`, or `None` if too many re-labellings are unsure.
    fn accepts(&self, alpha: f64) -> Option<bool> {
        let is_enough = |count: usize| count as f64 / self.inversion.orbit.len() as f64 > alpha;
        let at = self.closest()?;
        let (values, mut rows) = (&self.evaluation.values[at], self.rows(at));
        let bound = rows.value(0).abs() * (1.0 - ROUNDING);
        let is_unsure = |value: f64| (value.abs() - bound).abs() <= self.moved;
        let mut n_unsure = values.iter().filter(|&&value| is_unsure(value)).count();
        let mut n_extreme = values.iter().filter(|value| value.abs() > bound + self.moved).count();
        let mut evaluations_left = self.evaluations_max();
        for (row, _) in values.iter().enumerate().filter(|&(_, &value)| is_unsure(value)) {
            if is_enough(n_extreme) || !is_enough(n_extreme + n_unsure) {
                break;
            }
            evaluations_left = evaluations_left.checked_sub(1)?;
            n_extreme += usize::from(rows.value(row).abs() >= bound);
            n_unsure -= 1;
        }
        Some(is_enough(n_extreme))
    }

    fn selected(&self) -> Option<Selection> {
        let at = self.closest()?;
        Some(Selection { t: self.rows(at).value(0), q90: self.q90(at)? })
    }

    /// Index of the statistic that the test selects.
    fn closest(&self) -> Option<usize> {
        let q90s = || self.evaluation.scores.iter().map(|score| score.q90);
        let first = closest(q90s());
        let clear = q90s().enumerate().all(|(at, q90)| {
            at == first || q90 - self.evaluation.scores[first].q90 > 2.0 * self.moved + SLACK
        });
        if clear {
            return Some(first);
        }
        let q90s: Option<Vec<f64>> =
            (0..self.evaluation.scores.len()).map(|at| self.q90(at)).collect();
        Some(closest(q90s?.into_iter()))
    }

    /// The 90 % quantile of a statistic's size. It moves no further than the sizes do, so only the
    /// sizes within twice that of it are candidates.
    fn q90(&self, at: usize) -> Option<f64> {
        let (values, before) = (&self.evaluation.values[at], self.evaluation.scores[at].q90);
        let is_near = |value: f64| (value.abs() - before).abs() <= 2.0 * self.moved;
        let n_near = values.iter().filter(|&&value| is_near(value)).count();
        if n_near > self.evaluations_max() {
            return None;
        }
        let n_below = values.iter().filter(|value| value.abs() < before - 2.0 * self.moved).count();
        let mut rows = self.rows(at);
        let near = values.iter().enumerate().filter(|&(_, &value)| is_near(value));
        let mut sizes: Vec<f64> = near.map(|(row, _)| rows.value(row).abs()).collect();
        let rank = super::quantile_rank(values.len(), 0.9) - n_below;
        Some(*sizes.select_nth_unstable_by(rank, f64::total_cmp).1)
    }

    fn evaluations_max(&self) -> usize {
        (UNSURE_MAX * self.inversion.orbit.len() as f64) as usize
    }

    fn rows(&self, at: usize) -> Relabellings<'_> {
        let labels = self.inversion.pairs.labels.clone();
        let walk = self.inversion.statistics[at].walk(self.slots);
        Relabellings { inversion: self.inversion, walk, labels }
    }
}

/// The values of one statistic under single re-labellings.
struct Relabellings<'a> {
    inversion: &'a TestInversion<'a>,
    walk: Walk,
    labels: Vec<u64>,
}

impl Relabellings<'_> {
    fn value(&mut self, row: usize) -> f64 {
        self.inversion.orbit.labels(row, &self.inversion.pairs.labels, &mut self.labels);
        self.walk.value(&self.labels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stream;

    /// Times with a slot effect that appears and vanishes with the ratio, with ties and bursts.
    fn pairs(n: usize, seed: u64) -> Pairs {
        let mut stream = Stream::new(seed);
        let coins = stream.bits(n);
        let grid = [1.0, 1e6, 40.0][seed as usize % 3];
        let mut time = |new: bool, second: f64| {
            let burst = if stream.below(7) == 0 { stream.unit() } else { 0.0 };
            let log = 0.03 * stream.unit() + burst + if new { 0.01 } else { 0.0 } + 0.012 * second;
            (grid * log.exp()).ceil() / grid
        };
        let slot1: Vec<f64> = coins.iter().map(|&new| time(new, 0.0)).collect();
        let slot2: Vec<f64> = coins.iter().map(|&new| time(!new, 1.0)).collect();
        Pairs::new(&slot1, &slot2, &coins).unwrap()
    }

    #[test]
    fn its_answers_are_those_of_the_test() {
        let mut n_near = 0;
        for seed in 0..60 {
            let n = 7 + seed as usize % 40;
            let (pairs, orbit) = (pairs(n, seed), Orbit::new(n, 1999, seed).unwrap());
            let estimand = [Estimand::Adaptive, Estimand::Floor, Estimand::Mean][seed as usize % 3];
            for alpha in [0.3, 0.01, 0.001] {
                let mut inversion = TestInversion::new(&pairs, &orbit, estimand);
                let mut stream = Stream::new(seed);
                // Ratios around the estimate, closer and closer, in the order of a search.
                let center = inversion.test(0.0).selected.t;
                for step in 0..24 {
                    let theta = center + (stream.unit() - 0.5) * 0.2 / f64::from(1 << (step / 2));
                    let expected = pairs.test(&orbit, estimand, theta).unwrap();
                    let found = inversion.accepts(theta, alpha);
                    assert_eq!(found, expected.p > alpha, "{seed} {alpha} {theta}");
                    let found = inversion.selected(theta);
                    let ObservedStatistic { t, q90, .. } = expected.selected;
                    assert_eq!((found.t, found.q90), (t, q90), "{seed} {alpha} {theta}");
                    n_near += usize::from(
                        inversion.evaluations.iter().all(|evaluation| evaluation.theta != theta),
                    );
                }
            }
        }
        assert!(n_near > 60 * 3 * 24 / 4, "only {n_near} were answered without all re-labellings");
    }
}
