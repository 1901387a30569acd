//! One session of measuring: setup, warm-up, blocks, cleanup. Whatever happens, what is due afterwards is done and the
//! record ends with its reason.

use std::collections::VecDeque;
use std::io::Write as _;

use anyhow::{Context as _, Result};

use crate::analysis::launches::Launches;
use crate::analysis::live::Live;
use crate::analysis::walls::Walls;
use crate::analysis::watch::Watch;
use crate::cmd::measuring::progress::Progress;
use crate::host::shield;
use crate::measure::clock::monotonic_ns;
use crate::measure::worker::What;
use crate::measure::{Failure, Hook, Outcome, Runner};
use crate::metric::Metric;
use crate::noise::{Ran, RunTracer};
use crate::plan::{BlockRule, Order, Plan, Stopping};
use crate::record::{EndReason, Event, Line, Row, Tail, Writer};
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
    walls: Walls,
    /// Makes runs of slices, where there are any.
    launches: Option<Launches>,
    /// The comparisons that may end the session.
    watch: Option<Watch>,
    progress: Progress,
    /// Watches who takes the CPU from the runs.
    tracer: Option<RunTracer>,
    /// Reading of the clock from which the starts of rows count.
    clock_origin_ns: u64,
    /// Sum of the times of all pieces, and their number of steps.
    spent_ns: u64,
    n_steps: u64,
    /// Tells whether the shield of the runs still holds, as long as it does.
    shield: Option<shield::Watch>,
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
        let walls = Walls::new(plan.arms.len());
        let watch = (plan.stopping == Stopping::WhenDecided).then(|| Watch::new(plan));
        let launches = plan.in_slices.then(|| Launches::new(plan));
        Self {
            plan,
            runner,
            writer,
            tail,
            live,
            walls,
            launches,
            watch,
            progress,
            tracer: None,
            clock_origin_ns: 0,
            spent_ns: 0,
            n_steps: 0,
            shield: None,
        }
    }

    /// Looks at the shield of the runs too.
    pub fn watching(mut self, shield: Option<shield::Watch>) -> Self {
        self.shield = shield;
        self
    }

    /// Has somebody watch who takes the CPU from the runs.
    pub fn traced(mut self, tracer: Option<RunTracer>, clock_origin_ns: u64) -> Self {
        self.tracer = tracer;
        self.clock_origin_ns = clock_origin_ns;
        self
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
            && matches!(ended.reason, EndReason::Complete | EndReason::Decided | EndReason::Precise)
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
        let (n_min, n_max, budget_ns) = match self.plan.blocks {
            BlockRule::Exactly(n_blocks) => (n_blocks, n_blocks, u64::MAX),
            BlockRule::Budget { budget_ns, min, max } => (min, max, budget_ns),
        };
        let mut n_run = 0;
        loop {
            if let Some(ended) = self.look()? {
                return Ok(ended);
            }
            // A block in which a run timed out does not count; as many are appended, but no more than were planned.
            let n_due = n_max.saturating_add(self.live.n_spoiled_blocks().min(n_max));
            let is_over = self.live.span_ns() >= budget_ns && n_run >= n_min;
            if n_run >= n_due || is_over {
                return Ok(Ended { reason: EndReason::Complete, failure: None });
            }
            // Whole blocks, as many as a piece has room for, and not beyond the next look: a decision is only taken
            // between blocks.
            let fit = self.piece_steps().div_ceil(self.plan.arms.len());
            let fit = fit.min(self.blocks_within(budget_ns));
            let until_look = self.watch.as_ref().and_then(|watch| watch.next_look(n_run as usize));
            let until_look = until_look.map_or(fit, |at| at - n_run as usize);
            let n_blocks = u32::try_from(fit.min(until_look))?.min(n_due - n_run);
            if let Some(ended) = self.blocks(schedule, n_blocks)? {
                return Ok(ended);
            }
            n_run += n_blocks;
        }
    }

    /// Blocks that the budget has room for at the pace so far, at least one.
    fn blocks_within(&self, budget_ns: u64) -> usize {
        let (span_ns, n_blocks) = (self.live.span_ns(), self.live.n_blocks() as u64);
        let block_ns = span_ns.checked_div(n_blocks).unwrap_or(budget_ns).max(1);
        usize::try_from(budget_ns.saturating_sub(span_ns) / block_ns).unwrap_or(usize::MAX).max(1)
    }

    /// Runs so many blocks; `Some` when that is the end.
    fn blocks(&mut self, schedule: &mut Schedule, n_blocks: u32) -> Result<Option<Ended>> {
        self.pieces((0..n_blocks).flat_map(|_| schedule.block()).collect())
    }

    /// Takes the looks that are due; `Some` when they end the session.
    fn look(&mut self) -> Result<Option<Ended>> {
        let is_end = |reason| Ok(Some(Ended { reason, failure: None }));
        let unfit = "the times are unfit for a comparison";
        let Some(watch) = &mut self.watch else {
            return if self.is_precise() { is_end(EndReason::Precise) } else { Ok(None) };
        };
        if !watch.take(&self.walls).context(unfit)? {
            return Ok(None);
        }
        if watch.is_decided() {
            return is_end(EndReason::Decided);
        }
        // Of a look, and at the error that the look may make: its end may depend on what it saw.
        if let Some(precision) = self.plan.precision
            && watch.is_within(&self.walls, (precision.pct / 100.0).ln_1p()).context(unfit)?
        {
            return is_end(EndReason::Precise);
        }
        Ok(None)
    }

    fn sequential(&mut self, schedule: &mut Schedule, warm_block_ns: Option<u64>) -> Result<Ended> {
        // Without a warm-up there is nothing to measure the budget with: the fewest runs that are allowed.
        let n_total = n_blocks(self.plan, warm_block_ns.unwrap_or(u64::MAX));
        self.progress.expect_blocks(n_total);
        let steps: VecDeque<_> = schedule.sequential(n_total).collect();
        let stopped = self.pieces(steps)?;
        Ok(stopped.unwrap_or(Ended { reason: EndReason::Complete, failure: None }))
    }

    /// Runs steps piece by piece; `Some` when that is the end.
    fn pieces(&mut self, mut steps: VecDeque<Step>) -> Result<Option<Ended>> {
        while !steps.is_empty() {
            let n_steps = self.piece_steps().min(steps.len());
            let n_steps = if self.plan.in_slices { self.plan.arms.len() } else { n_steps };
            let piece: Vec<Step> = steps.drain(..n_steps).collect();
            let started_ns = monotonic_ns();
            let outcome = self.runner.run(&piece)?;
            self.spent_ns += monotonic_ns() - started_ns;
            self.n_steps += n_steps as u64;
            self.take_rows()?;
            self.look_at_shield(&piece)?;
            self.progress.draw(&self.live, self.watch.as_ref());
            if let Some(ended) = ended(outcome) {
                return Ok(Some(ended));
            }
        }
        Ok(None)
    }

    /// Nobody knows of which of these runs on it was lost.
    fn look_at_shield(&mut self, piece: &[Step]) -> Result<()> {
        let Some(why) = self.shield.as_ref().and_then(shield::Watch::lost) else { return Ok(()) };
        self.shield = None;
        let first_step = piece.first().map_or(0, |step| step.step);
        let step = piece.last().map_or(0, |step| step.step + 1);
        self.writer.append_event(&Event::IsolationLost { first_step, step, why })
    }

    fn piece_steps(&self) -> usize {
        let step_ns = self.spent_ns.checked_div(self.n_steps).unwrap_or(PIECE_NS).max(1);
        usize::try_from(PIECE_NS / step_ns).unwrap_or(1).clamp(1, PIECE_STEPS_MAX)
    }

    fn take_rows(&mut self) -> Result<()> {
        let (live, walls) = (&mut self.live, &mut self.walls);
        let has_looks = self.plan.stopping == Stopping::WhenDecided;
        let (mut ran, origin_ns) = (Vec::new(), self.clock_origin_ns);
        let is_traced = self.tracer.is_some();
        let mut take = |run: Row| {
            if is_traced {
                let start_ns = origin_ns + run.started_ns;
                let end_ns = start_ns + run.get(Metric::WallNs).unwrap_or(0);
                ran.push(Ran { step: run.step, start_ns, end_ns });
            }
            live.add(&run);
            // They are only kept where they are looked at: a long session of one arm takes no memory.
            if has_looks {
                walls.add(&run);
            }
        };
        let launches = &mut self.launches;
        self.tail.follow(|line| {
            match (line, launches.as_mut()) {
                (Line::Row(slice), Some(launches)) => launches.add(&slice, &mut take),
                (Line::Row(run), None) => take(run),
                (Line::Event(_), _) => {}
            }
            Ok(())
        })?;
        // A piece of a session in slices is whole blocks.
        if let Some(launches) = launches {
            launches.flush(&mut take);
        }
        self.note_taken(&ran)
    }

    /// Writes down who took the CPU from these runs.
    fn note_taken(&mut self, ran: &[Ran]) -> Result<()> {
        let Some(tracer) = &mut self.tracer else { return Ok(()) };
        for (step, by) in tracer.taken(ran) {
            self.writer.append_event(&Event::Taken { step, by })?;
        }
        Ok(())
    }

    /// Whether every t0 is known well enough; several arms are told apart at looks instead.
    fn is_precise(&self) -> bool {
        let Some(precision) = self.plan.precision else { return false };
        let is_known = |arm| {
            let t0 = self.live.arm_t0(arm);
            t0.is_some_and(|t0| t0.err / t0.value * 100.0 < precision.pct)
        };
        self.live.n_blocks() >= precision.n_blocks_min as usize
            && self.live.span_ns() >= precision.time_min_ns
            && self.plan.candidates().all(|(arm, _)| is_known(arm))
    }

    fn cleanup(&mut self) -> Result<Outcome> {
        match &self.plan.cleanup {
            Some(cleanup) => self.runner.hook(Hook::Cleanup, cleanup),
            None => Ok(Outcome::default()),
        }
    }

    fn close(&mut self, reason: EndReason) -> Result<()> {
        if let Some(n) = self.tracer.as_ref().map(RunTracer::n_lost).filter(|&n| n > 0) {
            let text = format!(
                "stillwell: the kernel dropped {n} events of the trace; not all who took time are named"
            );
            writeln!(anstream::stderr(), "{text}").ok();
        }
        if let Some(words) = self.runner.last_words() {
            self.writer.append_event(&words)?;
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
        Some(Failure::Worker { failure, .. }) if matches!(failure.what, What::TimedOut(_)) => {
            EndReason::TimedOut
        }
        Some(Failure::Record { .. }) => EndReason::RecordFull,
        Some(_) => EndReason::Failed,
    };
    // What a command that was cut short complains about is not a failure.
    let failure = outcome.failure.filter(|_| !outcome.interrupted);
    Some(Ended { reason, failure })
}
