//! Sequential test: a comparison with looks (interim analyses) while it grows.
//!
//! Each look makes the test of [`relabel`](crate::relabel) on all pairs so far, and all looks share
//! one set of re-labellings. At each look a share of them may cross that depends on how far the
//! session is, and not on the labels. The comparison is different if the observed labelling
//! crosses. All labellings are equally likely if both arms are the same program. So the chance of a
//! false "different" is at most alpha, whatever the noise is and why ever the session ends. The
//! interval holds the ratios that the same test does not reject.
//!
//! Several comparisons with one reference are a family, which Holm's procedure judges.

mod agreement;
mod family;
mod same;
mod theta_tests;

pub use family::holm_shares;
pub use same::{GATE_TAIL, SAME_TAIL, SameDoubt, clustering, hidden_tail_pairs};

use std::cmp::Ordering;

use theta_tests::{ThetaTests, warmup_pairs};

use crate::interval::Interval;
use crate::invalid::Invalid;
use crate::relabel::{
    Estimand, JointLook, PairedComparison, Pairs, RatioShape, SlowRuns, Statistic, invert,
};
use crate::spending::{InterimPoint, Look, Spending};
use crate::verdict::{IntervalVerdict, z};

/// Tolerance of the ends of an interval: a tenth of the last digit that a timing is ever printed
/// with, as a log ratio, and a share of the scatter of the re-labellings.
const TOLERANCE: (f64, f64) = (1e-5, 0.01);
/// Relative difference that equal products of the same numbers can have.
const ROUNDING: f64 = 1e-12;

/// Design of a sequential test.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialDesign {
    /// Alpha spending of the looks.
    pub spending: Spending,
    /// Estimand: the part of the distribution that is compared.
    pub estimand: Estimand,
    /// Log ratios closer to 0 than this margin count as the same.
    pub margin: f64,
    /// Log ratio above which a slower new arm matters. 0 means that there is no limit. A negative
    /// one is a gain: only [`SequentialTest::side_of_limit`] uses it.
    pub limit: f64,
    /// Seed of the re-labellings.
    pub seed: u64,
}

/// The sequential test of one comparison, with its looks so far.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    design: SequentialDesign,
    looks: Vec<Look>,
    /// Tests of the estimand.
    tests: ThetaTests,
    /// Tests of the mean times, at looks that would show a slow tail of a tenth of the runs.
    mean_tests: ThetaTests,
    /// Tests of "the same", at looks that would show a slow tail of a twentieth.
    same_tests: ThetaTests,
    /// p-value of "no difference" over all looks.
    p: f64,
    last: Option<LastLook>,
}

/// Results of the last look.
#[derive(Clone, Copy, Debug)]
struct LastLook {
    /// Observed statistic at a log ratio of 0, and its 90 % quantile over the re-labellings.
    t: f64,
    q90: f64,
    /// Whether the estimate is inside the margin. Only known if both ends of the margin are
    /// rejected from inside: between two modes, the statistic that rejects them may be the floor, and
    /// the typical time's ratio is elsewhere.
    is_estimate_inside: bool,
    /// Reason why the result is not "the same" even if the interval is inside the margin. Only
    /// known if it is.
    doubt: Option<SameDoubt>,
    /// Whether the mean time is certainly below the limit. Only known if there is a limit.
    is_mean_bounded: bool,
}

/// Conclusion from all looks together.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// Number of pairs at the last look, warm-up included.
    pub n_pairs: usize,
    /// Number of pairs at the beginning that are left out as warm-up.
    pub n_warmup: usize,
    /// Test and estimate of the last look.
    pub last: PairedComparison,
    /// The one decision. The interval and the p-value agree with it.
    pub verdict: IntervalVerdict,
    /// Reason why the verdict is not "the same" although the interval is inside the margin.
    pub doubt: Option<SameDoubt>,
    /// The log ratios that no look rejects. 0 is inside iff the comparison is not different.
    pub interval: Interval,
    /// Whether an earlier look rejects the estimate, because the ratio moved or that look erred.
    /// `interval` is then the last look's.
    pub is_contradicted: bool,
    /// Typical time and floor.
    pub shape: RatioShape,
    /// Log ratio of the mean times. Its interval is from the looks that would show a slow tail of a
    /// tenth of the runs; without such a look, unbounded.
    pub mean: (f64, Interval),
    /// How many times as many pairs show a slow tail as in independent runs: [`clustering`].
    pub clustering: f64,
    /// The runs in which one arm is slower.
    pub slow_runs: Option<SlowRuns>,
}

impl Conclusion {
    /// The statistic of the estimate.
    pub fn statistic(&self) -> Statistic {
        self.last.statistic
    }
}

impl SequentialTest {
    /// A test before its first look.
    pub fn new(design: SequentialDesign) -> Self {
        let mean_tests = |share| {
            ThetaTests::new(Estimand::Mean, hidden_tail_pairs(design.spending.alpha, share))
        };
        let [mean_tests, same_tests] = [GATE_TAIL, SAME_TAIL].map(mean_tests);
        let tests = ThetaTests::new(design.estimand, 0);
        Self { design, looks: Vec::new(), tests, mean_tests, same_tests, p: 1.0, last: None }
    }

    /// Alpha spending of the looks.
    pub fn spending(&self) -> &Spending {
        &self.design.spending
    }

    /// Number of looks so far.
    pub fn n_looks(&self) -> usize {
        self.looks.len()
    }

    /// Number of pairs at the beginning that a look at all of these leaves out as warm-up.
    pub fn n_warmup(&self, pairs: &Pairs) -> usize {
        let look = Look { n_pairs: pairs.len(), spent: 1.0 };
        warmup_pairs(pairs, self.design.spending.group_size(look))
    }

    /// Number of pairs at the last look; 0 before the first.
    pub fn n_pairs_seen(&self) -> usize {
        self.looks.last().map_or(0, |look| look.n_pairs)
    }

    /// Takes every look that these points permit and that was not taken yet. `points` are all so far, with the earlier
    /// ones unchanged; `pairs` are all so far. Returns whether there was a new look. Errors: the test cannot be made on
    /// these times.
    pub fn take(&mut self, pairs: &Pairs, points: &[InterimPoint]) -> Result<bool, Invalid> {
        let n_before = self.looks.len();
        let looks = self.design.spending.looks(points);
        for &look in looks.iter().skip(n_before).filter(|look| look.n_pairs <= pairs.len()) {
            self.looks.push(look);
            self.analyse(pairs)?;
        }
        Ok(self.looks.len() > n_before)
    }

    fn analyse(&mut self, pairs: &Pairs) -> Result<(), Invalid> {
        let (margin, limit) = (self.design.margin, self.design.limit);
        let at_zero = self.tests.at(0.0, &self.design, &self.looks, pairs)?;
        let selected = at_zero.last().ok_or(Invalid::Empty)?;
        self.p = at_zero.p(self.design.spending.levels());
        let mut last = LastLook {
            t: selected.t,
            q90: selected.q90,
            is_estimate_inside: false,
            doubt: None,
            is_mean_bounded: true,
        };
        if limit != 0.0 {
            self.tests.at(limit, &self.design, &self.looks, pairs)?;
        }
        if limit > 0.0 {
            last.is_mean_bounded = self.is_mean_below(limit.max(margin), pairs)?;
        }
        // If nine of ten re-labellings scatter wider than the margin, no sensible alpha can reject
        // either end of it. If 0 is rejected, neither end is tested. A test that was left out takes
        // all its looks later.
        if last.q90 <= margin && !self.is_different(self.worst_share()) {
            for end in [margin, -margin] {
                self.tests.at(end, &self.design, &self.looks, pairs)?;
            }
            if self.rejects_margin(1.0) {
                let (_, estimate) = self.tests.estimate(&self.design, &self.looks, pairs)?;
                last.is_estimate_inside = estimate.theta.abs() < margin;
                if last.is_estimate_inside {
                    last.doubt = self.doubt(pairs)?;
                }
            }
        }
        self.last = Some(last);
        Ok(())
    }

    fn worst_share(&self) -> f64 {
        1.0 / self.design.spending.family as f64
    }

    fn level(&self, share: f64) -> f64 {
        self.design.spending.alpha * share * (1.0 + ROUNDING)
    }

    /// p-value of "no difference" over all looks: the smallest error of all looks together at
    /// which, and at all larger ones, the observed labelling crosses. 1 before the first look.
    pub fn p(&self) -> f64 {
        self.p
    }

    /// Whether the test rejects "no difference" at this share of alpha.
    pub fn is_different(&self, share: f64) -> bool {
        self.p <= self.level(share)
    }

    /// Whether both ends of the margin are rejected from inside.
    fn rejects_margin(&self, share: f64) -> bool {
        let margin = self.design.margin;
        [margin, -margin].into_iter().all(|end| self.is_rejected_towards_zero(end, share))
    }

    /// Whether the looks together put the ratio inside the margin.
    fn is_inside(&self, share: f64) -> bool {
        self.last.is_some_and(|last| last.is_estimate_inside) && self.rejects_margin(share)
    }

    fn is_rejected_towards_zero(&self, theta: f64, share: f64) -> bool {
        let crossing =
            self.tests.get(theta, &self.looks).and_then(|it| it.crossing(self.level(share)));
        crossing.is_some_and(|t| t * theta < 0.0)
    }

    /// Whether the looks together put the ratio inside the margin at this share of alpha, and
    /// nothing speaks against "the same".
    pub fn is_same(&self, share: f64) -> bool {
        !self.is_different(share)
            && self.is_inside(share)
            && self.last.is_some_and(|last| last.doubt.is_none())
    }

    /// Whether the test needs no more pairs. Without a limit, the result is then different or the
    /// same. With a limit, it is the same, faster, or on one side of the limit, and the mean is
    /// known to be below the limit unless the result is slower.
    pub fn is_settled(&self, share: f64) -> bool {
        let limit = self.design.limit;
        if limit <= 0.0 || self.is_same(share) {
            return self.is_different(share) || self.is_same(share);
        }
        let Some(last) = self.last else { return false };
        let is_faster = last.t < 0.0 && self.is_different(share);
        let crossing =
            self.tests.get(limit, &self.looks).and_then(|it| it.crossing(self.level(share)));
        match crossing {
            Some(t) if t > 0.0 => true,
            Some(_) => last.is_mean_bounded,
            None => is_faster && last.is_mean_bounded,
        }
    }

    /// Reason why the last look does not say "the same" although its interval is inside the margin.
    pub fn doubt_at_last(&self) -> Option<SameDoubt> {
        self.last.and_then(|last| last.doubt)
    }

    /// The side of the limit on which the log ratio is, at this share of alpha: `Less` or `Greater`;
    /// `None` if the looks so far do not decide. One side alone errs at half the share.
    pub fn side_of_limit(&self, share: f64) -> Option<Ordering> {
        let tested = self.tests.get(self.design.limit, &self.looks)?;
        tested.crossing(self.level(share))?.partial_cmp(&0.0)
    }

    /// Estimated log ratio of the last look and its rough error, for the display of a running
    /// session. The error takes the scatter of the re-labellings as normal, at the error spent so
    /// far.
    pub fn rough(&self) -> Option<(f64, f64)> {
        let (last, look) = (self.last?, self.looks.last()?);
        let spent = z(self.level(self.worst_share()) * look.spent / 2.0).ok()?;
        Some((last.t, last.q90 * spent / z(0.1 / 2.0).ok()?))
    }

    /// Number of pairs at which a decision can be expected from [`SequentialTest::rough`]. An
    /// interval narrows as `1 / sqrt(n)`, until it excludes 0 or both ends of the margin.
    pub fn expected_pairs(&self) -> Option<f64> {
        let (estimate, err) = self.rough()?;
        let room = estimate.abs().max(self.design.margin - estimate.abs());
        Some(self.n_pairs_seen() as f64 * (err / room).powi(2))
    }

    /// Estimate and interval from all looks so far at a share of alpha; `None` before the first look. `pairs` are the
    /// pairs of the last [`SequentialTest::take`], or more. Errors: the test cannot be made on these times.
    pub fn conclude(&self, pairs: &Pairs, share: f64) -> Result<Option<Conclusion>, Invalid> {
        let Some(last) = self.last else { return Ok(None) };
        let level = self.level(share);
        let mut conclusion = self.interval(&self.tests, pairs, level)?;
        self.agree(&mut conclusion.interval, conclusion.comparison.theta, share);
        let verdict = match (self.is_different(share), self.is_same(share)) {
            (true, _) if conclusion.interval.is_within(self.design.margin) => {
                IntervalVerdict::DifferentWithinMargin
            }
            (true, _) => IntervalVerdict::Different,
            (_, true) => IntervalVerdict::Same,
            _ => IntervalVerdict::Undecided,
        };
        let mean = match self.design.estimand {
            Estimand::Mean => (conclusion.comparison.theta, conclusion.interval),
            _ => self.mean_ratio(pairs, level)?,
        };
        let view = self.last_view(pairs)?;
        let raw = pairs.first(self.n_pairs_seen())?.skip(conclusion.n_warmup)?;
        Ok(Some(Conclusion {
            n_pairs: self.n_pairs_seen(),
            n_warmup: conclusion.n_warmup,
            shape: view.pairs.shape(&view.orbit)?,
            clustering: self.slow_clustering(&raw),
            slow_runs: raw.slow_runs(),
            doubt: last.doubt.filter(|_| self.is_inside(share) && !self.is_different(share)),
            verdict,
            interval: conclusion.interval,
            is_contradicted: conclusion.is_contradicted,
            mean,
            last: conclusion.comparison,
        }))
    }

    fn mean_ratio(&self, pairs: &Pairs, level: f64) -> Result<(f64, Interval), Invalid> {
        if self.n_pairs_seen() < hidden_tail_pairs(self.design.spending.alpha, GATE_TAIL) {
            let pairs = pairs.first(self.n_pairs_seen())?;
            let seen = pairs.skip(warmup_pairs(&pairs, 1))?;
            return Ok((seen.mean_ratio(), Interval::ALL));
        }
        let mean = self.interval(&self.mean_tests, pairs, level)?;
        Ok((mean.comparison.theta, mean.interval))
    }

    /// The pairs of the last look, as the tests of the estimand see them.
    fn last_view(&self, pairs: &Pairs) -> Result<JointLook, Invalid> {
        let index = self.looks.len().checked_sub(1).ok_or(Invalid::Empty)?;
        let draws = self.design.spending.draws(self.looks[index]);
        self.tests.view(&self.design, &self.looks, index, pairs, draws)
    }

    fn interval(
        &self,
        tests: &ThetaTests,
        pairs: &Pairs,
        level: f64,
    ) -> Result<LooksInterval, Invalid> {
        let views = tests.views(&self.design, &self.looks, pairs, level)?;
        let (test, estimate) = tests.estimate(&self.design, &self.looks, pairs)?;
        let is_zero_inside = match tests.get(0.0, &self.looks) {
            Some(at_zero) => at_zero.p(self.design.spending.levels()) > level,
            None => tests.fresh(0.0, &views).crossing(level).is_none(),
        };
        let tolerance = TOLERANCE.0.max(TOLERANCE.1 * estimate.selected.q90);
        let (interval, is_contradicted) =
            invert(&views, &estimate, is_zero_inside, level, tolerance);
        let look = self.looks[self.looks.len() - 1];
        let n_warmup =
            warmup_pairs(&pairs.first(look.n_pairs)?, self.design.spending.group_size(look));
        let (theta, statistic) = (estimate.theta, estimate.selected.statistic);
        let comparison = PairedComparison { test, theta, statistic, interval, alpha: level };
        Ok(LooksInterval { comparison, interval, is_contradicted, n_warmup })
    }
}

/// The interval over all looks, with the test of the last one.
struct LooksInterval {
    comparison: PairedComparison,
    interval: Interval,
    is_contradicted: bool,
    n_warmup: usize,
}

/// Whether to show two ratios. Besides the test, the difference must exceed a tenth of the margin:
/// on a coarse clock, equal programs differ by rounding, always in the same way.
pub fn is_uneven(shape: &RatioShape, margin: f64) -> bool {
    shape.is_uneven() && (shape.typical - shape.floor).abs() > 0.1 * margin
}
