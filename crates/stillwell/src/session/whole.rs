//! A session in one go, from setup to cleanup.

use std::collections::VecDeque;

use anyhow::Result;

use crate::measure::clock::monotonic_ns;
use crate::measure::{Hook, MeasurementFailure};
use crate::record::EndReason;
use crate::schedule::{Schedule, n_blocks};
use crate::session::steps::{Session, SessionEnd, end_of};
use crate::values::Order;
use crate::words::in_words;

impl Session<'_> {
    /// Runs the session.
    ///
    /// # Errors
    /// The runner failed; the record is still readable.
    pub fn run(mut self) -> Result<SessionEnd> {
        let measured = self.measure();
        let cleaned = self.cleanup();
        self.progress.finish();
        let (mut end, cleaned) = (measured?, cleaned?);
        end.failure = end.failure.or(cleaned.failure);
        if cleaned.interrupted {
            end.reason = EndReason::Interrupted;
        }
        if end.failure.is_some()
            && matches!(end.reason, EndReason::Complete | EndReason::Decided | EndReason::Precise)
        {
            end.reason = EndReason::Failed;
        }
        let closed = self.note_failure(end.failure.as_ref()).and_then(|()| self.close(end.reason));
        if let Err(error) = closed {
            let error = in_words(&error);
            end.failure.get_or_insert(MeasurementFailure::Record { error, line: Vec::new() });
            end.reason = EndReason::RecordFull;
        }
        Ok(end)
    }

    fn measure(&mut self) -> Result<SessionEnd> {
        if let Some(setup) = &self.plan.setup {
            let outcome = self.runner.hook(Hook::Setup, setup)?;
            if let Some(end) = end_of(outcome) {
                return Ok(end);
            }
        }
        let mut schedule = Schedule::new(self.plan);
        let warm = self.warm_up(&mut schedule)?;
        let block_ns = match warm {
            Ok(block_ns) => block_ns,
            Err(end) => return Ok(end),
        };
        match self.plan.order {
            Order::Interleave => self.interleaved(&mut schedule),
            Order::Sequential => self.sequential(&mut schedule, block_ns),
        }
    }

    /// Returns the duration of the last warm-up block, ns, if there was one.
    fn warm_up(&mut self, schedule: &mut Schedule) -> Result<Result<Option<u64>, SessionEnd>> {
        let mut block_ns = None;
        for _ in 0..self.plan.n_warmups {
            let started_ns = monotonic_ns();
            if let Some(end) = self.pieces(schedule.warmup().into())? {
                return Ok(Err(end));
            }
            block_ns = Some(monotonic_ns() - started_ns);
        }
        Ok(Ok(block_ns))
    }

    fn interleaved(&mut self, schedule: &mut Schedule) -> Result<SessionEnd> {
        let (n_min, n_max, budget_ns) = self.plan.blocks.bounds();
        let mut n_run = 0;
        loop {
            if let Some(end) = self.look()? {
                return Ok(end);
            }
            // A block with a timed-out run does not count. It is repeated, but at most as many blocks are added as
            // were planned.
            let n_due = n_max.saturating_add(self.state.live.n_spoiled_blocks().min(n_max));
            let is_over = self.state.live.span_ns() >= budget_ns && n_run >= n_min;
            if n_run >= n_due || is_over {
                return Ok(SessionEnd { reason: EndReason::Complete, failure: None });
            }
            // Whole blocks that fit into a piece and end at the next interim analysis at the latest: decisions are
            // made between blocks.
            let fit = self.piece_steps().div_ceil(self.plan.arms.len());
            let fit = fit.min(self.blocks_within(budget_ns).max(1));
            let until_look =
                self.state.watch.as_ref().and_then(|watch| watch.next_look(n_run as usize));
            let until_look = until_look.map_or(fit, |at| at - n_run as usize);
            let n_blocks = u32::try_from(fit.min(until_look))?.min(n_due - n_run);
            if let Some(end) = self.blocks(schedule, n_blocks)? {
                return Ok(end);
            }
            n_run += n_blocks;
        }
    }

    fn sequential(
        &mut self,
        schedule: &mut Schedule,
        warm_block_ns: Option<u64>,
    ) -> Result<SessionEnd> {
        // Without a warm-up the duration of a block is unknown: the smallest number of runs.
        let n_total = n_blocks(self.plan, warm_block_ns.unwrap_or(u64::MAX));
        self.progress.expect_blocks(n_total);
        let steps: VecDeque<_> = schedule.sequential(n_total).collect();
        let stopped = self.pieces(steps)?;
        Ok(stopped.unwrap_or(SessionEnd { reason: EndReason::Complete, failure: None }))
    }
}
