//! Confirmation: the likely winner against every other arm, on blocks that chose nothing.

use rayon::prelude::*;
use stats::Invalid;
use stats::relabel::Estimand;
use stats::sequential::{SequentialDesign, SequentialTest};
use stats::spending::{InterimPoint, Spending};
use stats::verdict::z;

use crate::race::outcome::LogRatio;
use crate::race::rounds::{RacePairs, RoundTimes};

/// Blocks of the first stage. With fewer, nothing can be shown at 1 %.
pub(super) const FIRST_BLOCKS: usize = 12;
/// Fewest blocks of all stages together: the first stages need their share of alpha.
const BLOCKS_MIN: usize = 48;
/// Most blocks. A machine that needs more has too much noise for the margin.
const BLOCKS_MAX: usize = 20_000;
/// The blocks that a fixed number of them would need, times this, because there are several looks.
const LOOKS_COST: f64 = 1.5;
/// Probability with which the confirmation succeeds if another arm takes the same time.
const POWER: f64 = 0.95;

/// What all tests of a confirmation have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConfirmationDesign {
    pub alpha: f64,
    /// Log ratio of the margin.
    pub margin: f64,
    pub estimand: Estimand,
    pub seed: u64,
    /// Blocks of all stages.
    pub n_max: usize,
}

impl ConfirmationDesign {
    /// Blocks with which the winner is confirmed against an arm of the same time, at this scatter of their log ratio.
    pub(super) fn blocks(alpha: f64, margin: f64, scatter: f64) -> usize {
        let errors = z(1.0 - alpha / 2.0) + z(POWER);
        let n_blocks = LOOKS_COST * (errors * scatter / margin).powi(2);
        (n_blocks.ceil() as usize).clamp(BLOCKS_MIN, BLOCKS_MAX)
    }

    fn test(&self, arm: usize, alpha: f64) -> SequentialTest {
        SequentialTest::new(SequentialDesign {
            spending: Spending { alpha, family: 1, n_min: 0 },
            estimand: self.estimand,
            // No other ratio is of interest here; -margin is tested beside.
            margin: 0.0,
            limit: 0.0,
            seed: self.seed.wrapping_add(arm as u64),
        })
    }

    fn point(&self, n_pairs: usize) -> InterimPoint {
        let fraction = (n_pairs as f64 / self.n_max as f64).min(1.0);
        InterimPoint { n_pairs, fraction }
    }
}

/// What the looks say about "the arm is better than the winner by the margin or more".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChallengeEnd {
    /// It is not. The stage that showed it, from 1.
    Beaten(usize),
    /// It is.
    Better,
}

/// An arm that could be better than the winner.
#[derive(Clone, Debug)]
struct Challenge {
    arm: usize,
    pairs: RacePairs,
    points: Vec<InterimPoint>,
    test: SequentialTest,
    end: Option<ChallengeEnd>,
    /// Whether it is shown to be slower than the winner.
    is_slower: bool,
}

impl Challenge {
    /// A look after a stage.
    fn look(&mut self, margin: f64, stage: usize) -> Result<(), Invalid> {
        let pairs = self.pairs.pairs()?;
        self.test.take(&pairs, &self.points)?;
        if self.test.n_looks() == 0 {
            return Ok(());
        }
        let is_beaten = self.test.is_above(-margin, &pairs)?;
        if self.end.is_none() && is_beaten {
            self.end = Some(ChallengeEnd::Beaten(stage));
        }
        let estimate = self.test.rough().map_or(0.0, |(log_ratio, _)| log_ratio);
        if self.test.is_different(1.0) {
            self.is_slower |= is_beaten && estimate > 0.0;
            // Both 0 and the margin are rejected, and the estimate is beyond both.
            if self.end.is_none() && estimate < -margin {
                self.end = Some(ChallengeEnd::Better);
            }
        }
        Ok(())
    }
}

/// The confirmation of one winner.
#[derive(Clone, Debug)]
pub(super) struct Confirmation {
    pub winner: usize,
    pub design: ConfirmationDesign,
    pub rounds: Vec<RoundTimes>,
    challenges: Vec<Challenge>,
}

impl Confirmation {
    pub(super) fn new(winner: usize, others: &[usize], design: ConfirmationDesign) -> Self {
        let challenge = |&arm: &usize| Challenge {
            arm,
            pairs: RacePairs::default(),
            points: Vec::new(),
            test: design.test(arm, design.alpha),
            end: None,
            is_slower: false,
        };
        let challenges = others.iter().map(challenge).collect();
        Self { winner, design, rounds: Vec::new(), challenges }
    }

    /// Blocks so far.
    pub(super) fn n_blocks(&self) -> usize {
        self.rounds.iter().map(|round| round.blocks.len()).sum()
    }

    /// Blocks of the next stage: each doubles their number. 0 if there is none.
    pub(super) fn next_blocks(&self) -> usize {
        let n_blocks = self.n_blocks();
        let goal = (2 * n_blocks).clamp(FIRST_BLOCKS, self.design.n_max);
        // A short last stage is not worth its look.
        let goal = if 3 * goal > 2 * self.design.n_max { self.design.n_max } else { goal };
        goal.saturating_sub(n_blocks)
    }

    /// The arms that may still be better.
    pub(super) fn open(&self) -> Vec<usize> {
        let is_open = |it: &&Challenge| !matches!(it.end, Some(ChallengeEnd::Beaten(_)));
        self.challenges.iter().filter(is_open).map(|it| it.arm).collect()
    }

    /// The arms of the next stage: those that are not shown to be slower.
    pub(super) fn running(&self) -> Vec<usize> {
        let is_running = |it: &&Challenge| !it.is_slower;
        self.challenges.iter().filter(is_running).map(|it| it.arm).collect()
    }

    /// Whether an arm is shown to be slower than the winner.
    pub(super) fn is_slower(&self, arm: usize) -> bool {
        self.challenges.iter().any(|it| it.arm == arm && it.is_slower)
    }

    /// Whether an arm was shown to be better than the winner by more than the margin.
    pub(super) fn is_lost(&self) -> bool {
        self.challenges.iter().any(|it| it.end == Some(ChallengeEnd::Better))
    }

    /// The end of an arm's challenge.
    pub(super) fn end_of(&self, arm: usize) -> Option<ChallengeEnd> {
        self.challenges.iter().find(|it| it.arm == arm)?.end
    }

    /// Leaves out an arm that failed.
    pub(super) fn forget(&mut self, arm: usize) {
        self.challenges.retain(|it| it.arm != arm);
    }

    /// Takes in a stage.
    ///
    /// # Errors
    /// The times are unfit for a test.
    pub(super) fn take(&mut self, round: RoundTimes) -> Result<(), Invalid> {
        let (winner, design) = (self.winner, self.design);
        let stage = self.rounds.len() + 1;
        let look = |it: &mut Challenge| -> Result<(), Invalid> {
            it.pairs.add(&round, winner, it.arm);
            if it.pairs.len() == it.points.last().map_or(0, |point| point.n_pairs) {
                return Ok(());
            }
            it.points.push(design.point(it.pairs.len()));
            it.look(design.margin, stage)
        };
        self.challenges.par_iter_mut().map(look).collect::<Result<Vec<()>, _>>()?;
        self.rounds.push(round);
        Ok(())
    }

    /// The log ratio of an arm to the winner, from the looks that decided about it.
    pub(super) fn to_winner(&self, arm: usize) -> Option<LogRatio> {
        let it = self.challenges.iter().find(|it| it.arm == arm)?;
        log_ratio(&it.test, &it.pairs)
    }

    /// The log ratio of an arm to the reference, at this share of alpha. The looks are those of the stages.
    pub(super) fn to_reference(
        &self,
        arm: usize,
        reference: usize,
        share: f64,
    ) -> Option<LogRatio> {
        let mut pairs = RacePairs::default();
        let mut points = Vec::new();
        for round in &self.rounds {
            let n_before = pairs.len();
            pairs.add(round, reference, arm);
            if pairs.len() > n_before {
                points.push(self.design.point(pairs.len()));
            }
        }
        let mut test = self.design.test(arm, self.design.alpha * share);
        test.take(&pairs.pairs().ok()?, &points).ok()?;
        log_ratio(&test, &pairs)
    }
}

/// The log ratio that the looks of a test leave.
fn log_ratio(test: &SequentialTest, pairs: &RacePairs) -> Option<LogRatio> {
    let found = test.conclude(&pairs.pairs().ok()?, 1.0).ok()??;
    let (lo, hi) = (found.interval.lo, found.interval.hi);
    Some(LogRatio { log: found.last.theta.clamp(lo, hi), lo, hi, n_pairs: test.n_pairs_seen() })
}
