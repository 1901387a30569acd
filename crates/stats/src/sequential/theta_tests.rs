//! The tests of single log ratios over the looks of one comparison.

use super::SequentialDesign;
use crate::invalid::Invalid;
use crate::relabel::{
    Estimand, Estimate, JointLook, JointTest, Orbit, Pairs, RatioTest, Statistic,
};
use crate::spending::Look;
use crate::warmup;

/// Draws for one of many ratios: 20 labellings may cross at 1 %.
const LEAST_DRAWS: usize = 1999;

/// The tests of some log ratios for one estimand. A test may have taken fewer looks than there are.
/// The missing ones are taken when the test is asked for, at any time.
#[derive(Clone, Debug)]
pub(super) struct ThetaTests {
    estimand: Estimand,
    /// Smallest number of pairs of a look that counts.
    n_min: usize,
    tests: Vec<(f64, JointTest)>,
}

impl ThetaTests {
    pub(super) fn new(estimand: Estimand, n_min: usize) -> Self {
        Self { estimand, n_min, tests: Vec::new() }
    }

    /// The looks that count.
    fn counted<'a>(&self, looks: &'a [Look]) -> &'a [Look] {
        &looks[looks.partition_point(|look| look.n_pairs < self.n_min)..]
    }

    pub(super) fn statistics(&self) -> &'static [Statistic] {
        self.estimand.statistics()
    }

    /// The test of a log ratio with all looks.
    pub(super) fn at(
        &mut self,
        theta: f64,
        design: &SequentialDesign,
        looks: &[Look],
        pairs: &Pairs,
    ) -> Result<&JointTest, Invalid> {
        let looks = self.counted(looks);
        let at = self.tests.iter().position(|(other, _)| *other == theta).unwrap_or_else(|| {
            self.tests.push((theta, JointTest::new(self.estimand.statistics(), theta)));
            self.tests.len() - 1
        });
        for index in self.tests[at].1.n_looks()..looks.len() {
            let draws = design.spending.draws(looks[index]);
            let view = self.view(design, looks, index, pairs, draws)?;
            self.tests[at].1.take(&view);
        }
        Ok(&self.tests[at].1)
    }

    /// The test of a log ratio, if it has taken all looks.
    pub(super) fn get(&self, theta: f64, looks: &[Look]) -> Option<&JointTest> {
        let n_looks = self.counted(looks).len();
        let is_wanted =
            |(other, test): &&(f64, JointTest)| *other == theta && test.n_looks() == n_looks;
        self.tests.iter().find(is_wanted).map(|(_, test)| test)
    }

    /// The test of "no difference" at the last look alone, and the estimate. Always with the same
    /// draws, because between two modes other ones may select another statistic. Errors: no look, or
    /// the test cannot be made on these times.
    pub(super) fn estimate(
        &self,
        design: &SequentialDesign,
        looks: &[Look],
        pairs: &Pairs,
    ) -> Result<(RatioTest, Estimate), Invalid> {
        let index = looks.len().checked_sub(1).ok_or(Invalid::Empty)?;
        let draws = design.spending.draws(looks[index]).min(LEAST_DRAWS);
        let look = self.view(design, looks, index, pairs, draws)?;
        look.pairs.compared(&look.orbit, self.statistics(), design.spending.alpha)
    }

    /// The test of a log ratio on all looks at once.
    pub(super) fn fresh(&self, theta: f64, views: &[JointLook]) -> JointTest {
        let mut test = JointTest::new(self.statistics(), theta);
        views.iter().for_each(|view| test.take(view));
        test
    }

    /// The pairs of all looks with as few draws as `level` needs, for tests of many ratios: so many
    /// that at least one labelling may cross at the last look. A test is exact with any number of
    /// draws. With few, the ends of an interval are less sure.
    pub(super) fn views(
        &self,
        design: &SequentialDesign,
        looks: &[Look],
        pairs: &Pairs,
        level: f64,
    ) -> Result<Vec<JointLook>, Invalid> {
        let looks = self.counted(looks);
        let least = ((1.05 / level).ceil() as usize).max(LEAST_DRAWS);
        let draws = |look| design.spending.draws(look).min(least);
        let view = |index: usize| self.view(design, looks, index, pairs, draws(looks[index]));
        (0..looks.len()).map(view).collect()
    }

    /// The pairs of one look without the warm-up, in groups if they are many.
    pub(super) fn view(
        &self,
        design: &SequentialDesign,
        looks: &[Look],
        index: usize,
        pairs: &Pairs,
        draws: usize,
    ) -> Result<JointLook, Invalid> {
        let SequentialDesign { spending, seed, .. } = design;
        let look = looks[index];
        let size = spending.group_size(look);
        let pairs = pairs.first(look.n_pairs)?;
        let n_warmup = warmup_pairs(&pairs, size);
        let pairs = pairs.skip(n_warmup)?.grouped(size, self.estimand)?;
        let orbit = Orbit::endless(n_warmup / size, pairs.len(), draws, *seed)?;
        let before = index.checked_sub(1).map(|before| looks[before]);
        let keeps_rows = before.is_some_and(|before| spending.group_size(before) == size);
        Ok(JointLook { pairs, orbit, spent: look.spent, keeps_rows })
    }
}

/// Number of pairs at the beginning that a look leaves out as warm-up. It is a whole number of
/// groups, so that each group is the same at all looks.
pub(super) fn warmup_pairs(pairs: &Pairs, group_size: usize) -> usize {
    warmup::prefix(&pairs.means()).unwrap_or(0).next_multiple_of(group_size)
}
