//! The time of a program without interruptions, from runs that were interrupted.
//!
//! A run that another program preempts finds cold caches and predictors afterwards. This costs 0.3
//! to 0.9 ms of CPU time each time, so the clean times of all runs of a busy session are too long.
//! The session itself shows how much: its runs were interrupted more or less often.
//!
//! A line through times and counts does not show it. A longer run is interrupted more often, also
//! if interruptions cost nothing: with a preemption every 3 ms, the slope of that line is 3 ms. In
//! simulated sessions with two machine speeds, the slope is up to 3 times the cost.
//! [`uninterrupted`] uses the rate instead, interruptions per time.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::endpoint::{window_count, windows};
use crate::invalid::{Invalid, finite};
use crate::low_end;
use crate::propagate::PointEstimate;
use crate::sorted::{SortedSample, mean_of, median_of, sample_sd};

/// Fewest runs from which a cost is estimated.
const MIN_RUNS: usize = 12;
/// Runs from which a cost is estimated. More make it slow, and hardly better.
const MAX_RUNS: usize = 1000;
/// Steps of the search for the cost. The last one is a millionth of the limit.
const HALVINGS: u32 = 20;
/// Largest share of a run's time that its interruptions can explain.
const MAX_SHARE: f64 = 0.6;
/// How far below the runs with the fewest interruptions zero may be, in sd of the counts about "in
/// proportion to the time". Beyond it the cost of the interruptions that vary in number says little
/// about the others: under a constant load, 14 a run with an sd of 2.8 gave t0 36 % too large.
const MAX_REACH: f64 = 3.0;
/// Largest error of t0 that may come from the cost, as a share of t0.
const MAX_COST_ERR: f64 = 0.1;
/// Sd of the cost of one interruption, as a share of its mean. Measured: 0.3; exponential: 1.
const COST_CV: f64 = 0.5;
/// Share of the runs that t0 comes from: those with the fewest interruptions.
const LEAST_INTERRUPTED: f64 = 1.0 / 3.0;

/// The time of a session's runs without interruptions, as far as the runs show it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Interruptions {
    /// Enough runs had none: [`low_end::floor`] of the times is the answer.
    Negligible,
    /// The runs do not show what an interruption costs. [`low_end::floor`] of the times is an
    /// upper bound.
    UnknownCost {
        /// Median number of interruptions of a run.
        usual: f64,
    },
    /// The time without interruptions.
    Removed(Uninterrupted),
}

/// The time of one command without interruptions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uninterrupted {
    /// Time at zero interruptions, in the unit of the times. The error contains the cost's error.
    pub t0: PointEstimate,
    /// Mean cost of one interruption, in the unit of the times. Not negative.
    pub per_interruption: PointEstimate,
    /// Median number of interruptions of a run.
    pub usual: f64,
    /// Median number of interruptions of the runs that t0 comes from. `per_interruption` times this
    /// is what was extrapolated.
    pub least: f64,
}

/// One run: its time and the number of its interruptions.
type Run = (f64, f64);

/// Extrapolates `times` to zero interruptions. `interruptions` has the count of each run; both are
/// in run order. All values are in the unit of the times.
///
/// **Cost.** With cost `c`, run `i` takes `u_i = t_i - c n_i` by itself. `c` solves
/// `sum_i (rank(u_i) - mean rank) n_i / u_i = 0`: slow and fast runs are interrupted at the same
/// rate. This holds for any noise of the `u_i`, and if longer runs are interrupted more often. The
/// cost is at most the one that explains 60 % of some run's time, and at least 0.
///
/// **t0.** The runs with the fewest interruptions (the lowest third; those with none, if they are
/// at least 6 and a tenth) give `min(floor(u) + s e(m), quantile(u, 1/4))`. `floor` is
/// [`low_end::floor`], `s = c sqrt(n) / 2` the sd of the cost of `n` interruptions, and `e(m)` the
/// expected maximum of `m` standard normal values (Blom 1958): the lowest `u` is low partly because
/// its interruptions were cheap.
///
/// **Errors.** The error of the cost is the jackknife over the windows of
/// [`endpoint::window_err`](crate::endpoint::window_err). The error of t0
/// combines the error of [`low_end::floor`] with the error of the cost times the interruptions of
/// the lowest runs. Of 3 800 simulated sessions, 1.2 % are more than 2 errors off and 0.8 % more
/// than 3; the bias is at most 0.2 %
/// (tests/calibration/interruptions.rs).
///
/// The cost is unknown ([`Interruptions::UnknownCost`]) in four cases:
///
/// - fewer than 12 runs;
/// - zero is more than 3 sd below the counts of the least interrupted runs, with the sd of the counts
///   about proportionality to the time. This is usual under constant load, where the scheduler
///   preempts after a fixed slice;
/// - the best cost is more than 2 errors below 0, or at its limit;
/// - the error of the cost is above 10 % of t0.
///
/// The result is wrong if the *rate* depends on the program's own time. If the machine is slow and
/// busy at the same moments, the cost is too large, but within its limit. The cost is too small if
/// the interruptions that vary in number are cheaper than the others.
///
/// Fails on slices of different lengths, on no runs, and on times that are not finite and positive.
/// O(n log n); above 1000 runs, the cost comes from every k-th run.
///
/// ```
/// use stillwell_stats::interruptions::{Interruptions, uninterrupted};
/// let counts = [0, 3, 1, 5, 2, 8, 4, 0, 6, 1, 7, 2, 3, 9, 0, 5];
/// let times: Vec<f64> = counts.iter().map(|&n| 50.0 + 0.5 * n as f64).collect();
/// let Ok(Interruptions::Removed(found)) = uninterrupted(&times, &counts) else { panic!() };
/// assert!((found.t0.value - 50.0).abs() < 0.01);
/// assert!((found.per_interruption.value - 0.5).abs() < 0.01);
/// assert_eq!(uninterrupted(&times, &[0; 16]), Ok(Interruptions::Negligible));
/// ```
pub fn uninterrupted(times: &[f64], interruptions: &[u64]) -> Result<Interruptions, Invalid> {
    let runs = checked(times, interruptions)?;
    if runs.iter().all(|run| run.1 == 0.0) {
        return Ok(Interruptions::Negligible);
    }
    let unknown = if has_enough_without(&runs) {
        Interruptions::Negligible
    } else {
        Interruptions::UnknownCost { usual: median_count(&runs) }
    };
    let Some(cost) = cost_of(&runs) else { return Ok(unknown) };
    let Some(found) = at_cost(&runs, cost)? else { return Ok(unknown) };
    let is_sharp = cost.err * found.least <= MAX_COST_ERR * found.t0.value;
    let is_near = found.least <= MAX_REACH * spread_of_counts(&runs);
    Ok(if is_sharp && is_near { Interruptions::Removed(found) } else { unknown })
}

/// t0 with a cost below the time of each run by its count. `None` where too few runs are the least
/// interrupted ones for an error.
fn at_cost(runs: &[Run], cost: PointEstimate) -> Result<Option<Uninterrupted>, Invalid> {
    let most = if has_enough_without(runs) {
        0.0
    } else {
        SortedSample::new(&counts(runs))?.quantile(LEAST_INTERRUPTED)
    };
    let lowest: Vec<Run> = runs.iter().filter(|run| run.1 <= most).copied().collect();
    let own: Vec<f64> = lowest.iter().map(|run| run.0 - cost.value * run.1).collect();
    let floor = low_end::floor(&own)?;
    let Some(err) = floor.err else { return Ok(None) };
    let spread = COST_CV * cost.value * mean_of(&counts(&lowest)).sqrt();
    let cheap = spread * expected_maximum(own.len());
    let value = match cheap == 0.0 {
        true => floor.value,
        false => (floor.value + cheap).min(SortedSample::new(&own)?.quantile(0.25)),
    };
    let least = median_count(&lowest);
    Ok(Some(Uninterrupted {
        t0: PointEstimate { value, err: err.hypot(cost.err * least) },
        per_interruption: cost,
        usual: median_count(runs),
        least,
    }))
}

fn median_count(runs: &[Run]) -> f64 {
    median_of(&mut counts(runs))
}

fn counts(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.1).collect()
}

fn checked(times: &[f64], interruptions: &[u64]) -> Result<Vec<Run>, Invalid> {
    finite(times)?;
    if times.len() != interruptions.len() {
        return Err(Invalid::Lengths { left: times.len(), right: interruptions.len() });
    }
    match times.iter().position(|&time| time <= 0.0) {
        Some(index) => Err(Invalid::NotPositive { index }),
        None => Ok(times.iter().zip(interruptions).map(|(&time, &n)| (time, n as f64)).collect()),
    }
}

/// Whether the runs without interruptions suffice for a floor.
fn has_enough_without(runs: &[Run]) -> bool {
    let n_without = runs.iter().filter(|run| run.1 == 0.0).count();
    n_without >= 6 && n_without >= runs.len() / 10
}

/// The cost of one interruption. `None` if the runs do not show it.
fn cost_of(runs: &[Run]) -> Option<PointEstimate> {
    if runs.len() < MIN_RUNS {
        return None;
    }
    let step = runs.len().div_ceil(MAX_RUNS);
    let sample: Vec<Run> = runs.iter().step_by(step).copied().collect();
    let limit = limit_of_cost(runs);
    let cost = solve(&sample, limit);
    let n_windows = window_count(sample.len());
    let without: Vec<f64> = windows(sample.len(), n_windows)
        .map(|cut| solve(&[&sample[..cut.start], &sample[cut.end..]].concat(), limit))
        .collect();
    // The sd of jackknife values is the windows' sd / (W - 1).
    let err = sample_sd(&without).ok()? * (n_windows - 1) as f64 / (n_windows as f64).sqrt();
    let resolution = limit / f64::from(1 << HALVINGS);
    let is_plausible = cost >= -2.0 * (err + resolution) && cost < 0.99 * limit;
    is_plausible.then_some(PointEstimate { value: cost.max(0.0), err })
}

/// Sd of the counts about a constant rate.
fn spread_of_counts(runs: &[Run]) -> f64 {
    let (time, count) = runs.iter().fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
    let about: f64 = runs.iter().map(|run| (run.1 - run.0 * count / time).powi(2)).sum();
    (about / runs.len() as f64).sqrt()
}

fn limit_of_cost(runs: &[Run]) -> f64 {
    runs.iter()
        .filter(|run| run.1 > 0.0)
        .map(|run| MAX_SHARE * run.0 / run.1)
        .fold(f64::INFINITY, f64::min)
}

/// The cost within `-limit ..= limit` with which slow and fast runs are interrupted at one rate.
/// Costs below zero are solutions too: without them, its error would be too small near zero.
fn solve(runs: &[Run], limit: f64) -> f64 {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    let (mut below, mut above) = (-limit, limit);
    for _ in 0..HALVINGS {
        let middle = (below + above) / 2.0;
        if rate_against_rank(runs, &mut order, middle) > 0.0 {
            below = middle;
        } else {
            above = middle;
        }
    }
    (below + above) / 2.0
}

/// `sum (rank - mean rank) n / u` for own times `u` at this cost. Equal times share their rank.
fn rate_against_rank(runs: &[Run], order: &mut [usize], cost: f64) -> f64 {
    let own: Vec<f64> = runs.iter().map(|run| run.0 - cost * run.1).collect();
    order.sort_by(|&a, &b| own[a].total_cmp(&own[b]));
    let middle = (runs.len() - 1) as f64 / 2.0;
    let mut sum = 0.0;
    let mut done = 0;
    for equal in order.chunk_by(|&a, &b| own[a] == own[b]) {
        let rank = done as f64 + (equal.len() - 1) as f64 / 2.0;
        sum += (rank - middle) * equal.iter().map(|&at| runs[at].1 / own[at]).sum::<f64>();
        done += equal.len();
    }
    sum
}

/// Expected maximum of `n` standard normal values, by Blom's approximation.
fn expected_maximum(n: usize) -> f64 {
    Normal::standard().inverse_cdf((n as f64 - 0.375) / (n as f64 + 0.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exactly(counts: &[u64], cost: f64) -> Vec<f64> {
        counts.iter().map(|&n| 50.0 + cost * n as f64).collect()
    }

    #[test]
    fn without_interruptions_there_is_nothing_to_extrapolate() {
        assert_eq!(uninterrupted(&[3.0, 1.0], &[0, 0]), Ok(Interruptions::Negligible));
    }

    #[test]
    fn equal_counts_and_few_runs_show_no_cost() {
        let unknown = Ok(Interruptions::UnknownCost { usual: 7.0 });
        let times: Vec<f64> = (0..40).map(|i| 50.0 + f64::from(i * 7 % 11)).collect();
        assert_eq!(uninterrupted(&times, &[7; 40]), unknown);
        assert_eq!(uninterrupted(&[50.0; 40], &[7; 40]), unknown);
        assert_eq!(uninterrupted(&[50.0, 55.0, 60.0], &[6, 7, 8]), unknown);
    }

    /// A preemption every 3 ms: the count only repeats the time. A line says "3 ms each".
    #[test]
    fn counts_that_follow_the_time_show_no_cost() {
        let times: Vec<f64> = (0..60).map(|i| 50.0 + f64::from(i * 29 % 61) / 2.0).collect();
        let counts: Vec<u64> = times.iter().map(|time| (time / 3.0) as u64).collect();
        let found = uninterrupted(&times, &counts).unwrap();
        assert!(matches!(found, Interruptions::UnknownCost { .. }), "{found:?}");
    }

    #[test]
    fn runs_without_interruptions_decide_if_there_are_enough() {
        let counts: Vec<u64> =
            (0..40).map(|i| if i % 4 == 0 { 0 } else { 20 + i * 7 % 5 }).collect();
        let Ok(Interruptions::Removed(found)) = uninterrupted(&exactly(&counts, 0.5), &counts)
        else {
            panic!("the cost is plain");
        };
        assert_eq!((found.t0.value, found.least), (50.0, 0.0));
    }

    #[test]
    fn interruptions_that_cost_nothing_leave_the_floor() {
        let counts: Vec<u64> = (0..60).map(|i| 5 + i * 31 % 17).collect();
        let Ok(Interruptions::Removed(found)) = uninterrupted(&exactly(&counts, 0.0), &counts)
        else {
            panic!("no cost is a cost that is known");
        };
        assert!((found.t0.value - 50.0).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn the_unit_does_not_matter() {
        let counts: Vec<u64> = (0..60).map(|i| 2 + i * 31 % 17).collect();
        let noisy = |at: usize| (at * 37 % 23) as f64 / 10.0;
        let times: Vec<f64> =
            exactly(&counts, 0.4).iter().enumerate().map(|(at, time)| time + noisy(at)).collect();
        let in_ns: Vec<f64> = times.iter().map(|time| time * 1e6).collect();
        let (Ok(Interruptions::Removed(ms)), Ok(Interruptions::Removed(ns))) =
            (uninterrupted(&times, &counts), uninterrupted(&in_ns, &counts))
        else {
            panic!("the cost is plain");
        };
        assert!((ns.t0.value / ms.t0.value / 1e6 - 1.0).abs() < 1e-9);
        assert!((ns.t0.err / ms.t0.err / 1e6 - 1.0).abs() < 1e-6);
    }

    #[test]
    fn what_is_not_a_session_is_refused() {
        assert_eq!(uninterrupted(&[], &[]), Err(Invalid::Empty));
        let lengths = Err(Invalid::Lengths { left: 2, right: 1 });
        assert_eq!(uninterrupted(&[1.0, 2.0], &[1]), lengths);
        assert_eq!(uninterrupted(&[1.0, 0.0], &[1, 1]), Err(Invalid::NotPositive { index: 1 }));
        assert_eq!(uninterrupted(&[f64::NAN], &[1]), Err(Invalid::NotFinite { index: 0 }));
    }
}
