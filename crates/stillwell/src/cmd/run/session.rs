//! One session of measuring: setup, warm-up, blocks, cleanup. Whatever happens, what is due afterwards is done and the
//! record ends with its reason.

use std::collections::VecDeque;

use anyhow::Result;

use crate::analysis::live::Live;
use crate::cmd::run::progress::Progress;
use crate::measure::clock::monotonic_ns;
use crate::measure::{Failure, Hook, Outcome, Runner};
use crate::plan::{BlockRule, Order, Plan};
use crate::record::{EndReason, Event, Line, Tail, Writer};
use crate::schedule::{Schedule, Step, n_blocks};

/// Steps are handed to the runner in pieces of about this length, so that the progress line moves and a decision to
/// stop is not late. Between two pieces nothing is being timed.
const PIECE_NS: u64 = 100_000_000;
/// More steps than this in a piece would make requests large for no gain.
const PIECE_STEPS_MAX: usize = 2000;

/// How a session ended.
#[derive(Debug)]
pub struct Ended {
    /// Why.
    pub reason: EndReason,
    /// What went wrong, when something did.
    pub failure: Option<Failure>,
}

/// A session under way.
pub struct Session<'a> {
    plan: &'a Plan,
    runner: &'a mut dyn Runner,
    writer: Writer,
    tail: Tail,
    live: Live,
    progress: Progress,
    /// Sum of the times of all pieces, and their number of steps.
    spent_ns: u64,
    n_steps: u64,
}

impl<'a> Session<'a> {
    /// Puts a session together.
    pub fn new(
        plan: &'a Plan,
        runner: &'a mut dyn Runner,
        writer: Writer,
        tail: Tail,
        progress: Progress,
    ) -> Self {
        let live = Live::new(plan.arms.len());
        Self { plan, runner, writer, tail, live, progress, spent_ns: 0, n_steps: 0 }
    }

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
            && matches!(ended.reason, EndReason::Complete | EndReason::Precise)
        {
            ended.reason = EndReason::Failed;
        }
        let closed =
            self.note_failure(ended.failure.as_ref()).and_then(|()| self.close(ended.reason));
        if let Err(error) = closed {
            let error = format!("{error:#}");
            ended.failure.get_or_insert(Failure::Record { error, line: Vec::new() });
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
            Order::Interleave => self.interleaved(&mut schedule, block_ns),
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

    fn interleaved(
        &mut self,
        schedule: &mut Schedule,
        warm_block_ns: Option<u64>,
    ) -> Result<Ended> {
        let mut n_run = 0;
        let block_ns = match (warm_block_ns, self.plan.blocks) {
            (Some(block_ns), _) => block_ns,
            (None, BlockRule::Exactly(_)) => 0,
            (None, BlockRule::Budget { .. }) => {
                let started_ns = monotonic_ns();
                if let Some(ended) = self.pieces(schedule.block().into())? {
                    return Ok(ended);
                }
                n_run = 1;
                monotonic_ns() - started_ns
            }
        };
        let n_total = self.fix_blocks(block_ns)?;
        let mut queue = VecDeque::new();
        // A block in which a run timed out does not count; as many are appended, but no more than were planned.
        while n_run < n_total + self.live.n_spoiled_blocks().min(n_total) {
            let n_due = n_total + self.live.n_spoiled_blocks().min(n_total);
            // Whole blocks, as many as a piece has room for: a decision is only taken between blocks.
            while n_run < n_due && queue.len() < self.piece_steps() {
                queue.extend(schedule.block());
                n_run += 1;
            }
            if let Some(ended) = self.pieces(std::mem::take(&mut queue))? {
                return Ok(ended);
            }
            if self.is_precise() {
                return Ok(Ended { reason: EndReason::Precise, failure: None });
            }
        }
        Ok(Ended { reason: EndReason::Complete, failure: None })
    }

    fn sequential(&mut self, schedule: &mut Schedule, warm_block_ns: Option<u64>) -> Result<Ended> {
        // Without a warm-up there is nothing to measure the budget with: the fewest runs that are allowed.
        let n_total = self.fix_blocks(warm_block_ns.unwrap_or(u64::MAX))?;
        let steps: VecDeque<_> = schedule.sequential(n_total).collect();
        let stopped = self.pieces(steps)?;
        Ok(stopped.unwrap_or(Ended { reason: EndReason::Complete, failure: None }))
    }

    fn fix_blocks(&mut self, block_ns: u64) -> Result<u32> {
        let n_blocks = n_blocks(self.plan, block_ns);
        self.writer.append_event(&Event::Blocks { n_blocks, block_ns })?;
        self.progress.expect_blocks(n_blocks);
        Ok(n_blocks)
    }

    /// Runs steps piece by piece; `Some` when that is the end.
    fn pieces(&mut self, mut steps: VecDeque<Step>) -> Result<Option<Ended>> {
        while !steps.is_empty() {
            let n_steps = self.piece_steps().min(steps.len());
            let piece: Vec<Step> = steps.drain(..n_steps).collect();
            let started_ns = monotonic_ns();
            let outcome = self.runner.run(&piece)?;
            self.spent_ns += monotonic_ns() - started_ns;
            self.n_steps += n_steps as u64;
            self.take_rows()?;
            self.progress.draw(&self.live, self.spent_ns);
            if let Some(ended) = ended(outcome) {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    fn piece_steps(&self) -> usize {
        let step_ns = self.spent_ns.checked_div(self.n_steps).unwrap_or(PIECE_NS).max(1);
        usize::try_from(PIECE_NS / step_ns).unwrap_or(1).clamp(1, PIECE_STEPS_MAX)
    }

    fn take_rows(&mut self) -> Result<()> {
        let live = &mut self.live;
        self.tail.follow(|line| {
            if let Line::Row(row) = line {
                live.add(&row);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn is_precise(&self) -> bool {
        let Some(precision) = self.plan.precision else { return false };
        let is_comparison = self.plan.candidates().count() > 1;
        let t0 = if is_comparison {
            self.live.block_t0()
        } else {
            self.live.arm_t0(self.plan.reference)
        };
        self.live.n_blocks() >= precision.n_blocks_min as usize
            && t0.is_some_and(|t0| t0.err / t0.value * 100.0 < precision.pct)
    }

    fn cleanup(&mut self) -> Result<Outcome> {
        match &self.plan.cleanup {
            Some(cleanup) => self.runner.hook(Hook::Cleanup, cleanup),
            None => Ok(Outcome::default()),
        }
    }

    fn close(&mut self, reason: EndReason) -> Result<()> {
        if let Some(maxrss_floor_kib) = self.runner.maxrss_floor_kib() {
            self.writer.append_event(&Event::Launcher { maxrss_floor_kib })?;
        }
        self.writer.append_event(&Event::End { reason })
    }

    fn note_failure(&mut self, failure: Option<&Failure>) -> Result<()> {
        match failure {
            Some(Failure::Run { step, stderr, .. }) => {
                self.writer.append_event(&Event::Failure { step: *step, stderr: stderr.clone() })
            }
            // There may be room for the row that did not fit before.
            Some(Failure::Record { line, .. }) if !line.is_empty() => self.writer.append(line),
            _ => Ok(()),
        }
    }
}

/// Whether an outcome ends the session.
fn ended(outcome: Outcome) -> Option<Ended> {
    let reason = match &outcome.failure {
        _ if outcome.interrupted => EndReason::Interrupted,
        None => return None,
        Some(Failure::Run { timed_out: true, .. }) => EndReason::TimedOut,
        Some(Failure::Record { .. }) => EndReason::RecordFull,
        Some(_) => EndReason::Failed,
    };
    // What a command that was cut short complains about is not a failure.
    let failure = outcome.failure.filter(|_| !outcome.interrupted);
    Some(Ended { reason, failure })
}
