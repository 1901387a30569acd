//! Sequential test: a comparison with looks (interim analyses) while it grows.
//!
//! Each look makes the test of [`relabel`](crate::relabel) on all pairs so far. The numbers of
//! pairs do not depend on the labels, the error of each look is fixed beforehand, and all errors
//! sum to alpha. By the union bound the chance that any look is wrong is at most alpha. It does not
//! matter how the looks depend on each other, or why the session ends after one of them. So every
//! interval holds along the way, and so does their intersection.
//!
//! Several comparisons with one reference are a family, which Holm's procedure judges. Its steps
//! are closed tests with a share of alpha as their error, and each look takes its part of that
//! share.

use crate::interval::Interval;
use crate::invalid::Invalid;
use crate::multiplicity::shares;
use crate::relabel::{Estimand, Orbit, PairedComparison, Pairs, RatioShape, Statistic};
use crate::spending::{InterimPoint, Look, Spending};
use crate::verdict::z;
use crate::warmup;

/// Tolerance of the ends of an interval, in log ratio: a tenth of the last digit that a timing is
/// ever printed with.
const TOLERANCE: f64 = 1e-5;
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
    /// Log ratio above which a slower new arm matters. 0 means that there is no limit.
    pub limit: f64,
    /// Seed of the re-labellings.
    pub seed: u64,
}

/// Result of one look: the p-values that decide at any share of alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LookResult {
    look: Look,
    /// p-value of "no difference".
    zero: f64,
    /// p-value of "slower by the margin" if the estimate is below that, else 1.
    above: f64,
    /// p-value of "faster by the margin" if the estimate is above that, else 1.
    below: f64,
    /// p-value of "slower by the limit", and whether the estimate is above it.
    limit: (f64, bool),
    /// Whether the comparison has two ratios rather than one. Computed only if the result may be
    /// "the same".
    is_uneven: bool,
    /// Estimated log ratio and its scatter, the 90 % quantile over the re-labellings.
    estimate: (f64, f64),
}

/// The sequential test of one comparison, with its looks so far.
#[derive(Clone, Debug)]
pub struct SequentialTest {
    design: SequentialDesign,
    results: Vec<LookResult>,
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
    /// The log ratios that no look rejects. 0 is inside iff the comparison is not different.
    pub interval: Interval,
    /// Whether the interval of some look is disjoint from the last one, because the ratio moved or
    /// an interval missed it. `interval` then ignores that look.
    pub is_contradicted: bool,
    /// Typical time and floor.
    pub shape: RatioShape,
}

impl Conclusion {
    /// The statistic of the estimate.
    pub fn statistic(&self) -> Statistic {
        self.last.test.selected.statistic
    }
}

/// The pairs of one look without the warm-up, in groups if they are many.
struct View {
    pairs: Pairs,
    n_warmup: usize,
    orbit: Orbit,
}

impl SequentialTest {
    /// A test before its first look.
    pub fn new(design: SequentialDesign) -> Self {
        Self { design, results: Vec::new() }
    }

    /// Alpha spending of the looks.
    pub fn spending(&self) -> &Spending {
        &self.design.spending
    }

    /// Number of looks so far.
    pub fn n_looks(&self) -> usize {
        self.results.len()
    }

    /// Number of pairs at the last look; 0 before the first.
    pub fn n_pairs_seen(&self) -> usize {
        self.results.last().map_or(0, |result| result.look.n_pairs)
    }

    /// Takes every look that these points permit and that was not taken yet. `points` are all so
    /// far, with the earlier ones unchanged; `pairs` are all so far. Returns whether there was a
    /// new look.
    ///
    /// # Errors
    /// The test cannot be made on these times.
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
        // If nine of ten re-labellings scatter wider than the margin, no sensible alpha can reject
        // either end of it. If 0 is rejected, neither end is tested.
        if result.estimate.1 > margin || self.is_rejected(result.zero, look, self.worst_share()) {
            return Ok(result);
        }
        // The estimate is the tested ratio plus the estimate there. It lies inside the margin if
        // that rest points back to 0.
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

    /// p-value of "no difference" over all looks: the smallest p-value of a look, divided by the
    /// share of alpha of that look. It is at most alpha iff some look rejects; 1 before the first
    /// look.
    pub fn p(&self) -> f64 {
        let alpha = self.design.spending.alpha;
        let adjusted = self.results.iter().map(|result| result.zero * alpha / result.look.alpha);
        adjusted.fold(1.0, f64::min)
    }

    /// Whether some look rejects "no difference" at this share of its alpha.
    pub fn is_different(&self, share: f64) -> bool {
        self.results.iter().any(|result| self.is_rejected(result.zero, result.look, share))
    }

    /// Whether the looks together put the ratio inside the margin at this share of alpha, and the
    /// last look that could tell found one ratio rather than two.
    pub fn is_same(&self, share: f64) -> bool {
        let any = |p: fn(&LookResult) -> f64| {
            self.results.iter().any(|result| self.is_rejected(p(result), result.look, share))
        };
        any(|result| result.above)
            && any(|result| result.below)
            && self.results.last().is_some_and(|result| !result.is_uneven)
    }

    /// Whether the test needs no more pairs. Without a limit, the result is then different or the
    /// same. With a limit, it is the same, faster, or on one side of the limit.
    pub fn is_settled(&self, share: f64) -> bool {
        if self.design.limit == 0.0 || self.is_same(share) {
            return self.is_different(share) || self.is_same(share);
        }
        let is_faster = self.results.last().is_some_and(|result| result.estimate.0 < 0.0);
        let is_beside = |result: &LookResult| self.is_rejected(result.limit.0, result.look, share);
        is_faster && self.is_different(share) || self.results.iter().any(is_beside)
    }

    /// Estimated log ratio of the last look and its rough error, for the display of a running
    /// session. The error takes the scatter of the re-labellings as normal, at the level of the
    /// look.
    pub fn rough(&self) -> Option<(f64, f64)> {
        let result = self.results.last()?;
        let z = |alpha: f64| z(1.0 - alpha / 2.0);
        let (estimate, q90) = result.estimate;
        Some((estimate, q90 * z(result.look.alpha * self.worst_share()) / z(0.1)))
    }

    /// Number of pairs at which a decision can be expected from [`SequentialTest::rough`]. An
    /// interval narrows as `1 / sqrt(n)`, until it excludes 0 or both ends of the margin.
    pub fn expected_pairs(&self) -> Option<f64> {
        let (estimate, err) = self.rough()?;
        let room = estimate.abs().max(self.design.margin - estimate.abs());
        Some(self.n_pairs_seen() as f64 * (err / room).powi(2))
    }

    /// The interval without the ends of the margin and the side of the limit that a look rejects.
    /// The accepted ratios can have gaps; those beyond a gap are left out.
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

    /// Estimate and interval from all looks so far at a share of alpha; `None` before the first
    /// look. `pairs` are those of the last [`SequentialTest::take`], or more.
    ///
    /// The interval is that of the last look, without the part that an earlier look rejects.
    ///
    /// # Errors
    /// The test cannot be made on these times.
    pub fn conclude(&self, pairs: &Pairs, share: f64) -> Result<Option<Conclusion>, Invalid> {
        let Some(last) = self.results.last() else { return Ok(None) };
        let estimand = self.design.estimand;
        let view = self.view(pairs, last.look)?;
        let alpha = last.look.alpha * share;
        let found = view.pairs.compare(&view.orbit, estimand, alpha, TOLERANCE)?;
        let (mut interval, mut is_contradicted) = (found.interval, false);
        for result in self.results.iter().rev() {
            let within = self.without_margin(interval, result, share);
            // A look rejects nothing within the scatter of its own labellings.
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

/// Whether to show two ratios. Besides the test, the difference must exceed a tenth of the margin:
/// on a coarse clock, equal programs differ by rounding, always in the same way.
pub fn is_uneven(shape: &RatioShape, margin: f64) -> bool {
    shape.is_uneven() && (shape.typical - shape.floor).abs() > 0.1 * margin
}

/// The share of alpha at which each comparison of a family is judged, in the order given (Holm
/// 1979). The procedure goes up from the smallest p-value as long as each comparison is different
/// at `1 / (m - i)`.
///
/// `n_total` is the size of the family; the comparisons that are not given count as not different.
/// The first comparison that is not different, and all after it, are judged at the share that was
/// reached. Each step tests all remaining hypotheses at once, over all their looks (union bound).
/// By the closure principle (Marcus, Peritz & Gabriel 1976) the chance of any false "different" in
/// the family is therefore at most alpha.
///
/// ```
/// assert!(stats::sequential::holm_shares(&[], 0).is_empty());
/// ```
pub fn holm_shares(family: &[&SequentialTest], n_total: usize) -> Vec<f64> {
    let p: Vec<f64> = family.iter().map(|one| one.p()).collect();
    // An empty family has no shares.
    shares(&p, n_total, |at, share| family[at].is_different(share)).unwrap_or_default()
}
