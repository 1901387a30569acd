//! Sizes of the movements, under the noise that fits best beside them.

use statrs::distribution::ContinuousCDF;

use super::fit::{basis_of, dot, project_out};
use super::noise::{NoiseModel, Whitener};
use super::search::Search;
use super::{Shape, Shift};
use crate::Interval;
use crate::invalid::Invalid;
use crate::two_sample::students_t;

/// The noise, and each movement with its size by generalised least squares.
///
/// A size comes from what its movement has of its own beside all others (Frisch & Waugh 1933). Of
/// the noises that fit nearly as well as the best one, it has the one with the widest interval: the
/// fit of the noise is uncertain too, and tends to leave too much to the movements.
pub(super) fn estimates(
    search: &Search,
    xs: &[f64],
    known: &[Shape],
    ps: &[f64],
) -> Result<(NoiseModel, Vec<Shift>), Invalid> {
    let plausible = search.plausible_noises(xs, known);
    let df = (xs.len() - known.len() - 1) as f64;
    let q = students_t(df)?.inverse_cdf(0.975);
    let size = |(index, (&shape, &p)): (usize, (&Shape, &f64))| {
        let others: Vec<Shape> = [&known[..index], &known[index + 1..]].concat();
        let under = |(whitener, rss): &(&Whitener, f64)| {
            let mut own = whitener.whiten(&shape.levels(xs.len()));
            project_out(&basis_of(whitener, &others, xs.len()), &mut own);
            let square = dot(&own, &own);
            (dot(&own, &whitener.whiten(xs)) / square, q * (rss / df / square).sqrt())
        };
        let sizes = plausible.iter().map(under);
        let widest = sizes.max_by(|one, other| one.1.total_cmp(&other.1));
        let (size, half) = widest.expect("the best noise is plausible");
        Shift { shape, p, size, interval: Interval { lo: size - half, hi: size + half } }
    };
    let mut shifts: Vec<Shift> = known.iter().zip(ps).enumerate().map(size).collect();
    shifts.sort_by_key(|shift| shift.shape.start());
    let (best, rss) = plausible[0];
    let session_sd = (rss / df).sqrt();
    let wander_sd = best.shape.wander.sqrt() * session_sd;
    Ok((NoiseModel { phi: best.shape.phi, wander_sd, session_sd }, shifts))
}
