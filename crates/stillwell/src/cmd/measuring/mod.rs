//! A session from its plan to its exit code: order, measure, keep; then analyse, judge and show what was kept.

#![expect(
    clippy::disallowed_methods,
    reason = "reads NO_COLOR and the script of a test, removes an empty record"
)]

mod failure;
mod progress;
mod session;
pub mod worker_failure;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Zoned;

use crate::cmd::exports;
use crate::cmd::isolating::Isolating;
use crate::cmd::judged::Judged;
use crate::host::{Facts, Gap, Host, read_cpu_list};
use crate::measure::exec::Evidence;
use crate::measure::slices::{Maker, SLICE_METRICS, SliceRunner};
use crate::measure::{ExecRunner, ScriptRunner, clock::monotonic_ns};
use crate::metric::{METRICS, Metric, Source};
use crate::noise::RunTracer;
use crate::plan::Plan;
use crate::plan::workers::Workers;
use crate::record::{self, EndReason, FORMAT, Header, Layout, Record, Tail, VERSION, Writer};
use crate::spec::run::{OutputOptions, Style};
use crate::spec::values::FailOn;
use crate::spec::workers::PyperfOptions;
use crate::sys::User;

use progress::Progress;
use session::{Ended, Session};

const EXIT_TIMEOUT: u8 = 124;
const EXIT_INTERRUPTED: u8 = 130;

/// A session that is about to start: all that has been found out and decided.
pub struct Measuring<'a> {
    /// What will be done.
    pub plan: Plan,
    /// The machine.
    pub facts: Facts,
    /// What it cannot do.
    pub gaps: Vec<Gap>,
    /// What is shown and written.
    pub output: &'a OutputOptions,
    /// What the exit code says.
    pub fail_on: Option<FailOn>,
    /// Times to play instead of running anything, for tests.
    pub script: Option<&'a Path>,
    /// Where workers come from; `None`: programs.
    pub maker: Option<Maker>,
    /// What pyperf's options add.
    pub pyperf: Option<&'a PyperfOptions>,
    /// Whether to watch who takes the CPU from the runs.
    pub attribute: bool,
    /// Whom the commands run as, if not as we are.
    pub run_as: Option<User>,
    /// What keeps others off the CPUs of the runs.
    pub isolating: Option<&'a mut Isolating>,
}

impl Measuring<'_> {
    /// Measures, then shows. Returns the exit code.
    ///
    /// # Errors
    /// Nothing could be measured, or not be kept or shown.
    pub fn run(&mut self) -> Result<u8> {
        let (path, ended) = self.measure()?;
        self.finish(&path, &ended)
    }

    fn style(&self) -> Style {
        if self.pyperf.is_some_and(|pyperf| pyperf.quiet) {
            return Style::None;
        }
        self.output.style.unwrap_or_default()
    }

    /// Everything up to the finished record.
    ///
    /// # Errors
    /// Nothing could be measured, or it could not be kept.
    pub fn measure(&mut self) -> Result<(PathBuf, Ended)> {
        let maker = self.maker.take();
        let style = self.style();
        set_colours(style);
        exports::check(&self.output.exports)?;
        let now = Zoned::now();
        let path = match &self.output.record {
            Some(path) => path.clone(),
            None => record::new_path(&now)?,
        };
        let (mut facts, gaps) = (self.facts.clone(), self.gaps.clone());
        facts.user_id = self.run_as.as_ref().map_or(facts.user_id, |user| Some(user.uid));
        let start = Start {
            plan: &self.plan,
            facts,
            gaps,
            now,
            path: &path,
            attribute: self.attribute,
            run_as: self.run_as.clone(),
            isolating: self.isolating.as_deref_mut(),
        };
        let shown = shows_progress(style, self.output);
        let progress = Progress::new(&self.plan, shown, colours_allowed(style));
        let ended = match (self.script, &self.plan.workers) {
            (Some(script), _) => start.play(script, progress)?,
            (None, Some(workers)) => start.ask(workers, maker, progress)?,
            (None, None) => start.execute(progress)?,
        };
        Ok((path, ended))
    }

    /// Shows what there is, even if it ended badly; the failure comes last, where it is seen. Returns the exit code.
    ///
    /// # Errors
    /// The record cannot be read, or nothing be written.
    pub fn finish(&self, path: &Path, ended: &Ended) -> Result<u8> {
        let judged = Judged::read(path)?;
        if judged.record.rows.len() == 0 && !judged.has_slices() {
            // Nothing was measured: the name is free for the next attempt.
            std::fs::remove_file(path).ok();
        }
        let has_runs = judged.analysis.arms.iter().any(|arm| arm.n_runs > 0);
        let is_quiet = self.style() == Style::None || self.output.exports.uses_stdout();
        if self.output.json || (has_runs && !is_quiet) {
            let kept = || format!("the runs are in {}", path.display());
            judged.print(self.output.json).with_context(kept)?;
            if !self.output.json && self.pyperf.is_some_and(|pyperf| pyperf.verbose) {
                judged.print_processes().with_context(kept)?;
            }
        }
        if has_runs {
            let kept = || format!("the runs are in {}", path.display());
            exports::write(&self.output.exports, &judged).with_context(kept)?;
            if let Some(path) = self.pyperf.and_then(|pyperf| pyperf.append.as_deref()) {
                exports::append(path, &judged).with_context(kept)?;
            }
        }
        let message = match &ended.failure {
            Some(failure) => Some(failure::explain(&judged.record, failure)),
            None if has_runs => None,
            None if ended.reason == EndReason::Interrupted => {
                Some("no timed run had finished".into())
            }
            None => Some(format!(
                "every run took longer than --timeout; they are in {}",
                path.display()
            )),
        };
        if let Some(message) = message {
            writeln!(anstream::stderr(), "stillwell: {message}").ok();
        }
        Ok(match ended.reason {
            EndReason::Complete | EndReason::Decided | EndReason::Precise if !has_runs => {
                EXIT_TIMEOUT
            }
            EndReason::Complete | EndReason::Decided | EndReason::Precise => {
                judged.exit_code(self.fail_on)
            }
            EndReason::Interrupted => EXIT_INTERRUPTED,
            EndReason::TimedOut => EXIT_TIMEOUT,
            EndReason::Failed | EndReason::RecordFull => crate::EXIT_ERROR,
        })
    }
}

/// Our own failure in the middle of a session: the record stays if it holds a run.
fn broken_down(path: &Path, error: anyhow::Error) -> anyhow::Error {
    if Record::read(path).is_ok_and(|record| record.rows.len() == 0) {
        std::fs::remove_file(path).ok();
        return error;
    }
    error.context(format!("the runs that had finished are in {}", path.display()))
}

/// All that has been found out before anything is measured.
struct Start<'a> {
    plan: &'a Plan,
    facts: Facts,
    gaps: Vec<Gap>,
    now: Zoned,
    path: &'a Path,
    attribute: bool,
    run_as: Option<User>,
    isolating: Option<&'a mut Isolating>,
}

impl Start<'_> {
    fn execute(mut self, progress: Progress) -> Result<Ended> {
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
        opened.map_err(|gap| self.gaps.push(gap)).ok()
    }

    fn play(self, script: &Path, progress: Progress) -> Result<Ended> {
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
    fn ask(self, workers: &Workers, maker: Option<Maker>, progress: Progress) -> Result<Ended> {
        let (plan, path) = (self.plan, self.path.to_owned());
        let mut runner = SliceRunner::new(
            plan,
            workers,
            maker.map_or_else(|| Maker::new(None, self.run_as.clone()), Ok)?,
        )?;
        let clock_origin_ns = monotonic_ns();
        let (writer, tail, columns) = self.create_with(SLICE_METRICS.to_vec(), clock_origin_ns)?;
        let layout = Layout::from_names(&columns).map_err(anyhow::Error::msg)?;
        runner.keep(&path, layout, clock_origin_ns)?;
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
        let is_there = |metric: &Metric| {
            metric.info().source == Source::Always || evidence.metrics.contains(metric)
        };
        let metrics: Vec<_> = METRICS.iter().map(|info| info.metric).filter(is_there).collect();
        self.create_with(metrics, clock_origin_ns)
    }

    /// Creates the record with its header.
    fn create_with(
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

/// 32 random bits: enough for a seed, and short enough to type again.
pub fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}

fn set_colours(style: Style) {
    let choice = match style {
        Style::Auto => return,
        Style::Full | Style::Color => anstream::ColorChoice::Always,
        Style::Basic | Style::Nocolor | Style::None => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

fn colours_allowed(style: Style) -> bool {
    match style {
        Style::Full | Style::Color => true,
        Style::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        Style::Basic | Style::Nocolor | Style::None => false,
    }
}

fn shows_progress(style: Style, output: &OutputOptions) -> bool {
    match style {
        Style::Full | Style::Nocolor => true,
        Style::Auto => {
            std::io::stderr().is_terminal() && std::io::stdout().is_terminal() && !output.json
        }
        Style::Basic | Style::Color | Style::None => false,
    }
}
