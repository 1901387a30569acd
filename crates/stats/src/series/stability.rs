//! The verdict on one series: can its floor and its error be trusted?
//!
//! Each check needs both a small chance of a false alarm (1 %) and a size that matters.

use super::{FloorShift, MannKendall, RankScan, VonNeumann};
use super::{dip, floor_shift, mann_kendall, rank_scan, theil_sen, von_neumann};
use crate::invalid::{Invalid, at_least, logs};
use crate::sorted::Sorted;

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

/// What makes a series unsteady.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flag {
    /// Neighbours are alike: there are fewer independent runs than runs.
    Correlated,
    /// The time rises or falls throughout.
    Drifting,
    /// The time changed at one point.
    Stepped,
    /// There is more than one typical time.
    Modes,
    /// The fastest runs of one window are not those of another.
    FloorMoved,
}

/// Trend of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Test of a monotone trend.
    pub test: MannKendall,
    /// Theil-Sen slope times n: log ratio of the end to the start.
    pub change: f64,
}

/// The best split of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Where, and how clearly.
    pub scan: RankScan,
    /// The `z` that is exceeded by chance once in a hundred series.
    pub limit: f64,
    /// Log ratio of the median after the split to that before.
    pub change: f64,
}

/// Number of modes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Hartigan's dip of the log times.
    pub dip: f64,
    /// The dip that is exceeded by chance at most once in a hundred series.
    pub limit: f64,
}

/// All checks of one series; log ratios throughout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// Correlation of neighbours; `None` if all times are equal.
    pub independence: Option<VonNeumann>,
    /// Trend.
    pub drift: Drift,
    /// Step.
    pub step: Step,
    /// Modes.
    pub modes: Modes,
    /// Floor.
    pub floor: FloorShift,
}

impl Stability {
    /// What is wrong, in the order of the checks; empty for a stable series.
    pub fn flags(&self) -> Vec<Flag> {
        let Self { independence, drift, step, modes, floor } = self;
        let checks = [
            (Flag::Correlated, independence.is_some_and(|found| found.z < -2.326)),
            (Flag::Drifting, drift.test.z.abs() > 2.576 && drift.change.abs() > 0.01),
            (Flag::Stepped, step.scan.z > step.limit && step.change.abs() > 0.01),
            (Flag::Modes, modes.dip > modes.limit),
            (Flag::FloorMoved, floor.p <= 0.01 && floor.spread > 0.005),
        ];
        checks.into_iter().filter(|(_, raised)| *raised).map(|(flag, _)| flag).collect()
    }
}

/// What is exceeded by chance once in a hundred series of n independent runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// 1 % point of the `z` of [`rank_scan`].
    pub scan: f64,
    /// 1 % point of [`dip`] for uniform values; rarer for other shapes with one mode.
    pub dip: f64,
}

/// [`Limits`] for `n` runs: tabulated in n from 20 on, interpolated linearly in `ln n`.
///
/// The dip shrinks as `1 / sqrt(n)`, so it is `dip sqrt(n)` that is interpolated. Outside the
/// table (20 to 300 and 20 to 200 runs) both are constant.
///
/// ```
/// assert_eq!(stats::series::limits(60).scan, 3.36);
/// ```
pub fn limits(n: usize) -> Limits {
    let n = n as f64;
    let dips = DIP_LIMITS.map(|(at, limit)| (at, limit * at.sqrt()));
    Limits { scan: interpolate(&SCAN_LIMITS, n), dip: interpolate(&dips, n) / n.sqrt() }
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
/// Correlated: rank von Neumann z < -2.326. Drifting: Mann-Kendall |z| > 2.576 and Theil-Sen slope
/// times n above 1 %. Stepped: [`rank_scan`] beyond its 1 % point and medians more than 1 % apart.
/// Modes: [`dip`] beyond its 1 % point. Floor moved: [`floor_shift`] p <= 1 % in 199 shuffles from
/// `seed` and a spread above 0.5 %. The 1 % points are [`limits`]. Fails for `n < 20` and for times
/// that are not finite or not above zero. O(n^2).
///
/// ```
/// use stats::series::{Flag, stability};
/// let drifting: Vec<f64> = (0..40).map(|i| 1000.0 + f64::from(i * 3 + i % 3)).collect();
/// assert!(stability(&drifting, 1).unwrap().flags().contains(&Flag::Drifting));
/// ```
pub fn stability(times: &[f64], seed: u64) -> Result<Stability, Invalid> {
    at_least(20, times)?;
    let xs = logs(times)?;
    let (scan, limits) = (rank_scan(&xs)?, limits(xs.len()));
    // Equal times have no split: any will do, all have the same medians.
    let (before, after) = xs.split_at(scan.at.max(1));
    let change = Sorted::new(after)?.median() - Sorted::new(before)?.median();
    Ok(Stability {
        independence: von_neumann(&xs).ok(),
        drift: Drift { test: mann_kendall(&xs)?, change: theil_sen(&xs)? * xs.len() as f64 },
        step: Step { scan, limit: limits.scan, change },
        modes: Modes { dip: dip(&Sorted::new(&xs)?), limit: limits.dip },
        floor: floor_shift(&xs, 199, seed)?,
    })
}
