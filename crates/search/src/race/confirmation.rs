//! Confirms the likely winner against every other arm, on fresh blocks.
//!
//! Each stage is tested by its own blocks alone. Its arms, its number of blocks and its share of the error are fixed
//! before it begins, so its labels are equally likely whatever the earlier stages showed.

use rayon::prelude::*;
use stats::relabel::{Estimand, Orbit};
use stats::verdict::z;
use stats::{Invalid, SortedSample};

use crate::race::rounds::RoundTimes;
use crate::race::selection::scatter;
use analysis::walls::Slots;
use analysis::{misread, widened};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    pub log: f64,
    pub lo: f64,
    pub hi: f64,
    /// Number of blocks behind the ratio.
    pub n_pairs: usize,
}

/// Blocks of the first stage. Fewer cannot show anything at its share of 1 %.
pub(super) const FIRST_BLOCKS: usize = 20;
/// Blocks of the second stage, which clears most of the field.
const SECOND_BLOCKS: usize = 80;
/// Largest factor from stage to stage, and most blocks.
const GROWTH_MAX: usize = 4;
const BLOCKS_MAX: usize = 4096;
/// Shares of alpha of the first stages. Each later one has half of the rest.
const SHARES: [f64; 2] = [0.4, 0.2];
/// Probability that a stage shows what its size is chosen for.
const POWER: f64 = 0.9;
/// A rival ahead of the leader by this share of the margin cannot be shown to be no better by any sensible number of
/// blocks.
const LOST_SHARE: f64 = 0.6;
/// Re-labellings for each one that may be as extreme as the observed, and the fewest.
const DRAWS_PER_EXTREME: f64 = 4.0;
const DRAWS_MIN: f64 = 1999.0;
/// Error of interval ends, as a log ratio.
const TOLERANCE: f64 = 1e-5;

#[derive(Clone, Copy, Debug)]
pub struct RaceRules {
    /// The arm that is in every block.
    pub reference: usize,
    /// Share of races in which the winner may be wrong.
    pub alpha: f64,
    /// Log ratio within which the winner is the best.
    pub margin: f64,
    pub estimand: Estimand,
    /// Time for everything, s.
    pub budget_s: f64,
    pub seed: u64,
}

impl RaceRules {
    /// The error rate of a stage, counted over the whole race from 0.
    fn alpha_of(&self, stage: usize) -> f64 {
        let left: f64 = 1.0 - SHARES.iter().sum::<f64>();
        let later = |n: usize| left * 0.5_f64.powi(n as i32 + 1);
        let share = SHARES.get(stage).copied();
        self.alpha * share.unwrap_or_else(|| later(stage - SHARES.len()))
    }

    /// The re-labellings of a stage, for a test at this error rate.
    fn orbit(
        &self,
        stage: usize,
        arm: usize,
        alpha: f64,
        n_pairs: usize,
    ) -> Result<Orbit, Invalid> {
        let draws = (DRAWS_PER_EXTREME / alpha).ceil().max(DRAWS_MIN) as usize;
        let seed = self.seed.wrapping_add(((stage as u64) << 32) | arm as u64);
        Orbit::new(n_pairs, draws, seed)
    }

    /// Whether a stage's pairs show that an arm's log ratio is above each of these, up to the first failure.
    fn are_below(
        &self,
        stage: usize,
        arm: usize,
        slots: &Slots,
        log_ratios: [f64; 2],
    ) -> Result<[bool; 2], Invalid> {
        let alpha = self.alpha_of(stage);
        let orbit = self.orbit(stage, arm, alpha, slots.len())?;
        let pairs = slots.pairs()?;
        let mut found = [false; 2];
        for (is_below, log_ratio) in found.iter_mut().zip(log_ratios) {
            let test = pairs.test(&orbit, self.estimand.statistics(), log_ratio)?;
            *is_below = test.p <= alpha && test.selected.t > 0.0;
            if !*is_below {
                break;
            }
        }
        Ok(found)
    }
}

/// An arm that could be better than the winner.
#[derive(Clone, Debug)]
struct Challenge {
    arm: usize,
    /// The stage that showed that the arm is not better by the margin, from 1.
    beaten: Option<usize>,
    /// Whether a stage showed that the arm is slower.
    is_slower: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Confirmation {
    pub winner: usize,
    pub rounds: Vec<RoundTimes>,
    rules: RaceRules,
    /// Stages of the race before this winner.
    n_before: usize,
    challenges: Vec<Challenge>,
}

impl Confirmation {
    pub(super) fn new(winner: usize, others: &[usize], rules: RaceRules, n_before: usize) -> Self {
        let challenge = |&arm: &usize| Challenge { arm, beaten: None, is_slower: false };
        let challenges = others.iter().map(challenge).collect();
        Self { winner, rounds: Vec::new(), rules, n_before, challenges }
    }

    /// Stages of the race so far.
    pub(super) fn n_stages(&self) -> usize {
        self.n_before + self.rounds.len()
    }

    /// Blocks of the next stage. After the first two they suffice for the closest rival, by all times so far, within
    /// limits.
    pub(super) fn next_blocks(&self, selection: &[RoundTimes]) -> usize {
        match self.rounds.len() {
            0 => return FIRST_BLOCKS,
            1 => return SECOND_BLOCKS,
            _ => {}
        }
        // An alpha that rounds to 0 needs as many blocks as are allowed.
        let quantile = |p| z(p).unwrap_or(f64::INFINITY);
        let alpha = self.rules.alpha_of(self.n_stages());
        let errors = quantile(1.0 - alpha / 2.0) + quantile(POWER);
        let needed = self.open().into_iter().map(|arm| {
            let (ahead, scatter) = self.known_of(arm, selection);
            let room = (self.rules.margin - ahead).max((1.0 - LOST_SHARE) * self.rules.margin);
            (errors * scatter / room).powi(2)
        });
        let needed = needed.fold(0.0, f64::max).ceil() as usize;
        let before = self.rounds.last().map_or(0, |round| round.blocks.len());
        needed.clamp(SECOND_BLOCKS, (GROWTH_MAX * before).clamp(SECOND_BLOCKS, BLOCKS_MAX))
    }

    /// How far an arm seems to be ahead of the winner, and the scatter from block to block, as log ratios.
    fn known_of(&self, arm: usize, selection: &[RoundTimes]) -> (f64, f64) {
        let rounds = selection.iter().chain(&self.rounds);
        let ratios: Vec<f64> = rounds.flat_map(|it| it.log_ratios(arm, self.winner)).collect();
        let ahead = SortedSample::new(&ratios).map_or(0.0, |sorted| sorted.trimmed_mean());
        let last = self.rounds.last().map_or(Vec::new(), |it| it.log_ratios(arm, self.winner));
        (ahead, scatter(&last))
    }

    /// The arm that seems so far ahead of the winner that the winner will not be confirmed.
    pub(super) fn better(&self, selection: &[RoundTimes]) -> Option<usize> {
        if self.rounds.len() < 2 {
            return None;
        }
        let ahead = |arm: &usize| self.known_of(*arm, selection).0;
        let best = self.open().into_iter().max_by(|a, b| ahead(a).total_cmp(&ahead(b)))?;
        (ahead(&best) > LOST_SHARE * self.rules.margin).then_some(best)
    }

    /// Whether steps in the times of two stages hide a difference of the margin. Hardly any number of blocks shows it.
    pub(super) fn is_too_coarse(&self) -> bool {
        let Some(last) = self.rounds.get(1..).and_then(<[RoundTimes]>::last) else { return false };
        let off = |arm| misread(&last.slots(self.winner, arm), last.has_steps).ln_1p();
        self.open().into_iter().any(|arm| off(arm) >= self.rules.margin)
    }

    /// The arms of the next stage: those that may still be better by the margin.
    pub(super) fn open(&self) -> Vec<usize> {
        self.challenges.iter().filter(|it| it.beaten.is_none()).map(|it| it.arm).collect()
    }

    /// The stage that showed that an arm is not better, and whether the arm is slower.
    pub(super) fn found(&self, arm: usize) -> Option<(Option<usize>, bool)> {
        let challenge = self.challenges.iter().find(|it| it.arm == arm)?;
        Some((challenge.beaten, challenge.is_slower))
    }

    pub(super) fn forget(&mut self, arm: usize) {
        self.challenges.retain(|it| it.arm != arm);
    }

    /// Adds a stage. Errors: the times are unfit for a test.
    pub(super) fn take(&mut self, round: RoundTimes) -> Result<(), Invalid> {
        let (winner, rules, stage) = (self.winner, self.rules, self.n_stages());
        let n_stages = self.rounds.len() + 1;
        let look = |it: &mut Challenge| -> Result<(), Invalid> {
            let slots = round.slots(winner, it.arm);
            if slots.is_empty() {
                return Ok(());
            }
            // What may be misread takes its part of the margin. Who is slower is not better.
            let off = misread(&slots, round.has_steps).ln_1p();
            let log_ratios = [(off - rules.margin).min(0.0), 0.0];
            let [is_beaten, is_slower] = rules.are_below(stage, it.arm, &slots, log_ratios)?;
            if is_beaten && it.beaten.is_none() {
                it.beaten = Some(n_stages);
            }
            it.is_slower |= is_slower;
            Ok(())
        };
        self.challenges.par_iter_mut().map(look).collect::<Result<Vec<()>, _>>()?;
        self.rounds.push(round);
        Ok(())
    }

    /// The log ratio new ÷ old, from the last and largest stage with both. `share`: share of the stage's error rate.
    /// Over all stages, the interval is wrong at most with the sum of their error rates.
    pub(super) fn log_ratio(&self, old: usize, new: usize, share: f64) -> Option<LogRatio> {
        let has_both = |round: &RoundTimes| !round.slots(old, new).is_empty();
        let index = self.rounds.iter().rposition(has_both)?;
        let (rules, stage) = (self.rules, self.n_before + index);
        let slots = self.rounds[index].slots(old, new);
        let alpha = rules.alpha_of(stage) * share;
        let orbit = rules.orbit(stage, new, alpha, slots.len()).ok()?;
        let statistics = rules.estimand.statistics();
        let comparison = slots.pairs().ok()?.compare(&orbit, statistics, alpha, TOLERANCE).ok()?;
        let misread = misread(&slots, self.rounds[index].has_steps);
        let wide = widened(comparison.interval, comparison.theta, misread);
        let log = comparison.theta.clamp(wide.lo, wide.hi);
        Some(LogRatio { log, lo: wide.lo, hi: wide.hi, n_pairs: slots.len() })
    }
}
