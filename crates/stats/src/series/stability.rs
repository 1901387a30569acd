//! Stability of one series: five checks of whether its floor and its error can be trusted.
//!
//! A check raises its flag only if two conditions hold: a false alarm has a chance below 1 %, and
//! the effect has a size that matters.

use super::resolution::common_tick;
use super::{
    FloorShift, MannKendall, RankScan, VonNeumann, dip, floor_shift, mann_kendall, rank_scan,
    theil_sen, von_neumann,
};
use crate::invalid::{Invalid, at_least, logs};
use crate::sorted::{SortedSample, median_of};

/// 1 % upper quantiles of [`rank_scan`] for independent runs, by n.
const SCAN_LIMITS: [(f64, f64); 5] =
    [(20.0, 3.05), (30.0, 3.17), (60.0, 3.36), (120.0, 3.47), (300.0, 3.57)];
/// 1 % upper quantiles of [`dip`] for uniform values, by n.
const DIP_LIMITS: [(f64, f64); 6] = [
    (20.0, 0.1215),
    (30.0, 0.1025),
    (40.0, 0.0895),
    (60.0, 0.0736),
    (100.0, 0.0594),
    (200.0, 0.0421),
];

/// Upper limit of the points of a trend test: two million pairs.
const DRIFT_POINTS_MAX: usize = 2000;

/// The ways in which a series is unsteady.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum StabilityFlag {
    /// Neighbouring runs are alike, so there are fewer independent runs than runs.
    Correlated,
    /// The time rises or falls throughout.
    Drifting,
    /// The time changed at one point.
    Stepped,
    /// There is more than one typical time.
    Modes,
    /// The fastest runs of two windows differ.
    FloorMoved,
}

/// One check: a flag, its test statistic and the limits that raise it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StabilityCheck {
    /// The flag.
    pub flag: StabilityFlag,
    /// The test statistic. `None` if all times are equal, for then it does not exist.
    pub statistic: Option<f64>,
    /// Limit of the statistic. The flag needs a statistic below it for
    /// [`StabilityFlag::Correlated`] (z), at or below it for [`StabilityFlag::FloorMoved`] (p), and
    /// above it for the others (|z| for [`StabilityFlag::Drifting`]).
    pub limit: f64,
    /// Size of the effect, a log ratio. `None` if the check has no such size.
    pub size: Option<f64>,
    /// Limit that the absolute value of `size` must exceed.
    pub size_limit: Option<f64>,
    /// Whether statistic and size are both beyond their limits.
    pub raised: bool,
}

/// Trend of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Test of a monotone trend.
    pub test: MannKendall,
    /// Theil-Sen slope times n: log ratio of the end to the start.
    pub change: f64,
}

impl Drift {
    /// Trend of log times in run order.
    ///
    /// Both statistics use all pairs. Above [`DRIFT_POINTS_MAX`] runs, the points are the medians
    /// of at most that many groups of consecutive runs of equal size. The runs after the last whole
    /// group are left out.
    fn of(xs: &[f64]) -> Result<Self, Invalid> {
        let size = xs.len().div_ceil(DRIFT_POINTS_MAX);
        let groups = xs.chunks_exact(size).map(|group| median_of(&mut group.to_vec()));
        let points: Vec<f64> = groups.collect();
        let test = mann_kendall(&points)?;
        Ok(Self { test, change: theil_sen(&points)? * xs.len() as f64 / size as f64 })
    }
}

/// The best split of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelShift {
    /// Place and clarity of the split.
    pub scan: RankScan,
    /// The `z` that one series in a hundred exceeds by chance.
    pub limit: f64,
    /// Log ratio of the median after the split to that before.
    pub change: f64,
}

/// Number of modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Hartigan's dip of the log times. Equal times are spread evenly over the clock's resolution.
    pub dip: f64,
    /// The dip that at most one series in a hundred exceeds by chance.
    pub limit: f64,
    /// Log ratio of the 95 % to the 5 % quantile.
    pub spread: f64,
}

/// All checks of one series. Sizes are log ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// Correlation of neighbouring runs; `None` if all times are equal.
    pub independence: Option<VonNeumann>,
    /// Trend.
    pub drift: Drift,
    /// Step.
    pub step: LevelShift,
    /// Modes.
    pub modes: Modes,
    /// Floor.
    pub floor: FloorShift,
}

impl Stability {
    /// Every check with its limits, in the order of the flags.
    pub fn checks(&self) -> [StabilityCheck; 5] {
        let Self { independence, drift, step, modes, floor } = self;
        let check =
            |flag, statistic, limit, size: Option<(f64, f64)>, is_beyond: bool| StabilityCheck {
                flag,
                statistic,
                limit,
                size: size.map(|(size, _)| size),
                size_limit: size.map(|(_, limit)| limit),
                raised: is_beyond && size.is_none_or(|(size, limit)| size.abs() > limit),
            };
        let (rvn, z, p) = (independence.map(|found| found.z), drift.test.z, floor.p);
        let trend = Some((drift.change, 0.01));
        let (split, moved) = (Some((step.change, 0.01)), Some((floor.spread, 0.005)));
        let apart = Some((modes.spread, 0.01));
        let (scan, dip) = (step.scan.z, modes.dip);
        [
            check(StabilityFlag::Correlated, rvn, -2.326, None, rvn.is_some_and(|z| z < -2.326)),
            check(StabilityFlag::Drifting, Some(z), 2.576, trend, z.abs() > 2.576),
            check(StabilityFlag::Stepped, Some(scan), step.limit, split, scan > step.limit),
            check(StabilityFlag::Modes, Some(dip), modes.limit, apart, dip > modes.limit),
            check(StabilityFlag::FloorMoved, Some(p), 0.01, moved, p <= 0.01),
        ]
    }
}

/// The limits that one series in a hundred of n independent runs exceeds by chance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StabilityLimits {
    /// 1 % point of the `z` of [`rank_scan`].
    pub scan: f64,
    /// 1 % point of [`dip`] for uniform values. Other shapes with one mode exceed it more rarely.
    pub dip: f64,
}

/// [`StabilityLimits`] for `n` runs, from a table in n, interpolated linearly in `ln n`.
///
/// The dip shrinks as `1 / sqrt(n)`, so the function interpolates `dip sqrt(n)`. Both limits are
/// constant outside the table (20 to 300 runs for the scan, 20 to 200 for the dip).
///
/// ```
/// assert_eq!(stillwell_stats::series::limits(60).scan, 3.36);
/// ```
pub fn limits(n: usize) -> StabilityLimits {
    let n = n as f64;
    let dips = DIP_LIMITS.map(|(at, limit)| (at, limit * at.sqrt()));
    StabilityLimits { scan: interpolate(&SCAN_LIMITS, n), dip: interpolate(&dips, n) / n.sqrt() }
}

/// Linear interpolation in `ln n`, constant outside the table.
fn interpolate(table: &[(f64, f64)], n: f64) -> f64 {
    let (first, last) = (table[0], table[table.len() - 1]);
    table
        .windows(2)
        .find(|ends| n <= ends[1].0)
        .map(|ends| {
            let share = (n.max(first.0) / ends[0].0).ln() / (ends[1].0 / ends[0].0).ln();
            ends[0].1 + share * (ends[1].1 - ends[0].1)
        })
        .unwrap_or(last.1)
}

/// Stability of `times` (in run order, any unit, above zero), on natural logarithms.
///
/// The flags and their limits:
///
/// - Correlated: rank von Neumann z < -2.326.
/// - Drifting: Mann-Kendall |z| > 2.576, and Theil-Sen slope times n above 1 %.
/// - Stepped: [`rank_scan`] beyond its 1 % point of [`limits`], and medians more than 1 % apart.
/// - Modes: [`dip`] beyond its 1 % point of [`limits`], and a 95 % quantile more than 1 % above the
///   5 % quantile. Equal times are spread evenly over the clock's resolution: the largest number of
///   which all times, or all their inverses, are multiples.
/// - Floor moved: [`floor_shift`] p <= 1 % in 199 shuffles from `seed`, and a spread above 0.5 %.
///
/// Fails for `n < 20`, and for times that are not finite or not above zero. O(n^2) up to 2000 runs,
/// O(n log n) beyond: there the drift comes from the medians of at most 2000 groups.
/// ```
/// use stillwell_stats::series::{StabilityFlag, stability};
/// let drifting: Vec<f64> = (0..40).map(|i| 1000.0 + f64::from(i * 3 + i % 3)).collect();
/// let checks = stability(&drifting, 1).unwrap().checks();
/// assert!(checks.iter().any(|check| check.flag == StabilityFlag::Drifting && check.raised));
/// ```
pub fn stability(times: &[f64], seed: u64) -> Result<Stability, Invalid> {
    at_least(20, times)?;
    let xs = logs(times)?;
    let (scan, limits) = (rank_scan(&xs)?, limits(xs.len()));
    // Equal times have no best split. Any split will do, because all have the same medians.
    let (before, after) = xs.split_at(scan.at.max(1));
    let change = SortedSample::new(after)?.median() - SortedSample::new(before)?.median();
    let sorted = SortedSample::new(times)?;
    let modes = Modes {
        dip: dip(&SortedSample::new(&logs_without_ties(sorted.as_slice()))?),
        limit: limits.dip,
        spread: (sorted.quantile(0.95) / sorted.quantile(0.05)).ln(),
    };
    Ok(Stability {
        independence: von_neumann(&xs).ok(),
        drift: Drift::of(&xs)?,
        step: LevelShift { scan, limit: limits.scan, change },
        modes,
        floor: floor_shift(&xs, 199, seed)?,
    })
}

/// Sorted logs of the times. Equal times are spread evenly over the clock's resolution: each tick of
/// a coarse clock would be a mode.
fn logs_without_ties(sorted: &[f64]) -> Vec<f64> {
    // A throughput may be the inverse of a rounded time. Mirrored logs have the same dip.
    let inverses: Vec<f64> = sorted.iter().rev().map(|value| value.recip()).collect();
    let share = |sorted: &[f64]| resolution(sorted) / sorted[0];
    let is_inverse = share(&inverses) > 2.0 * share(sorted);
    let sorted: &[f64] = if is_inverse { &inverses } else { sorted };
    let tick = resolution(sorted);
    let ties = sorted.chunk_by(|a, b| a == b);
    ties.flat_map(|ties| {
        let shift = move |i: usize| tick * ((i as f64 + 0.5) / ties.len() as f64 - 0.5);
        ties.iter().enumerate().map(move |(i, time)| time.ln() + (shift(i) / time).ln_1p())
    })
    .collect()
}

/// The largest number of which all times are multiples. Almost 0 if the times are not rounded.
fn resolution(sorted: &[f64]) -> f64 {
    sorted.iter().copied().fold(sorted[0], common_tick)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prng::Stream;

    fn noise(n: usize) -> Vec<f64> {
        let mut stream = Stream::new(n as u64);
        (0..n).map(|_| 0.02 * (stream.unit() + stream.unit())).collect()
    }

    #[test]
    fn a_short_series_is_looked_at_run_by_run() {
        let xs = noise(DRIFT_POINTS_MAX);
        let found = Drift::of(&xs).unwrap();
        assert_eq!(found.test, mann_kendall(&xs).unwrap());
        assert_eq!(found.change, theil_sen(&xs).unwrap() * xs.len() as f64);
    }

    #[test]
    fn a_long_series_is_looked_at_in_groups() {
        for n in [DRIFT_POINTS_MAX + 1, 5003, 100_000] {
            let steady = noise(n);
            let found = Drift::of(&steady).unwrap();
            assert!(found.test.z.abs() < 2.576 && found.change.abs() < 0.005, "{n}: {found:?}");
            let rising = steady.iter().enumerate().map(|(i, x)| x + 0.02 * i as f64 / n as f64);
            let found = Drift::of(&rising.collect::<Vec<_>>()).unwrap();
            assert!(found.test.z > 10.0, "{n}: {found:?}");
            assert!((found.change - 0.02).abs() < 0.002, "{n}: {found:?}");
        }
    }

    /// Two spikes in every group of ten.
    #[test]
    fn a_group_is_its_median() {
        let n = 10 * DRIFT_POINTS_MAX;
        let xs: Vec<f64> = (0..n).map(|i| if i % 5 == 0 { 3.0 } else { 1.0 }).collect();
        let found = Drift::of(&xs).unwrap();
        assert_eq!((found.test.s, found.change), (0, 0.0));
    }

    #[test]
    fn a_drift_raises_the_flags_that_it_causes() {
        let drifting: Vec<f64> = (0..60).map(|i| 1000.0 + f64::from(i * 3 + i % 3)).collect();
        let found = stability(&drifting, 1).unwrap();
        let raised: Vec<StabilityFlag> =
            found.checks().iter().filter(|check| check.raised).map(|check| check.flag).collect();
        let expected = [
            StabilityFlag::Correlated,
            StabilityFlag::Drifting,
            StabilityFlag::Stepped,
            StabilityFlag::FloorMoved,
        ];
        assert_eq!(raised, expected);
        // A drift of less than one percent raises no flag, however clear it is.
        let slow: Vec<f64> = (0..60).map(|i| 1000.0 + 0.1 * f64::from(i)).collect();
        let drift = stability(&slow, 1).unwrap().checks()[1];
        assert!(drift.statistic > Some(drift.limit) && !drift.raised, "{drift:?}");
    }

    /// Gaussian times in whole ticks of a clock, 30 on average. `sd` is in ticks too.
    fn ticks(n: usize, sd: f64, stream: &mut Stream) -> Vec<f64> {
        let time = |_| {
            // The sum of twelve uniform numbers is almost Gaussian, with a variance of 1.
            let sum: f64 = (0..12).map(|_| stream.unit()).sum();
            (30.0 + sd * (sum - 6.0)).round()
        };
        (0..n).map(time).collect()
    }

    fn has_modes(times: &[f64]) -> bool {
        stability(times, 1).unwrap().checks()[3].raised
    }

    #[test]
    fn ticks_of_a_coarse_clock_are_no_modes() {
        let mut stream = Stream::new(6);
        for (n, sd) in [(24, 0.5), (24, 1.0), (60, 0.5), (60, 1.0), (60, 2.0), (200, 5.0)] {
            // Seconds, as in a file with two decimals, and nanoseconds of one loop of seven.
            for unit in [0.01, 1e7 / 7.0] {
                let flagged = (0..50).filter(|_| {
                    let times = ticks(n, sd, &mut stream);
                    has_modes(&times.iter().map(|time| time * unit).collect::<Vec<_>>())
                });
                assert!(flagged.count() <= 1, "{n} {sd} {unit}");
            }
        }
    }

    #[test]
    fn inverses_of_ticks_are_no_modes() {
        let mut stream = Stream::new(7);
        let flagged = (0..50).filter(|_| {
            let times = ticks(60, 1.0, &mut stream);
            has_modes(&times.iter().map(|time| 1.0 / (time * 0.01)).collect::<Vec<_>>())
        });
        assert!(flagged.count() <= 1);
    }

    #[test]
    fn modes_are_found_on_a_coarse_clock_too() {
        let of = |far: f64, tick: f64| {
            let time = |(i, x): (usize, f64)| {
                let mode = if i % 2 == 0 { 0.937 } else { 0.937 * far };
                (mode * (1.0 + x / 5.0) / tick).round() * tick
            };
            has_modes(&noise(60).into_iter().enumerate().map(time).collect::<Vec<_>>())
        };
        for (far, tick) in [(1.02, 1e-9), (1.02, 0.001), (1.1, 0.01), (1.55, 0.01), (1.55, 0.1)] {
            assert!(of(far, tick), "{far} {tick}");
        }
        // Modes less than 1 % apart do not matter.
        assert!(!of(1.0 + 1e-7, 1e-9));
        let close: Vec<f64> = (0..60).map(|i| 1e7 + f64::from(i % 2) * 7003.0).collect();
        assert!(!has_modes(&close));
    }

    #[test]
    fn the_resolution_divides_all_times() {
        let close = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-6;
        assert!(close(resolution(&[0.27, 0.27, 0.33, 0.42]), 0.03));
        assert_eq!(resolution(&[990.0, 1540.0]), 110.0);
        assert_eq!(resolution(&[5.0; 3]), 5.0);
        // It is never above the shortest time, however far the others are.
        assert_eq!(resolution(&[1.0, 1e10, 3e10]), 1.0);
        assert!(logs_without_ties(&[1.0, 1.0, 1e10, 3e10]).iter().all(|log| log.is_finite()));
    }

    #[test]
    fn equal_times_are_stable() {
        let found = stability(&[5.0; 30], 1).unwrap();
        assert_eq!(found.checks()[0].statistic, None);
        assert!(found.checks().iter().all(|check| !check.raised));
    }
}
