//! Shift function and distances of two distributions. The p-values come from the coins.

use crate::interval::Interval;
use crate::invalid::{Invalid, between};
use crate::relabel::{Orbit, Pairs, Statistic, order_quantile};
use crate::sorted::{SortedSample, harrell_davis_weights};
use crate::two_sample;

/// Deciles 0.1 to 0.9.
pub const DECILES: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// Shift function of two samples: the difference `y - x` of the Harrell-Davis deciles, in their
/// unit.
///
/// Doksum (1974), with the quantiles of Wilcox (1995). It cannot fail, because a [`SortedSample`]
/// is never empty.
///
/// ```
/// let x = stillwell_stats::SortedSample::new(&[3.0, 1.0, 2.0]).unwrap();
/// let y = stillwell_stats::SortedSample::new(&[6.0, 4.0, 5.0]).unwrap();
/// assert!(stillwell_stats::shift::shift_function(&x, &y).iter().all(|s| (s - 3.0).abs() < 1e-12));
/// ```
pub fn shift_function(x: &SortedSample, y: &SortedSample) -> [f64; 9] {
    let deciles = |sorted: &SortedSample| {
        DECILES.map(|p| sorted.harrell_davis(p).expect("every decile is inside (0, 1)"))
    };
    let (of_x, of_y) = (deciles(x), deciles(y));
    std::array::from_fn(|i| of_y[i] - of_x[i])
}

/// Shift function of paired log times, new - reference, with its band.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// Log ratio at each of [`DECILES`].
    pub log_ratio: [f64; 9],
    /// Simultaneous intervals, one for each decile.
    pub band: [Interval; 9],
}

/// Shift function of `pairs` with a simultaneous band at level `1 - alpha`.
///
/// Re-labelling gives the scatter of each decile, with the new arm lowered by `theta`. `q_i` is the
/// 90 % quantile of the size of decile i, and `c` is the `1 - alpha` quantile of the largest
/// `|shift_i| / q_i`. The band of decile i is the union of two intervals:
///
/// - its shift plus and minus `c q_i`, at the typical log ratio,
/// - the range of every `theta` at which no decile's shift exceeds its own `c q_i`: the ratios that
///   all deciles could have in common.
///
/// If the arms differ by one ratio at all speeds, at least `1 - alpha` of experiments have that
/// ratio in all nine bands, whatever the noise. The first interval alone would not achieve this:
/// the arms look more alike at the estimated ratio than at the true one, and with 12 pairs the
/// bands would miss four times as often as stated.
///
/// The function searches common ratios at a dozen places, with straight lines between them. Below
/// [`crate::verdict::minimum_pairs`] the bands are infinite. Fails if `orbit` is for another number
/// of pairs, and unless `0 < alpha < 1`.
///
/// ```
/// use stillwell_stats::{relabel::{Orbit, Pairs}, shift::shift};
/// let pairs = Pairs::new(
///     &[1543922., 1550878., 1582494., 1592809., 1846639., 1527248., 1589950., 1548132.],
///     &[1606561., 1615766., 1522427., 1550528., 1551028., 1750235., 1511075., 1674472.],
///     &[false, false, true, true, true, false, true, false],
/// ).unwrap();
/// let orbit = Orbit::new(8, 999, 7).unwrap();
/// let found = shift(&pairs, &orbit, 0.05).unwrap();
/// assert!(found.band.iter().zip(found.log_ratio).all(|(band, at)| band.contains(at)));
/// ```
pub fn shift(pairs: &Pairs, orbit: &Orbit, alpha: f64) -> Result<Shift, Invalid> {
    between("alpha", alpha, 0.0, 1.0)?;
    let mut weights = Vec::new();
    for p in DECILES {
        weights.push(harrell_davis_weights(pairs.len(), p)?);
    }
    let at = |theta: f64| CandidateRatio::at(pairs, orbit, theta, alpha, &weights);
    let start = at(pairs.test(orbit, &[Statistic::Typical], 0.0)?.selected.t)?;
    let common = common(&start, &at)?;
    let band = std::array::from_fn(|i| {
        let (shift, reach) = (start.shift(i), start.reach[i]);
        let own = Interval { lo: shift - reach, hi: shift + reach };
        let to = common.unwrap_or(own);
        Interval { lo: own.lo.min(to.lo), hi: own.hi.max(to.hi) }
    });
    let too_few = (orbit.len() as f64) * alpha < 2.0;
    let band = if too_few { [Interval::ALL; 9] } else { band };
    Ok(Shift { log_ratio: std::array::from_fn(|i| start.shift(i)), band })
}

/// Candidates for a common ratio, besides the estimate and no difference.
const N_CANDIDATES: usize = 9;

/// The log ratios that no decile rejects, from the smallest to the largest candidate.
fn common(
    start: &CandidateRatio,
    at: &impl Fn(f64) -> Result<CandidateRatio, Invalid>,
) -> Result<Option<Interval>, Invalid> {
    let ends =
        |sign: f64| start.reach.iter().enumerate().map(move |(i, r)| start.shift(i) + sign * r);
    let (lo, hi) = (ends(-1.0).fold(f64::MIN, f64::max), ends(1.0).fold(f64::MAX, f64::min));
    let beyond = start.reach.iter().copied().fold(f64::MAX, f64::min);
    let (first, last) = (lo.min(hi) - beyond, lo.max(hi) + beyond);
    let mut candidates = vec![*start, at(0.0)?];
    for index in 0..N_CANDIDATES {
        candidates.push(at(first + (last - first) * index as f64 / (N_CANDIDATES - 1) as f64)?);
    }
    candidates.sort_unstable_by(|a, b| a.theta.total_cmp(&b.theta));
    let is_common = |candidate: &CandidateRatio| candidate.margin() >= 0.0;
    let ends = candidates.iter().position(is_common).zip(candidates.iter().rposition(is_common));
    let Some((lowest, highest)) = ends else { return Ok(None) };
    let crossing = |inside: &CandidateRatio, out: &CandidateRatio| {
        let share = inside.margin() / (inside.margin() - out.margin());
        inside.theta + share * (out.theta - inside.theta)
    };
    let lo = match lowest.checked_sub(1) {
        Some(out) => crossing(&candidates[lowest], &candidates[out]),
        None => candidates[lowest].theta,
    };
    let hi = candidates.get(highest + 1);
    let hi = hi.map_or(candidates[highest].theta, |out| crossing(&candidates[highest], out));
    Ok(Some(Interval { lo, hi }))
}

/// One log ratio as a candidate for the common ratio of all deciles.
#[derive(Clone, Copy, Debug)]
struct CandidateRatio {
    theta: f64,
    /// Shift of each decile with the new arm lowered by `theta`.
    centered: [f64; 9],
    /// Largest shift of each decile that is not rejected.
    reach: [f64; 9],
}

impl CandidateRatio {
    fn at(
        pairs: &Pairs,
        orbit: &Orbit,
        theta: f64,
        alpha: f64,
        weights: &[Vec<f64>],
    ) -> Result<Self, Invalid> {
        let mut rows = Vec::with_capacity(orbit.len());
        pairs.for_each_labelling(orbit, theta, |old, new| {
            let at = |weights: &[f64]| -> f64 {
                let gaps = new.as_slice().iter().zip(old.as_slice()).map(|(y, x)| y - x);
                weights.iter().zip(gaps).map(|(w, gap)| w * gap).sum()
            };
            rows.push(std::array::from_fn::<f64, 9, _>(|i| at(&weights[i])));
        })?;
        let scatter: [f64; 9] = std::array::from_fn(|i| {
            order_quantile(&mut rows.iter().map(|row| row[i].abs()).collect::<Vec<_>>(), 0.9)
        });
        let largest = |row: &[f64; 9]| {
            let ratios = row.iter().zip(scatter).filter(|(_, q)| *q > 0.0);
            ratios.map(|(s, q)| s.abs() / q).fold(0.0, f64::max)
        };
        let sizes = &mut rows.iter().map(largest).collect::<Vec<_>>();
        // Sums of the same numbers in another order may differ in their last bits.
        let factor = order_quantile(sizes, 1.0 - alpha) * (1.0 + 1e-12);
        Ok(Self { theta, centered: rows[0], reach: scatter.map(|q| factor * q) })
    }

    fn shift(&self, i: usize) -> f64 {
        self.centered[i] + self.theta
    }

    /// Distance of the shifts from rejection. Negative if some decile rejects.
    fn margin(&self) -> f64 {
        let margins =
            self.reach.iter().zip(self.centered).map(|(reach, shift)| reach - shift.abs());
        margins.fold(f64::INFINITY, f64::min)
    }
}

/// A distance between the two arms of a comparison, with its p-value under the coins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArmDistance {
    /// The distance, as defined by the function that returns it.
    pub value: f64,
    /// Share of re-labellings with a distance at least as large.
    pub p: f64,
}

/// Kolmogorov-Smirnov distance of the arms of `pairs`, in `[0, 1]`, with p by re-labelling.
///
/// The p-value is valid on dependent noise, unlike the usual test's. The new arm is lowered
/// by `theta`: 0 tests for any difference, the typical log ratio for a difference of shape. Fails
/// as [`Pairs::test`].
///
/// ```
/// use stillwell_stats::{relabel::{Orbit, Pairs}, shift::kolmogorov_smirnov};
/// let pairs = Pairs::new(&[1.0; 4], &[2.0; 4], &[true; 4]).unwrap();
/// let found = kolmogorov_smirnov(&pairs, &Orbit::new(4, 99, 1).unwrap(), 0.0).unwrap();
/// assert_eq!((found.value, found.p), (1.0, 0.125)); // 2 of 16 labellings
/// ```
pub fn kolmogorov_smirnov(
    pairs: &Pairs,
    orbit: &Orbit,
    theta: f64,
) -> Result<ArmDistance, Invalid> {
    distance(pairs, orbit, theta, two_sample::kolmogorov_smirnov)
}

/// Anderson-Darling distance of the arms of `pairs` (see [`two_sample::anderson_darling`]), with p by
/// re-labelling.
///
/// More sensitive in the tails than [`kolmogorov_smirnov`], with the same `theta` and failures; also
/// fails below 2 pairs and for equal times only.
///
/// ```
/// use stillwell_stats::{relabel::{Orbit, Pairs}, shift::anderson_darling};
/// let pairs = Pairs::new(&[1.0; 4], &[2.0; 4], &[true; 4]).unwrap();
/// let found = anderson_darling(&pairs, &Orbit::new(4, 99, 1).unwrap(), 0.0).unwrap();
/// assert_eq!(found.p, 0.125); // 2 of 16 labellings
/// ```
pub fn anderson_darling(pairs: &Pairs, orbit: &Orbit, theta: f64) -> Result<ArmDistance, Invalid> {
    // The distance exists for every labelling or for none, because the pooled times are the same.
    let distance = distance(pairs, orbit, theta, |old, new| {
        two_sample::anderson_darling(old, new).unwrap_or(f64::NAN)
    })?;
    if distance.value.is_nan() { Err(Invalid::NoSpread) } else { Ok(distance) }
}

/// Resolution of log times. Smaller differences were ties before `theta` was subtracted.
const TIE: f64 = 1e-12;

/// The sample with its ties restored. A new arm of exactly `exp(theta)` times each reference
/// differs from it by the rounding of its logarithms, always on the same side.
fn with_ties(logs: &SortedSample) -> SortedSample {
    let rounded: Vec<f64> = logs.as_slice().iter().map(|x| (x / TIE).round() * TIE).collect();
    SortedSample::new(&rounded).expect("as many numbers, and as finite")
}

fn distance(
    pairs: &Pairs,
    orbit: &Orbit,
    theta: f64,
    between: impl Fn(&SortedSample, &SortedSample) -> f64,
) -> Result<ArmDistance, Invalid> {
    let mut values = Vec::with_capacity(orbit.len());
    pairs.for_each_labelling(orbit, theta, |old, new| {
        values.push(between(&with_ties(old), &with_ties(new)));
    })?;
    // The same distance may differ in its last bits after summation in another order.
    let bound = values[0] - 1e-12 * values[0].abs();
    let as_large = values.iter().filter(|&&value| value >= bound).count();
    Ok(ArmDistance { value: values[0], p: as_large as f64 / values.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

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
        let theta = pairs.test(&orbit, &[Statistic::Typical], 0.0).unwrap().selected.t;
        let shape = kolmogorov_smirnov(&pairs, &orbit, theta).unwrap();
        assert_eq!((shape.value, shape.p), (0.0, 1.0));
        assert!(anderson_darling(&pairs, &orbit, theta).unwrap().p > 0.5);
        assert!(kolmogorov_smirnov(&pairs, &orbit, 0.0).unwrap().p < 0.01);
    }
}
