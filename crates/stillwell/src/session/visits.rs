//! A session in visits: a suite visits its benchmarks in turns, and keeps the state of each in between.

use anyhow::Result;

use crate::session::state::{SessionState, failure};
use crate::session::steps::{Session, SessionEnd, end_of};
use measure::slices::Paces;
use measure::{Hook, MeasurementFailure};
use record::plan::Plan;
use record::schedule::Schedule;
use record::{EndReason, Event, RecordTail};

/// The limits of a visit, and its work before the first block.
#[derive(Clone, Copy, Debug)]
pub struct Visit {
    pub sets_up: bool,
    /// Whether to run the arms once before they are timed.
    pub warms_up: bool,
    pub limits: VisitLimits,
}

#[derive(Clone, Copy, Debug)]
pub struct VisitLimits {
    /// Remaining time of the suite, ns.
    pub left_ns: u64,
    pub n_blocks_max: u32,
}

impl SessionState {
    /// The state of a session that continues its record, or ends at once because its values cannot be compared.
    pub fn from_record(
        plan: &Plan,
        tail: &mut RecordTail,
    ) -> Result<(Self, Option<MeasurementFailure>)> {
        let mut state = Self::new(plan);
        state.follow(plan, tail, |_| ())?;
        let unfit = state.look().err().map(|why| failure(plan, why));
        Ok((state, unfit))
    }
}

impl Session<'_> {
    /// Ends the visit. Returns the state and the paces for the next one, and the last words of the runner.
    pub fn ended(mut self) -> (SessionState, Paces, Option<Event>) {
        self.progress.finish();
        let (paces, last_words) = (self.runner.paces(), self.runner.last_words());
        (self.state, paces, last_words)
    }

    /// Measures up to the next interim analysis, or while time is left. `Some` when done. Errors: the runner failed.
    pub fn visit(&mut self, visit: Visit) -> Result<Option<SessionEnd>> {
        let plan = self.plan;
        let (n_min, n_max, budget_ns) = plan.blocks.bounds();
        let n_firm = plan.blocks.firm();
        let (next_step, next_block) = (self.state.next_step, self.state.next_block);
        let complete = || Some(SessionEnd { reason: EndReason::Complete, failure: None });
        let n_due = |state: &SessionState| {
            let is_more = plan.replaces_warmup();
            if is_more { state.n_due(plan, n_max, state.next_block) } else { n_max }
        };
        let n_max = n_due(&self.state);
        if next_block >= n_max {
            return Ok(complete());
        }
        if let Some(setup) = plan.setup.as_ref().filter(|_| visit.sets_up) {
            let outcome = self.runner.hook(Hook::Setup, setup, 0)?;
            if let Some(end) = end_of(outcome) {
                return Ok(Some(end));
            }
        }
        let mut schedule = Schedule::going_on(plan, next_step, next_block);
        for _ in 0..if visit.warms_up { plan.n_warmups } else { 0 } {
            if let Some(end) = self.pieces(schedule.warmup().into())? {
                return Ok(Some(end));
            }
        }
        let goal = self.goal(next_block, n_min).min(n_max);
        let goal = goal.min(next_block.saturating_add(visit.limits.n_blocks_max));
        let before_ns = self.state.spent_ns;
        while self.state.next_block < goal {
            let (n_run, span_ns) = (self.state.next_block, self.state.span_ns());
            // Every benchmark gets one block, and the blocks that the user asked for, even without time.
            let spent_ns = self.state.spent_ns - before_ns;
            let fit_in_time =
                self.blocks_within(span_ns + visit.limits.left_ns.saturating_sub(spent_ns));
            if n_run >= n_firm && fit_in_time == 0 {
                return Ok(None);
            }
            let fit = self.piece_steps().div_ceil(plan.arms.len());
            let fit = if n_run == 0 { 1 } else { fit.min(fit_in_time.max(1)) };
            let n_blocks = u32::try_from(fit)?.clamp(1, goal - n_run);
            if let Some(end) =
                self.pieces((0..n_blocks).flat_map(|_| schedule.block()).collect())?
            {
                return Ok(Some(end));
            }
            // A block counts even if some of its rows are missing.
            self.state.next_block = self.state.next_block.max(n_run + n_blocks);
        }
        if let Some(end) = self.look() {
            return Ok(Some(end));
        }
        let is_over = self.state.span_ns() >= budget_ns || goal >= n_due(&self.state);
        Ok(complete().filter(|_| is_over))
    }

    /// Number of blocks at the end of this visit: at the next interim analysis. The first one needs the fewest blocks.
    fn goal(&self, n_run: u32, n_min: u32) -> u32 {
        let next = match &self.state.watch {
            // Counts may repeat before.
            Some(watch) if self.plan.valgrind().is_some() => watch.next_look(n_run as usize),
            Some(watch) => watch.next_look(n_run.max(n_min.saturating_sub(1)) as usize),
            None => None,
        };
        let next = next.and_then(|next| u32::try_from(next).ok());
        // Without a comparison there is no interim analysis: half as many blocks again.
        next.unwrap_or((n_run + n_run / 2).max(n_min)).max(n_run + 1)
    }
}
