//! Which of several comparisons can be called slower soon. It decides what is measured next, and
//! nothing else: what the looks may spend is [`share_of_looks`]'s.

use crate::SortedSample;

/// Differences that the scatter of all comparisons together counts as.
const PRIOR: f64 = 5.0;
/// Fewest differences with a scatter of their own.
const N_MIN: usize = 3;
/// Normal consistency of the median absolute deviation.
const MAD_TO_SD: f64 = 1.4826;
/// Errors between the limit and a difference that is decided: about one in 10 000, a level that a look
/// has in a family of some tens.
const Z_DECIDED: f64 = 4.0;
/// Evidence below which a comparison is no suspect: one in six of those without a difference has more.
const Z_SUSPECT: f64 = 1.0;
/// Share of the error that the looks at fixed numbers of pairs may spend together.
const OF_LOOKS: f64 = 0.75;
/// Smallest scatter: differences can all be equal.
const SCATTER_MIN: f64 = 1e-9;

/// How far the median of each sample of log ratios is above `limit`, in units of its error; `None`
/// for a sample of less than three.
///
/// `z = (median - limit) / sqrt(pi / 2 · v / n)` with `v = (n s² + 5 s₀²) / (n + 5)`: `s` is 1.4826
/// times the median absolute deviation of the sample. Few differences may lie close together by
/// chance, so their own scatter counts as much as they are. `s₀` is the median over all samples of
/// 1.4826 times the median absolute log ratio. Exchanged labels do not change it, so the evidence of a
/// sample does not depend on the labels of any other one.
///
/// Output of Python's `statistics.median` in the same formula:
///
/// ```
/// let logs = [vec![0.02, 0.03, 0.01, 0.025], vec![0.001, -0.004, 0.003, 0.0, -0.002], vec![0.1]];
/// let found = stillwell_stats::suspects::evidence(&logs, 0.0);
/// assert!((found[0].unwrap() - 2.4914980549492824).abs() < 1e-9);
/// assert_eq!(found[1..], [Some(0.0), None]);
/// ```
pub fn evidence(logs: &[Vec<f64>], limit: f64) -> Vec<Option<f64>> {
    let is_long = |logs: &&Vec<f64>| logs.len() >= N_MIN;
    let of_all: Vec<f64> =
        logs.iter().filter(is_long).filter_map(|logs| scatter_around(0.0, logs)).collect();
    let Ok(of_all) = SortedSample::new(&of_all) else { return vec![None; logs.len()] };
    let pooled = of_all.median();
    let one = |logs: &Vec<f64>| {
        let logs = Some(logs).filter(is_long)?;
        let (median, n) = (SortedSample::new(logs).ok()?.median(), logs.len() as f64);
        let scatter = scatter_around(median, logs)?;
        let variance = (n * scatter * scatter + PRIOR * pooled * pooled) / (n + PRIOR);
        let err = (std::f64::consts::FRAC_PI_2 * variance / n).sqrt();
        Some((median - limit) / err.max(SCATTER_MIN))
    };
    logs.iter().map(one).collect()
}

/// The suspect: the index of the comparison with the least time until it is decided, if its estimate
/// is right. `None` if no estimate is more than one error above the limit. `spent` is the time of each
/// comparison so far, in one unit for all.
///
/// After `t` seconds with the evidence `z`, which grows with the root of the time, it takes
/// `t ((4 / z)² - 1)` more until it is 4.
///
/// ```
/// use stillwell_stats::suspects::suspect;
/// // 16 · (16 / 4 - 1) = 48 and 5 · (16 / 1.44 - 1) = 50.6.
/// assert_eq!(suspect(&[Some(2.0), Some(1.2), Some(0.9), None], &[16.0, 5.0, 1.0, 1.0]), Some(0));
/// assert_eq!(suspect(&[Some(2.0), Some(1.2), Some(0.9), None], &[17.0, 5.0, 1.0, 1.0]), Some(1));
/// assert_eq!(suspect(&[Some(0.9), None], &[1.0, 1.0]), None);
/// ```
pub fn suspect(evidence: &[Option<f64>], spent: &[f64]) -> Option<usize> {
    let left = |(at, (z, spent)): (usize, (&Option<f64>, &f64))| {
        let z = z.filter(|z| *z > Z_SUSPECT)?;
        Some((at, spent * ((Z_DECIDED / z).powi(2) - 1.0).max(0.0), z))
    };
    let suspects = evidence.iter().zip(spent).enumerate().filter_map(left);
    let first =
        suspects.min_by(|one, other| one.1.total_cmp(&other.1).then(other.2.total_cmp(&one.2)));
    first.map(|(at, ..)| at)
}

/// The fraction of an [`InterimPoint`] where suspects get more time, so that a look spends
/// `0.75 √fraction`, or, at the end of a session, `0.75 √fraction + 0.25`.
///
/// `fraction` is of the comparison's own time or pairs, which do not depend on the labels. Only
/// comparisons that never were suspects may have a look at the end: its number of pairs depends on the
/// labels of other comparisons only, and a suspect's would depend on its own. So the looks at fixed
/// numbers of pairs err in at most 0.75 alpha, whether or not each of them happens, and the looks at the
/// end in at most 0.25 alpha.
///
/// ```
/// use stillwell_stats::suspects::share_of_looks;
/// let spent = [share_of_looks(0.25, false), share_of_looks(0.25, true), share_of_looks(1.0, true)];
/// assert_eq!(spent.map(f64::sqrt), [0.375, 0.625, 1.0]);
/// ```
///
/// [`InterimPoint`]: crate::spending::InterimPoint
pub fn share_of_looks(fraction: f64, is_at_end: bool) -> f64 {
    let at_end = if is_at_end { 1.0 - OF_LOOKS } else { 0.0 };
    (OF_LOOKS * fraction.clamp(0.0, 1.0).sqrt() + at_end).powi(2)
}

/// 1.4826 times the median distance from a center.
fn scatter_around(center: f64, logs: &[f64]) -> Option<f64> {
    let away: Vec<f64> = logs.iter().map(|log| (log - center).abs()).collect();
    Some(MAD_TO_SD * SortedSample::new(&away).ok()?.median())
}
