//! Joint re-labelling: one test over several looks at a growing comparison.
//!
//! All looks use the same random re-labellings of the whole sequence of pairs. The test walks
//! through the looks. At each it lets the re-labellings cross whose statistic is largest, as many
//! as the error spent so far permits, and no re-labelling crosses twice. If both arms are the same
//! program, the observed labelling is one of equally likely ones. So the probability that it is
//! among those that ever cross is at most the error, whatever the noise is. Later looks may use
//! fewer of the re-labellings. The share that crossed before then counts as spent. Group-sequential
//! boundaries for normal data are built in the same way (Lan & DeMets, Biometrika 70, 1983); here
//! the re-labellings take the place of the normal distribution.

use super::pairs::Pairs;
use super::statistic::Statistic;
use super::{
    ObservedStatistic, Orbit, ROUNDING_LOG, RatioTest, as_extreme, closest, score, search,
};
use crate::interval::Interval;
use crate::invalid::Invalid;

/// Re-labellings of one look that are kept in order. At a level that would let more of them cross,
/// the rest does not cross.
const ROWS_KEPT_MAX: usize = 4096;
/// Ratio of neighbouring levels that are tried for a p-value, and steps to refine the last one.
const LEVEL_RATIO: f64 = 0.95;
const REFINEMENTS: usize = 6;
/// Size of the last step of an estimate, a log ratio, at which it has settled: below any digit that is
/// printed. The correction of positions moves with the ratio, so it may never be exactly 0.
const CONVERGED: f64 = 1e-6;
/// No p-value is smaller than one in ten million, the largest number of re-labellings.
const LEVEL_MIN: f64 = 1e-7;

/// The pairs at one look, and its part of the error.
#[derive(Clone, Debug)]
pub(crate) struct JointLook {
    pub(crate) pairs: Pairs,
    /// Re-labellings of `pairs`. All looks of a stage use parts of the same endless rows.
    pub(crate) orbit: Orbit,
    /// Share of the error that may be spent up to this look, from 0 to 1.
    pub(crate) spent: f64,
    /// Whether each re-labelling swaps the same of the earlier runs as it did at the look before.
    /// False if groups of pairs have become larger since.
    pub(crate) keeps_rows: bool,
}

impl JointLook {
    /// Whether at least one labelling may cross up to this look.
    fn may_cross(&self, level: f64) -> bool {
        level * self.spent * self.orbit.len() as f64 + 1e-6 >= 1.0
    }

    /// The only look of a comparison.
    pub(crate) fn single(pairs: Pairs, orbit: Orbit) -> Self {
        Self { pairs, orbit, spent: 1.0, keeps_rows: false }
    }
}

/// The re-labellings of one look by descending size of the statistic.
#[derive(Clone, Debug)]
struct LookOrder {
    /// Rows, the largest first. At most [`ROWS_KEPT_MAX`].
    rows: Vec<u32>,
    /// Ends of groups of equal sizes in `rows`.
    group_ends: Vec<u32>,
    n_rows: usize,
    spent: f64,
    keeps_rows: bool,
    selected: ObservedStatistic,
}

impl LookOrder {
    fn of(look: &JointLook, values: &[f64], selected: ObservedStatistic) -> Self {
        let size = |&row: &u32| values[row as usize].abs();
        let descending = |a: &u32, b: &u32| size(b).total_cmp(&size(a));
        let mut rows: Vec<u32> = (0..values.len() as u32).collect();
        let is_cut = rows.len() > ROWS_KEPT_MAX;
        if is_cut {
            rows.select_nth_unstable_by(ROWS_KEPT_MAX, descending);
            rows.truncate(ROWS_KEPT_MAX);
        }
        rows.sort_unstable_by(descending);
        let is_end = |&at: &usize| match rows.get(at) {
            Some(next) => size(next) < as_extreme(size(&rows[at - 1])),
            // The rest of the last group may have been cut off.
            None => !is_cut,
        };
        let group_ends = (1..=rows.len()).filter(is_end).map(|at| at as u32).collect();
        let JointLook { spent, keeps_rows, .. } = *look;
        Self { rows, group_ends, n_rows: values.len(), spent, keeps_rows, selected }
    }
}

/// The re-labellings that have crossed at a level, up to some look.
#[derive(Default)]
struct Crossed {
    is_crossed: Vec<bool>,
    /// Number of rows in the current stage, which later looks may reduce to the first of them.
    n_rows: usize,
    /// Rows that crossed in this stage, and the share of all rows that crossed before it.
    n_crossed: usize,
    before: f64,
}

impl Crossed {
    /// Lets the largest rows of a look cross, as many as the level permits.
    fn pass(&mut self, look: &LookOrder, level: f64) {
        if look.n_rows != self.n_rows || !look.keeps_rows {
            self.before += self.n_crossed as f64 / self.n_rows.max(1) as f64;
            (self.n_rows, self.n_crossed) = (look.n_rows, 0);
            if !look.keeps_rows {
                self.is_crossed.clear();
            }
            self.is_crossed.resize(look.n_rows, false);
        }
        // Rounding may put a whole number slightly below itself.
        let budget = (level * look.spent - self.before) * look.n_rows as f64 + 1e-6;
        let mut from = 0;
        for &end in &look.group_ends {
            let group = &look.rows[from..end as usize];
            let n_new = group.iter().filter(|&&row| !self.is_crossed[row as usize]).count();
            if (self.n_crossed + n_new) as f64 > budget {
                break;
            }
            group.iter().for_each(|&row| self.is_crossed[row as usize] = true);
            self.n_crossed += n_new;
            from = end as usize;
        }
    }
}

/// A sequential test of one log ratio, look by look.
#[derive(Clone, Debug)]
pub(crate) struct JointTest {
    statistics: &'static [Statistic],
    theta: f64,
    looks: Vec<LookOrder>,
}

impl JointTest {
    /// Test of the log ratio `theta` before its first look.
    pub(crate) fn new(statistics: &'static [Statistic], theta: f64) -> Self {
        Self { statistics, theta, looks: Vec::new() }
    }

    pub(crate) fn n_looks(&self) -> usize {
        self.looks.len()
    }

    /// Takes the next look.
    pub(crate) fn take(&mut self, look: &JointLook) {
        let (test, values) = look.pairs.evaluate(&look.orbit, self.statistics, self.theta);
        self.looks.push(LookOrder::of(look, &values, test.selected));
    }

    /// The statistic that the last look selects.
    pub(crate) fn last(&self) -> Option<ObservedStatistic> {
        self.looks.last().map(|look| look.selected)
    }

    /// Whether the observed labelling crosses at a level. The value is its statistic at that look:
    /// the estimated log ratio minus the tested one.
    pub(crate) fn crossing(&self, level: f64) -> Option<f64> {
        let mut crossed = Crossed::default();
        self.looks.iter().find_map(|look| {
            crossed.pass(look, level);
            crossed.is_crossed[0].then_some(look.selected.t)
        })
    }

    /// p-value: the smallest level at which, and at all larger ones, the observed labelling
    /// crosses. It is 1 before the first look.
    ///
    /// A re-labelling that crosses early at a larger level can leave too little for another one
    /// later, so a single level would not make an ordered p-value. The levels that are tried are 1,
    /// 0.95, 0.95^2 … and `exact`, which are levels of decisions. The p-value is at most 0.1 % too
    /// large.
    pub(crate) fn p(&self, exact: impl Iterator<Item = f64>) -> f64 {
        if self.looks.is_empty() {
            return 1.0;
        }
        let n_steps = (LEVEL_MIN.ln() / LEVEL_RATIO.ln()) as i32;
        let mut levels: Vec<f64> = (0..n_steps).map(|step| LEVEL_RATIO.powi(step)).collect();
        levels.extend(exact);
        levels.sort_by(|a, b| b.total_cmp(a));
        let (mut p, mut below) = (1.0, 1.0);
        for level in levels {
            below = level;
            if self.crossing(level).is_none() {
                break;
            }
            p = level;
        }
        for _ in 0..REFINEMENTS {
            let middle = (p + below) / 2.0;
            *if self.crossing(middle).is_some() { &mut p } else { &mut below } = middle;
        }
        p
    }
}

impl Pairs {
    /// The test of one look, and the values of the selected statistic for all re-labellings.
    pub(super) fn evaluate(
        &self,
        orbit: &Orbit,
        statistics: &[Statistic],
        theta: f64,
    ) -> (RatioTest, Vec<f64>) {
        let (slots, position) = self.centered(theta);
        let mut values: Vec<Vec<f64>> = (statistics.iter())
            .map(|statistic| statistic.values(&slots, &self.labels, orbit))
            .collect();
        let scores: Vec<ObservedStatistic> =
            statistics.iter().zip(&values).map(|(&which, of)| score(which, of)).collect();
        let at = closest(scores.iter().map(|score| score.q90));
        let selected = scores[at];
        let n_labellings = orbit.len();
        let test = RatioTest { p: selected.p, selected, scores, position, n_labellings };
        (test, values.swap_remove(at))
    }

    /// The test of "no difference", and the estimate. `alpha`: p-value up to which a ratio does not
    /// fit. Errors: see [`Pairs::test`].
    pub(crate) fn compared(
        &self,
        orbit: &Orbit,
        statistics: &'static [Statistic],
        alpha: f64,
    ) -> Result<(RatioTest, Estimate), Invalid> {
        let test = self.test(orbit, statistics, 0.0)?;
        let estimate = self.estimate(orbit, statistics, &test, alpha);
        Ok((test, estimate))
    }

    /// Estimate of the log ratio. It starts at the first statistic. Three times, it lowers the new
    /// arm by the estimate and adds the statistic that is selected there. If two statistics then
    /// still select each other, as between two modes, it is the one of all statistics that the test
    /// accepts best. If none fits, or not in the direction in which 0 is rejected, as between ticks of
    /// a clock, no ratio fits all of the distribution: it is the statistic that tested 0, alone.
    fn estimate(
        &self,
        orbit: &Orbit,
        statistics: &'static [Statistic],
        at_zero: &RatioTest,
        alpha: f64,
    ) -> Estimate {
        // Dividing by a rounding error would break the ties of equal times.
        let rounded = |theta: f64| if theta.abs() <= ROUNDING_LOG { 0.0 } else { theta };
        let at = |theta: f64, selected| Estimate { theta: rounded(theta), selected, statistics };
        let test = |theta: f64| self.evaluate(orbit, statistics, theta).0;
        let start = at(at_zero.scores[0].t, at_zero.selected);
        let found = (0..3).fold(start, |found, _| {
            let selected = test(found.theta).selected;
            at(found.theta + selected.t, selected)
        });
        if statistics.len() == 1 {
            return found;
        }
        let (best, p) = if found.selected.t.abs() <= CONVERGED {
            (found, 1.0)
        } else {
            let zero_of = |score: &ObservedStatistic| {
                let theta = rounded(score.t);
                let test = test(theta);
                let is_it = |here: &&ObservedStatistic| here.statistic == score.statistic;
                let selected = test.scores.iter().find(is_it).map_or(*score, |here| *here);
                (at(theta, selected), test.p)
            };
            let tested = std::iter::once((found, test(found.theta).p));
            let tested = tested.chain(at_zero.scores.iter().map(zero_of));
            let better = |best: (Estimate, f64), other: (Estimate, f64)| {
                if other.1 > best.1 { other } else { best }
            };
            tested.reduce(better).unwrap_or((found, 1.0))
        };
        let is_against = at_zero.p <= alpha && at_zero.selected.t * best.theta < 0.0;
        if p > alpha && !is_against {
            return best;
        }
        let is_it = |one: &&'static [Statistic]| one[0] == at_zero.selected.statistic;
        let alone = statistics.chunks(1).find(is_it).unwrap_or(&statistics[..1]);
        let at_zero = self.evaluate(orbit, alone, 0.0).0;
        self.estimate(orbit, alone, &at_zero, alpha)
    }
}

/// An estimated log ratio.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    pub(crate) theta: f64,
    /// The statistic that was selected last. The scatter at the estimate is the narrowest: at
    /// another ratio the difference of the arms adds to it.
    pub(crate) selected: ObservedStatistic,
    /// The statistics from which tests of ratios around the estimate select: one if no ratio fits all
    /// of the distribution.
    pub(crate) statistics: &'static [Statistic],
}

/// The log ratios around an estimate that the test over these looks accepts at `level`.
///
/// The interval contains 0 if and only if `is_zero_inside`. If an earlier look rejects the estimate,
/// because the ratio moved or that look erred, only the last look counts, with the error that was
/// left for it. The second value says so. `tolerance` is the error of the ends.
pub(crate) fn invert(
    looks: &[JointLook],
    estimate: &Estimate,
    is_zero_inside: bool,
    level: f64,
    tolerance: f64,
) -> (Interval, bool) {
    let accepts_by = |looks: &[JointLook], theta: f64| {
        let mut test = JointTest::new(estimate.statistics, theta);
        // Where no labelling may cross yet, nothing has to be evaluated.
        looks.iter().filter(|look| look.may_cross(level)).all(|look| {
            test.take(look);
            test.crossing(level).is_none()
        })
    };
    let mut last: Vec<JointLook> = looks.last().cloned().into_iter().collect();
    let spent_before = looks.len().checked_sub(2).map_or(0.0, |at| looks[at].spent);
    last.iter_mut().for_each(|look| look.spent -= spent_before);
    let is_accepted = accepts_by(looks, estimate.theta);
    let looks = if is_accepted { looks } else { &last };
    let step = estimate.selected.q90;
    let interval = search::interval(estimate.theta, step, is_zero_inside, tolerance, |theta| {
        accepts_by(looks, theta)
    });
    (interval, !is_accepted && spent_before > 0.0)
}
