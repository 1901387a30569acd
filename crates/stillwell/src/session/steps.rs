//! A session in steps: setup, warm-up, blocks, cleanup. The cleanup always runs, and the record ends with a reason.

use std::collections::VecDeque;
use std::path::PathBuf;

use anyhow::Result;
use stats::Invalid;

use crate::session::forecast::BudgetForecast;
use crate::session::progress::ProgressLine;
use crate::session::state::{SessionState, failure};
use host::{shield, terminal};
use measure::clock::monotonic_ns;
use measure::noise::{RunInterval, RunTracer};
use measure::worker::FailureCause;
use measure::{Hook, MeasurementFailure, Outcome, Runner};
use model::values::metric::Metric;
use record::plan::Plan;
use record::schedule::Step;
use record::{EndReason, Event, RecordTail, Writer};

/// Length of the pieces in which the runner gets its steps, so that progress is shown and a stop is in time. Nothing is
/// timed between two pieces.
const PIECE_NS: u64 = 100_000_000;
/// Larger pieces would make requests large for no gain.
const PIECE_STEPS_MAX: usize = 2000;
#[derive(Debug)]
pub struct SessionEnd {
    pub reason: EndReason,
    pub failure: Option<MeasurementFailure>,
}

pub struct Session<'a> {
    pub(super) plan: &'a Plan,
    /// The record.
    pub(super) path: PathBuf,
    pub(super) runner: Box<dyn Runner + 'a>,
    pub(super) writer: Writer,
    pub(super) tail: RecordTail,
    pub state: SessionState,
    pub(super) progress: ProgressLine,
    pub(super) budget_forecast: BudgetForecast,
    pub(super) tracer: Option<RunTracer>,
    /// Origin of the rows' starts on the monotonic clock, ns.
    pub(super) clock_origin_ns: u64,
    /// Watches the shield of the runs; `None` once it is lost.
    pub(super) shield: Option<shield::Watch>,
    /// Takes the samples of the runs, if there are any.
    pub(super) take_samples: Option<Box<dyn FnMut() -> Result<()>>>,
    /// The arm whose own setup has run and whose cleanup is due.
    pub(super) set_up_arm: Option<usize>,
}

impl Session<'_> {
    /// Blocks that fit into the budget at the pace so far.
    pub(super) fn blocks_within(&self, budget_ns: u64) -> usize {
        let live = &self.state.live;
        let n_blocks = live.n_blocks() as u64 + u64::from(live.n_spoiled_blocks());
        let span_ns = live.span_ns();
        let left_ns = budget_ns.saturating_sub(span_ns);
        // Without a whole block, for example after a kill in the first one, the pace is unknown: one block fits if time
        // is left.
        let block_ns = span_ns.checked_div(n_blocks).unwrap_or(left_ns).max(1);
        usize::try_from(left_ns / block_ns).unwrap_or(usize::MAX)
    }

    /// Makes the interim analyses that are due. `Some` if they end the session.
    pub(super) fn look(&mut self) -> Option<SessionEnd> {
        let (reason, failure) = match self.end_by_look() {
            Ok(reason) => (reason?, None),
            Err(why) => (EndReason::Failed, Some(failure(self.plan, why))),
        };
        Some(SessionEnd { reason, failure })
    }

    fn end_by_look(&mut self) -> Result<Option<EndReason>, Invalid> {
        if self.state.repeats(self.plan) {
            return Ok(Some(EndReason::Decided));
        }
        if self.state.watch.is_none() {
            return Ok(self.is_precise().then_some(EndReason::Precise));
        }
        if !self.state.look()? {
            return Ok(None);
        }
        let SessionState { walls, watch, .. } = &self.state;
        let Some(watch) = watch else { return Ok(None) };
        // A suite judges its benchmarks together.
        let decides = self.plan.suite.is_none() && watch.is_decided();
        let (.., budget_ns) = self.plan.blocks.bounds();
        let is_sized = || self.state.is_sized(self.plan, budget_ns, &watch.awaited());
        if decides && is_sized()? {
            return Ok(Some(EndReason::Decided));
        }
        // At the error rate of the interim analysis, because its result decides about the end.
        if let Some(precision) = self.plan.precision
            && watch.is_within(walls, (precision.pct / 100.0).ln_1p())?
        {
            return Ok(Some(EndReason::Precise));
        }
        Ok(None)
    }

    /// Runs steps piece by piece. `Some` if the session ends.
    pub(super) fn pieces(&mut self, mut steps: VecDeque<Step>) -> Result<Option<SessionEnd>> {
        while !steps.is_empty() {
            let n_steps = self.piece_steps().min(steps.len());
            let n_steps = if self.plan.in_slices { self.plan.arms.len() } else { n_steps };
            let piece: Vec<Step> = steps.drain(..n_steps).collect();
            let started_ns = monotonic_ns();
            let outcome = self.runner.run(&piece)?;
            self.state.spent_ns += monotonic_ns() - started_ns;
            self.state.n_steps += n_steps as u64;
            self.take_rows()?;
            self.take_samples.as_mut().map_or(Ok(()), |take| take())?;
            self.look_at_shield(&piece)?;
            self.progress.draw(&self.state.live, self.state.watch.as_ref());
            if let Some(end) = end_of(outcome) {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    /// Records a lost shield for the whole piece: the kernel does not report the run.
    fn look_at_shield(&mut self, piece: &[Step]) -> Result<()> {
        let Some(why) = self.shield.as_ref().and_then(shield::Watch::lost) else { return Ok(()) };
        self.shield = None;
        let first_step = piece.first().map_or(0, |step| step.step);
        let step = piece.last().map_or(0, |step| step.step + 1);
        self.writer.append_event(&Event::IsolationLost { first_step, step, why })
    }

    pub(super) fn piece_steps(&self) -> usize {
        let step_ns =
            self.state.spent_ns.checked_div(self.state.n_steps).unwrap_or(PIECE_NS).max(1);
        usize::try_from(PIECE_NS / step_ns).unwrap_or(1).clamp(1, PIECE_STEPS_MAX)
    }

    fn take_rows(&mut self) -> Result<()> {
        let (mut ran, origin_ns) = (Vec::new(), self.clock_origin_ns);
        let is_traced = self.tracer.is_some();
        self.state.follow(self.plan, &mut self.tail, |run| {
            if is_traced {
                let start_ns = origin_ns + run.started_ns;
                let end_ns = start_ns + run.get(Metric::WallNs).unwrap_or(0);
                ran.push(RunInterval { step: run.step, start_ns, end_ns });
            }
        })?;
        let Some(tracer) = &mut self.tracer else { return Ok(()) };
        // The programs that took CPU time from these runs.
        for (step, by) in tracer.losses_by_run(&ran) {
            self.writer.append_event(&Event::Taken { step, by })?;
        }
        Ok(())
    }

    /// Whether every t0 is precise enough. With several arms the interim analyses decide instead.
    fn is_precise(&self) -> bool {
        let Some(precision) = self.plan.precision else { return false };
        let is_known = |arm| {
            let t0 = self.state.live.arm_t0(arm);
            t0.is_some_and(|t0| t0.err / t0.value * 100.0 < precision.pct)
        };
        self.state.live.n_blocks() >= precision.n_blocks_min as usize
            && self.state.live.span_ns() >= precision.time_min_ns
            && self.plan.candidates().all(|(arm, _)| is_known(arm))
    }

    pub(super) fn cleanup(&mut self) -> Result<Outcome> {
        let of_arm = self.clean_up_arm()?;
        let Some(cleanup) = &self.plan.cleanup else { return Ok(of_arm) };
        let of_all = self.runner.hook(Hook::Cleanup, cleanup, 0)?;
        Ok(Outcome {
            interrupted: of_arm.interrupted || of_all.interrupted,
            failure: of_arm.failure.or(of_all.failure),
        })
    }

    /// Runs the cleanup of the last arm that was set up.
    pub(super) fn clean_up_arm(&mut self) -> Result<Outcome> {
        let Some(arm) = self.set_up_arm.take() else { return Ok(Outcome::default()) };
        let Some(cleanup) = &self.plan.arms[arm].cleanup else { return Ok(Outcome::default()) };
        self.runner.hook(Hook::Cleanup, cleanup, arm)
    }

    pub(super) fn close(&mut self, reason: EndReason) -> Result<()> {
        if let Some(n) = self.tracer.as_ref().map(RunTracer::n_lost).filter(|&n| n > 0) {
            terminal::say(format!(
                "the kernel dropped {n} events of the trace; not all who took time are named"
            ));
        }
        if let Some(words) = self.runner.last_words() {
            self.writer.append_event(&words)?;
        }
        self.writer.append_event(&Event::End { reason })
    }

    pub fn note_failure(&mut self, failure: Option<&MeasurementFailure>) -> Result<()> {
        match failure {
            Some(
                MeasurementFailure::Run { step, stderr, .. }
                | MeasurementFailure::Value { step, stderr, .. }
                | MeasurementFailure::Hook { hook: Hook::Validate, step, stderr, .. },
            ) => self.writer.append_event(&Event::Failure { step: *step, stderr: stderr.clone() }),
            Some(MeasurementFailure::NotCounted { step, stderr, uncounted, .. }) => {
                let lines = [stderr.trim_end(), &uncounted.why, &uncounted.said];
                let lines: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
                let stderr = lines.join("\n");
                self.writer.append_event(&Event::Failure { step: *step, stderr })
            }
            // The row may fit now.
            Some(MeasurementFailure::Record { line, .. }) if !line.is_empty() => {
                self.writer.append(line)
            }
            _ => Ok(()),
        }
    }
}

/// The session's end after this outcome; `None` if the session goes on.
pub(super) fn end_of(outcome: Outcome) -> Option<SessionEnd> {
    let reason = match &outcome.failure {
        _ if outcome.interrupted => EndReason::Interrupted,
        None => return None,
        Some(MeasurementFailure::Run { timed_out: true, .. }) => EndReason::TimedOut,
        Some(MeasurementFailure::Worker { failure, .. })
            if matches!(failure.what, FailureCause::TimedOut(_)) =>
        {
            EndReason::TimedOut
        }
        Some(MeasurementFailure::Record { .. }) => EndReason::RecordFull,
        Some(_) => EndReason::Failed,
    };
    // A command that ^C cut short did not fail.
    let failure = outcome.failure.filter(|_| !outcome.interrupted);
    Some(SessionEnd { reason, failure })
}
