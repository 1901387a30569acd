//! What each step of tuning is worth, from visits of a command in each state of the machine. Every block has one visit
//! of each step in random order, so a drift of the machine is not taken for a gain.

use schemars::JsonSchema;
use serde::Serialize;
use stats::relabel::{Estimand, Orbit, Pairs, draws};
use stats::{Invalid, Stream};

use crate::comparison::RatioInterval;
use crate::walls::Slots;

/// Error rate of the ratios, and of the tests behind the smallest visible difference.
pub const ALPHA: f64 = 0.01;
/// Session length for the smallest visible difference, ns.
pub const SESSION_NS: f64 = 10e9;
/// Precision of interval ends, as a log ratio.
const TOLERANCE: f64 = 1e-4;
/// The most steps that are recommended.
const STEPS_MAX: usize = 3;
/// The difference that equal times get, because the clock shows only whole nanoseconds.
const LEAST_DIFFERENCE: f64 = 1e-9;

/// The consecutive runs of one visit, in one state of the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceVisit {
    pub place: usize,
    /// Times of the runs in order, ns.
    pub times_ns: Vec<f64>,
    /// Mean time from the start of one run to the start of the next, ns.
    pub pace_ns: f64,
}

/// The worth of one step.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StepWorth {
    /// Runs.
    pub n_runs: usize,
    /// Median of the visits' medians, ns.
    pub time_ns: f64,
    /// The time with the step ÷ the time without any; `None` for the machine as it is.
    pub time: Option<RatioInterval>,
    /// Relative standard deviation of a run beside its neighbours, from successive differences.
    pub spread: f64,
    /// The spread with the step ÷ the spread without any.
    pub spread_change: Option<RatioInterval>,
    /// Smallest slowdown that a comparison of two commands finds in 80 % of ten-second sessions, as a fraction; `None`
    /// with too few runs.
    pub visible: Option<f64>,
}

/// The worth of all steps. `visits` has a list for each step, with a visit for each block; the first step is the
/// machine as it is. Errors: a visit has fewer than two runs, or a time is not above zero.
pub fn worth(visits: &[Vec<AdviceVisit>], seed: u64) -> Result<Vec<StepWorth>, Invalid> {
    let [without, ..] = visits else { return Ok(Vec::new()) };
    let of_step = |(step, visits): (usize, &Vec<AdviceVisit>)| -> Result<StepWorth, Invalid> {
        let is_compared = step > 0;
        let compare = |value: fn(&AdviceVisit) -> Result<f64, Invalid>| {
            is_compared.then(|| compare(without, visits, value, seed)).transpose()
        };
        let medians: Vec<f64> = visits.iter().map(median).collect::<Result<_, _>>()?;
        let spreads: Vec<f64> = visits.iter().map(spread).collect::<Result<_, _>>()?;
        Ok(StepWorth {
            n_runs: visits.iter().map(|visit| visit.times_ns.len()).sum(),
            time_ns: stats::median(&medians)?,
            time: compare(median)?,
            spread: stats::mean(&spreads)?,
            spread_change: compare(spread)?,
            visible: visible(visits, seed)?,
        })
    };
    visits.iter().enumerate().map(of_step).collect()
}

fn median(visit: &AdviceVisit) -> Result<f64, Invalid> {
    stats::median(&visit.times_ns)
}

/// `sqrt(pi) / 2` times the mean size of successive differences of log times. For normal noise this is the relative
/// standard deviation of a run, unaffected by drift (von Neumann et al., "The mean square successive difference",
/// Annals of Mathematical Statistics 12, 1941, in the form with absolute differences).
fn spread(visit: &AdviceVisit) -> Result<f64, Invalid> {
    let logs = stats::logs(&visit.times_ns)?;
    let sizes: Vec<f64> = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    Ok(stats::mean(&sizes)?.max(LEAST_DIFFERENCE) * std::f64::consts::PI.sqrt() / 2.0)
}

/// The ratio of a value of the visits, block by block. The random order in a block is the coin of the pair.
fn compare(
    without: &[AdviceVisit],
    with: &[AdviceVisit],
    value: fn(&AdviceVisit) -> Result<f64, Invalid>,
    seed: u64,
) -> Result<RatioInterval, Invalid> {
    let mut slots = Slots::default();
    for (old, new) in without.iter().zip(with) {
        slots.push((old.place, value(old)?), (new.place, value(new)?));
    }
    let pairs = slots.pairs()?;
    let orbit = Orbit::new(pairs.len(), draws(ALPHA), seed)?;
    let comparison = pairs.compare(&orbit, Estimand::Typical.statistics(), ALPHA, TOLERANCE)?;
    Ok(RatioInterval::of_logs(comparison.theta, comparison.interval))
}

/// The smallest visible slowdown of a ten-second session. Successive runs are the pairs that compare the command with
/// itself.
fn visible(visits: &[AdviceVisit], seed: u64) -> Result<Option<f64>, Invalid> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for pair in visits.iter().flat_map(|visit| visit.times_ns.chunks_exact(2)) {
        first.push(pair[0]);
        second.push(pair[1]);
    }
    let coins = Stream::new(seed).bits(first.len());
    let pairs = Pairs::new(&first, &second, &coins)?;
    let orbit = Orbit::new(pairs.len(), draws(ALPHA), seed)?;
    let comparison = pairs.compare(&orbit, Estimand::Adaptive.statistics(), ALPHA, TOLERANCE)?;
    let half_width = comparison.interval.half_width();
    if !half_width.is_finite() {
        return Ok(None);
    }
    let paces: Vec<f64> = visits.iter().map(|visit| visit.pace_ns).collect();
    let n_fit = (SESSION_NS / (2.0 * stats::mean(&paces)?)).floor();
    let factor = (pairs.len() as f64 / n_fit.max(1.0)).sqrt();
    Ok(Some((stats::verdict::mde80(half_width, ALPHA)? * factor).exp_m1()))
}

/// The steps that reduce the spread beyond chance, the best first. `is_choice` leaves out what is no advice, such as
/// all steps together.
pub fn worth_taking(worth: &[StepWorth], is_choice: impl Fn(usize) -> bool) -> Vec<usize> {
    let change = |step: usize| worth[step].spread_change;
    let is_better = |step: usize| change(step).is_some_and(|change| change.hi < 1.0);
    let mut steps: Vec<usize> =
        (0..worth.len()).filter(|&step| is_choice(step) && is_better(step)).collect();
    let ratio = |step: usize| change(step).map_or(1.0, |change| change.ratio);
    steps.sort_by(|&a, &b| ratio(a).total_cmp(&ratio(b)));
    steps.truncate(STEPS_MAX);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visits of six runs; half of the blocks visit the step first.
    fn visits(step: usize, time_ns: f64, sd: f64) -> Vec<AdviceVisit> {
        let mut stream = Stream::new(7 + step as u64);
        let mut normal = || (0..12).map(|_| stream.unit()).sum::<f64>() - 6.0;
        let visit = |block: usize| {
            // The machine drifts by 2 % a block.
            let level = time_ns * 1.02_f64.powi(i32::try_from(block).unwrap());
            let place = if block.is_multiple_of(2) { step } else { 9 - step };
            let times_ns = (0..6).map(|_| level * (1.0 + sd * normal())).collect();
            AdviceVisit { place, times_ns, pace_ns: 2.0 * time_ns }
        };
        (0..16).map(visit).collect()
    }

    #[test]
    fn a_quiet_step_is_found_in_spite_of_drift() {
        let all = [visits(0, 1e7, 0.03), visits(1, 1e7, 0.005), visits(2, 1.1e7, 0.03)];
        let found = worth(&all, 3).unwrap();
        assert_eq!((found[0].time, found[0].spread_change, found[0].n_runs), (None, None, 96));
        assert!((found[0].spread / 0.03 - 1.0).abs() < 0.2, "{found:?}");
        let quiet = found[1].spread_change.unwrap();
        assert!(quiet.lo < 1.0 / 6.0 && quiet.hi > 1.0 / 6.0 && quiet.hi < 0.4, "{quiet:?}");
        let slow = found[2].time.unwrap();
        assert!(slow.lo < 1.1 && 1.1 < slow.hi && slow.lo > 1.05, "{slow:?}");
        let visible: Vec<f64> = found.iter().map(|step| step.visible.unwrap()).collect();
        let ratio = visible[0] / visible[1];
        assert!((4.0..9.0).contains(&ratio), "{visible:?}");
        assert_eq!(worth_taking(&found, |_| true), [1]);
        assert_eq!(worth_taking(&found, |step| step != 1), [0; 0]);
    }

    /// 250 pairs fit into ten seconds. Normal times with a relative sd of 3 % have a log ratio of means with the
    /// standard error `0.03 sqrt(2 / 250)` = 0.27 %; `(2.576 + 0.842)` times that is 0.92 %.
    #[test]
    fn the_visible_difference_is_that_of_a_session_of_ten_seconds() {
        let found = worth(&[visits(0, 1e7, 0.03)], 3).unwrap();
        let visible = found[0].visible.unwrap();
        assert!((0.006..0.014).contains(&visible), "{visible}");
    }

    #[test]
    fn few_blocks_decide_nothing() {
        let all = [visits(0, 1e7, 0.03), visits(1, 1e7, 0.001)].map(|it| it[..4].to_vec());
        let found = worth(&all, 3).unwrap();
        assert_eq!(worth_taking(&found, |_| true), [0; 0]);
    }
}
