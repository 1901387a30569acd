//! Sizes of the movements, under the noise that fits best beside them.

use statrs::distribution::ContinuousCDF;

use super::fit::{basis_of, dot, project_out};
use super::noise::{NoiseModel, Whitener};
use super::search::Search;
use super::{Shape, Shift, ShiftOptions, find};
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

/// Histories with more values than this are not searched again and again: it takes some ten searches.
const VALUES_MAX: usize = 120;
/// The largest step that is looked for ÷ the movement.
const SIZE_MAX: f64 = 32.0;
/// The smallest one ÷ the movement.
const SIZE_MIN: f64 = 1.0 / 64.0;
/// Relative precision of the smallest step.
const PRECISION: f64 = 1.06;
/// Tolerance in values: noise moves the place of a step a little.
const NEAR: usize = 2;

/// The smallest step that a history would have shown at the place of `nearest`, the movement that is nearest to
/// significance; in the unit of the values. `None` for a history of more than 120 values, or if a step of 32 times the
/// movement would not have been found. The step is planted into the history itself, and the search is repeated.
///
/// The sizes fall until one is not found. A step may hide beside another movement of its size, and a smaller one not.
pub fn smallest_visible(
    xs: &[f64],
    nearest: &Shift,
    options: ShiftOptions,
) -> Result<Option<f64>, Invalid> {
    let n = xs.len();
    if n > VALUES_MAX || n < 2 * options.level_min {
        return Ok(None);
    }
    let levels = nearest.shape.levels(n);
    let quiet: Vec<f64> = xs.iter().zip(&levels).map(|(x, on)| x - nearest.size * on).collect();
    let at = nearest.shape.start().clamp(options.level_min, n - options.level_min);
    // The history may have other movements. Only one at this place is the step.
    let is_here = |shift: &Shift| shift.shape.jumps().any(|jump| jump.abs_diff(at) <= NEAR);
    let is_found = |size: f64| {
        let mut planted = quiet.clone();
        planted[at..].iter_mut().for_each(|x| *x += size.copysign(nearest.size));
        Ok::<_, Invalid>(find(&planted, options)?.shifts.iter().any(is_here))
    };
    let size = nearest.size.abs();
    let (mut lo, mut smallest) = (SIZE_MAX * size, None);
    while lo > SIZE_MIN * size && is_found(lo)? {
        smallest = Some(lo);
        lo /= 2.0;
    }
    while let Some(found) = smallest.filter(|found| lo > SIZE_MIN * size && found / lo > PRECISION)
    {
        let middle = (lo * found).sqrt();
        if is_found(middle)? { smallest = Some(middle) } else { lo = middle }
    }
    Ok(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: ShiftOptions =
        ShiftOptions { alpha: 0.01, level_min: 3, n_orders: 199, seed: 1 };

    /// Values that scatter by some 3.
    fn scatter(i: usize) -> f64 {
        ((i * 7 + i * i * 3) % 11) as f64
    }

    /// A step of 6 after the tenth of 16 values.
    fn history() -> Vec<f64> {
        (0..16).map(|i| scatter(i) + if i < 10 { 0.0 } else { 6.0 }).collect()
    }

    #[test]
    fn what_is_promised_is_kept() {
        let xs = history();
        let found = find(&xs, OPTIONS).unwrap();
        assert!(found.shifts.is_empty() && found.p > OPTIONS.alpha, "{found:?}");
        let nearest = found.nearest.unwrap();
        let smallest = smallest_visible(&xs, &nearest, OPTIONS).unwrap().unwrap();
        assert!(smallest > nearest.size.abs(), "{smallest} {nearest:?}");
        // A step of this size is found, and one of two thirds is not.
        let with = |size: f64| -> Vec<f64> {
            let levels = nearest.shape.levels(xs.len());
            let more = (size - nearest.size.abs()) * nearest.size.signum();
            xs.iter().zip(levels).map(|(x, on)| x + more * on).collect()
        };
        assert_eq!(find(&with(smallest), OPTIONS).unwrap().shifts.len(), 1);
        assert_eq!(find(&with(0.66 * smallest), OPTIONS).unwrap().shifts.len(), 0);
    }

    /// Without the nearest movement, the other one is found, whatever is planted.
    #[test]
    fn another_movement_is_not_the_planted_step() {
        let level = |i: usize| if (8..25).contains(&i) { -100.0 } else { 0.0 };
        let xs: Vec<f64> = (0..28).map(|i| scatter(i) + level(i)).collect();
        let found = find(&xs, OPTIONS).unwrap();
        assert!(found.shifts.is_empty(), "{found:?}");
        let nearest = found.nearest.unwrap();
        let smallest = smallest_visible(&xs, &nearest, OPTIONS).unwrap().unwrap();
        // The movement itself was not found.
        assert!(smallest > nearest.size.abs() && smallest < 120.0, "{smallest} {nearest:?}");
    }

    #[test]
    fn a_long_history_has_none() {
        let xs: Vec<f64> = history().into_iter().cycle().take(160).collect();
        let nearest = find(&history(), OPTIONS).unwrap().nearest.unwrap();
        assert_eq!(smallest_visible(&xs, &nearest, OPTIONS), Ok(None));
    }
}
