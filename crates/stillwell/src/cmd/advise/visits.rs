//! The visits of `system advise`: short sessions, each with its own guardian, which turns the knobs of the step and
//! puts everything back.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use stats::Stream;

use crate::cmd::print::bar;
use crate::cmd::run_session::measure_quietly;
use crate::cmd::unmeasured::Unmeasured;
use analysis::advice::AdviceVisit;
use host::ScratchDirectory;
use host::shield::Isolation;
use host::user_files::no_temporary;
use measure::clock::monotonic_ns;
use measure::interrupt::Interrupt;
use model::spec::run::Style;
use model::spec::{RunSpec, RunVerb, SystemAdvise};
use model::values::metric::Metric;
use model::words::{in_words, one_command};
use record::plan::Terms;
use record::plan::advice::{AdviceStep, StepChange};
use record::{EndReason, Record};
use render::failure::{Quote, explain as explain_failure};
use render::units::short_time;

/// Runs of the untuned trial, which shows how long a run takes.
const TRIAL_RUNS: u32 = 4;
/// Length of the timed runs of a visit: at least as long as turning knobs takes.
const VISIT_NS: u64 = 200_000_000;
const VISIT_RUNS_MIN: u64 = 4;
const VISIT_RUNS_MAX: u64 = 20;
/// Runs longer than this are two to a visit.
const LONG_RUN_NS: u64 = 500_000_000;
/// Fewer blocks cannot decide anything at 1 %, or only if they all agree.
const BLOCKS_MIN: u64 = 12;
const BLOCKS_MAX: u64 = 60;
/// Separates the random stream of the order from others.
const ORDER_STREAM: u64 = 0x6a09_e667_f3bc_c908;

pub struct AdviceSession<'a> {
    verb: &'a SystemAdvise,
    interrupt: &'a Interrupt,
    pub command: String,
    directory: ScratchDirectory,
    stream: Stream,
    /// Time of a run on the untuned machine, and for each step the time of a visit beside its runs, ns.
    run_ns: u64,
    beside_ns: Vec<u64>,
    n_runs: u32,
    n_blocks: u64,
    /// For each step, a visit for each complete block.
    pub visits: Vec<Vec<AdviceVisit>>,
}

impl<'a> AdviceSession<'a> {
    /// Errors: there is no temporary directory for its records.
    pub fn new(verb: &'a SystemAdvise, seed: u64, interrupt: &'a Interrupt) -> Result<Self> {
        Ok(Self {
            verb,
            interrupt,
            command: one_command(&verb.command),
            directory: ScratchDirectory::new().with_context(no_temporary)?,
            stream: Stream::new(seed ^ ORDER_STREAM),
            run_ns: 0,
            beside_ns: Vec::new(),
            n_runs: TRIAL_RUNS,
            n_blocks: 0,
            visits: Vec::new(),
        })
    }

    /// Takes a step once, to see whether it works and how long it takes.
    pub fn try_out(&mut self, step: &AdviceStep) -> Result<(), Unmeasured> {
        let is_first = step.changes.is_empty();
        let started_ns = monotonic_ns();
        let visit = self.visit(step, 0, if is_first { TRIAL_RUNS } else { 2 })?;
        let took_ns = monotonic_ns() - started_ns;
        let longest_ns = visit.times_ns.iter().copied().fold(0.0, f64::max) as u64;
        if is_first {
            self.run_ns = longest_ns.max(1);
        }
        // The warm-up is a run too.
        let n_runs = visit.times_ns.len() as u64 + 1;
        self.beside_ns.push(took_ns.saturating_sub(n_runs * longest_ns));
        Ok(())
    }

    /// Decides how many runs a visit has and how many blocks there are.
    pub fn plan(&mut self, steps: &[AdviceStep], budget_ns: u64) {
        let fit = (VISIT_NS / self.run_ns).clamp(VISIT_RUNS_MIN, VISIT_RUNS_MAX);
        let n_runs = if self.run_ns > LONG_RUN_NS { 2 } else { fit.next_multiple_of(2) };
        self.n_runs = u32::try_from(n_runs).unwrap_or(u32::MAX);
        let fit = (budget_ns / self.block_ns().max(1)).clamp(BLOCKS_MIN, BLOCKS_MAX);
        self.n_blocks = self.verb.blocks.map_or(fit, u64::from);
        self.visits = vec![Vec::new(); steps.len()];
    }

    /// Expected length of a block, ns.
    fn block_ns(&self) -> u64 {
        let runs_ns = self.run_ns * (u64::from(self.n_runs) + 1);
        self.beside_ns.iter().map(|beside_ns| beside_ns + runs_ns).sum()
    }

    /// A sentence about what will be measured.
    pub fn described(&self, n_steps: usize) -> String {
        let all_ns = self.n_blocks * self.block_ns();
        format!(
            "{} blocks of {n_steps} visits with {} runs each, some {}",
            self.n_blocks,
            self.n_runs,
            short_time(all_ns as f64)
        )
    }

    /// Visits all steps in random order, block by block. Returns whether ^C came. Errors: a step that worked at first
    /// fails now, or a record cannot be read.
    pub fn measure(&mut self, steps: &[AdviceStep]) -> Result<bool> {
        let template = "block {pos} of {len} {bar:20} {eta} left";
        let bar = bar(Some(self.n_blocks), template, self.verb.json);
        for _ in 0..self.n_blocks {
            let mut order: Vec<usize> = (0..steps.len()).collect();
            self.stream.shuffle(&mut order);
            let mut block: Vec<Option<AdviceVisit>> = vec![None; steps.len()];
            for (place, step) in order.into_iter().enumerate() {
                match self.visit(&steps[step], place, self.n_runs) {
                    Ok(visit) => block[step] = Some(visit),
                    Err(Unmeasured::Interrupted) => {
                        bar.finish_and_clear();
                        return Ok(true);
                    }
                    Err(Unmeasured::Program(_, why)) => bail!("{}: {why}", steps[step].name),
                    Err(Unmeasured::Failed(error)) => return Err(error),
                }
            }
            for (visits, visit) in self.visits.iter_mut().zip(block) {
                visits.extend(visit);
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(false)
    }

    /// One visit of a step: a warm-up, then runs.
    fn visit(
        &self,
        step: &AdviceStep,
        place: usize,
        n_runs: u32,
    ) -> Result<AdviceVisit, Unmeasured> {
        let failed = |why: String| Unmeasured::Program(0, why);
        if self.interrupt.take() {
            return Err(Unmeasured::Interrupted);
        }
        let path = self.directory.path().join("visit.swell");
        let verb = self.run_verb(step, n_runs, path.clone());
        let measured = measure_quietly(&verb, &Terms::default());
        let record = Record::read(&path);
        std::fs::remove_file(&path).ok();
        let end = match measured {
            Ok((_, end)) => end,
            // ^C came while the guardian tuned.
            Err(_) if self.interrupt.take() => return Err(Unmeasured::Interrupted),
            Err(error) => return Err(failed(in_words(&error))),
        };
        if end.reason == EndReason::Interrupted || self.interrupt.take() {
            return Err(Unmeasured::Interrupted);
        }
        let record = record?;
        if let Some(failure) = &end.failure {
            return Err(failed(explain_failure(&record, failure, Quote::Here)));
        }
        let needs_shield = step.changes.contains(&StepChange::Shield);
        let isolation = record.header.isolation.as_ref();
        if needs_shield && !isolation.is_some_and(|it| it.how.is_shield()) {
            return Err(failed(no_shield(isolation)));
        }
        let visit = times(&record, place, self.verb.clock.unwrap_or_default());
        visit.ok_or_else(|| failed("its runs have no times".into()))
    }

    /// The options of a visit's session.
    fn run_verb(&self, step: &AdviceStep, n_runs: u32, record: PathBuf) -> RunVerb {
        let mut spec = RunSpec { commands: vec![self.command.clone()], ..RunSpec::default() };
        spec.length.runs = Some(n_runs);
        spec.length.warmup = Some(1);
        spec.arms.shell.clone_from(&self.verb.shell);
        spec.process.rights = self.verb.rights;
        spec.output.record = Some(record);
        spec.output.style = Some(Style::None);
        step.apply(&mut spec.process, &mut spec.hooks.cold_cache);
        RunVerb::of(spec, &self.verb.root.host_root)
    }
}

fn no_shield(isolation: Option<&Isolation>) -> String {
    let notes = isolation.map(|isolation| isolation.notes.join("; ")).unwrap_or_default();
    if notes.is_empty() { "no CPU can be kept free".into() } else { notes }
}

/// The times of the runs in their order. Runs without a clean time have their wall time.
fn times(record: &Record, place: usize, clock: model::values::Clock) -> Option<AdviceVisit> {
    let rows = &record.rows;
    let timed: Vec<usize> = rows.measurements().collect();
    let time = |&index: &usize| {
        let wall = || rows.get(index, Metric::WallNs).map(|ns| ns as f64);
        rows.time_ns(index, clock).or_else(wall)
    };
    let times_ns: Vec<f64> = timed.iter().filter_map(time).collect();
    let (first, last) = (*timed.first()?, *timed.last()?);
    let span_ns = rows.started_ns(last).saturating_sub(rows.started_ns(first));
    let pace_ns = span_ns as f64 / (timed.len() - 1).max(1) as f64;
    (times_ns.len() > 1).then_some(AdviceVisit { place, times_ns, pace_ns })
}
