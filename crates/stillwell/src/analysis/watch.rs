//! The comparisons of a session that is under way, or of one that has ended: both look at the same numbers of pairs,
//! so both decide the same.

use rayon::prelude::*;
use stats::Invalid;
use stats::relabel::{self, Pairs};
use stats::sequential::{Question, Sequential, holm_shares};
use stats::spending::Design;

use crate::metric::Metric;
use crate::plan::{BlockRule, Estimand, Plan, Stopping};
use crate::record::{EndReason, Event, Record, Row};

/// Separates the stream of re-labellings from those of the schedule.
const ORBIT_STREAM: u64 = 0xd1b5_4a32_d192_ed03;

/// The measured run of an arm in one block: its step and wall time, ns.
type Run = Option<(u32, f64)>;

/// Wall times by arm, then by block.
#[derive(Debug)]
pub struct Walls(Vec<Vec<Run>>);

impl Walls {
    /// Nothing measured yet.
    pub fn new(n_arms: usize) -> Self {
        Self(vec![Vec::new(); n_arms])
    }

    /// Those of a record.
    pub fn of(record: &Record) -> Self {
        let mut walls = Self::new(record.header.plan.arms.len());
        let rows = &record.rows;
        for index in (0..rows.len()).filter(|&index| rows.is_measurement(index)) {
            let (Some(block), Some(wall_ns)) = (rows.block(index), rows.get(index, Metric::WallNs))
            else {
                continue;
            };
            // Blocks come in order; a damaged record may skip some, but not by more than it has rows.
            if block < rows.len() {
                walls.put(rows.arm(index), block, rows.step(index), wall_ns);
            }
        }
        walls
    }

    /// Takes in a row; warm-ups and runs that timed out do not count.
    pub fn add(&mut self, row: &Row) {
        let block = row.block.filter(|_| !row.timed_out);
        if let (Some(block), Some(wall_ns)) = (block, row.get(Metric::WallNs)) {
            self.put(row.arm as usize, block as usize, row.step, wall_ns);
        }
    }

    fn put(&mut self, arm: usize, block: usize, step: u32, wall_ns: u64) {
        let runs = &mut self.0[arm];
        runs.resize(runs.len().max(block + 1), None);
        runs[block] = Some((step, wall_ns as f64));
    }

    fn complete(&self, old: usize, new: usize) -> impl Iterator<Item = ((u32, f64), (u32, f64))> {
        self.0[old].iter().zip(&self.0[new]).filter_map(|(old, new)| old.zip(*new))
    }

    /// Blocks in which both arms have a run.
    pub fn n_pairs(&self, old: usize, new: usize) -> usize {
        self.complete(old, new).count()
    }

    /// The runs of these two arms in pairs, in the order of the blocks.
    ///
    /// # Errors
    /// There is no pair, or a time is zero.
    pub fn pairs(&self, old: usize, new: usize) -> Result<Pairs, Invalid> {
        let (mut slot1, mut slot2, mut coins) = (Vec::new(), Vec::new(), Vec::new());
        for (old, new) in self.complete(old, new) {
            let new_first = new.0 < old.0;
            let (first, second) = if new_first { (new, old) } else { (old, new) };
            slot1.push(first.1);
            slot2.push(second.1);
            coins.push(new_first);
        }
        Pairs::new(&slot1, &slot2, &coins)
    }
}

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
            watched.seen.take(&walls.pairs(reference, watched.arm)?)
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
            let pairs = walls.pairs(self.reference, watched.arm)?;
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
