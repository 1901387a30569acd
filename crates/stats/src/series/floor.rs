//! Test of a floor that moves while the series runs.

use crate::endpoint::windows;
use crate::invalid::{Invalid, at_least};
use crate::prng::Stream;
use crate::sorted::{SortedSample, low_count, mean_of};

const N_WINDOWS: usize = 4;
/// Share of a window's runs that its floor is the mean of.
const LOW: f64 = 0.25;

/// Runs that the floor of each window is the mean of: as many in a longer window, whose floor would
/// otherwise be another quantity.
fn floor_count(n: usize) -> usize {
    low_count(n / N_WINDOWS, LOW)
}

/// Mean of the lowest 25 % of each of 4 consecutive windows, in the unit of the sample.
///
/// The windows have all runs. Some are longer by one run, but their floor is of no more runs. Fails
/// for `n < 4`, NaN and infinity.
///
/// ```
/// let floors = stillwell_stats::series::floor_windows(&[1.0, 2.0, 3.0, 4.0]).unwrap();
/// assert_eq!(floors, [1.0, 2.0, 3.0, 4.0]);
/// ```
pub fn floor_windows(xs: &[f64]) -> Result<Vec<f64>, Invalid> {
    at_least(N_WINDOWS, xs)?;
    let n_low = floor_count(xs.len());
    windows(xs.len(), N_WINDOWS)
        .map(|window| Ok(mean_of(&SortedSample::new(&xs[window])?.as_slice()[..n_low])))
        .collect()
}

/// Spread of the floors of consecutive windows, tested against the same runs in random order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloorShift {
    /// Largest minus smallest of [`floor_windows`].
    pub spread: f64,
    /// Share of the orders, the real one included, whose spread is at least as large.
    pub p: f64,
}

/// Permutation test of "the floor does not move". `p` is over `shuffles` random orders and the real
/// one.
///
/// Exact if the runs are exchangeable. O(n log n + n shuffles). Failures: see [`floor_windows`].
///
/// ```
/// let xs: Vec<f64> = (0..40).map(f64::from).collect();
/// assert_eq!(stillwell_stats::series::floor_shift(&xs, 199, 1).unwrap().p, 0.005); // no order is worse
/// ```
pub fn floor_shift(xs: &[f64], shuffles: usize, seed: u64) -> Result<FloorShift, Invalid> {
    let observed = spread(&floor_windows(xs)?);
    let (sorted, mut stream) = (SortedSample::new(xs)?, Stream::new(seed));
    let at_least = |_: &usize| spread(&floors_of_random_order(&sorted, &mut stream)) >= observed;
    let as_large = 1 + (0..shuffles).filter(at_least).count();
    Ok(FloorShift { spread: observed, p: as_large as f64 / (shuffles + 1) as f64 })
}

fn spread(floors: &[f64]) -> f64 {
    let largest = floors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let smallest = floors.iter().copied().fold(f64::INFINITY, f64::min);
    largest - smallest
}

/// [`floor_windows`] of the sample in a uniformly random order.
///
/// The function deals the values out from the lowest on. Each value goes to a window with a
/// probability in proportion to the room left there, which is the distribution of a shuffle. The
/// floors are known after little more than a quarter of the values, without another sort.
fn floors_of_random_order(sorted: &SortedSample, stream: &mut Stream) -> [f64; N_WINDOWS] {
    let xs = sorted.as_slice();
    let wanted = floor_count(xs.len());
    let mut room: Vec<usize> = windows(xs.len(), N_WINDOWS).map(|window| window.len()).collect();
    let (mut n_low, mut sums) = ([0; N_WINDOWS], [0.0; N_WINDOWS]);
    for (n_dealt, x) in xs.iter().enumerate() {
        let mut place = stream.below((xs.len() - n_dealt) as u64) as usize;
        for window in 0..N_WINDOWS {
            if place < room[window] {
                room[window] -= 1;
                if n_low[window] < wanted {
                    n_low[window] += 1;
                    sums[window] += x;
                }
                break;
            }
            place -= room[window];
        }
        if n_low == [wanted; N_WINDOWS] {
            break;
        }
    }
    sums.map(|sum| sum / wanted as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six runs in windows of 1, 2, 1 and 2. The two runs that are no floor can be in one or two
    /// ways above the floors of the longer windows, each way in 1 of 180 orders.
    #[test]
    fn dealing_out_is_a_shuffle() {
        let xs = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let sorted = SortedSample::new(&xs).unwrap();
        let (mut stream, mut shuffled) = (Stream::new(5), xs.to_vec());
        let mut counts = std::collections::HashMap::new();
        let n = 180 * 200;
        for _ in 0..n {
            let dealt = floors_of_random_order(&sorted, &mut stream);
            counts.entry(dealt.map(|x| x as u32)).or_insert([0_u32, 0])[0] += 1;
            stream.shuffle(&mut shuffled);
            let floors = floor_windows(&shuffled).unwrap();
            counts.entry([0, 1, 2, 3].map(|w| floors[w] as u32)).or_insert([0_u32, 0])[1] += 1;
        }
        assert_eq!(counts.len(), 120);
        // Poisson: a count more than 5 sd away comes about once in two million.
        for (floors, found) in counts {
            let rest: Vec<u32> =
                [1, 2, 4, 8, 16, 32].into_iter().filter(|x| !floors.contains(x)).collect();
            let fits = |one: usize, other: usize| rest[one] > floors[1] && rest[other] > floors[3];
            let expected = 200.0 * f64::from(u8::from(fits(0, 1)) + u8::from(fits(1, 0)));
            for count in found {
                let off = (f64::from(count) - expected).abs();
                assert!(off < 5.0 * expected.sqrt(), "{floors:?}: {count}, not {expected}");
            }
        }
    }

    #[test]
    fn the_last_runs_are_in_a_window() {
        for n in 20..24 {
            let mut xs = vec![2.0; n];
            xs[n - 2..].fill(1.0);
            assert_eq!(floor_windows(&xs).unwrap(), [2.0, 2.0, 2.0, 1.0], "{n}");
        }
    }

    #[test]
    fn floors_are_the_same_to_the_last_bit() {
        let xs: Vec<f64> = (0..4).map(|i| 0.1 * f64::from(i)).collect();
        let mut dealt =
            floors_of_random_order(&SortedSample::new(&xs).unwrap(), &mut Stream::new(1));
        dealt.sort_by(f64::total_cmp);
        assert_eq!(dealt.to_vec(), floor_windows(&xs).unwrap());
        // No order exceeds a spread that every order has, whatever the rounding.
        let equal = vec![0.1; 23];
        assert_eq!(floor_shift(&equal, 99, 1).unwrap(), FloorShift { spread: 0.0, p: 1.0 });
    }
}
