//! The change that a history without one could have shown.

use super::{Shift, ShiftOptions, p_of_no_shift};
use crate::invalid::Invalid;

/// Histories with more values than this are not searched again and again: it takes some twenty searches.
const VALUES_MAX: usize = 120;
/// A step this many times as large as the movement is not looked for.
const SIZE_MAX: f64 = 32.0;
/// Relative precision of the smallest step.
const PRECISION: f64 = 1.06;

/// The smallest step that a history would have shown at the place of `nearest`, the movement that is nearest to
/// significance; in the unit of the values. `None` for a history of more than 120 values, or if no step of up to 32 times
/// the movement would have been found. The step is planted into the history itself, and the search is repeated.
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
    let is_found = |xs: &[f64]| Ok::<_, Invalid>(p_of_no_shift(xs, options)? <= options.alpha);
    let planted = |size: f64| -> Vec<f64> {
        quiet.iter().enumerate().map(|(i, x)| if i >= at { x + size } else { *x }).collect()
    };
    let mut smallest = None;
    let (mut lo, mut hi) = (0.0, nearest.size / 2.0);
    while smallest.is_none() && hi != 0.0 && hi.abs() <= SIZE_MAX * nearest.size.abs() {
        if is_found(&planted(hi))? {
            smallest = Some(hi);
        } else {
            (lo, hi) = (hi, 2.0 * hi);
        }
    }
    while let Some(found) = smallest.filter(|found| *found / lo > PRECISION) {
        let middle = if lo == 0.0 { found / 2.0 } else { (lo * found).sqrt() };
        if lo == 0.0 && middle.abs() < nearest.size.abs() / 64.0 {
            break;
        }
        if is_found(&planted(middle))? { smallest = Some(middle) } else { lo = middle }
    }
    Ok(smallest.map(f64::abs))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;

    const OPTIONS: ShiftOptions =
        ShiftOptions { alpha: 0.01, level_min: 3, n_orders: 199, seed: 1 };

    /// Values that scatter by some 3, with a step of 6 after the tenth of 16.
    fn history() -> Vec<f64> {
        let scatter = |i: usize| ((i * 7 + i * i * 3) % 11) as f64;
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

    #[test]
    fn a_long_history_has_none() {
        let xs: Vec<f64> = history().into_iter().cycle().take(160).collect();
        let nearest = find(&history(), OPTIONS).unwrap().nearest.unwrap();
        assert_eq!(smallest_visible(&xs, &nearest, OPTIONS), Ok(None));
    }
}
