//! How long a block takes.

use std::collections::BTreeMap;

use crate::race::rounds::RoundTimes;

/// The times of the arms so far, plus fixed overhead per round.
#[derive(Clone, Debug, Default)]
pub(super) struct RacePace {
    run_s: BTreeMap<usize, f64>,
    /// Time of the last round ÷ time of its runs.
    overhead: f64,
    pub spent_s: f64,
    pub n_runs: usize,
}

impl RacePace {
    pub(super) fn take(&mut self, round: &RoundTimes) {
        self.spent_s += round.seconds;
        self.n_runs += round.n_runs;
        self.run_s.extend(round.arms.iter().copied().zip(round.run_s.iter().copied()));
        let runs_s = round.run_s.iter().sum::<f64>() * round.blocks.len() as f64;
        if runs_s > 0.0 {
            self.overhead = (round.seconds / runs_s).max(1.0);
        }
    }

    /// Time of a block of these arms, s; 0 if nothing is known.
    pub(super) fn block_s(&self, arms: &[usize]) -> f64 {
        arms.iter().filter_map(|arm| self.run_s.get(arm)).sum::<f64>() * self.overhead.max(1.0)
    }
}
