//! A comparison that is looked at while it grows.
//!
//! At numbers of pairs that no label has to do with, the test of [`relabel`](crate::relabel) is made on all pairs so far,
//! at an error that is fixed beforehand; all errors sum to alpha. By the union bound the chance
//! that any look is wrong is at most alpha, however the looks depend on each other and for
//! whatever reason the session ends after one of them. So every interval holds along the way, and
//! so does their intersection.
//!
//! Several comparisons with one reference are a family, judged by Holm's procedure. Its steps are
//! closed tests whose error is a share of alpha, which each look takes its part of.

use crate::interval::Interval;
use crate::invalid::Invalid;
use crate::multiplicity::shares;
use crate::relabel::{Estimand, Orbit, PairedComparison, Pairs, RatioShape, Statistic};
use crate::spending::{InterimPoint, Look, Spending};
use crate::verdict::z;
use crate::warmup;

/// Ends of an interval are found to this much, in log ratio: a tenth of the last digit that is ever
/// printed of a timing.
const TOLERANCE: f64 = 1e-5;
/// Equal products of the same numbers can differ by this share.
const ROUNDING: f64 = 1e-12;

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct SequentialDesign {
    /// What the looks may err.
    pub spending: Spending,
    /// What is compared.
    pub estimand: Estimand,
    /// Log ratios closer to 0 than this count as the same.
    pub margin: f64,
    /// Log ratio above which it matters that the new arm is slower; not asked where it is 0.
    pub limit: f64,
    /// Seed of the re-labellings.
    pub seed: u64,
}

/// What a look saw: the p-values from which it follows what is decided at any share of alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LookResult {
    look: Look,
    /// p of "no difference".
    zero: f64,
    /// p of "slower by the margin", where the estimate is below that; else 1.
    above: f64,
    /// p of "faster by the margin", where the estimate is above that; else 1.
    below: f64,
    /// p of "slower by the limit", and whether the estimate is above it.
    limit: (f64, bool),
    /// The comparison has two ratios rather than one; only known where it could be "the same".
    is_uneven: bool,
    /// Estimated log ratio, and how far it scatters: the 90 % quantile over the re-labellings.
    estimate: (f64, f64),
}

/// A comparison under way.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    design: SequentialDesign,
    results: Vec<LookResult>,
}

/// What all looks together say.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// Pairs of the last look, warm-up included.
    pub n_pairs: usize,
    /// Pairs at the beginning that are left out as warm-up.
    pub n_warmup: usize,
    /// The last look: its test, and the estimate.
    pub last: PairedComparison,
    /// The log ratios that no look rejects; 0 is inside iff the comparison is not different.
    pub interval: Interval,
    /// Some look had nothing in common with the last: the ratio moved, or an interval missed it.
    /// `interval` leaves it out then.
    pub is_contradicted: bool,
    /// Typical time and floor.
    pub shape: RatioShape,
}

impl Conclusion {
    /// Which statistic the estimate is of.
    pub fn statistic(&self) -> Statistic {
        self.last.test.selected.statistic
    }
}

/// The pairs of one look, without the warm-up, in groups if they are many.
struct View {
    pairs: Pairs,
    n_warmup: usize,
    orbit: Orbit,
}

impl SequentialTest {
    /// Nothing seen yet.
    pub fn new(design: SequentialDesign) -> Self {
        Self { design, results: Vec::new() }
    }

    /// What the looks may err.
    pub fn spending(&self) -> &Spending {
        &self.design.spending
    }

    /// Looks that were taken.
    pub fn n_looks(&self) -> usize {
        self.results.len()
    }

    /// Pairs of the last look that was taken; 0 before the first.
    pub fn n_pairs_seen(&self) -> usize {
        self.results.last().map_or(0, |result| result.look.n_pairs)
    }

    /// Takes every look that follows from these points (all so far, the earlier ones unchanged) and
    /// was not taken yet. `pairs` are all so far. Returns whether there was one.
    ///
    /// # Errors
    /// The times are unfit for a test.
    pub fn take(&mut self, pairs: &Pairs, points: &[InterimPoint]) -> Result<bool, Invalid> {
        let n_before = self.results.len();
        let looks = self.design.spending.looks(points);
        for &look in looks.iter().skip(n_before).filter(|look| look.n_pairs <= pairs.len()) {
            let result = self.analyse(pairs, look)?;
            self.results.push(result);
        }
        Ok(self.results.len() > n_before)
    }

    fn analyse(&self, pairs: &Pairs, look: Look) -> Result<LookResult, Invalid> {
        let SequentialDesign { estimand, margin, limit, .. } = self.design;
        let View { pairs, orbit, .. } = self.view(pairs, look)?;
        let at_zero = pairs.test(&orbit, estimand, 0.0)?;
        let mut result = LookResult {
            look,
            zero: at_zero.p,
            above: 1.0,
            below: 1.0,
            limit: (1.0, false),
            is_uneven: false,
            estimate: (at_zero.selected.t, at_zero.selected.q90),
        };
        if limit != 0.0 {
            let at_limit = pairs.test(&orbit, estimand, limit)?;
            result.limit = (at_limit.p, at_limit.selected.t > 0.0);
        }
        // Where nine of ten re-labellings scatter wider than the margin, neither end of it can be
        // rejected at a sensible alpha; where 0 is rejected, neither is asked.
        if result.estimate.1 > margin || self.is_rejected(result.zero, look, self.worst_share()) {
            return Ok(result);
        }
        // The estimate is that at the tested ratio plus the ratio: it lies inside the margin if
        // what is left of it there points back to 0.
        let end = |side: f64| -> Result<f64, Invalid> {
            let test = pairs.test(&orbit, estimand, side * margin)?;
            Ok(if test.selected.t * side < 0.0 { test.p } else { 1.0 })
        };
        (result.above, result.below) = (end(1.0)?, end(-1.0)?);
        let looks = || self.results.iter().chain([&result]);
        let is_inside = looks().any(|result| self.is_rejected(result.above, result.look, 1.0))
            && looks().any(|result| self.is_rejected(result.below, result.look, 1.0));
        if is_inside {
            result.is_uneven = is_uneven(&pairs.shape(&orbit)?, margin);
        }
        Ok(result)
    }

    fn view(&self, pairs: &Pairs, look: Look) -> Result<View, Invalid> {
        let SequentialDesign { spending, estimand, seed, .. } = &self.design;
        let pairs = pairs.first(look.n_pairs)?;
        let n_warmup = warmup::prefix(&pairs.means()).unwrap_or(0);
        let pairs = pairs.skip(n_warmup)?.grouped(spending.n_groups_max(look), *estimand)?;
        let draws = spending.draws(look);
        let orbit = Orbit::new(pairs.len(), draws, *seed)?;
        Ok(View { pairs, n_warmup, orbit })
    }

    fn worst_share(&self) -> f64 {
        1.0 / self.design.spending.family as f64
    }

    fn is_rejected(&self, p: f64, look: Look, share: f64) -> bool {
        p <= look.alpha * share * (1.0 + ROUNDING)
    }

    /// p-value of "no difference" over all looks: the smallest of each look's, divided by the share
    /// of alpha that the look had. At most alpha iff some look rejected; 1 before the first look.
    pub fn p(&self) -> f64 {
        let alpha = self.design.spending.alpha;
        let adjusted = self.results.iter().map(|result| result.zero * alpha / result.look.alpha);
        adjusted.fold(1.0, f64::min)
    }

    /// Whether some look rejected "no difference" at this share of its alpha.
    pub fn is_different(&self, share: f64) -> bool {
        self.results.iter().any(|result| self.is_rejected(result.zero, result.look, share))
    }

    /// Whether the looks together put the ratio inside the margin at this share of alpha, and the
    /// last one that could saw one ratio rather than two.
    pub fn is_same(&self, share: f64) -> bool {
        let any = |p: fn(&LookResult) -> f64| {
            self.results.iter().any(|result| self.is_rejected(p(result), result.look, share))
        };
        any(|result| result.above)
            && any(|result| result.below)
            && self.results.last().is_some_and(|result| !result.is_uneven)
    }

    /// Whether nothing more has to be asked: it is different or the same; with a limit, it is the
    /// same, faster, or on one side of the limit.
    pub fn is_settled(&self, share: f64) -> bool {
        if self.design.limit == 0.0 || self.is_same(share) {
            return self.is_different(share) || self.is_same(share);
        }
        let is_faster = self.results.last().is_some_and(|result| result.estimate.0 < 0.0);
        let is_beside = |result: &LookResult| self.is_rejected(result.limit.0, result.look, share);
        is_faster && self.is_different(share) || self.results.iter().any(is_beside)
    }

    /// Estimated log ratio of the last look and its rough error, for showing while it runs: the
    /// scatter of the re-labellings taken to be normal, at the look's own level.
    pub fn rough(&self) -> Option<(f64, f64)> {
        let result = self.results.last()?;
        let z = |alpha: f64| z(1.0 - alpha / 2.0);
        let (estimate, q90) = result.estimate;
        Some((estimate, q90 * z(result.look.alpha * self.worst_share()) / z(0.1)))
    }

    /// Pairs at which a decision can be expected, by [`SequentialTest::rough`]: an interval narrows as
    /// `1 / sqrt(n)`, until it leaves out 0 or both ends of the margin.
    pub fn expected_pairs(&self) -> Option<f64> {
        let (estimate, err) = self.rough()?;
        let room = estimate.abs().max(self.design.margin - estimate.abs());
        Some(self.n_pairs_seen() as f64 * (err / room).powi(2))
    }

    /// An interval without the ends of the margin and the side of the limit that a look rejected:
    /// the accepted ratios can have gaps, and those beyond one are left out.
    fn without_margin(&self, interval: Interval, result: &LookResult, share: f64) -> Interval {
        let margin = self.design.margin * (1.0 - 1e-6);
        let is_out = |p: f64| self.is_rejected(p, result.look, share);
        let mut rest = interval;
        if is_out(result.below) {
            rest.lo = rest.lo.max(-margin);
        }
        if is_out(result.above) {
            rest.hi = rest.hi.min(margin);
        }
        match result.limit {
            (p, true) if is_out(p) => rest.lo = rest.lo.max(self.design.limit * (1.0 + 1e-6)),
            (p, false) if is_out(p) => rest.hi = rest.hi.min(self.design.limit * (1.0 - 1e-6)),
            _ => {}
        }
        rest
    }

    /// Estimate and interval from all looks so far at a share of alpha; `None` before the first.
    /// `pairs` are the same as were shown to [`SequentialTest::take`], or more.
    ///
    /// The interval is that of the last look, cut where an earlier look rejects.
    ///
    /// # Errors
    /// The times are unfit for a test.
    pub fn conclude(&self, pairs: &Pairs, share: f64) -> Result<Option<Conclusion>, Invalid> {
        let Some(last) = self.results.last() else { return Ok(None) };
        let estimand = self.design.estimand;
        let view = self.view(pairs, last.look)?;
        let alpha = last.look.alpha * share;
        let found = view.pairs.compare(&view.orbit, estimand, alpha, TOLERANCE)?;
        let (mut interval, mut is_contradicted) = (found.interval, false);
        for result in self.results.iter().rev() {
            let within = self.without_margin(interval, result, share);
            // Where the look's own labellings scatter as far as that, it rejects nothing there.
            let (center, q90) = result.estimate;
            let reach = (interval.lo - center).abs().max((interval.hi - center).abs());
            let is_last = result.look == last.look;
            if within == interval && (is_last || reach < q90) {
                continue;
            }
            if within.lo > within.hi {
                is_contradicted = true;
                continue;
            }
            let View { pairs, orbit, .. } = self.view(pairs, result.look)?;
            let alpha = result.look.alpha * share;
            let cut = if within.half_width().is_finite() {
                pairs.narrow(&orbit, estimand, alpha, TOLERANCE, within, found.theta)?
            } else {
                let other = pairs.compare(&orbit, estimand, alpha, TOLERANCE)?;
                within.intersect(other.interval)
            };
            is_contradicted |= cut.is_none();
            interval = cut.unwrap_or(within);
        }
        Ok(Some(Conclusion {
            n_pairs: last.look.n_pairs,
            n_warmup: view.n_warmup,
            shape: view.pairs.shape(&view.orbit)?,
            last: found,
            interval,
            is_contradicted,
        }))
    }
}

/// Whether to show two ratios. Beside the test there is a practical size, a tenth of the margin:
/// on a coarse clock equal programs differ by rounding, always in the same way.
pub fn is_uneven(shape: &RatioShape, margin: f64) -> bool {
    shape.is_uneven() && (shape.typical - shape.floor).abs() > 0.1 * margin
}

/// The share of alpha at which each comparison of a family is judged, in the order given: Holm
/// (1979), going on from the smallest p-value as long as each is different at `1 / (m - i)`.
///
/// `n_total` are all of the family: those that are not given count as not different. The rest, and the
/// first that is not different, are judged at the share that was reached. Each
/// step is a test of all remaining hypotheses at once, over all their looks (union bound), so by
/// the closure principle (Marcus, Peritz & Gabriel 1976) the chance of any false "different" in
/// the family is at most alpha.
///
/// ```
/// assert!(stats::sequential::holm_shares(&[], 0).is_empty());
/// ```
pub fn holm_shares(family: &[&SequentialTest], n_total: usize) -> Vec<f64> {
    let p: Vec<f64> = family.iter().map(|one| one.p()).collect();
    // An empty family has no shares.
    shares(&p, n_total, |at, share| family[at].is_different(share)).unwrap_or_default()
}
