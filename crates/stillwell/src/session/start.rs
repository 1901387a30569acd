//! All that a session needs before its first run: the record with its header, the runner, the trace.

#![expect(
    clippy::disallowed_methods,
    reason = "reads the script of a test, removes an empty record"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Zoned;

use crate::host::{Facts, Gap, Host};
use crate::measure::clock::monotonic_ns;
use crate::measure::exec::Evidence;
use crate::measure::slices::{Maker, SLICE_METRICS, SliceRunner};
use crate::measure::{ExecRunner, ScriptRunner};
use crate::noise::RunTracer;
use crate::plan::Plan;
use crate::plan::workers::Workers;
use crate::record::{FORMAT, Header, Layout, Record, Tail, VERSION, Writer};
use crate::session::Isolating;
use crate::session::progress::Progress;
use crate::session::session::{Ended, Session};
use crate::sys::User;
use crate::values::metric::{METRICS, Metric, Source};
use crate::values::read_cpu_list;

/// Our own failure in the middle of a session: the record stays if it holds a run.
fn broken_down(path: &Path, error: anyhow::Error) -> anyhow::Error {
    if Record::read(path).is_ok_and(|record| record.rows.len() == 0) {
        std::fs::remove_file(path).ok();
        return error;
    }
    error.context(format!("the runs that had finished are in {}", path.display()))
}

/// All that has been found out before anything is measured.
pub struct Start<'a> {
    /// What will be done.
    pub plan: &'a Plan,
    /// The machine.
    pub facts: Facts,
    /// What it cannot do.
    pub gaps: Vec<Gap>,
    /// When the session starts.
    pub now: Zoned,
    /// Where the record will be.
    pub path: &'a Path,
    /// Whether to watch who takes the CPU from the runs.
    pub attribute: bool,
    /// Whom the commands run as, if not as we are.
    pub run_as: Option<User>,
    /// What keeps others off the CPUs of the runs.
    pub isolating: Option<&'a mut Isolating>,
}

/// What a record will have, and since when.
#[derive(Clone, Debug)]
pub struct Place {
    /// What each row has.
    pub metrics: Vec<Metric>,
    /// From when starts of rows count, by the monotonic clock.
    pub clock_origin_ns: u64,
}

/// The metrics of whole processes, where these can be collected beyond those that always are.
pub fn metrics_of(found: &[Metric]) -> Vec<Metric> {
    let is_there =
        |metric: &Metric| metric.info().source == Source::Always || found.contains(metric);
    METRICS.iter().map(|info| info.metric).filter(is_there).collect()
}

impl<'a> Start<'a> {
    /// A session that nobody watches, as we are.
    pub fn of(plan: &'a Plan, (facts, gaps): &(Facts, Vec<Gap>), path: &'a Path) -> Self {
        Self {
            plan,
            facts: facts.clone(),
            gaps: gaps.clone(),
            now: Zoned::now(),
            path,
            attribute: false,
            run_as: None,
            isolating: None,
        }
    }
}

impl Start<'_> {
    /// Runs commands.
    ///
    /// # Errors
    /// They cannot be started, or their runs not be kept.
    pub fn execute(mut self, progress: Progress) -> Result<Ended> {
        let plan = self.plan;
        let isolating = &mut self.isolating;
        let enter = |pid| isolating.as_mut().map_or(Ok(()), |isolating| isolating.enter(pid));
        let (mut runner, evidence) = ExecRunner::start(plan, self.run_as.clone(), enter)?;
        let watch = self.isolating.as_ref().and_then(|isolating| isolating.watch(&Host::new("/")));
        let clock_origin_ns = monotonic_ns();
        let path = absolute(self.path)?;
        let tracer = if self.attribute { self.trace(runner.launcher()) } else { None };
        let (writer, tail, columns) = self.create(evidence, clock_origin_ns)?;
        runner.keep(&path, columns, clock_origin_ns)?;
        let session = Session::new(plan, &mut runner, writer, tail, progress).watching(watch);
        let ended = session.traced(tracer, clock_origin_ns).run();
        ended.map_err(|error| broken_down(&path, error))
    }

    /// Watches all CPUs that runs may use; where that cannot be, it is a gap.
    fn trace(&mut self, launcher: u32) -> Option<RunTracer> {
        let allowed = self.facts.cpus_allowed.as_deref().and_then(read_cpu_list);
        let mut cpus = allowed.unwrap_or_default();
        cpus.extend(self.plan.process.affinity.iter().flatten());
        cpus.sort_unstable();
        cpus.dedup();
        let opened = RunTracer::open(&Host::new("/"), &cpus, launcher);
        opened
            .map_err(|gap| {
                // It was asked for.
                let text = format!("stillwell: --attribute: {}; {}", gap.why, gap.fix);
                writeln!(anstream::stderr(), "{text}").ok();
                self.gaps.push(gap);
            })
            .ok()
    }

    /// Plays the times of a script.
    ///
    /// # Errors
    /// It cannot be read, or the record not be kept.
    pub fn play(self, script: &Path, progress: Progress) -> Result<Ended> {
        let (plan, path) = (self.plan, self.path.to_owned());
        let text = std::fs::read_to_string(script)
            .with_context(|| format!("cannot read {}", script.display()))?;
        let mut runner = ScriptRunner::new(plan, &text)?;
        let evidence = Evidence { metrics: Vec::new(), gaps: Vec::new() };
        let (writer, tail, columns) = self.create(evidence, 0)?;
        let layout = Layout::from_names(&columns).map_err(anyhow::Error::msg)?;
        runner.keep(&path, layout)?;
        let ended = Session::new(plan, &mut runner, writer, tail, progress).run();
        ended.map_err(|error| broken_down(&path, error))
    }

    /// Asks workers.
    ///
    /// # Errors
    /// Their answers cannot be kept.
    pub fn ask(self, workers: &Workers, maker: Option<Maker>, progress: Progress) -> Result<Ended> {
        let (plan, path) = (self.plan, self.path.to_owned());
        let mut runner = SliceRunner::new(
            plan,
            workers,
            maker.map_or_else(|| Maker::new(None, self.run_as.clone()), Ok)?,
        )?;
        let clock_origin_ns = monotonic_ns();
        let (writer, tail, columns) = self.create_with(SLICE_METRICS.to_vec(), clock_origin_ns)?;
        let layout = Layout::from_names(&columns).map_err(anyhow::Error::msg)?;
        runner.keep(&path, layout, clock_origin_ns, 0)?;
        let ended = Session::new(plan, &mut runner, writer, tail, progress).run();
        ended.map_err(|error| broken_down(&path, error))
    }

    /// Creates the record of whole processes.
    fn create(
        mut self,
        evidence: Evidence,
        clock_origin_ns: u64,
    ) -> Result<(Writer, Tail, Vec<String>)> {
        self.gaps.extend(evidence.gaps);
        self.create_with(metrics_of(&evidence.metrics), clock_origin_ns)
    }

    /// Creates the record with its header.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn create_with(
        self,
        metrics: Vec<Metric>,
        clock_origin_ns: u64,
    ) -> Result<(Writer, Tail, Vec<String>)> {
        let layout = Layout::new(&metrics);
        let has_value = self.plan.workers.as_ref().is_some_and(|workers| workers.headline.is_own());
        let columns = if has_value { layout.with_value() } else { layout }.names();
        let header = Header {
            format: FORMAT.into(),
            version: VERSION,
            tool: concat!("stillwell ", env!("CARGO_PKG_VERSION")).into(),
            created: self.now.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            command_line: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            clock_origin_ns,
            columns: columns.clone(),
            plan: self.plan.clone(),
            facts: self.facts,
            gaps: self.gaps,
            isolation: self.isolating.as_ref().and_then(|isolating| isolating.isolation.clone()),
            imported: None,
        };
        let writer = Writer::create(self.path, &header)?;
        let (tail, _) = Tail::open(self.path)?;
        Ok((writer, tail, columns))
    }
}

/// The launcher opens the record by its path.
fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("cannot make {} absolute", path.display()))
}
