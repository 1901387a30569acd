//! Which of several comparisons is closest to being called slower. It decides what is measured next,
//! and nothing else.

use crate::SortedSample;

/// Differences that the scatter of all comparisons together counts as.
const PRIOR: f64 = 5.0;
/// Fewest differences with a scatter of their own.
const N_MIN: usize = 3;
/// Normal consistency of the median absolute deviation.
const MAD_TO_SD: f64 = 1.4826;
/// Smallest scatter: differences can all be equal.
const SCATTER_MIN: f64 = 1e-9;

/// How far the median of each sample of log ratios is above `limit`, in units of its error; `None`
/// for a sample of less than three.
///
/// `z = (median - limit) / sqrt(pi / 2 · v / n)` with `v = (n s² + 5 s₀²) / (n + 5)`: `s` is 1.4826
/// times the median absolute deviation of the sample, and `s₀` the median of all `s`. Few
/// differences may lie close together by chance, so their own scatter counts as much as they are.
///
/// Output of Python's `statistics.median` in the same formula:
///
/// ```
/// let logs = [vec![0.02, 0.03, 0.01, 0.025], vec![0.001, -0.004, 0.003, 0.0, -0.002], vec![0.1]];
/// let found = stillwell_stats::suspects::evidence(&logs, 0.0);
/// assert!((found[0].unwrap() - 5.721369184774176).abs() < 1e-9);
/// assert_eq!(found[1..], [Some(0.0), None]);
/// ```
pub fn evidence(logs: &[Vec<f64>], limit: f64) -> Vec<Option<f64>> {
    let centers: Vec<Option<(f64, f64)>> = logs.iter().map(|logs| center(logs)).collect();
    let scatters: Vec<f64> = centers.iter().flatten().map(|(_, scatter)| *scatter).collect();
    let Ok(scatters) = SortedSample::new(&scatters) else { return vec![None; logs.len()] };
    let pooled = scatters.median();
    let one = |(logs, center): (&Vec<f64>, &Option<(f64, f64)>)| {
        let ((median, scatter), n) = ((*center)?, logs.len() as f64);
        let variance = (n * scatter * scatter + PRIOR * pooled * pooled) / (n + PRIOR);
        let err = (std::f64::consts::FRAC_PI_2 * variance / n).sqrt();
        Some((median - limit) / err.max(SCATTER_MIN))
    };
    logs.iter().zip(&centers).map(one).collect()
}

/// The median, and the scatter around it.
fn center(logs: &[f64]) -> Option<(f64, f64)> {
    let median = SortedSample::new(logs).ok().filter(|_| logs.len() >= N_MIN)?.median();
    let away: Vec<f64> = logs.iter().map(|log| (log - median).abs()).collect();
    Some((median, MAD_TO_SD * SortedSample::new(&away).ok()?.median()))
}
