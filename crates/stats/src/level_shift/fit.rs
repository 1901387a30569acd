//! A series with known movements, under one shape of noise: what does one more movement explain?

use super::noise::Whitener;
use super::shape::{Shape, drifts, spell_lengths};

/// Smallest share of a movement's squared norm that the known movements may leave.
const DISTINCT_MIN: f64 = 1e-6;

/// The parts of the search that do not depend on the values: the whitened known movements, and the
/// norm of each candidate after they are projected out.
pub(super) struct Fit<'a> {
    pub(super) whitener: &'a Whitener,
    /// Orthonormal basis of the whitened mean and known movements.
    basis: Vec<Vec<f64>>,
    /// 1 ÷ squared norm of each step; 0 where none may be.
    steps: Vec<f64>,
    /// For spells of each length, by their first session.
    spells: Vec<(usize, Vec<f64>)>,
    drifts: Vec<(Shape, f64)>,
}

/// A movement, and what it takes from the sum of squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    pub(super) shape: Shape,
    pub(super) gain: f64,
}

/// The residuals of a series, and the best movement of each kind.
pub(super) struct Scan {
    /// Sum of squares without another movement.
    pub(super) rss: f64,
    pub(super) best: [Option<Gain>; 3],
}

impl<'a> Fit<'a> {
    pub(super) fn new(whitener: &'a Whitener, known: &[Shape], n: usize, level_min: usize) -> Self {
        let basis = basis_of(whitener, known, n);
        let is_place = places(known, n, level_min);
        let products: Vec<Vec<f64>> = basis.iter().map(|q| whitener.step_products(q)).collect();
        let norms = whitener.step_norms();
        let squares = norms.squares();
        let inverse = |square: f64, projected: f64| {
            let rest = square - projected;
            if rest > DISTINCT_MIN * square { rest.recip() } else { 0.0 }
        };
        let step = |at: usize| {
            let projected: f64 = products.iter().map(|q| q[at] * q[at]).sum();
            if is_place[at] { inverse(squares[at], projected) } else { 0.0 }
        };
        let mut innovations = norms.at_once();
        let mut lag = 0;
        let mut spells = Vec::new();
        for length in spell_lengths(n) {
            while lag < length {
                norms.advance(&mut innovations, lag);
                lag += 1;
            }
            let spell = |from: usize| {
                let to = from + length;
                let square =
                    squares[from] + squares[to] - 2.0 * norms.product(to, innovations[from]);
                let projected: f64 = products.iter().map(|q| (q[from] - q[to]).powi(2)).sum();
                if is_place[from] && is_place[to] { inverse(square, projected) } else { 0.0 }
            };
            spells.push((length, (0..n - length).map(spell).collect()));
        }
        let drift = |shape: Shape| {
            let whitened = whitener.whiten(&shape.levels(n));
            let projected: f64 = basis.iter().map(|q| dot(q, &whitened).powi(2)).sum();
            (shape, inverse(dot(&whitened, &whitened), projected))
        };
        let drifts = drifts(n).into_iter().map(drift).collect();
        Self { steps: (0..n).map(step).collect(), basis, spells, drifts, whitener }
    }

    /// Whitened values without the known movements.
    pub(super) fn residuals(&self, xs: &[f64]) -> Vec<f64> {
        let mut whitened = self.whitener.whiten(xs);
        project_out(&self.basis, &mut whitened);
        whitened
    }

    /// The gain of each further movement.
    pub(super) fn scan(&self, xs: &[f64]) -> Scan {
        let residuals = self.residuals(xs);
        let products = self.whitener.step_products(&residuals);
        let gain = |product: f64, inverse: f64| product * product * inverse;
        let mut step = (0.0, 0);
        for (at, (product, inverse)) in products.iter().zip(&self.steps).enumerate() {
            let gain = gain(*product, *inverse);
            if gain > step.0 {
                step = (gain, at);
            }
        }
        let mut spell = (0.0, 0, 0);
        for (length, inverses) in &self.spells {
            let pairs = products.iter().zip(&products[*length..]).zip(inverses);
            for (from, ((start, end), inverse)) in pairs.enumerate() {
                let gain = gain(start - end, *inverse);
                if gain > spell.0 {
                    spell = (gain, from, from + length);
                }
            }
        }
        let sums: Vec<f64> = sums(&products);
        let mut drift: Option<Gain> = None;
        for (shape, inverse) in &self.drifts {
            let Shape::Drift { from, to } = *shape else { continue };
            let gain = gain((sums[to] - sums[from]) / (to - from) as f64, *inverse);
            if drift.is_none_or(|best| gain > best.gain) {
                drift = Some(Gain { shape: *shape, gain });
            }
        }
        let step =
            (step.0 > 0.0).then_some(Gain { shape: Shape::Step { at: step.1 }, gain: step.0 });
        let spell = (spell.0 > 0.0)
            .then_some(Gain { shape: Shape::Spell { from: spell.1, to: spell.2 }, gain: spell.0 });
        Scan { rss: dot(&residuals, &residuals), best: [step, spell, drift] }
    }
}

/// The sessions at which a level may begin: `level_min` from the ends and from other jumps.
fn places(known: &[Shape], n: usize, level_min: usize) -> Vec<bool> {
    let mut is_place = vec![false; n + 1];
    if n >= 2 * level_min {
        is_place[level_min..=n - level_min].fill(true);
    }
    for jump in known.iter().flat_map(|shape| shape.jumps()) {
        let (start, end) = ((jump + 1).saturating_sub(level_min), (jump + level_min).min(n));
        is_place[start..end].fill(false);
    }
    is_place
}

/// Prefix sums, beginning with 0.
fn sums(xs: &[f64]) -> Vec<f64> {
    let running = xs.iter().scan(0.0, |sum, x| {
        *sum += x;
        Some(*sum)
    });
    std::iter::once(0.0).chain(running).collect()
}

pub(super) fn dot(xs: &[f64], ys: &[f64]) -> f64 {
    xs.iter().zip(ys).map(|(x, y)| x * y).sum()
}

pub(super) fn project_out(basis: &[Vec<f64>], xs: &mut [f64]) {
    for q in basis {
        let product = dot(q, xs);
        xs.iter_mut().zip(q).for_each(|(x, q)| *x -= product * q);
    }
}

/// Orthonormal basis of the whitened mean and known movements.
pub(super) fn basis_of(whitener: &Whitener, known: &[Shape], n: usize) -> Vec<Vec<f64>> {
    let mut basis = Vec::with_capacity(known.len() + 1);
    for levels in std::iter::once(vec![1.0; n]).chain(known.iter().map(|it| it.levels(n))) {
        extend(&mut basis, whitener.whiten(&levels));
    }
    basis
}

/// Adds a direction to an orthonormal basis, unless it is not new.
fn extend(basis: &mut Vec<Vec<f64>>, mut direction: Vec<f64>) {
    let square = dot(&direction, &direction);
    // Twice, because once loses digits (Giraud et al. 2005, "twice is enough").
    project_out(basis, &mut direction);
    project_out(basis, &mut direction);
    let rest = dot(&direction, &direction);
    if rest <= DISTINCT_MIN * square {
        return;
    }
    let length = rest.sqrt();
    direction.iter_mut().for_each(|x| *x /= length);
    basis.push(direction);
}
