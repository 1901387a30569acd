//! The course of a race: which round comes next.

use std::collections::BTreeMap;

use crate::race::confirmation::{Confirmation, FIRST_BLOCKS, RaceRules};
use crate::race::rounds::RoundTimes;
use crate::race::selection::{far, is_clear, ranking};
use stats::Invalid;

const ROUND_BLOCKS: usize = 3;
/// Most blocks of a round of selection.
const ROUND_BLOCKS_MAX: usize = 512;
/// Blocks after which one of the last two leads, however near they are. The confirmation can change that.
const LAST_TWO_BLOCKS: usize = 45;

/// A round of the selection, or a stage of the confirmation, whose first arm is the likely winner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceRound {
    pub is_confirmation: bool,
    pub arms: Vec<usize>,
    pub n_blocks: usize,
}

#[derive(Clone, Debug)]
pub struct Race {
    pub(super) rules: RaceRules,
    pub(super) n_arms: usize,
    pub(super) rounds: Vec<RoundTimes>,
    /// The arms that may become the likely winner.
    pub(super) alive: Vec<usize>,
    /// The round of selection after which an arm was out, from 1.
    pub(super) out_after: BTreeMap<usize, usize>,
    /// The arms that are far slower than the reference.
    pub(super) far: Vec<usize>,
    /// The arms that failed, with the reason.
    pub(super) failed: BTreeMap<usize, String>,
    pub(super) confirmation: Option<Confirmation>,
    pub(super) pace: RacePace,
    /// Rounds of selection, without the stages of a winner that was given up.
    pub(super) n_rounds: usize,
    /// Stages of likely winners that failed. Their share of the error stays spent.
    n_stages_given_up: usize,
    /// Whether the likely winner was replaced.
    has_led_again: bool,
    /// Whether the next round does not fit into the budget.
    pub(super) is_out_of_time: bool,
}

impl Race {
    pub fn new(n_arms: usize, rules: RaceRules) -> Self {
        Self {
            rules,
            n_arms,
            rounds: Vec::new(),
            alive: (0..n_arms).collect(),
            out_after: BTreeMap::new(),
            far: Vec::new(),
            failed: BTreeMap::new(),
            confirmation: None,
            pace: RacePace::default(),
            n_rounds: 0,
            n_stages_given_up: 0,
            has_led_again: false,
            is_out_of_time: false,
        }
    }

    /// What is measured next; `None` at the end.
    pub fn next_round(&self) -> Option<RaceRound> {
        let reference = self.rules.reference;
        let with_reference = |mut arms: Vec<usize>| {
            if !arms.contains(&reference) {
                arms.push(reference);
            }
            arms
        };
        let Some(confirmation) = &self.confirmation else {
            let arms = with_reference(self.alive.clone());
            let n_blocks = (ROUND_BLOCKS << self.rounds.len().min(16)).min(ROUND_BLOCKS_MAX);
            return Some(RaceRound { is_confirmation: false, arms, n_blocks });
        };
        let is_lost = confirmation.better(&self.rounds).is_some() || confirmation.is_too_coarse();
        if self.is_out_of_time || confirmation.open().is_empty() || is_lost {
            return None;
        }
        let n_blocks = confirmation.next_blocks(&self.rounds);
        let mut arms = vec![confirmation.winner];
        arms.extend(confirmation.open());
        Some(RaceRound { is_confirmation: true, arms: with_reference(arms), n_blocks })
    }

    /// Leaves out an arm that failed. The reference must not.
    pub fn fail(&mut self, arm: usize, why: String) {
        self.failed.insert(arm, why);
        self.alive.retain(|&other| other != arm);
        match &mut self.confirmation {
            // The winner was not announced yet, so the others of the last round race on.
            Some(confirmation) if confirmation.winner == arm => {
                let last = self.rounds.last().map_or(Vec::new(), |round| round.arms.clone());
                self.n_stages_given_up = confirmation.n_stages();
                self.confirmation = None;
                let contenders = self.contenders();
                self.alive = last.into_iter().filter(|arm| contenders.contains(arm)).collect();
            }
            Some(confirmation) => confirmation.forget(arm),
            None => {}
        }
        if self.confirmation.is_none() && self.alive.is_empty() {
            self.alive = self.contenders();
        }
    }

    /// Adds the round of [`Race::next_round`]. Errors: the times are unfit for a test.
    pub fn take(&mut self, round: RoundTimes) -> Result<(), Invalid> {
        self.pace.take(&round);
        match &mut self.confirmation {
            Some(confirmation) => {
                confirmation.take(round)?;
                self.lead_again();
            }
            None => self.select(round),
        }
        let stage = self.next_round().filter(|next| next.is_confirmation);
        let needed_s = stage.map_or(0.0, |it| self.pace.block_s(&it.arms) * it.n_blocks as f64);
        self.is_out_of_time = needed_s > self.left_s();
        Ok(())
    }

    /// Remaining time of the budget, s.
    pub fn left_s(&self) -> f64 {
        self.rules.budget_s - self.pace.spent_s
    }

    pub fn spent_s(&self) -> f64 {
        self.pace.spent_s
    }

    pub fn leader(&self) -> Option<usize> {
        match &self.confirmation {
            Some(confirmation) => Some(confirmation.winner),
            None => ranking(&self.rounds, &self.alive).first().map(|first| first.arm),
        }
    }

    /// Arms that may be better than the likely winner, once a stage has ended.
    pub fn n_open(&self) -> Option<usize> {
        let confirmation = self.confirmation.as_ref().filter(|it| !it.rounds.is_empty())?;
        Some(confirmation.open().len())
    }

    pub fn n_left(&self) -> usize {
        self.n_arms - self.failed.len()
    }

    /// Counts a round that a failure cut short.
    pub fn waste(&mut self, seconds: f64, n_runs: usize) {
        self.pace.spent_s += seconds;
        self.pace.n_runs += n_runs;
    }

    fn select(&mut self, round: RoundTimes) {
        if self.rounds.is_empty() {
            self.far = far(&round, self.rules.reference);
            self.alive.retain(|arm| !self.far.contains(arm));
        }
        self.rounds.push(round);
        self.n_rounds += 1;
        let ranking = ranking(&self.rounds, &self.alive);
        let n_kept = self.alive.len().div_ceil(2).max(2);
        let n_blocks: usize = self.rounds.iter().map(|round| round.blocks.len()).sum();
        let is_known = is_clear(&self.rounds, &ranking, self.rules.margin)
            || (self.alive.len() < 3 && n_blocks >= LAST_TWO_BLOCKS);
        if is_known || !self.has_time_for_another() {
            let winner = ranking.first().map_or(self.rules.reference, |first| first.arm);
            self.confirmation = Some(self.confirmation_of(winner, self.n_stages_given_up));
            return;
        }
        self.alive = ranking.iter().take(n_kept).map(|it| it.arm).collect();
        let n_rounds = self.rounds.len();
        self.out_after.extend(ranking.iter().skip(n_kept).map(|it| (it.arm, n_rounds)));
    }

    /// Whether the next round leaves at least as much time for the confirmation, and its first stage fits.
    fn has_time_for_another(&self) -> bool {
        let Some(RaceRound { arms, n_blocks, .. }) = self.next_round() else { return false };
        let round_s = self.pace.block_s(&arms) * n_blocks as f64 / 2.0;
        let first_stage_s = self.pace.block_s(&self.contenders()) * FIRST_BLOCKS as f64;
        round_s + round_s.max(first_stage_s) <= self.left_s()
    }

    /// All arms that are neither far slower nor failed.
    fn contenders(&self) -> Vec<usize> {
        let is_in = |arm: &usize| !self.far.contains(arm) && !self.failed.contains_key(arm);
        (0..self.n_arms).filter(is_in).collect()
    }

    fn confirmation_of(&self, winner: usize, n_before: usize) -> Confirmation {
        let others: Vec<usize> =
            self.contenders().into_iter().filter(|&arm| arm != winner).collect();
        Confirmation::new(winner, &others, self.rules, n_before)
    }

    /// Makes a rival that seems better than the likely winner the leader, once. The stages so far then count as rounds
    /// of selection, and their share of the error stays spent.
    fn lead_again(&mut self) {
        let Some(old) = &self.confirmation else { return };
        if self.has_led_again {
            return;
        }
        let Some(better) = old.better(&self.rounds) else { return };
        let next = self.confirmation_of(better, old.n_stages());
        if let Some(old) = self.confirmation.replace(next) {
            self.rounds.extend(old.rounds);
        }
        self.has_led_again = true;
    }
}

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
