//! Where two distributions differ: decile by decile, and as a whole, with chances from the coins.

use crate::interval::Interval;
use crate::invalid::{Invalid, between};
use crate::relabel::{Orbit, Pairs, order_quantile};
use crate::sorted::{Sorted, harrell_davis_weights};
use crate::two_sample;

/// Deciles 0.1 to 0.9.
pub const DECILES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// Difference `y - x` of the Harrell-Davis deciles, in the unit of the samples.
///
/// Doksum (1974), with the quantiles of Wilcox (1995). Cannot fail: a [`Sorted`] is never empty.
///
/// ```
/// let x = stats::Sorted::new(&[3.0, 1.0, 2.0]).unwrap();
/// let y = stats::Sorted::new(&[6.0, 4.0, 5.0]).unwrap();
/// assert!(stats::shift::shift_function(&x, &y).iter().all(|s| (s - 3.0).abs() < 1e-12));
/// ```
pub fn shift_function(x: &Sorted, y: &Sorted) -> [f64; 9] {
    let deciles = |sorted: &Sorted| {
        DECILES.map(|p| sorted.harrell_davis(p).expect("every decile is inside (0, 1)"))
    };
    let (of_x, of_y) = (deciles(x), deciles(y));
    std::array::from_fn(|i| of_y[i] - of_x[i])
}

/// Shift function of paired log times, new - reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Log ratio at each of [`DECILES`].
    pub log_ratio: [f64; 9],
    /// Intervals that hold all at once.
    pub band: [Interval; 9],
}

/// Shift function of `pairs` with a simultaneous band at level `1 - alpha`.
///
/// With the new arm re-centred by the log ratio `theta` (the typical one), re-labelling gives the
/// scatter of each decile; the band is the shift plus and minus `c q_i`, where `q_i` is the 90 %
/// quantile of decile i and `c` the `1 - alpha` quantile of the largest `|shift_i| / q_i`. Fails if
/// `orbit` is for another number of pairs, `theta` is not finite, and unless `0 < alpha < 1`.
///
/// ```
/// use stats::{relabel::{Orbit, Pairs}, shift::shift};
/// let pairs = Pairs::new(
///     &[1543922., 1550878., 1582494., 1592809., 1846639., 1527248., 1589950., 1548132.],
///     &[1606561., 1615766., 1522427., 1550528., 1551028., 1750235., 1511075., 1674472.],
///     &[false, false, true, true, true, false, true, false],
/// ).unwrap();
/// let orbit = Orbit::new(8, 999, 7).unwrap();
/// let found = shift(&pairs, &orbit, 0.05, 0.05).unwrap();
/// assert!(found.band.iter().zip(found.log_ratio).all(|(band, at)| band.contains(at)));
/// ```
pub fn shift(pairs: &Pairs, orbit: &Orbit, theta: f64, alpha: f64) -> Result<Shift, Invalid> {
    between("alpha", alpha, 0.0, 1.0)?;
    let mut weights = Vec::new();
    for p in DECILES {
        weights.push(harrell_davis_weights(pairs.len(), p)?);
    }
    let mut rows = Vec::new();
    pairs.for_each_labelling(orbit, theta, |old, new| {
        let at = |weights: &Vec<f64>| -> f64 {
            let gaps = new.as_slice().iter().zip(old.as_slice()).map(|(y, x)| y - x);
            weights.iter().zip(gaps).map(|(w, gap)| w * gap).sum()
        };
        rows.push(std::array::from_fn::<f64, 9, _>(|i| at(&weights[i])));
    })?;
    let scatter: [f64; 9] = std::array::from_fn(|i| {
        order_quantile(&mut rows.iter().map(|row| row[i].abs()).collect::<Vec<_>>(), 0.9)
    });
    let largest = |row: &[f64; 9]| {
        let ratios = row.iter().zip(scatter).filter(|(_, q)| *q > 0.0).map(|(s, q)| s.abs() / q);
        ratios.fold(0.0, f64::max)
    };
    let factor = order_quantile(&mut rows.iter().map(largest).collect::<Vec<_>>(), 1.0 - alpha);
    let log_ratio = rows[0].map(|centered| centered + theta);
    let band = std::array::from_fn(|i| Interval {
        lo: log_ratio[i] - factor * scatter[i],
        hi: log_ratio[i] + factor * scatter[i],
    });
    Ok(Shift { log_ratio, band })
}

/// A distance between the two arms of a comparison, with its chance under the coins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// The distance; see the function that made it.
    pub value: f64,
    /// Share of re-labellings with a distance at least as large.
    pub p: f64,
}

/// Kolmogorov-Smirnov distance of the arms of `pairs`, in `[0, 1]`, p by re-labelling.
///
/// Valid on noise that [`two_sample::kolmogorov_smirnov`] is not made for. With the new arm
/// lowered by `theta`: 0 asks for any difference, the typical log ratio for one of shape. Fails as
/// [`Pairs::test`].
///
/// ```
/// use stats::{relabel::{Orbit, Pairs}, shift::kolmogorov_smirnov};
/// let pairs = Pairs::new(&[1.0; 4], &[2.0; 4], &[true; 4]).unwrap();
/// let found = kolmogorov_smirnov(&pairs, &Orbit::new(4, 99, 1).unwrap(), 0.0).unwrap();
/// assert_eq!((found.value, found.p), (1.0, 0.125)); // 2 of 16 labellings
/// ```
pub fn kolmogorov_smirnov(pairs: &Pairs, orbit: &Orbit, theta: f64) -> Result<Distance, Invalid> {
    let widest = (pairs.len() * pairs.len()) as f64;
    distance(pairs, orbit, theta, |old, new| two_sample::widest_distance(old, new) as f64 / widest)
}

/// Anderson-Darling distance of the arms of `pairs`, p by re-labelling; its value is that of
/// [`two_sample::anderson_darling`].
///
/// More sensitive in the tails than [`kolmogorov_smirnov`]; `theta` and failures as there, and
/// below 2 pairs and for equal times only.
///
/// ```
/// use stats::{relabel::{Orbit, Pairs}, shift::anderson_darling};
/// let pairs = Pairs::new(&[1.0; 4], &[2.0; 4], &[true; 4]).unwrap();
/// let found = anderson_darling(&pairs, &Orbit::new(4, 99, 1).unwrap(), 0.0).unwrap();
/// assert_eq!(found.p, 0.125); // 2 of 16 labellings
/// ```
pub fn anderson_darling(pairs: &Pairs, orbit: &Orbit, theta: f64) -> Result<Distance, Invalid> {
    // Whether it exists depends on the pooled times, the same under every labelling.
    let found = distance(pairs, orbit, theta, |old, new| {
        two_sample::anderson_darling(old, new).unwrap_or(f64::NAN)
    })?;
    if found.value.is_nan() { Err(Invalid::NoSpread) } else { Ok(found) }
}

/// Log times that differ by less were equal before `theta` was taken off: 1e-12 of a time.
const TIE: f64 = 1e-12;

/// Without this, a new arm of exactly `exp(theta)` times each reference would be told from it by the
/// rounding of its logarithms, and always on the same side.
fn with_ties(logs: &Sorted) -> Sorted {
    let rounded: Vec<f64> = logs.as_slice().iter().map(|x| (x / TIE).round() * TIE).collect();
    Sorted::new(&rounded).expect("as many numbers, and as finite")
}

fn distance(
    pairs: &Pairs,
    orbit: &Orbit,
    theta: f64,
    between: impl Fn(&Sorted, &Sorted) -> f64,
) -> Result<Distance, Invalid> {
    let mut values = Vec::with_capacity(orbit.len());
    pairs.for_each_labelling(orbit, theta, |old, new| {
        values.push(between(&with_ties(old), &with_ties(new)));
    })?;
    // The same distance summed in another order may differ in its last bits.
    let bound = values[0] - 1e-12 * values[0].abs();
    let as_large = values.iter().filter(|&&value| value >= bound).count();
    Ok(Distance { value: values[0], p: as_large as f64 / values.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;
    use crate::relabel::Estimand;

    #[test]
    fn one_ratio_at_all_speeds_is_no_difference_of_shape() {
        let old: Vec<f64> = [10.0, 11.0, 12.0, 10.5].repeat(6);
        let new: Vec<f64> = old.iter().map(|x| x * 1.1).collect();
        let coins = Stream::new(4).bits(24);
        let slot = |first: bool| -> Vec<f64> {
            (0..24).map(|j| if coins[j] == first { new[j] } else { old[j] }).collect()
        };
        let pairs = Pairs::new(&slot(true), &slot(false), &coins).unwrap();
        let orbit = Orbit::new(24, 999, 7).unwrap();
        let theta = pairs.test(&orbit, Estimand::Typical, 0.0).unwrap().selected.t;
        let shape = kolmogorov_smirnov(&pairs, &orbit, theta).unwrap();
        assert_eq!((shape.value, shape.p), (0.0, 1.0));
        assert!(anderson_darling(&pairs, &orbit, theta).unwrap().p > 0.5);
        assert!(kolmogorov_smirnov(&pairs, &orbit, 0.0).unwrap().p < 0.01);
    }
}
