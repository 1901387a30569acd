//! Measures a suite: each pass visits all undecided benchmarks in random order, each visit up to the next interim
//! analysis. So the time goes to the benchmarks that need it, and all share a busy period of the machine.

mod ending;
mod suspects;

use std::path::Path;
use std::rc::Rc;

use anyhow::{Context as _, Result};
use stats::Stream;
use stats::sequential::{SequentialTest, holm_shares};

use crate::cmd::conclusion::lost;
use crate::cmd::frameworks::KnownPrograms;
use crate::cmd::suites::entry::SuiteEntry;
use crate::session::{
    Guard, LineClock, Opening, Screen, Session, SessionState, Visit, VisitLimits, VisitOpening,
    unfit,
};
use analysis::watch::SharedAlpha;
use host::{Survey, terminal};
use measure::clock::monotonic_ns;
use measure::interrupt::Interrupt;
use model::spec::workers::BenchSpec;
use record::{EndReason, Readers, SuiteManifest};
use render::budget::{BenchmarkPace, short_budget_of_suite};
use render::one_line;

/// Separates the random stream of the visits from the benchmarks' own.
const VISIT_STREAM: u64 = 0x8cb9_2ba7_2f3d_8dd7;

/// Measures the unfinished benchmarks, then shows all. Returns the exit code.
pub fn measure(
    spec: &BenchSpec,
    manifest: &SuiteManifest,
    known: &mut KnownPrograms,
    directory: &Path,
    survey: &Survey,
    guard: &mut Guard,
    interrupt: Rc<Interrupt>,
) -> Result<u8> {
    let _lock = SuiteManifest::lock(directory)?;
    let screen = Screen::new(&spec.session.output, Some(&spec.session.pyperf));
    let suite = &manifest.suite;
    let paths = manifest.paths(directory).into_iter();
    let entries =
        suite.members.iter().zip(paths).map(|(member, path)| SuiteEntry::find(member, path));
    let mut session = SuiteSession {
        entries: entries.collect::<Result<_>>()?,
        spec,
        manifest,
        known,
        survey,
        guard,
        interrupt,
        screen,
        started_ns: monotonic_ns(),
        spent_before_ns: 0,
        of_suspects_ns: 0,
        clock: LineClock::start(),
    };
    session
        .entries
        .iter()
        .filter(|entry| entry.is_open())
        .try_for_each(SuiteEntry::has_its_builds)?;
    let states = session.entries.iter().filter_map(|entry| entry.state.as_ref());
    session.spent_before_ns = states.map(|state| state.ended_ns).sum();
    let measured = session.passes();
    let is_interrupted = matches!(measured, Ok(true));
    let over = match &measured {
        Ok(false) => EndReason::Complete,
        Ok(true) => EndReason::Interrupted,
        Err(error) => end_after(error),
    };
    let closed = session.close_all(over);
    // The end may not fit on the disk, or the launcher of a cleanup hook may not start.
    let unwritten = match &closed {
        Err(error) if over == EndReason::Complete => end_after(error),
        _ => over,
    };
    let visited = session.entries.iter().filter(|entry| entry.is_set_up);
    let gone = visited.map(|entry| entry.path.clone()).find(|path| !path.exists());
    let code = session.finish(directory, is_interrupted, unwritten)?;
    if session.entries.iter().all(SuiteEntry::is_final) {
        super::builds::remove(&manifest.copies);
    }
    let shown = directory.display();
    let kept = || {
        format!("the finished runs are in {shown}; go on with `stillwell bench --resume {shown}`")
    };
    let ended = measured.and(closed).map_err(|error| match &gone {
        Some(path) => lost(path, error),
        None => error,
    });
    match ended {
        Err(error) if session.entries.iter().any(|it| it.path.exists()) => {
            Err(error.context(kept()))
        }
        Err(error) => Err(error),
        Ok(()) => Ok(code),
    }
}

/// The end of open benchmarks after an error of our own. It is not final: --resume can continue.
fn end_after(error: &anyhow::Error) -> EndReason {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    let is_full = causes.any(|it| matches!(it.kind(), StorageFull | FileTooLarge | QuotaExceeded));
    if is_full { EndReason::RecordFull } else { EndReason::Interrupted }
}

struct SuiteSession<'a> {
    entries: Vec<SuiteEntry<'a>>,
    spec: &'a BenchSpec,
    manifest: &'a SuiteManifest,
    known: &'a mut KnownPrograms,
    survey: &'a Survey,
    guard: &'a mut Guard,
    interrupt: Rc<Interrupt>,
    screen: Screen,
    started_ns: u64,
    spent_before_ns: u64,
    /// Time of the visits to suspects, ns.
    of_suspects_ns: u64,
    clock: LineClock,
}

impl SuiteSession<'_> {
    fn spent_ns(&self) -> u64 {
        self.spent_before_ns + (monotonic_ns() - self.started_ns)
    }

    fn left_ns(&self) -> u64 {
        self.manifest.suite.budget_ns.saturating_sub(self.spent_ns())
    }

    /// Visits benchmarks until all are decided or the budget is used up. Returns whether ^C came.
    fn passes(&mut self) -> Result<bool> {
        let mut stream = Stream::new(self.manifest.suite.seed ^ VISIT_STREAM);
        let mut first = Some(self.first_pass());
        loop {
            let mut open = self.open();
            stream.shuffle(&mut open);
            let before = self.n_blocks_of_all();
            for (index, &at) in open.iter().enumerate() {
                // Only the first pass goes on when time is up, so each benchmark gets a block. Counts take long, and a
                // single one proves nothing.
                let is_counted = self.entries[at].member.plan.valgrind().is_some();
                if (first.is_none() || is_counted) && self.left_ns() == 0 {
                    break;
                }
                // The first visits share the time, so that a short budget is not used up before the last benchmark. A
                // share may be too short for three counts.
                let n_to_come = (open.len() - index) as u64;
                let limits = match &first {
                    Some(first) if !is_counted => first.visit_limits(self.left_ns(), n_to_come),
                    _ => VisitLimits { left_ns: self.left_ns(), n_blocks_max: u32::MAX },
                };
                if self.visit_and_judge(at, limits)? {
                    return Ok(true);
                }
                if first.is_none() && self.visit_suspects()? {
                    return Ok(true);
                }
            }
            if first.take().is_some() && !self.has_suspects() {
                self.warn_of_budget();
            }
            // If a pass measured nothing, the remaining time is too short for another block.
            let is_stuck = self.n_blocks_of_all() == before;
            if self.open().is_empty() || self.left_ns() == 0 || is_stuck {
                if self.has_suspects() {
                    self.warn_of_budget();
                }
                return Ok(false);
            }
        }
    }

    fn open(&self) -> Vec<usize> {
        (0..self.entries.len()).filter(|&at| self.entries[at].is_open()).collect()
    }

    fn n_blocks_of_all(&self) -> u64 {
        (0..self.entries.len()).map(|at| self.n_blocks(at)).sum()
    }

    /// Visits one benchmark if it is open, and ends decided ones. Returns whether ^C came.
    fn visit_and_judge(&mut self, at: usize, limits: VisitLimits) -> Result<bool> {
        if self.interrupt.take() || (self.entries[at].is_open() && self.visit(at, limits)?) {
            return Ok(true);
        }
        self.judge_together(at)?;
        let over = self.entries.iter_mut().filter(|entry| !entry.is_open());
        over.into_iter().try_for_each(|it| it.close(EndReason::Complete, self.guard.user()))?;
        Ok(false)
    }

    /// Warns that the budget is shorter than the fewest blocks of some benchmarks, and tells a sufficient one.
    fn warn_of_budget(&self) {
        fn pace<'a>(entry: &'a SuiteEntry<'_>) -> BenchmarkPace<'a> {
            let state = entry.state.as_ref().filter(|_| entry.is_open());
            let [n_blocks, span_ns] =
                state.map_or([0; 2], |state| [state.n_blocks(), state.span_ns()]);
            BenchmarkPace { plan: &entry.member.plan, n_blocks, span_ns }
        }
        let paces: Vec<_> = self.entries.iter().map(pace).collect();
        let budget_ns = self.manifest.suite.budget_ns;
        let options = &self.spec.suite;
        let is_resumed = options.resume.is_some();
        let text = short_budget_of_suite(budget_ns, self.spent_ns(), &paces, is_resumed);
        // The verb `gate` itself warns of a short budget.
        if let Some(text) = text.filter(|_| !self.screen.is_quiet() && !options.is_gate) {
            terminal::say(text);
        }
    }

    fn n_blocks(&self, at: usize) -> u64 {
        self.entries[at].state.as_ref().map_or(0, SessionState::n_blocks)
    }

    /// Ends the benchmarks with decided comparisons, each at its share of the suite's alpha. With suspects it ends only
    /// the visited one: judging the sizes of all after each visit would take too long.
    fn judge_together(&mut self, visited: usize) -> Result<()> {
        let has_suspects = self.has_suspects();
        let n_family = self.manifest.suite.members.iter().map(|it| it.plan.family()).max();
        let watches: Vec<_> =
            self.entries.iter().map(|entry| entry.state.as_ref()?.watch.as_ref()).collect();
        let all: Vec<&SequentialTest> = watches
            .iter()
            .flatten()
            .flat_map(|watch| watch.candidates().iter().map(|watched| &watched.test))
            .collect();
        let mut shares = holm_shares(&all, n_family.unwrap_or(0)).into_iter();
        let budget_ns = self.manifest.suite.budget_ns / self.entries.len().max(1) as u64;
        let is_decided: Vec<bool> = self
            .entries
            .iter()
            .zip(&watches)
            .enumerate()
            .map(|(at, (entry, watch))| {
                let (Some(watch), Some(state)) = (watch, &entry.state) else { return Ok(false) };
                let judged = watch.candidates().iter().zip(&mut shares);
                let judged = judged.map(|(tested, share)| SharedAlpha { tested, share });
                let judged: Vec<_> = judged.collect();
                let is_decided = !judged.is_empty() && judged.iter().all(SharedAlpha::is_settled);
                let plan = &entry.member.plan;
                let is_due = entry.is_open() && (!has_suspects || at == visited);
                let is_sized = || state.is_sized(plan, budget_ns, &judged);
                Ok(is_decided && is_due && is_sized().map_err(|why| unfit(plan, why))?)
            })
            .collect::<Result<_>>()?;
        for (entry, is_decided) in self.entries.iter_mut().zip(is_decided) {
            if is_decided {
                entry.end = Some(EndReason::Decided);
            }
        }
        Ok(())
    }

    /// Visits one benchmark within these limits. Returns whether ^C came.
    fn visit(&mut self, at: usize, limits: VisitLimits) -> Result<bool> {
        let n_done = self.entries.iter().filter(|entry| !entry.is_open()).count();
        let name = one_line(&self.entries[at].member.name);
        let prefix = format!("{n_done}/{} done  {name}  ", self.entries.len());
        let entry = &mut self.entries[at];
        let member = entry.member;
        let plan = &member.plan;
        let visit = Visit {
            sets_up: !entry.is_set_up,
            warms_up: plan.workers.is_none() || entry.paces.is_empty(),
            limits,
        };
        let paces = std::mem::take(&mut entry.paces);
        let state = entry.state.as_ref();
        let (beginning, clock) = (prefix, self.clock.clone());
        let opening = Opening {
            record: Some(&entry.path),
            readers: Readers::of(self.spec.session.output.shared),
            visit: Some(VisitOpening { state, paces, beginning, clock }),
            ..Opening::new(self.survey.clone(), &mut *self.guard, self.screen)
        };
        let session = Session::open(plan, opening)?;
        let outcome = entry.go(session, visit);
        let Some(end) = outcome.with_context(|| format!("the benchmark {:?}", member.name))? else {
            return Ok(false);
        };
        if end.reason == EndReason::Interrupted {
            return Ok(true);
        }
        entry.end = Some(end.reason);
        entry.failure = end.failure;
        Ok(false)
    }

    /// Records the end of each benchmark, and runs the due cleanup hooks.
    fn close_all(&mut self, over: EndReason) -> Result<()> {
        let mut closed = Ok(());
        for entry in &mut self.entries {
            closed = closed.and(entry.close(over, self.guard.user()));
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    /// fork(2) fails with EAGAIN, for instance.
    #[test]
    fn only_a_full_disk_is_called_so() {
        let end = |kind: ErrorKind| {
            end_after(&anyhow::Error::from(Error::from(kind)).context("s/001-a.swell"))
        };
        for kind in [ErrorKind::StorageFull, ErrorKind::FileTooLarge, ErrorKind::QuotaExceeded] {
            assert_eq!(end(kind), EndReason::RecordFull);
        }
        assert_eq!(end(ErrorKind::WouldBlock), EndReason::Interrupted);
        assert_eq!(end_after(&anyhow::anyhow!("odd")), EndReason::Interrupted);
    }
}
