//! The low end of a series of run times, in constant memory: the floor, its error, and whether the
//! lowest run stands alone.
//!
//! [`floor`] does it for a slice. [`LowEnd`] takes the runs one by one, so that a session that is
//! still measured and its finished record give the same numbers.

use crate::endpoint::{G_STAR_LIMIT, default_k, g_star, tested, windows};
use crate::invalid::{Invalid, finite};
use crate::sorted::SortedSample;

/// Fewest runs for an error.
const RUNS_MIN: usize = 5;
/// Order of the spacing in the error: a tenth of the runs, within these limits.
const SPACING: (usize, usize) = (5, 20);
/// Consecutive windows of the error.
const WINDOWS: usize = 10;
/// Windows whose minima must agree.
const AGREEING: usize = 4;
/// Runs above the lowest that show whether it stands alone.
const OTHERS: usize = 10;
/// The lowest run stands alone beyond this many times the range of the others.
const ALONE: f64 = 3.0;
/// Lowest runs that are kept: for the largest spacing, and one that may not count.
const KEPT: usize = SPACING.1 + 1;
/// Buckets of consecutive runs. At twice this number neighbours are merged.
const BUCKETS: usize = 120;

/// The estimated floor of one command, with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloorEstimate {
    /// Estimated floor, in the unit of the sample. Not above the smallest run.
    pub value: f64,
    /// Error of the floor ([`LowEnd::floor`]). `None` below 5 runs.
    pub err: Option<f64>,
    /// Order of the endpoint estimator. 1 means the plain minimum.
    pub k: usize,
    /// [`g_star`] at `k`; `None` where it does not exist.
    pub g_star: Option<f64>,
}

impl FloorEstimate {
    /// Whether the low tail has an end, as far as that could be tested. If it has none or there was
    /// no test, `value` is the minimum, without extrapolation.
    pub fn is_finite(&self) -> bool {
        self.g_star.is_none_or(|g| g <= G_STAR_LIMIT)
    }
}

/// The headline floor of runs `xs` in run order, as [`LowEnd::floor`] of all of them.
///
/// Fails on an empty slice, NaN and infinity.
///
/// ```
/// use stillwell_stats::low_end::floor;
/// // numpy 2.4.6: m = sort(minimum.reduceat(x, arange(10) * 24 // 10)), s = sort(x),
/// // max(s[4] - s[0], m[3] - m[0])
/// let xs = [
///     14.1, 10.2, 10.9, 17.3, 10.4, 10.35, 11.7, 10.1, 10.3, 15.0, 13.3, 11.9, 12.2, 11.1, 16.4, 13.9, 12.6, 11.4,
///     12.0, 11.8, 13.0, 12.4, 11.6, 12.1,
/// ];
/// assert!((floor(&xs).unwrap().err.unwrap() - 0.8).abs() < 1e-12);
/// let few = floor(&[7.41, 7.891, 5.355, 21.7]).unwrap();
/// assert_eq!((few.value, few.err, few.g_star), (5.355, None, None));
/// ```
pub fn floor(xs: &[f64]) -> Result<FloorEstimate, Invalid> {
    finite(xs)?;
    let mut low_end = LowEnd::default();
    xs.iter().for_each(|&x| low_end.add(x, ()));
    low_end.floor(0).ok_or(Invalid::Empty)
}

/// The lowest runs of a series, each with its mark, and the two smallest values of each of a few
/// dozen stretches. The values are finite, in run order.
#[derive(Clone, Debug)]
pub struct LowEnd<T> {
    n: usize,
    /// Ascending.
    lowest: Vec<(f64, T)>,
    /// The two smallest of `per_bucket` consecutive runs each; the last bucket may have fewer.
    buckets: Vec<[f64; 2]>,
    per_bucket: usize,
}

impl<T> Default for LowEnd<T> {
    fn default() -> Self {
        Self { n: 0, lowest: Vec::new(), buckets: Vec::new(), per_bucket: 1 }
    }
}

impl<T> LowEnd<T> {
    /// Takes in the next run, with a mark of the caller.
    pub fn add(&mut self, value: f64, mark: T) {
        let at = self.lowest.partition_point(|kept| kept.0 <= value);
        if at < KEPT {
            self.lowest.truncate(KEPT - 1);
            self.lowest.insert(at, (value, mark));
        }
        if self.n.is_multiple_of(self.per_bucket) {
            if self.buckets.len() == 2 * BUCKETS {
                self.buckets = self.buckets.chunks(2).map(|two| merged(two[0], two[1])).collect();
                self.per_bucket *= 2;
            }
            self.buckets.push([value, f64::INFINITY]);
        } else if let Some(last) = self.buckets.last_mut() {
            *last = merged(*last, [value, f64::INFINITY]);
        }
        self.n += 1;
    }

    /// The lowest runs with their marks, ascending: 21, or all.
    pub fn lowest(&self) -> &[(f64, T)] {
        &self.lowest
    }

    /// The floor with its error, without the `n_left_out` lowest runs (0 or 1). `None` without
    /// runs.
    ///
    /// **Value.** [`endpoint::clamped`](crate::endpoint::clamped) with `k` = 2 (3 from 60 runs on, 1
    /// below 4). If [`g_star`] rejects a finite floor or does not exist, it is the minimum.
    ///
    /// **Error.** `max(X(k) - X(1), M(4) - M(1))`, with `X` the sorted runs, `k = ceil(n / 10)` within
    /// 5 and 20, and `M` the sorted minima of ten consecutive windows (one for each run below ten).
    /// Window `i` has the runs from `floor(i n / 10)` on. Above 240 runs, windows begin at multiples
    /// of 2, above 480 of 4, and so on. The first term is large where the low end is sparse: with a
    /// flat density, the floor is more than two errors below `X(1)` with probability `3^(1 - k)`,
    /// 1.2 % for `k = 5`. The second one is large unless four separate moments agree; it does not
    /// count the windows that were loud.
    pub fn floor(&self, n_left_out: usize) -> Option<FloorEstimate> {
        let (n, lowest) = (self.n.checked_sub(n_left_out)?, self.lowest.get(n_left_out..)?);
        let values: Vec<f64> = lowest.iter().map(|run| run.0).collect();
        let sorted = SortedSample::new(&values).ok()?;
        let k = default_k(n);
        Some(FloorEstimate {
            value: tested(&sorted, k),
            err: self.err(n, &values, n_left_out > 0),
            k,
            g_star: g_star(&sorted, k).ok(),
        })
    }

    fn err(&self, n: usize, lowest: &[f64], is_one_left_out: bool) -> Option<f64> {
        if n < RUNS_MIN {
            return None;
        }
        let k = n.div_ceil(10).clamp(SPACING.0, SPACING.1);
        let n_windows = WINDOWS.min(n);
        let without = is_one_left_out.then(|| self.lowest[0].0);
        let of_bucket = |two: &[f64; 2]| two[usize::from(Some(two[0]) == without)];
        let mut minima: Vec<f64> = windows(self.buckets.len(), n_windows)
            .map(|window| self.buckets[window].iter().map(of_bucket).fold(f64::INFINITY, f64::min))
            .collect();
        minima.sort_unstable_by(f64::total_cmp);
        Some((lowest[k - 1] - lowest[0]).max(minima[AGREEING - 1] - minima[0]))
    }

    /// Whether the lowest run stands alone far below the rest: on logs, its distance to the next run
    /// is more than 3 times the range of the ten next runs. Never below 12 runs, or unless all are
    /// above zero.
    ///
    /// Of clean series of one kind of run, at most 0.6 % have such a run (tests/calibration/alone.rs).
    /// Where a few runs are quiet and the others loaded, up to 38 % have one: the single quiet run.
    /// So a caller needs further evidence before it leaves a run out.
    ///
    /// ```
    /// let mut runs = stillwell_stats::low_end::LowEnd::default();
    /// for run in 0..12 {
    ///     runs.add(if run == 7 { 50.0 } else { 100.0 + f64::from(run) }, run);
    /// }
    /// assert!(runs.has_one_alone() && runs.lowest()[0].1 == 7);
    /// ```
    pub fn has_one_alone(&self) -> bool {
        if self.n < OTHERS + 2 || self.lowest[0].0 <= 0.0 {
            return false;
        }
        let log = |at: usize| self.lowest[at].0.ln();
        log(1) - log(0) > ALONE * (log(OTHERS) - log(1))
    }
}

/// The two smallest of four values.
fn merged(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    let (low, high) = if a[0] <= b[0] { (a, b) } else { (b, a) };
    [low[0], low[1].min(high[0])]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    fn of(xs: &[f64]) -> LowEnd<usize> {
        let mut low_end = LowEnd::default();
        xs.iter().enumerate().for_each(|(at, &x)| low_end.add(x, at));
        low_end
    }

    fn random(n: usize) -> Vec<f64> {
        let mut stream = Stream::new(5);
        (0..n).map(|_| 1000.0 + 100.0 * stream.unit()).collect()
    }

    /// The error by its definition.
    fn defined(xs: &[f64]) -> f64 {
        let (n, mut sorted) = (xs.len(), xs.to_vec());
        sorted.sort_by(f64::total_cmp);
        let n_windows = n.min(10);
        let window = |at: usize| &xs[at * n / n_windows..(at + 1) * n / n_windows];
        let mut minima: Vec<f64> = (0..n_windows)
            .map(|at| window(at).iter().copied().fold(f64::INFINITY, f64::min))
            .collect();
        minima.sort_by(f64::total_cmp);
        let k = n.div_ceil(10).clamp(5, 20);
        (sorted[k - 1] - sorted[0]).max(minima[3] - minima[0])
    }

    #[test]
    fn the_error_is_that_of_the_definition() {
        for n in [5, 6, 9, 10, 11, 19, 24, 57, 101, 239, 240] {
            assert_eq!(of(&random(n)).floor(0).unwrap().err, Some(defined(&random(n))), "{n}");
        }
        assert_eq!(of(&random(4)).floor(0).unwrap().err, None);
        assert_eq!(of(&[]).floor(0), None);
        assert_eq!(of(&[1.0]).floor(1), None);
    }

    /// Three moments are quiet, the others are not: the low end is dense, but few moments agree.
    #[test]
    fn few_moments_that_agree_make_the_error_large() {
        let xs: Vec<f64> = (0..100).map(|at| if at < 30 { 10.0 } else { 13.0 }).collect();
        assert_eq!(of(&xs).floor(0).unwrap().err, Some(3.0));
        let xs: Vec<f64> = (0..100).map(|at| if at < 40 { 10.0 } else { 13.0 }).collect();
        assert_eq!(of(&xs).floor(0).unwrap().err, Some(0.0));
    }

    #[test]
    fn a_run_that_is_left_out_leaves_no_trace() {
        let mut xs = random(57);
        xs[20] = 3.0;
        let without = of(&xs).floor(1).unwrap();
        // With one run in each bucket the windows are the same but for the run that is missing.
        xs[20] = f64::MAX;
        let (all, sorted) = (of(&xs), of(&[&xs[..20], &xs[21..]].concat()).floor(0).unwrap());
        assert_eq!((without.value, without.err), (sorted.value, all.err(56, &lowest(&all), false)));
        // A window of that run alone has no minimum.
        let mut few = random(12);
        few[3] = 1.0;
        assert!(of(&few).floor(1).unwrap().err.unwrap() <= 100.0);
    }

    fn lowest(low_end: &LowEnd<usize>) -> Vec<f64> {
        low_end.lowest().iter().map(|run| run.0).collect()
    }

    #[test]
    fn memory_does_not_grow_with_the_runs() {
        let mut xs: Vec<f64> = (0..100_000).map(|at| 10.0 + f64::from(at % 997)).collect();
        xs[77_777] = 1.0;
        let low_end = of(&xs);
        assert!(low_end.buckets.len() <= 2 * BUCKETS && low_end.lowest.len() == KEPT);
        assert_eq!(low_end.lowest()[0], (1.0, 77_777));
        // Every window has a 10 besides.
        assert_eq!(low_end.floor(1).unwrap().err, Some(0.0));
        assert_eq!(low_end.floor(0).unwrap().err, Some(9.0));
    }

    #[test]
    fn a_run_is_alone_if_it_is_far_below_a_range_of_others() {
        let with = |lowest: f64| {
            let mut xs: Vec<f64> = (0..30).map(|at| 100.0 + f64::from(at)).collect();
            xs[11] = lowest;
            of(&xs).has_one_alone()
        };
        // The ten next runs reach from 100 to 109.
        let limit = 100.0 / 1.09f64.powi(3);
        assert!(with(limit * 0.999) && !with(limit * 1.001));
        assert!(!with(0.0) && !with(-5.0));
        assert!(!of(&[1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]).has_one_alone());
    }
}
