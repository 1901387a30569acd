//! The start of a session: record, header, runner, trace.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use jiff::Zoned;

use crate::session::guard::Guard;
use crate::session::progress::ProgressLine;
use crate::session::screen::Screen;
use crate::session::steps::{Session, SessionEnd};
use host::terminal;
use host::user_files::read_text;
use host::{Host, Survey};
use measure::clock::monotonic_ns;
use measure::exec::MetricSupport;
use measure::noise::RunTracer;
use measure::slices::{SliceRunner, WorkerFactory, slice_metrics};
use measure::wire::SamplingSettings;
use measure::{ExecRunner, ScriptRunner};
use model::prose::OptionName;
use model::values::metric::{METRICS, Metric, MetricSource};
use model::values::read_cpu_list;
use record::plan::Plan;
use record::plan::workers::Workers;
use record::{self, FORMAT, Header, Layout, Readers, Record, RecordTail, VERSION, Writer};
use render::remedies::Audience;

/// Adds the place of the runs to an error during the session. Removes a record without runs.
fn broken_down(path: &Path, error: anyhow::Error) -> anyhow::Error {
    if Record::read(path).is_ok_and(|record| record.rows.len() == 0) {
        std::fs::remove_file(path).ok();
        return error;
    }
    error.context(format!("the runs that had finished are in {}", path.display()))
}

/// The settings for sampling, and the action that takes the samples between runs.
pub struct SampledSession {
    pub settings: SamplingSettings,
    /// Called between runs.
    pub take: Box<dyn FnMut() -> Result<()>>,
}

/// A session before its start. Public fields have defaults.
pub struct SessionStart<'a> {
    plan: &'a Plan,
    survey: Survey,
    created: Zoned,
    record: Option<&'a Path>,
    guard: &'a mut Guard,
    /// Times to play instead of running anything, for tests.
    pub script: Option<&'a Path>,
    /// The maker of the workers, if their benchmarks are listed already.
    pub maker: Option<WorkerFactory>,
    pub attribute: bool,
    pub sampling: Option<SampledSession>,
    pub readers: Readers,
}

/// The collectable metrics of whole processes beyond the constant ones.
fn metrics_of(found: &[Metric]) -> Vec<Metric> {
    let is_there =
        |metric: &Metric| metric.info().source == MetricSource::Always || found.contains(metric);
    METRICS.iter().map(|info| info.metric).filter(is_there).collect()
}

impl<'a> SessionStart<'a> {
    /// A session of `plan` under `guard`. Without `record` the record is a new file in the state directory.
    pub fn new(
        plan: &'a Plan,
        survey: Survey,
        record: Option<&'a Path>,
        guard: &'a mut Guard,
    ) -> Self {
        let created = Zoned::now();
        Self {
            plan,
            survey,
            created,
            record,
            guard,
            script: None,
            maker: None,
            attribute: false,
            sampling: None,
            readers: Readers::Owner,
        }
    }

    /// Measures the whole session. Returns the path of the record.
    pub fn measure(self, screen: Screen) -> Result<(PathBuf, SessionEnd)> {
        let path = match self.record {
            Some(path) => path.to_owned(),
            None => record::new_path(&self.created)?,
        };
        let progress = screen.progress(self.plan);
        let end = match (self.script, &self.plan.workers) {
            (Some(script), _) => self.play(&path, script, progress)?,
            (None, Some(workers)) => self.ask(&path, workers, progress)?,
            (None, None) => self.execute(&path, progress)?,
        };
        Ok((path, end))
    }

    fn execute(mut self, path: &Path, progress: ProgressLine) -> Result<SessionEnd> {
        let (plan, user) = (self.plan, self.guard.user().cloned());
        let cache = self.guard.cache_monitors();
        let (sampling, take) = self.sampling.take().map(|it| (it.settings, it.take)).unzip();
        let enter = |pid| self.guard.enter(pid);
        let (mut runner, evidence) = ExecRunner::start(plan, user, cache, sampling, enter)?;
        require_decider(plan, &evidence)?;
        let watch = self.guard.watch(&Host::new("/"));
        let clock_origin_ns = monotonic_ns();
        let absolute_path = absolute(path)?;
        let tracer = if self.attribute { self.trace(runner.launcher()) } else { None };
        let (writer, tail, columns) = self.create(path, evidence, clock_origin_ns)?;
        runner.keep(&absolute_path, columns, clock_origin_ns)?;
        let session = Session::new(plan, &mut runner, writer, tail, progress).watching(watch);
        let end = session.traced(tracer, clock_origin_ns).sampled(take).run();
        end.map_err(|error| broken_down(path, error))
    }

    /// Traces all CPUs that runs may use. A missing trace is a gap.
    fn trace(&mut self, launcher: u32) -> Option<RunTracer> {
        let allowed = self.survey.facts.cpus_allowed.as_deref().and_then(read_cpu_list);
        let mut cpus = allowed.unwrap_or_default();
        cpus.extend(self.plan.process.affinity.iter().flatten());
        cpus.sort_unstable();
        cpus.dedup();
        let opened = RunTracer::open(&Host::new("/"), &cpus, launcher);
        opened
            .map_err(|gap| {
                // The user asked for the trace, so the gap is also reported at once.
                let (why, fix) = (&gap.why, Audience::of(self.plan).words(&gap.fix));
                writeln!(terminal::stderr(), "stillwell: --attribute: {why}; {fix}").ok();
                self.survey.gaps.push(gap);
            })
            .ok()
    }

    fn play(self, path: &Path, script: &Path, progress: ProgressLine) -> Result<SessionEnd> {
        let plan = self.plan;
        let text =
            read_text(script).with_context(|| format!("cannot read {}", script.display()))?;
        let mut runner = ScriptRunner::new(plan, &text)?;
        let evidence = MetricSupport { metrics: Vec::new(), gaps: Vec::new() };
        let (writer, tail, columns) = self.create(path, evidence, 0)?;
        let layout = Layout::from_names(&columns).map_err(anyhow::Error::msg)?;
        runner.keep(path, layout)?;
        let end = Session::new(plan, &mut runner, writer, tail, progress).run();
        end.map_err(|error| broken_down(path, error))
    }

    fn ask(mut self, path: &Path, workers: &Workers, progress: ProgressLine) -> Result<SessionEnd> {
        let plan = self.plan;
        let maker = match self.maker.take() {
            Some(maker) => maker,
            None => WorkerFactory::new(None, self.guard.user().cloned())?,
        };
        let mut runner = SliceRunner::new(plan, workers, maker)?;
        let clock_origin_ns = monotonic_ns();
        let (writer, tail, columns) = self.create_record(path, slice_metrics(), clock_origin_ns)?;
        let layout = Layout::from_names(&columns).map_err(anyhow::Error::msg)?;
        runner.keep(path, layout, clock_origin_ns, 0)?;
        let end = Session::new(plan, &mut runner, writer, tail, progress).run();
        end.map_err(|error| broken_down(path, error))
    }

    /// Creates the record of whole processes.
    pub fn create(
        mut self,
        path: &Path,
        evidence: MetricSupport,
        clock_origin_ns: u64,
    ) -> Result<(Writer, RecordTail, Vec<String>)> {
        self.survey.gaps.extend(evidence.gaps);
        self.create_record(path, metrics_of(&evidence.metrics), clock_origin_ns)
    }

    /// Creates the record with its header. `clock_origin_ns`: the rows' starts are relative to this on the monotonic
    /// clock. Errors: the file exists.
    pub fn create_record(
        self,
        path: &Path,
        metrics: Vec<Metric>,
        clock_origin_ns: u64,
    ) -> Result<(Writer, RecordTail, Vec<String>)> {
        let layout = Layout::new(&metrics);
        let of_workers =
            self.plan.workers.as_ref().is_some_and(|workers| workers.headline.is_own());
        let has_value = of_workers || self.plan.arms.iter().any(|arm| arm.value.is_some());
        let columns = if has_value { layout.with_value() } else { layout }.names();
        let Survey { mut facts, gaps } = self.survey;
        facts.user_id = self.guard.user().map_or(facts.user_id, |user| Some(user.uid));
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            tool: concat!("stillwell ", env!("CARGO_PKG_VERSION")).into(),
            created: self.created.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            command_line: record::command_line(),
            defaults: record::defaults(),
            clock_origin_ns,
            columns: columns.clone(),
            plan: self.plan.clone(),
            facts,
            gaps: Audience::of(self.plan).gaps(gaps),
            isolation: self.guard.isolation().cloned(),
            imported: None,
        };
        let writer = Writer::create(path, &header, self.readers)?;
        let (tail, _) = RecordTail::open(path)?;
        Ok((writer, tail, columns))
    }
}

/// Errors: this machine does not count the deciding metric.
pub fn require_decider(plan: &Plan, evidence: &MetricSupport) -> Result<()> {
    let Some(decide_on) = plan.policy.decide_on else { return Ok(()) };
    let is_missing = |metric: &&Metric| {
        metric.info().source != MetricSource::Always && !evidence.metrics.contains(metric)
    };
    let Some(metric) = decide_on.metrics().iter().find(is_missing) else { return Ok(()) };
    let name = metric.info().name;
    let gap = evidence.gaps.iter().find(|gap| gap.what.split(", ").any(|what| what == name));
    let why = gap.map_or_else(|| "the machine has no counter for it".into(), |gap| gap.why.clone());
    let option = Audience::of(plan).name(OptionName::DecideOn);
    bail!("{option} {name}: it cannot be counted here: {why}")
}

/// An absolute path, because the launcher opens the record.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot make {} absolute", path.display()))
}
