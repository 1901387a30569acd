//! The start of a session: runner, record, header, trace.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use jiff::Zoned;

use crate::session::forecast::BudgetForecast;
use crate::session::guard::Guard;
use crate::session::progress::LineClock;
use crate::session::screen::Screen;
use crate::session::state::SessionState;
use crate::session::steps::Session;
use host::shield::Watch;
use host::user_files::read_text;
use host::{Host, Survey, terminal};
use measure::clock::monotonic_ns;
use measure::noise::RunTracer;
use measure::slices::{Paces, SliceRunner, WorkerFactory, slice_metrics};
use measure::wire::{LauncherReport, SamplingSettings};
use measure::{ExecRunner, RowPlace, Runner, ScriptRunner};
use model::prose::OptionName;
use model::values::metric::{METRICS, Metric, MetricSource};
use model::values::read_cpu_list;
use record::plan::Plan;
use record::plan::workers::Workers;
use record::{self, FORMAT, Header, Layout, Readers, RecordTail, VERSION, Writer};
use render::remedies::Audience;
use rustix::process::{Signal, getpid, kill_process};
use tempfile::TempPath;

/// The settings for sampling, and the action that takes the samples between runs.
pub struct SampledSession {
    pub settings: SamplingSettings,
    /// The name of the file of samples: removed when the launcher has it open, so nothing is left behind.
    pub file: TempPath,
    /// Called between runs.
    pub take: Box<dyn FnMut() -> Result<()>>,
}

/// The start of a session beside its plan. The fields after the first three have defaults.
pub struct Opening<'a> {
    pub survey: Survey,
    pub guard: &'a mut Guard,
    pub screen: Screen,
    /// The record; `None` creates a file in the state directory.
    pub record: Option<&'a Path>,
    pub readers: Readers,
    /// Times to play instead of running anything, for tests.
    pub script: Option<&'a Path>,
    /// The maker of the workers, if their benchmarks are listed already.
    pub maker: Option<WorkerFactory>,
    pub attribute: bool,
    pub sampling: Option<SampledSession>,
    /// `None` for a session in one go.
    pub visit: Option<VisitOpening<'a>>,
}

/// A visit to a benchmark of a suite.
pub struct VisitOpening<'a> {
    /// The state after the last visit, whose record continues.
    pub state: Option<&'a SessionState>,
    /// The paces of workers in earlier visits.
    pub paces: Paces,
    /// The beginning of the progress line.
    pub beginning: String,
    pub clock: LineClock,
}

impl<'a> Opening<'a> {
    pub fn new(survey: Survey, guard: &'a mut Guard, screen: Screen) -> Self {
        Self {
            survey,
            guard,
            screen,
            record: None,
            readers: Readers::Owner,
            script: None,
            maker: None,
            attribute: false,
            sampling: None,
            visit: None,
        }
    }
}

/// A runner and the facts since its start.
struct StartedRunner<'p> {
    runner: Box<dyn Runner + 'p>,
    metrics: Vec<Metric>,
    tracer: Option<RunTracer>,
    shield: Option<Watch>,
}

impl<'p> StartedRunner<'p> {
    fn of(runner: impl Runner + 'p, metrics: Vec<Metric>) -> Self {
        Self { runner: Box::new(runner), metrics, tracer: None, shield: None }
    }
}

/// The collectable metrics of whole processes beyond the constant ones.
fn metrics_of(additional: &[Metric]) -> Vec<Metric> {
    let is_there = |metric: &Metric| {
        metric.info().source == MetricSource::Always || additional.contains(metric)
    };
    METRICS.iter().map(|info| info.metric).filter(is_there).collect()
}

impl<'p> Session<'p> {
    /// Starts the runner and creates the record. Errors: the runner cannot be started, or the record exists.
    pub fn open(plan: &'p Plan, mut opening: Opening<'_>) -> Result<Self> {
        let created = host::local_time::now();
        let path = match opening.record {
            Some(path) => path.to_owned(),
            None => record::new_path(&created)?,
        };
        let mut progress = opening.screen.progress(plan);
        if let Some(visit) = &mut opening.visit {
            progress.go_on(visit.clock.clone(), std::mem::take(&mut visit.beginning));
        }
        let sampled = opening.sampling.take().map(|it| (it.settings, (it.file, it.take)));
        let (sampling, sampled) = sampled.unzip();
        let (named, take_samples) = sampled.unzip();
        let mut started = match (opening.script, &plan.workers) {
            (Some(script), _) => opening.play(plan, script)?,
            (None, Some(workers)) => opening.ask(plan, workers)?,
            (None, None) => opening.execute(plan, sampling)?,
        };
        drop(named);
        if opening.guard.take_signal() {
            // The runner catches signals now.
            kill_process(getpid(), Signal::INT).ok();
        }
        let absolute = std::path::absolute(&path)
            .with_context(|| format!("cannot make {} absolute", path.display()))?;
        let earlier = opening.visit.as_ref().and_then(|visit| visit.state);
        let next_step = earlier.map_or(0, |state| state.next_step);
        let ended_ns = earlier.map_or(0, |state| state.ended_ns);
        // Made-up times begin at zero. Pauses between visits are left out.
        let clock_origin_ns = opening.script.map_or_else(|| monotonic_ns() - ended_ns, |_| 0);
        let (writer, tail, columns) = match earlier {
            None => opening.create(plan, &path, &created, &started.metrics, clock_origin_ns)?,
            Some(_) => reopen(&path)?,
        };
        let rows = RowPlace { record: absolute, columns, clock_origin_ns, next_step };
        started.runner.keep(rows).inspect_err(|_| {
            if earlier.is_none() {
                // It has no runs yet.
                std::fs::remove_file(&path).ok();
            }
        })?;
        Ok(Self {
            plan,
            path,
            runner: started.runner,
            writer,
            tail,
            state: SessionState::new(plan),
            progress,
            budget_forecast: BudgetForecast::default(),
            tracer: started.tracer,
            clock_origin_ns,
            shield: started.shield,
            take_samples,
            set_up_arm: None,
        })
    }
}

impl Opening<'_> {
    fn execute<'p>(
        &mut self,
        plan: &'p Plan,
        sampling: Option<SamplingSettings>,
    ) -> Result<StartedRunner<'p>> {
        let user = self.guard.user().cloned();
        let enter = |pid| self.guard.enter(pid);
        let (runner, support) = ExecRunner::start(plan, user, sampling, enter)?;
        require_decider(plan, &support)?;
        let shield = self.guard.watch(&Host::new("/"));
        let tracer = if self.attribute { self.trace(plan, runner.launcher()) } else { None };
        self.survey.gaps.extend(support.gaps);
        let metrics = metrics_of(&support.metrics);
        Ok(StartedRunner { tracer, shield, ..StartedRunner::of(runner, metrics) })
    }

    /// Traces all CPUs that runs may use. A missing trace is a gap.
    fn trace(&mut self, plan: &Plan, launcher: u32) -> Option<RunTracer> {
        let allowed = self.survey.facts.cpus_allowed.as_deref().and_then(read_cpu_list);
        let mut cpus = allowed.unwrap_or_default();
        cpus.extend(plan.process.affinity.iter().flatten());
        cpus.sort_unstable();
        cpus.dedup();
        let opened = RunTracer::open(&Host::new("/"), &cpus, launcher);
        opened
            .map_err(|gap| {
                // The user asked for the trace, so the gap is also reported at once.
                let (why, fix) = (&gap.why, Audience::of(plan).words(&gap.fix));
                terminal::say(format!("--attribute: {why}; {fix}"));
                self.survey.gaps.push(gap);
            })
            .ok()
    }

    fn play<'p>(&self, plan: &'p Plan, script: &Path) -> Result<StartedRunner<'p>> {
        let text =
            read_text(script).with_context(|| format!("cannot read {}", script.display()))?;
        Ok(StartedRunner::of(ScriptRunner::new(plan, &text)?, metrics_of(&[])))
    }

    fn ask<'p>(&mut self, plan: &'p Plan, workers: &'p Workers) -> Result<StartedRunner<'p>> {
        let maker = match self.maker.take() {
            Some(maker) => maker,
            None => WorkerFactory::new(None, self.guard.user().cloned())?,
        };
        let paces = self.visit.as_mut().map(|visit| std::mem::take(&mut visit.paces));
        let runner = SliceRunner::new(plan, workers, maker, paces.unwrap_or_default())?;
        Ok(StartedRunner::of(runner, slice_metrics()))
    }

    /// Creates the record with its header. Errors: the file exists.
    fn create(
        self,
        plan: &Plan,
        path: &Path,
        created: &Zoned,
        metrics: &[Metric],
        clock_origin_ns: u64,
    ) -> Result<(Writer, RecordTail, Vec<String>)> {
        let layout = Layout::new(metrics);
        let of_workers = plan.workers.as_ref().is_some_and(|workers| workers.headline.is_own());
        let has_value =
            of_workers || plan.arms.iter().any(|arm| arm.value.is_some() || arm.counted.is_some());
        let columns = if has_value { layout.with_value() } else { layout }.names();
        let Survey { mut facts, gaps } = self.survey;
        facts.user_id = self.guard.user().map_or(facts.user_id, |user| Some(user.uid));
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            tool: concat!("stillwell ", env!("CARGO_PKG_VERSION")).into(),
            created: created.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            command_line: record::command_line(),
            defaults: record::defaults(),
            clock_origin_ns,
            columns: columns.clone(),
            plan: plan.clone(),
            facts,
            gaps: Audience::of(plan).gaps(gaps),
            isolation: self.guard.isolation().cloned(),
            imported: None,
        };
        let writer = Writer::create(path, &header, self.readers)?;
        let (tail, _) = RecordTail::open(path)?;
        Ok((writer, tail, columns))
    }
}

/// Opens the record of earlier visits after its last row.
fn reopen(path: &Path) -> Result<(Writer, RecordTail, Vec<String>)> {
    let (mut tail, header) = RecordTail::open(path)?;
    tail.follow(|_| Ok(()))?;
    Ok((Writer::open(path)?, tail, header.columns))
}

/// Errors: this machine does not count the deciding metric.
fn require_decider(plan: &Plan, support: &LauncherReport) -> Result<()> {
    let Some(decide_on) = plan.policy.decide_on else { return Ok(()) };
    let is_missing = |metric: &&Metric| {
        metric.info().source != MetricSource::Always && !support.metrics.contains(metric)
    };
    let Some(metric) = decide_on.metrics().iter().find(is_missing) else { return Ok(()) };
    let name = metric.info().name;
    let gap = support.gaps.iter().find(|gap| gap.what.split(", ").any(|what| what == name));
    let why = gap.map_or_else(|| "the machine has no counter for it".into(), |gap| gap.why.clone());
    let option = Audience::of(plan).name(OptionName::DecideOn);
    bail!("{option} {name}: it cannot be counted here: {why}")
}
