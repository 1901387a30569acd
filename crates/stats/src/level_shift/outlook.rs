//! The change that a history without one could have shown, and the values that would decide.

use super::{Shift, ShiftOptions, p_of_no_shift};
use crate::invalid::Invalid;

/// Histories with more values than this have no outlook: it takes some thirty searches.
const VALUES_MAX: usize = 120;
/// More values than this are not promised.
const MORE_MAX: usize = 64;
/// A step this many times as large as the movement is not looked for.
const SIZE_MAX: f64 = 32.0;
/// Relative precision of the smallest step.
const PRECISION: f64 = 1.06;

/// The change that a history without one could have shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// Further values after which the movement would be significant, if they scatter around its last level like those
    /// there are; `None` if more than 64 are needed.
    pub n_more: Option<usize>,
    /// The smallest step, at the place of the movement, that these values would have shown; in their unit. `None` if no
    /// step of up to 32 times the movement would have been found.
    pub smallest: Option<f64>,
}

/// The outlook of a history in which `nearest` is the movement that is nearest to significance. `None` for a history of
/// more than 120 values. The step is planted into the history itself, and the search is repeated.
pub fn outlook(
    xs: &[f64],
    nearest: &Shift,
    options: ShiftOptions,
) -> Result<Option<Outlook>, Invalid> {
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
    let longer = |n_more: usize| -> Vec<f64> {
        let last = nearest.size * levels[n - 1];
        let more = quiet.iter().cycle().take(n_more).map(|x| x + last);
        xs.iter().copied().chain(more).collect()
    };
    let mut n_more = None;
    let (mut too_few, mut n) = (0, 1);
    while n_more.is_none() && n <= MORE_MAX {
        if is_found(&longer(n))? { n_more = Some(n) } else { (too_few, n) = (n, 2 * n) }
    }
    while let Some(found) = n_more.filter(|found| *found > too_few + 1) {
        let middle = too_few.midpoint(found);
        if is_found(&longer(middle))? { n_more = Some(middle) } else { too_few = middle }
    }
    Ok(Some(Outlook { n_more, smallest: smallest.map(f64::abs) }))
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
        let outlook = outlook(&xs, &nearest, OPTIONS).unwrap().unwrap();
        let smallest = outlook.smallest.unwrap();
        assert!(smallest > nearest.size.abs(), "{outlook:?} {nearest:?}");
        // A step of this size is found, and one of two thirds is not.
        let with = |size: f64| -> Vec<f64> {
            let levels = nearest.shape.levels(xs.len());
            let more = (size - nearest.size.abs()) * nearest.size.signum();
            xs.iter().zip(levels).map(|(x, on)| x + more * on).collect()
        };
        assert_eq!(find(&with(smallest), OPTIONS).unwrap().shifts.len(), 1);
        assert_eq!(find(&with(0.66 * smallest), OPTIONS).unwrap().shifts.len(), 0);
        assert!(outlook.n_more.is_some_and(|n| n > 0), "{outlook:?}");
    }

    #[test]
    fn a_long_history_has_none() {
        let xs: Vec<f64> = history().into_iter().cycle().take(160).collect();
        let nearest = find(&history(), OPTIONS).unwrap().nearest.unwrap();
        assert_eq!(outlook(&xs, &nearest, OPTIONS), Ok(None));
    }
}
