//! Histograms of several arms on one scale.

use serde::Serialize;

use crate::arm_values::{by_arm, sessions};
use crate::launches;
use record::plan::Role;
use record::{Record, Rows};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Histogram {
    /// Edges of the bins, ns; one more than there are bins.
    pub edges: Vec<f64>,
    /// Runs in each bin, for each arm.
    pub counts: Vec<Vec<u32>>,
    /// Runs beyond the last edge, for each arm.
    pub n_above: Vec<u32>,
}

/// The upper edge is this quantile of the slowest arm, so one outlier does not squeeze the rest into one bin.
const UPPER_QUANTILE: f64 = 0.95;

/// The values of every candidate: slices if there are any, otherwise runs. Controls have none.
pub fn series(record: &Record) -> Vec<Vec<f64>> {
    sessions(record).into_iter().flat_map(|(_, session)| session_series(session)).collect()
}

fn session_series(record: &Record) -> Vec<Vec<f64>> {
    let plan = &record.header.plan;
    let mut values = match &record.slices {
        Some(slices) => launches::values_by_arm(plan, slices, None),
        None => by_arm(&record.rows, plan.arms.len(), Rows::headline),
    };
    for (series, arm) in values.iter_mut().zip(&plan.arms) {
        if arm.role != Role::Candidate {
            series.clear();
        }
    }
    values
}

impl Histogram {
    /// Bins the measured runs of every candidate; a control's bins are empty. `None` without any run.
    pub fn of(record: &Record, n_bins: usize) -> Option<Self> {
        Self::from_series(&series(record), n_bins)
    }

    pub fn from_series(series: &[Vec<f64>], n_bins: usize) -> Option<Self> {
        let sorted: Vec<_> =
            series.iter().filter_map(|xs| stats::SortedSample::new(xs).ok()).collect();
        let lo = sorted.iter().map(stats::SortedSample::min).reduce(f64::min)?;
        let hi = sorted.iter().map(|xs| xs.quantile(UPPER_QUANTILE)).reduce(f64::max)?;
        // All values are equal: any bin width works.
        let width = if hi > lo { (hi - lo) / n_bins as f64 } else { (lo.abs() * 0.01).max(1.0) };
        let edges: Vec<f64> = (0..=n_bins).map(|bin| lo + width * bin as f64).collect();
        let mut counts = vec![vec![0; n_bins]; series.len()];
        let mut n_above = vec![0; series.len()];
        for (arm, xs) in series.iter().enumerate() {
            for x in xs {
                let bin = ((x - lo) / width) as usize;
                // The quantile belongs to the last bin.
                let bin = if *x <= hi { bin.min(n_bins - 1) } else { bin };
                match counts[arm].get_mut(bin) {
                    Some(count) => *count += 1,
                    None => n_above[arm] += 1,
                }
            }
        }
        Some(Self { edges, counts, n_above })
    }

    /// Bins several series by their logarithms up to the largest value, in bins of equal ratio. `None` without values,
    /// or if a value is not above zero.
    pub fn from_logs(series: &[Vec<f64>], n_bins: usize) -> Option<Self> {
        let values = || series.iter().flatten().copied();
        let lo = values().reduce(f64::min).filter(|&lo| lo > 0.0)?;
        let hi = values().reduce(f64::max)?;
        // All values are equal: the bins span one percent around them.
        let step = if hi > lo { (hi / lo).ln() / n_bins as f64 } else { 0.01 / n_bins as f64 };
        let edges: Vec<f64> = (0..=n_bins).map(|bin| lo * (step * bin as f64).exp()).collect();
        let count = |xs: &Vec<f64>| {
            let mut counts = vec![0; n_bins];
            for x in xs {
                let bin = ((x / lo).ln() / step) as usize;
                counts[bin.min(n_bins - 1)] += 1;
            }
            counts
        };
        let counts = series.iter().map(count).collect();
        Some(Self { edges, counts, n_above: vec![0; series.len()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_counted_once() {
        let series = [vec![1.0, 2.0, 3.0, 4.0], vec![2.0; 5], vec![]];
        let histogram = Histogram::from_series(&series, 3).unwrap();
        for (arm, xs) in series.iter().enumerate() {
            let counted: u32 = histogram.counts[arm].iter().sum::<u32>() + histogram.n_above[arm];
            assert_eq!(counted as usize, xs.len());
        }
        assert_eq!(histogram.edges.len(), 4);
        assert_eq!(histogram.counts[0][0], 1);
    }

    #[test]
    fn an_outlier_does_not_set_the_scale() {
        let mut xs: Vec<f64> = (0..100).map(f64::from).collect();
        xs.push(1e9);
        let histogram = Histogram::from_series(&[xs], 10).unwrap();
        assert!(histogram.edges[10] < 100.0);
        assert_eq!(histogram.counts[0].iter().sum::<u32>() + histogram.n_above[0], 101);
        assert!(histogram.n_above[0] <= 6);
    }

    #[test]
    fn bins_of_equal_ratio_hold_everything() {
        let xs: Vec<f64> = (0..40).map(|n| 1.5_f64.powi(n)).collect();
        let histogram = Histogram::from_logs(&[xs, vec![1.0; 3]], 13).unwrap();
        assert!(histogram.counts[0].iter().all(|count| (3..=4).contains(count)), "{histogram:?}");
        assert_eq!(histogram.counts[0].iter().sum::<u32>(), 40);
        assert_eq!((histogram.counts[1][0], &histogram.n_above[..]), (3, &[0, 0][..]));
        let ratio = histogram.edges[1] / histogram.edges[0];
        assert!((histogram.edges[13] / histogram.edges[12] - ratio).abs() < 1e-9);
        assert_eq!(Histogram::from_logs(&[vec![0.0, 1.0]], 4), None);
        assert_eq!(Histogram::from_logs(&[vec![5.0; 3]], 4).unwrap().counts, [[3, 0, 0, 0]]);
    }

    #[test]
    fn equal_times_and_no_times_are_fine() {
        let histogram = Histogram::from_series(&[vec![5.0; 3]], 4).unwrap();
        assert_eq!(histogram.counts[0], [3, 0, 0, 0]);
        assert_eq!(Histogram::from_series(&[vec![]], 4), None);
    }
}
