//! A session in one go, from setup to cleanup.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::session::steps::{Session, SessionEnd, end_of};
use measure::{Hook, MeasurementFailure};
use model::values::Order;
use model::words::in_words;
use record::schedule::{Schedule, n_blocks};
use record::{EndReason, Record};
use render::budget::short_budget;

/// Adds the place of the runs to an error during the session. Removes a record without runs of the user's commands.
fn broken_down(path: &Path, error: anyhow::Error) -> anyhow::Error {
    let has_runs = |Record { header, rows, .. }: Record| {
        (0..rows.len()).any(|index| !header.plan.arms[rows.arm(index)].role.is_control())
    };
    if Record::read(path).is_ok_and(|record| !has_runs(record)) {
        std::fs::remove_file(path).ok();
        return error;
    }
    error.context(format!("the runs that had finished are in {}", path.display()))
}

impl Session<'_> {
    /// Runs the session. Returns the path of the record. Errors: the runner failed; the record is still readable.
    pub fn run(mut self) -> Result<(PathBuf, SessionEnd)> {
        let measured = self.measure();
        let cleaned = self.cleanup();
        self.progress.finish();
        let (mut end, cleaned) = match measured.and_then(|end| Ok((end, cleaned?))) {
            Ok(ended) => ended,
            Err(error) => {
                let path = self.path.clone();
                // Ends the launcher, which may still write.
                drop(self);
                return Err(broken_down(&path, error));
            }
        };
        end.failure = end.failure.or(cleaned.failure);
        if cleaned.interrupted {
            end.reason = EndReason::Interrupted;
        }
        if end.failure.is_some() && end.reason.is_final() {
            end.reason = EndReason::Failed;
        }
        let closed = self.note_failure(end.failure.as_ref()).and_then(|()| self.close(end.reason));
        if let Err(error) = closed {
            let error = in_words(&error);
            end.failure.get_or_insert(MeasurementFailure::Record { error, line: Vec::new() });
            end.reason = EndReason::RecordFull;
        }
        Ok((self.path, end))
    }

    fn measure(&mut self) -> Result<SessionEnd> {
        if let Some(setup) = &self.plan.setup {
            let outcome = self.runner.hook(Hook::Setup, setup, 0)?;
            if let Some(end) = end_of(outcome) {
                return Ok(end);
            }
        }
        let mut schedule = Schedule::new(self.plan);
        match self.plan.order {
            Order::Interleave | Order::Listed => self.interleaved(&mut schedule),
            Order::Sequential => self.sequential(&mut schedule),
        }
    }

    fn interleaved(&mut self, schedule: &mut Schedule) -> Result<SessionEnd> {
        let mut warmup_ns = None;
        for _ in 0..self.plan.n_warmups {
            let before_ns = self.state.ended_ns;
            if let Some(end) = self.pieces(schedule.warmup().into())? {
                return Ok(end);
            }
            warmup_ns = Some(self.state.ended_ns.saturating_sub(before_ns));
        }
        let (_, n_max, budget_ns) = self.plan.blocks.bounds();
        let n_firm = self.plan.blocks.firm();
        let mut n_run = 0;
        loop {
            // Before an interim analysis, which may end the session.
            self.forecast(n_run, warmup_ns);
            if let Some(end) = self.look() {
                return Ok(end);
            }
            let n_due = self.state.n_due(self.plan, n_max, n_run);
            // Only times of whole blocks determine the end, not an arm's part of a block.
            let fit_in_time = self.blocks_within(budget_ns);
            if n_run >= n_due || (n_run >= n_firm && fit_in_time == 0) {
                return Ok(SessionEnd { reason: EndReason::Complete, failure: None });
            }
            // Whole blocks that fit into a piece, up to the next interim analysis, between blocks. The first block's
            // length is unknown.
            let fit = self.piece_steps().div_ceil(self.plan.arms.len());
            let fit = if n_run == 0 { 1 } else { fit.min(fit_in_time.max(1)) };
            let until_look =
                self.state.watch.as_ref().and_then(|watch| watch.next_look(n_run as usize));
            let until_look = until_look.map_or(fit, |at| at - n_run as usize);
            let n_blocks = u32::try_from(fit.min(until_look))?.min(n_due - n_run);
            if let Some(end) =
                self.pieces((0..n_blocks).flat_map(|_| schedule.block()).collect())?
            {
                return Ok(end);
            }
            n_run += n_blocks;
        }
    }

    /// Warns if the budget is too short for the fewest blocks, as the warm-up or the first blocks show.
    fn forecast(&mut self, n_run: u32, warmup_ns: Option<u64>) {
        // Counts mostly repeat, so few blocks suffice; a run takes many times as long as its warm-up.
        if self.plan.valgrind().is_some() {
            return;
        }
        let (n_run, span_ns) = match (n_run, warmup_ns) {
            (0, Some(warmup_ns)) => (0, warmup_ns),
            (0, None) => return,
            _ => (n_run, self.state.live.span_ns()),
        };
        if let Some(text) = self.budget_forecast.after(self.plan, n_run, span_ns) {
            self.progress.notice(&text);
        }
    }

    /// Runs one arm after the other, warm-up first. Each arm has the same share of the budget.
    fn sequential(&mut self, schedule: &mut Schedule) -> Result<SessionEnd> {
        let n_arms = u32::try_from(self.plan.arms.len())?;
        for arm in 0..n_arms {
            if let Some(end) = self.set_up(arm as usize)? {
                return Ok(end);
            }
            let mut run_ns = None;
            let mut n_run = 0;
            for round in 0..self.plan.n_warmups {
                let before_ns = self.state.ended_ns;
                if let Some(end) = self.pieces([schedule.warmup_of(arm, round)].into())? {
                    return Ok(end);
                }
                run_ns = Some(self.state.ended_ns.saturating_sub(before_ns));
            }
            if run_ns.is_none() {
                // Without a warm-up the first run shows how many fit.
                let before_ns = self.state.ended_ns;
                if let Some(end) = self.pieces(schedule.runs_of(arm, 0..1).into())? {
                    return Ok(end);
                }
                (run_ns, n_run) = (Some(self.state.ended_ns.saturating_sub(before_ns)), 1);
            }
            let block_ns = run_ns.unwrap_or(0).saturating_mul(n_arms.into());
            let n_runs = n_blocks(self.plan, block_ns);
            if arm == 0
                && let Some(text) = short_budget(self.plan, block_ns)
            {
                self.progress.notice(&text);
            }
            self.progress.expect_blocks(n_runs);
            if let Some(end) = self.pieces(schedule.runs_of(arm, n_run..n_runs).into())? {
                return Ok(end);
            }
        }
        Ok(SessionEnd { reason: EndReason::Complete, failure: None })
    }

    /// Runs an arm's setup after the previous arm's cleanup. Arms with the same setup and cleanup share one.
    fn set_up(&mut self, arm: usize) -> Result<Option<SessionEnd>> {
        let arms = &self.plan.arms;
        let hooks = |arm: usize| (&arms[arm].setup, &arms[arm].cleanup);
        if arm > 0 && hooks(arm - 1) == hooks(arm) {
            return Ok(None);
        }
        if let Some(end) = end_of(self.clean_up_arm()?) {
            return Ok(Some(end));
        }
        self.set_up_arm = Some(arm);
        let Some(setup) = &arms[arm].setup else { return Ok(None) };
        Ok(end_of(self.runner.hook(Hook::Setup, setup, arm)?))
    }
}
