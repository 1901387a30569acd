//! Selects the arm that is likely to be the best. It may be bold, because its times decide nothing else.

use stats::SortedSample;

use crate::race::rounds::RoundTimes;

/// An arm that takes this many times as long as the reference, in each run of the first round, is left out.
pub(super) const FAR: f64 = 3.0;
/// The leader is known when it is this many standard errors ahead of each other arm…
const CLEAR_ERRORS: f64 = 3.0;
/// …or when the standard error to the others is this share of the margin.
const NEAR_SHARE: f64 = 0.25;

#[derive(Clone, Copy, Debug)]
pub(super) struct RankedArm {
    pub arm: usize,
    /// Log of its time relative to the middle of a block.
    pub log: f64,
}

/// The remaining arms, the fastest first.
pub(super) fn ranking(rounds: &[RoundTimes], alive: &[usize]) -> Vec<RankedArm> {
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); alive.len()];
    for round in rounds {
        let places: Option<Vec<usize>> = alive.iter().map(|&arm| round.column(arm)).collect();
        let Some(places) = places else { continue };
        for runs in &round.blocks {
            let logs: Vec<f64> = places.iter().map(|&at| runs[at].cost.ln()).collect();
            let Ok(sorted) = SortedSample::new(&logs) else { continue };
            let middle = sorted.median();
            columns.iter_mut().zip(&logs).for_each(|(column, log)| column.push(log - middle));
        }
    }
    let estimate = |column: &Vec<f64>| {
        SortedSample::new(column).map_or(f64::INFINITY, |sorted| sorted.trimmed_mean())
    };
    let ranked =
        alive.iter().zip(&columns).map(|(&arm, column)| RankedArm { arm, log: estimate(column) });
    let mut ranking: Vec<RankedArm> = ranked.collect();
    ranking.sort_by(|a, b| a.log.total_cmp(&b.log));
    ranking
}

/// Whether the leader is known well enough: each other arm is clearly behind it, or so near that the margin covers the
/// uncertainty.
pub(super) fn is_clear(rounds: &[RoundTimes], ranking: &[RankedArm], margin: f64) -> bool {
    let Some((leader, others)) = ranking.split_first() else { return true };
    others.iter().all(|other| {
        let ratios: Vec<f64> =
            rounds.iter().flat_map(|round| round.log_ratios(leader.arm, other.arm)).collect();
        let error = scatter(&ratios) / (ratios.len().max(1) as f64).sqrt();
        other.log - leader.log > CLEAR_ERRORS * error || error <= NEAR_SHARE * margin
    })
}

/// Standard deviation of a sample without its tails, from the quartiles.
pub(super) fn scatter(values: &[f64]) -> f64 {
    SortedSample::new(values)
        .map_or(0.0, |sorted| (sorted.quantile(0.75) - sorted.quantile(0.25)) / 1.349)
}

/// The arms each of whose runs takes [`FAR`] times as long as every run of the reference.
pub(super) fn far(round: &RoundTimes, reference: usize) -> Vec<usize> {
    let Some(logs) = round.logs(reference) else { return Vec::new() };
    let slowest = logs.into_iter().fold(f64::NEG_INFINITY, f64::max) + FAR.ln();
    let is_far = |&arm: &usize| {
        arm != reference
            && round.logs(arm).is_some_and(|logs| logs.iter().all(|&log| log > slowest))
    };
    round.arms.iter().copied().filter(is_far).collect()
}
