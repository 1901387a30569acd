//! A session from setup to cleanup, all of it in one go.

use std::collections::VecDeque;

use anyhow::Result;

use crate::measure::clock::monotonic_ns;
use crate::measure::{Hook, MeasurementFailure};
use crate::record::EndReason;
use crate::schedule::{Schedule, n_blocks};
use crate::session::session::{Ended, Session, ended};
use crate::values::Order;

impl Session<'_> {
    /// Measures.
    ///
    /// # Errors
    /// The runner itself broke down; the record is still readable.
    pub fn run(mut self) -> Result<Ended> {
        let measured = self.measure();
        let cleaned = self.cleanup();
        self.progress.finish();
        let (mut ended, cleaned) = (measured?, cleaned?);
        ended.failure = ended.failure.or(cleaned.failure);
        if cleaned.interrupted {
            ended.reason = EndReason::Interrupted;
        }
        if ended.failure.is_some()
            && matches!(ended.reason, EndReason::Complete | EndReason::Decided | EndReason::Precise)
        {
            ended.reason = EndReason::Failed;
        }
        let closed =
            self.note_failure(ended.failure.as_ref()).and_then(|()| self.close(ended.reason));
        if let Err(error) = closed {
            let error = format!("{error:#}");
            ended.failure.get_or_insert(MeasurementFailure::Record { error, line: Vec::new() });
            ended.reason = EndReason::RecordFull;
        }
        Ok(ended)
    }

    fn measure(&mut self) -> Result<Ended> {
        if let Some(setup) = &self.plan.setup {
            let outcome = self.runner.hook(Hook::Setup, setup)?;
            if let Some(ended) = ended(outcome) {
                return Ok(ended);
            }
        }
        let mut schedule = Schedule::new(self.plan);
        let warm = self.warm_up(&mut schedule)?;
        let block_ns = match warm {
            Ok(block_ns) => block_ns,
            Err(ended) => return Ok(ended),
        };
        match self.plan.order {
            Order::Interleave => self.interleaved(&mut schedule),
            Order::Sequential => self.sequential(&mut schedule, block_ns),
        }
    }

    /// Returns how long the last warm-up block took, if there was one.
    fn warm_up(&mut self, schedule: &mut Schedule) -> Result<Result<Option<u64>, Ended>> {
        let mut block_ns = None;
        for _ in 0..self.plan.n_warmups {
            let started_ns = monotonic_ns();
            if let Some(ended) = self.pieces(schedule.warmup().into())? {
                return Ok(Err(ended));
            }
            block_ns = Some(monotonic_ns() - started_ns);
        }
        Ok(Ok(block_ns))
    }

    fn interleaved(&mut self, schedule: &mut Schedule) -> Result<Ended> {
        let (n_min, n_max, budget_ns) = self.plan.blocks.bounds();
        let mut n_run = 0;
        loop {
            if let Some(ended) = self.look()? {
                return Ok(ended);
            }
            // A block in which a run timed out does not count; as many are appended, but no more than were planned.
            let n_due = n_max.saturating_add(self.seen.live.n_spoiled_blocks().min(n_max));
            let is_over = self.seen.live.span_ns() >= budget_ns && n_run >= n_min;
            if n_run >= n_due || is_over {
                return Ok(Ended { reason: EndReason::Complete, failure: None });
            }
            // Whole blocks, as many as a piece has room for, and not beyond the next look: a decision is only taken
            // between blocks.
            let fit = self.piece_steps().div_ceil(self.plan.arms.len());
            let fit = fit.min(self.blocks_within(budget_ns).max(1));
            let until_look =
                self.seen.watch.as_ref().and_then(|watch| watch.next_look(n_run as usize));
            let until_look = until_look.map_or(fit, |at| at - n_run as usize);
            let n_blocks = u32::try_from(fit.min(until_look))?.min(n_due - n_run);
            if let Some(ended) = self.blocks(schedule, n_blocks)? {
                return Ok(ended);
            }
            n_run += n_blocks;
        }
    }

    fn sequential(&mut self, schedule: &mut Schedule, warm_block_ns: Option<u64>) -> Result<Ended> {
        // Without a warm-up there is nothing to measure the budget with: the fewest runs that are allowed.
        let n_total = n_blocks(self.plan, warm_block_ns.unwrap_or(u64::MAX));
        self.progress.expect_blocks(n_total);
        let steps: VecDeque<_> = schedule.sequential(n_total).collect();
        let stopped = self.pieces(steps)?;
        Ok(stopped.unwrap_or(Ended { reason: EndReason::Complete, failure: None }))
    }
}
