//! Changes in the level of a history of results, on a machine that wanders.
//!
//! The model of session t is `y_t = mean + sum of movements + u_t + e_t`. A movement is a step, a
//! spell (the level comes back) or a drift. The wander `u` is an AR(1) process or a random walk, and
//! `e` is the error of a session. Without the wander, a machine with good and bad months would have
//! changed in each of them (Romano et al. 2022, JASA 117:2147, "Detecting abrupt changes in the
//! presence of local fluctuations and autocorrelated noise").
//!
//! The search has four steps:
//!
//! - It pulls single disturbed sessions towards their neighbours, by a running median of nine.
//! - For each of 39 shapes of noise it whitens the series and all movements with the Kalman filter.
//!   The statistic is the likelihood ratio of the best noise with the best further movement, and of
//!   the best noise without one. So a movement counts only if no wander explains it as well.
//! - The p-value comes from series that have only the movements known so far: the innovations are
//!   put in random orders, coloured again, and searched in the same way. The disturbances of single
//!   sessions are put back in random orders too.
//! - While `p <= alpha`, the movement is kept, and the search goes on for one more.

mod clean;
mod estimate;
mod fit;
mod noise;
mod search;
mod shape;

use crate::Interval;
use crate::invalid::{Invalid, between, finite};
use crate::sorted::binary_unit;
pub use estimate::smallest_visible;
pub use noise::NoiseModel;
use search::{Candidate, Search, Series};
pub use shape::Shape;

/// Options of [`find`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShiftOptions {
    /// Probability of a movement in a history without any.
    pub alpha: f64,
    /// Smallest number of sessions in a level, at least 2.
    pub level_min: usize,
    /// Number of random orders for a p-value.
    pub n_orders: usize,
    /// Seed of the random orders.
    pub seed: u64,
}

/// A movement of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Kind and place.
    pub shape: Shape,
    /// p-value of this movement beside those that were found before it.
    pub p: f64,
    /// Size in the unit of the series, by generalised least squares with all movements.
    pub size: f64,
    /// Interval of the size at 95 %, by Student's t. The place was chosen for its large size, so the
    /// interval leans a little away from zero.
    pub interval: Interval,
}

/// A history and its movements.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelHistory {
    /// p-value of "there is no movement at all"; 1 for a history that is too short to have one.
    pub p: f64,
    /// Movements by their first session. Empty if `p` is above alpha.
    pub shifts: Vec<Shift>,
    /// The movement that is nearest to significance, if none is significant.
    pub nearest: Option<Shift>,
    /// The noise between sessions.
    pub noise: NoiseModel,
}

/// Largest number of movements.
const SHIFTS_MAX: usize = 64;

/// Finds the movements of the level.
///
/// `xs` has one value for each session, oldest first, in any unit. With logarithms of times, sizes
/// are logarithms of ratios. No level begins or ends within `level_min` sessions of an end or of
/// another change, so one or two different values at an end are no change yet.
///
/// There is no movement in fewer than `2 level_min` values, nor where any order of the values is
/// so likely that `p` cannot reach alpha. The wander must be slow: sessions that alternate, or a
/// weekly rhythm, make the test conservative. A random walk whose steps are as large as the session
/// errors hides every change. Fails for NaN and infinity, and unless `0 < alpha < 1`.
///
/// ```
/// use stillwell_stats::level_shift::{Shape, ShiftOptions, find};
/// let xs: Vec<f64> = (0..40).map(|i| f64::from(i * 7 % 10) + if i < 25 { 0.0 } else { 20.0 }).collect();
/// let options = ShiftOptions { alpha: 0.01, level_min: 3, n_orders: 199, seed: 1 };
/// let [shift] = find(&xs, options).unwrap().shifts[..] else { panic!() };
/// assert_eq!(shift.shape, Shape::Step { at: 25 });
/// // R, independent noise: d <- as.numeric(1:40 > 25); coef(lm(xs ~ d))["d"] = 20.06667
/// assert!((shift.size - 20.06667).abs() < 0.3);
/// ```
pub fn find(xs: &[f64], options: ShiftOptions) -> Result<LevelHistory, Invalid> {
    if !xs.is_empty() {
        finite(xs)?;
    }
    between("alpha", options.alpha, 0.0, 1.0)?;
    let (xs, unit) = squarable(xs);
    let Some((search, xs, excess)) = prepare(&xs, options) else {
        let noise = NoiseModel { phi: 0.0, wander_sd: 0.0, session_sd: 0.0 };
        return Ok(LevelHistory { p: 1.0, shifts: Vec::new(), nearest: None, noise });
    };
    let (first, mut known, mut ps) = collect(&search, &xs, &excess, options);
    let mut p = first.map_or(1.0, |(_, p)| p);
    prune(&search, &xs, &excess, options, &mut known, &mut ps);
    search.join_steps(&xs, &mut known, &mut ps);
    p = ps.iter().copied().fold(p, f64::min);
    let (noise, mut shifts) = estimate::estimates(&search, &xs, &known, &ps)?;
    let noise = NoiseModel {
        wander_sd: unit * noise.wander_sd,
        session_sd: unit * noise.session_sd,
        ..noise
    };
    let in_unit = |Shift { size, interval, .. }: &mut Shift| {
        *size *= unit;
        *interval = Interval { lo: unit * interval.lo, hi: unit * interval.hi };
    };
    let mut nearest = match first.filter(|_| shifts.is_empty()) {
        Some((shape, p)) => estimate::estimates(&search, &xs, &[shape], &[p])?.1.pop(),
        None => None,
    };
    shifts.iter_mut().chain(&mut nearest).for_each(in_unit);
    Ok(LevelHistory { p, shifts, nearest, noise })
}

/// The series in a unit in which its squares neither overflow nor vanish, and that unit.
fn squarable(xs: &[f64]) -> (Vec<f64>, f64) {
    let largest = binary_unit(xs);
    let unit = if (1e-100..1e100).contains(&largest) { 1.0 } else { largest };
    (xs.iter().map(|x| x / unit).collect(), unit)
}

/// The first movement with its p-value, and all movements with their p-values. Where there are many, the
/// wander explains each one nearly as well as long as the others are not known. So the search goes on
/// beside a likely one with `p > alpha` as well, and the last movements have `p <= alpha`.
fn collect(
    search: &Search,
    xs: &[f64],
    excess: &[f64],
    options: ShiftOptions,
) -> (Option<(Shape, f64)>, Vec<Shape>, Vec<f64>) {
    let (mut known, mut ps): (Vec<Shape>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut first = None;
    while known.len() < SHIFTS_MAX {
        let fits = search.fits(&known);
        let series = Series { xs, excess, fits: &fits };
        let options = ShiftOptions { seed: options.seed ^ (known.len() as u64) << 40, ..options };
        let Some((candidate, p)) = next(search, &series, options) else { break };
        if known.is_empty() {
            first = Some((candidate.shape, p));
        }
        if p > options.alpha && !candidate.is_likely() {
            break;
        }
        known.push(candidate.shape);
        ps.push(p);
        search.refine(xs, candidate.noise, &mut known);
        let is_drift = matches!(candidate.shape, Shape::Drift { .. });
        if is_drift && search.p_any(&series, &candidate, options) <= options.alpha {
            search.divide_drift(xs, &mut known, &mut ps);
        }
    }
    while ps.last().is_some_and(|&p| p > options.alpha) {
        known.pop();
        ps.pop();
    }
    (first, known, ps)
}

/// Tests the movements with `p > alpha` again, now that all others are known. Drops those that are
/// not significant.
fn prune(
    search: &Search,
    xs: &[f64],
    excess: &[f64],
    options: ShiftOptions,
    known: &mut Vec<Shape>,
    ps: &mut Vec<f64>,
) {
    let mut index = 0;
    while index < known.len() {
        if ps[index] > options.alpha {
            let others = [&known[..index], &known[index + 1..]].concat();
            let fits = search.fits(&others);
            let series = Series { xs, excess, fits: &fits };
            ps[index] =
                search.best(&fits, xs)[0].map_or(1.0, |it| search.p_any(&series, &it, options));
        }
        if ps[index] <= options.alpha {
            index += 1;
        } else {
            known.remove(index);
            ps.remove(index);
        }
    }
}

/// p-value of [`LevelHistory`] alone, with another `n_orders`. One in 200 is not a small p-value
/// among many histories.
pub fn p_of_no_shift(xs: &[f64], options: ShiftOptions) -> Result<f64, Invalid> {
    finite(xs)?;
    let Some((search, xs, excess)) = prepare(&squarable(xs).0, options) else { return Ok(1.0) };
    let series = Series { xs: &xs, excess: &excess, fits: &search.fits(&[]) };
    Ok(next(&search, &series, options).map_or(1.0, |(_, p)| p))
}

/// The best further movement and its p-value. A drift is asked for only if no step or spell is
/// significant; as a second chance, its p-value is doubled. A random walk that has gone far has
/// drifted, too.
fn next(search: &Search, series: &Series<'_>, options: ShiftOptions) -> Option<(Candidate, f64)> {
    let [sudden, drift] = search.best(series.fits, series.xs);
    let sudden = sudden.map(|it| (it, search.p_any(series, &it, options)));
    let is_found = sudden.is_some_and(|(_, p)| p <= options.alpha);
    let p_drift = |it: &Candidate| (2.0 * search.p_fitted(series, it, options)).min(1.0);
    let drift = drift.filter(|_| !is_found).map(|it| (it, p_drift(&it)));
    [sudden, drift].into_iter().flatten().min_by(|one, other| one.1.total_cmp(&other.1))
}

/// The search, the values without disturbed sessions, and the disturbances.
fn prepare(xs: &[f64], options: ShiftOptions) -> Option<(Search, Vec<f64>, Vec<f64>)> {
    let level_min = options.level_min.max(2);
    let cleaned = clean::clean(xs);
    let excess = xs.iter().zip(&cleaned).map(|(x, clean)| x - clean).collect();
    (xs.len() >= 2 * level_min).then(|| (Search::new(xs.len(), level_min), cleaned, excess))
}

#[cfg(test)]
mod tests;
