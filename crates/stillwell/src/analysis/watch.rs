//! The comparisons of a session that is under way, or of one that has ended: both look at the same numbers of pairs,
//! so both decide the same.

use rayon::prelude::*;
use stats::Invalid;
use stats::relabel;
use stats::sequential::{Question, Sequential, holm_shares};
use stats::spending::Design;

use crate::analysis::walls::Walls;
use crate::plan::{BlockRule, Estimand, Plan, Stopping};
use crate::record::{EndReason, Event, Record};

/// Separates the stream of re-labellings from those of the schedule.
pub(super) const ORBIT_STREAM: u64 = 0xd1b5_4a32_d192_ed03;

/// One arm against the reference.
#[derive(Debug)]
pub struct Watched {
    /// The arm.
    pub arm: usize,
    /// How many comparisons it is judged together with, itself included.
    pub family: usize,
    /// What has been seen of it.
    pub seen: Sequential,
}

/// How the comparisons of a session stand, for showing: errors and expectations are rough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Comparisons that are waited for.
    pub n_comparisons: usize,
    /// Of these, the ones that are not decided.
    pub n_open: usize,
    /// Ratio of the first open one.
    pub ratio: f64,
    /// Its error.
    pub err: f64,
    /// Blocks after which all can be expected to be decided.
    pub expected_blocks: f64,
}

/// All comparisons of a session.
#[derive(Debug)]
pub struct Watch {
    reference: usize,
    /// In the order of the plan; the twin of the reference last.
    comparisons: Vec<Watched>,
    n_compared: usize,
}

impl Watch {
    /// The comparisons of a session of at most this many blocks that has just begun.
    ///
    /// # Errors
    /// The plan asks for the impossible: a record of another program.
    pub fn new(plan: &Plan, n_blocks: u32) -> Result<Self, Invalid> {
        Self::with(plan, |_, family| on_the_way(plan, n_blocks, family))
    }

    /// The comparisons of a record, at the looks that its session had.
    ///
    /// # Errors
    /// As [`Watch::new`].
    pub fn of(record: &Record, walls: &Walls) -> Result<Self, Invalid> {
        let plan = &record.header.plan;
        let n_blocks = record.events.iter().find_map(|event| match event {
            Event::Blocks { n_blocks, .. } => Some(*n_blocks),
            _ => None,
        });
        let is_complete = super::end_reason(record) == Some(EndReason::Complete);
        let mut watch = Self::with(plan, |arm, family| {
            let n_pairs = walls.n_pairs(plan.reference, arm);
            match (plan.stopping, n_blocks) {
                (Stopping::AtTheEnd, _) => Design::single(n_pairs, plan.policy.alpha, family),
                (Stopping::WhenDecided, Some(n_blocks)) => {
                    let design = on_the_way(plan, n_blocks, family)?;
                    // Neither the last block nor the end of the budget depends on which arm was which.
                    if is_complete && n_pairs > 0 { design.ended(n_pairs) } else { Ok(design) }
                }
                (Stopping::WhenDecided, None) => on_the_way(plan, fewest(plan), family),
            }
        })?;
        watch.take(walls)?;
        Ok(watch)
    }

    fn with(
        plan: &Plan,
        design: impl Fn(usize, usize) -> Result<Design, Invalid>,
    ) -> Result<Self, Invalid> {
        let compared = plan.compared();
        let n_compared = compared.len();
        let in_family = compared.into_iter().map(|arm| (arm, n_compared));
        let comparisons = in_family
            .chain(plan.twin().map(|twin| (twin, 1)))
            .map(|(arm, family)| {
                let question = Question {
                    design: design(arm, family)?,
                    estimand: estimand_of(plan.policy.estimand),
                    margin: plan.policy.same_within.ln_1p(),
                    seed: plan.seed ^ ORBIT_STREAM,
                };
                Ok(Watched { arm, family, seen: Sequential::new(question) })
            })
            .collect::<Result<_, Invalid>>()?;
        Ok(Self { reference: plan.reference, comparisons, n_compared })
    }

    /// Takes every look that is due. Returns whether there was one.
    ///
    /// # Errors
    /// The times are unfit for a test.
    pub fn take(&mut self, walls: &Walls) -> Result<bool, Invalid> {
        let reference = self.reference;
        let taken = self.comparisons.par_iter_mut().map(|watched| {
            let due = watched.seen.next_look();
            if due.is_none_or(|due| walls.n_pairs(reference, watched.arm) < due) {
                return Ok(false);
            }
            watched.seen.take(&walls.slots(reference, watched.arm).pairs()?)
        });
        let taken: Vec<bool> = taken.collect::<Result<_, _>>()?;
        Ok(taken.contains(&true))
    }

    /// Blocks at which the next look is due, if no run times out.
    pub fn next_look(&self) -> Option<usize> {
        self.comparisons.iter().filter_map(|watched| watched.seen.next_look()).min()
    }

    /// The comparisons of the candidates, each with the share of alpha that Holm's procedure gives it.
    pub fn compared(&self) -> Vec<(&Watched, f64)> {
        let family = &self.comparisons[..self.n_compared];
        let shares = holm_shares(&family.iter().map(|watched| &watched.seen).collect::<Vec<_>>());
        family.iter().zip(shares).collect()
    }

    /// The comparison of the reference with its twin.
    pub fn twin(&self) -> Option<&Watched> {
        self.comparisons.get(self.n_compared)
    }

    /// What the session waits for: the candidates, or the twin where there is nothing else.
    pub fn awaited(&self) -> Vec<(&Watched, f64)> {
        match self.twin() {
            Some(twin) if self.n_compared == 0 => vec![(twin, 1.0)],
            _ => self.compared(),
        }
    }

    /// Whether nothing more has to be waited for.
    pub fn is_decided(&self) -> bool {
        self.awaited().iter().all(|(watched, share)| is_decided(watched, *share))
    }

    /// How it stands after the last look: how many comparisons are decided, and the first that is not.
    pub fn standing(&self) -> Option<Standing> {
        let awaited = self.awaited();
        let open: Vec<&Watched> = awaited
            .iter()
            .filter(|(watched, share)| !is_decided(watched, *share))
            .map(|(watched, _)| *watched)
            .collect();
        let (log_ratio, err) = open.first()?.seen.rough()?;
        let expected = open.iter().filter_map(|watched| watched.seen.expected_pairs());
        Some(Standing {
            n_comparisons: awaited.len(),
            n_open: open.len(),
            ratio: log_ratio.exp(),
            err: log_ratio.exp() * err,
            expected_blocks: expected.fold(0.0, f64::max),
        })
    }

    /// Whether half of each interval is at most this log ratio.
    ///
    /// # Errors
    /// The times are unfit for a test.
    pub fn is_within(&self, walls: &Walls, half_width: f64) -> Result<bool, Invalid> {
        for (watched, share) in self.awaited() {
            let pairs = walls.slots(self.reference, watched.arm).pairs()?;
            let found = watched.seen.conclude(&pairs, share)?;
            if found.is_none_or(|found| found.interval.half_width() > half_width) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn is_decided(watched: &Watched, share: f64) -> bool {
    watched.seen.is_different(share) || watched.seen.is_same(share)
}

fn on_the_way(plan: &Plan, n_blocks: u32, family: usize) -> Result<Design, Invalid> {
    Design::new(n_blocks.max(1) as usize, fewest(plan) as usize, plan.policy.alpha, family)
}

/// No look before this many blocks.
fn fewest(plan: &Plan) -> u32 {
    match plan.blocks {
        BlockRule::Exactly(n_blocks) => n_blocks,
        BlockRule::Budget { min, .. } => min,
    }
}

/// What is compared, in the words of the statistics.
pub fn estimand_of(estimand: Estimand) -> relabel::Estimand {
    match estimand {
        Estimand::Adaptive => relabel::Estimand::Adaptive,
        Estimand::Typical => relabel::Estimand::Typical,
        Estimand::Floor => relabel::Estimand::Floor,
        Estimand::Mean => relabel::Estimand::Mean,
    }
}
