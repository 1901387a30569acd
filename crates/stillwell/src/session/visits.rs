//! A session in pieces: the benchmarks of a suite are visited in turns, and what has been seen of each goes with it from
//! visit to visit.

use anyhow::Result;

use crate::measure::Hook;
use crate::plan::Plan;
use crate::record::{EndReason, RecordTail};
use crate::schedule::Schedule;
use crate::session::session::{Ended, Seen, Session, ended};

/// What a visit is to do before and beside blocks.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    /// Whether the setup hook is due.
    pub sets_up: bool,
    /// Whether the arms run once before they are timed.
    pub warms_up: bool,
    /// Time that the suite has left, ns.
    pub left_ns: u64,
}

impl Seen {
    /// What is in a record of a session that goes on.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_record(plan: &Plan, tail: &mut RecordTail) -> Result<Self> {
        let mut seen = Self::new(plan);
        seen.follow(plan, tail, |_| ())?;
        seen.look()?;
        Ok(seen)
    }

    /// Where the next visit's clock has to begin, ns after the start of the session's: pauses between visits do not count.
    pub fn ended_ns(&self) -> u64 {
        self.ended_ns
    }
}

impl Session<'_> {
    /// Goes on with what has been seen before.
    pub fn going_on(mut self, seen: Seen) -> Self {
        self.seen = seen;
        self
    }

    /// What has been seen.
    pub fn into_seen(self) -> Seen {
        self.progress.finish();
        self.seen
    }

    /// Measures up to the next look, or as long as there is time. `Some` when the benchmark is done.
    ///
    /// # Errors
    /// The runner itself broke down.
    pub fn visit(&mut self, visit: Visit) -> Result<Option<Ended>> {
        let plan = self.plan;
        let (n_min, n_max, budget_ns) = plan.blocks.bounds();
        let (next_step, next_block) = (self.seen.next_step, self.seen.next_block);
        let complete = || Some(Ended { reason: EndReason::Complete, failure: None });
        if next_block >= n_max {
            return Ok(complete());
        }
        if let Some(setup) = plan.setup.as_ref().filter(|_| visit.sets_up) {
            let outcome = self.runner.hook(Hook::Setup, setup)?;
            if let Some(ended) = ended(outcome) {
                return Ok(Some(ended));
            }
        }
        let mut schedule = Schedule::going_on(plan, next_step, next_block);
        for _ in 0..if visit.warms_up { plan.n_warmups } else { 0 } {
            if let Some(ended) = self.pieces(schedule.warmup().into())? {
                return Ok(Some(ended));
            }
        }
        let goal = self.goal(next_block, n_min).min(n_max);
        while self.seen.next_block < goal {
            let (n_run, span_ns) = (self.seen.next_block, self.seen.span_ns());
            // The first visit gives every benchmark its fewest blocks, however little time there is.
            let is_short = n_run >= n_min && self.blocks_within(span_ns + visit.left_ns) == 0;
            if is_short {
                return Ok(None);
            }
            let fit = self.piece_steps().div_ceil(plan.arms.len());
            let n_blocks = u32::try_from(fit)?.clamp(1, goal - n_run);
            if let Some(ended) = self.blocks(&mut schedule, n_blocks)? {
                return Ok(Some(ended));
            }
            // Where rows are missing, the blocks have been run all the same.
            self.seen.next_block = self.seen.next_block.max(n_run + n_blocks);
        }
        if let Some(ended) = self.look()? {
            return Ok(Some(ended));
        }
        let is_over = self.seen.span_ns() >= budget_ns || goal >= n_max;
        Ok(complete().filter(|_| is_over))
    }

    /// Blocks at which this visit ends: at the next look, the first of which comes with the fewest blocks.
    fn goal(&self, n_run: u32, n_min: u32) -> u32 {
        let next = match &self.seen.watch {
            Some(watch) => watch.next_look(n_run.max(n_min.saturating_sub(1)) as usize),
            None => None,
        };
        let next = next.and_then(|next| u32::try_from(next).ok());
        // Nothing is looked at where nothing is compared: half as many again.
        next.unwrap_or((n_run + n_run / 2).max(n_min)).max(n_run + 1)
    }
}
