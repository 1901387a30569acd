//! The next movement of a level, and its p-value.

use super::ShiftOptions;
use super::clean::clean;
use super::fit::{Fit, Gain, basis_of, dot, project_out};
use super::noise::{NoiseShape, Whitener, shapes};
use super::shape::Shape;
use crate::parallel;
use crate::prng::Stream;
use crate::sorted::SortedSample;

/// Standard deviation, as a logarithm, that every session has. Exact values would otherwise have an
/// infinite likelihood.
const SD_MIN: f64 = 1e-7;
/// Least advantage of a spell over a step. It has one place more, and disturbed sessions close
/// together look like a short one.
const SPELL_PENALTY: f64 = 8.0;
/// The family of the drifts. The other one is 0.
const DRIFTS: usize = 1;
/// Least advantage of a drift over a step. It has one place more.
const DRIFT_PENALTY: f64 = 4.0;
/// The noise whose years have the largest statistics: a random walk by a tenth of the session error.
/// A fit may miss it, so the p-value is computed for it as well.
const LEAST_FAVOURABLE: NoiseShape = NoiseShape { phi: 1.0, wander: 0.01 };
/// Allowance for an error of the fitted noise, in units of the statistic. Without it, 1.5 to 3 % of still
/// random walks had p-values of at most 1 %.
const ALLOWANCE: f64 = 2.0;

/// A smaller statistic is not worth a random order: in weather of any kind, a fifth of all still
/// years or more have a larger one.
const CALM: f64 = 6.0;
/// Largest deviance above the best one at which a noise is plausible.
const PLAUSIBLE: f64 = 2.0;

/// A search for movements in series of one length.
pub(super) struct Search {
    n: usize,
    level_min: usize,
    whiteners: Vec<Whitener>,
}

/// The best next movement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Twice the logarithm of the likelihood ratio of the best noise with the movement, and of the
    /// best noise without one.
    pub(super) statistic: f64,
    pub(super) shape: Shape,
    /// Index of the best noise with the movement.
    pub(super) noise: usize,
    /// Index of the best noise without it.
    noise_without: usize,
}

impl Candidate {
    /// Whether it may be significant when other movements are known. In years without a movement,
    /// about one statistic in fifty is as large.
    pub(super) fn is_likely(&self) -> bool {
        self.statistic >= 20.0 && family(self.shape).0 != DRIFTS
    }
}

impl Search {
    pub(super) fn new(n: usize, level_min: usize) -> Self {
        let whiteners = shapes().into_iter().map(|shape| Whitener::new(shape, n)).collect();
        Self { n, level_min, whiteners }
    }

    /// The fits of all noises with the known movements.
    pub(super) fn fits<'a>(&'a self, known: &[Shape]) -> Vec<Fit<'a>> {
        let fit = |whitener: &'a Whitener| Fit::new(whitener, known, self.n, self.level_min);
        parallel::map(self.whiteners.len(), |at| fit(&self.whiteners[at]))
    }

    /// Minus twice the log-likelihood, without constants.
    fn deviance(&self, rss: f64, log_det: f64) -> f64 {
        let n = self.n as f64;
        n * (rss + n * SD_MIN * SD_MIN).ln() + log_det
    }

    /// The movement of each family with the largest statistic.
    pub(super) fn best(&self, fits: &[Fit<'_>], xs: &[f64]) -> [Option<Candidate>; 2] {
        let mut without = (f64::INFINITY, 0);
        let mut with: [(f64, Option<Gain>, usize); 2] = [(f64::INFINITY, None, 0); 2];
        for (noise, fit) in fits.iter().enumerate() {
            let scan = fit.scan(xs);
            let log_det = fit.whitener.log_det;
            let deviance = self.deviance(scan.rss, log_det);
            if deviance < without.0 {
                without = (deviance, noise);
            }
            for gain in scan.best.into_iter().flatten() {
                let (family, penalty) = family(gain.shape);
                let rest = (scan.rss - gain.gain).max(0.0);
                let deviance = self.deviance(rest, log_det) + penalty;
                if deviance < with[family].0 {
                    with[family] = (deviance, Some(gain), noise);
                }
            }
        }
        with.map(|(deviance, gain, noise)| {
            let (statistic, noise_without) = (without.0 - deviance, without.1);
            Some(Candidate { statistic, shape: gain?.shape, noise, noise_without })
        })
    }

    /// Probability of a movement that is at least as large in a series that has only the known ones,
    /// under the fitted noise.
    pub(super) fn p_fitted(
        &self,
        series: &Series<'_>,
        it: &Candidate,
        options: ShiftOptions,
    ) -> f64 {
        let shuffled = Shuffled::new(self, series, it, 0.0);
        self.share(series.fits, it.noise_without, &shuffled, options)
    }

    /// [`Self::p_fitted`] under any noise, the least favourable one too, with an allowance for the fit, and
    /// not below the probability of the rarest order of the values.
    pub(super) fn p_any(&self, series: &Series<'_>, it: &Candidate, options: ShiftOptions) -> f64 {
        let shuffled = Shuffled::new(self, series, it, ALLOWANCE);
        let p = |noise: usize| self.share(series.fits, noise, &shuffled, options);
        let fitted = p(it.noise_without);
        let walk = series.fits.iter().position(|fit| fit.whitener.shape == LEAST_FAVOURABLE);
        // Most series end here, so the second set of orders is rarely drawn.
        let least_favourable = walk.filter(|_| fitted <= 0.1).map_or(0.0, p);
        let rarest = 2.0 / n_subsets(self.n, it.shape.start());
        fitted.max(least_favourable).max(rarest).min(1.0)
    }

    /// Share of the random orders, the real one included, with at least the statistic.
    fn share(
        &self,
        fits: &[Fit<'_>],
        noise: usize,
        series: &Shuffled<'_>,
        ShiftOptions { n_orders, seed, .. }: ShiftOptions,
    ) -> f64 {
        const ENOUGH: usize = 10;
        const BATCH: usize = 32;
        if series.least < CALM {
            return 1.0;
        }
        let stream = Stream::new(seed);
        let is_as_large = |i: usize| {
            let mut stream = stream.after((2 * i * self.n) as u64);
            let mut innovations = series.innovations.clone();
            stream.shuffle(&mut innovations);
            let mut excess = series.excess.to_vec();
            stream.shuffle(&mut excess);
            let mut xs = fits[noise].whitener.colour(&innovations);
            xs.iter_mut().zip(excess).for_each(|(x, excess)| *x += excess);
            let found = self.best(fits, &clean(&xs))[series.family];
            found.is_some_and(|found| found.statistic >= series.least)
        };
        let (mut n_drawn, mut n_as_large) = (0, 0);
        while n_drawn < n_orders {
            let end = n_orders.min(n_drawn + BATCH);
            n_as_large += parallel::count(n_drawn..end, is_as_large);
            n_drawn = end;
            // Besag & Clifford (1991): the share is then a p-value already.
            if n_as_large >= ENOUGH {
                return n_as_large as f64 / n_drawn as f64;
            }
        }
        (n_as_large + 1) as f64 / (n_drawn + 1) as f64
    }

    /// Moves the known movements to the places that explain most, under one noise. Each was found
    /// while others were not known, and spells and drifts were tried at some places only.
    pub(super) fn refine(&self, xs: &[f64], noise: usize, known: &mut [Shape]) {
        const ROUNDS: usize = 4;
        let whitener = &self.whiteners[noise];
        for _ in 0..ROUNDS {
            let before = known.to_vec();
            for index in 0..known.len() {
                let others: Vec<Shape> = [&known[..index], &known[index + 1..]].concat();
                let basis = basis_of(whitener, &others, self.n);
                let mut residuals = whitener.whiten(xs);
                project_out(&basis, &mut residuals);
                let gain = |shape: Shape| {
                    let mut own = whitener.whiten(&shape.levels(self.n));
                    project_out(&basis, &mut own);
                    let square = dot(&own, &own);
                    if square > 0.0 { dot(&own, &residuals).powi(2) / square } else { 0.0 }
                };
                known[index] = climb(known[index], self.n, self.level_min, &others, gain);
            }
            if known == before {
                return;
            }
        }
    }

    /// Makes a few steps or spells of the last movement, a drift, if they explain it better (Schwarz
    /// 1978). A random walk explains one of several steps as well as the step does, but not a drift
    /// through all of them.
    pub(super) fn divide_drift(&self, xs: &[f64], known: &mut Vec<Shape>, ps: &mut Vec<f64>) {
        const PARTS_MAX: usize = 4;
        let Some(Shape::Drift { .. }) = known.last() else { return };
        let cost = |shapes: &[Shape]| {
            let n_parameters: usize = shapes.iter().map(|shape| 1 + shape.n_places()).sum();
            self.least_deviance(xs, shapes) + n_parameters as f64 * (self.n as f64).ln()
        };
        let whole = cost(known);
        let mut parts = known[..known.len() - 1].to_vec();
        for _ in 0..PARTS_MAX {
            let [Some(sudden), _] = self.best(&self.fits(&parts), xs) else { return };
            parts.push(sudden.shape);
            self.refine(xs, sudden.noise, &mut parts);
            if cost(&parts) < whole {
                ps.resize(parts.len(), ps[known.len() - 1]);
                *known = parts;
                return;
            }
        }
    }

    /// Makes one spell of two neighbouring steps if the level comes back: if the size of the second
    /// step needs no parameter of its own (Schwarz 1978).
    pub(super) fn join_steps(&self, xs: &[f64], known: &mut Vec<Shape>, ps: &mut Vec<f64>) {
        loop {
            let mut order: Vec<usize> = (0..known.len()).collect();
            order.sort_by_key(|&index| known[index].start());
            let joined = order.windows(2).find_map(|pair| {
                let (Shape::Step { at: from }, Shape::Step { at: to }) =
                    (known[pair[0]], known[pair[1]])
                else {
                    return None;
                };
                let mut rest = known.clone();
                rest[pair[0]] = Shape::Spell { from, to };
                rest.remove(pair[1]);
                let is_spell = to - from <= self.n / 2
                    && self.least_deviance(xs, &rest)
                        <= self.least_deviance(xs, known) + (self.n as f64).ln();
                is_spell.then_some((pair[0], pair[1], Shape::Spell { from, to }))
            });
            let Some((one, other, spell)) = joined else { return };
            known[one] = spell;
            ps[one] = ps[one].max(ps[other]);
            known.remove(other);
            ps.remove(other);
        }
    }

    /// The noises that fit nearly as well as the best one, which is the first, with their sums of
    /// squares.
    pub(super) fn plausible_noises(&self, xs: &[f64], known: &[Shape]) -> Vec<(&Whitener, f64)> {
        let mut all = self.deviances(xs, known);
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let most = all[0].0 + PLAUSIBLE;
        all.retain(|(deviance, ..)| *deviance <= most);
        all.into_iter().map(|(_, whitener, rss)| (whitener, rss)).collect()
    }

    fn least_deviance(&self, xs: &[f64], known: &[Shape]) -> f64 {
        let all = self.deviances(xs, known);
        all.iter().fold(f64::INFINITY, |least, (deviance, ..)| least.min(*deviance))
    }

    /// The deviance and the sum of squares under each noise.
    fn deviances(&self, xs: &[f64], known: &[Shape]) -> Vec<(f64, &Whitener, f64)> {
        let of = |whitener| {
            let mut residuals = Whitener::whiten(whitener, xs);
            project_out(&basis_of(whitener, known, self.n), &mut residuals);
            let rss = dot(&residuals, &residuals);
            (self.deviance(rss, whitener.log_det), whitener, rss)
        };
        self.whiteners.iter().map(of).collect()
    }
}

/// The values of a series without disturbed sessions, the disturbances, and the fits.
#[derive(Clone, Copy)]
pub(super) struct Series<'a> {
    pub(super) xs: &'a [f64],
    pub(super) excess: &'a [f64],
    pub(super) fits: &'a [Fit<'a>],
}

/// The values that are put in random orders.
struct Shuffled<'a> {
    innovations: Vec<f64>,
    excess: &'a [f64],
    family: usize,
    /// The statistic that counts as at least as large.
    least: f64,
}

impl<'a> Shuffled<'a> {
    /// The innovations are those without the candidate. The jumps of movements that are not known yet
    /// are clipped: coloured as a random walk, each of them would come back as a step.
    fn new(search: &Search, series: &Series<'a>, it: &Candidate, allowance: f64) -> Self {
        let fit = &series.fits[it.noise];
        let mut innovations = fit.residuals(series.xs);
        let mut own = fit.residuals(&it.shape.levels(search.n));
        let length = dot(&own, &own).sqrt();
        own.iter_mut().for_each(|x| *x /= length);
        project_out(&[own], &mut innovations);
        clip(&mut innovations);
        let (family, _) = family(it.shape);
        Self { innovations, excess: series.excess, family, least: it.statistic - allowance }
    }
}

/// Clips values that are far from zero.
fn clip(xs: &mut [f64]) {
    const FAR: f64 = 3.0;
    let distances: Vec<f64> = xs.iter().map(|x| x.abs()).collect();
    let limit = FAR * 1.4826 * SortedSample::new(&distances).map_or(0.0, |it| it.median());
    if limit > 0.0 {
        xs.iter_mut().for_each(|x| *x = x.clamp(-limit, limit));
    }
}

/// The family of a movement, and what it must explain beyond a step. Drifts are a family of their own
/// because there are few: the largest of few is smaller than the largest of many.
fn family(shape: Shape) -> (usize, f64) {
    match shape {
        Shape::Step { .. } => (0, 0.0),
        Shape::Spell { .. } => (0, SPELL_PENALTY),
        Shape::Drift { .. } => (DRIFTS, DRIFT_PENALTY),
    }
}

/// The best shape that can be reached in small moves.
fn climb(
    start: Shape,
    n: usize,
    level_min: usize,
    others: &[Shape],
    gain: impl Fn(Shape) -> f64,
) -> Shape {
    let (mut best, mut most) = (start, gain(start));
    loop {
        let allowed = best.neighbours().filter(|shape| shape.is_allowed(n, level_min, others));
        let gains = allowed.map(|shape| (shape, gain(shape)));
        match gains.max_by(|one, other| one.1.total_cmp(&other.1)) {
            Some((shape, gain)) if gain > most * (1.0 + 1e-9) => (best, most) = (shape, gain),
            _ => return best,
        }
    }
}

/// Number of ways to choose the first `k` of `n`: as many orders differ in what stands there.
fn n_subsets(n: usize, k: usize) -> f64 {
    (0..k.min(n - k)).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}
