//! `run`: ask, look, decide, order, measure, keep; then analyse, judge and show what was kept.

#![expect(
    clippy::disallowed_methods,
    reason = "reads NO_COLOR and the script of a test, removes an empty record"
)]

pub mod failure;
mod progress;
mod session;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Zoned;

use crate::cli::RunVerb;
use crate::cmd::exports;
use crate::cmd::judged::Judged;
use crate::host::{self, Facts, Gap, Host};
use crate::measure::exec::Evidence;
use crate::measure::{ExecRunner, ScriptRunner, clock::monotonic_ns};
use crate::metric::{METRICS, Metric, Source};
use crate::plan::{Plan, decide};
use crate::record::{self, EndReason, FORMAT, Header, Layout, Record, Tail, VERSION, Writer};
use crate::spec::run::{OutputOptions, Style};

use progress::Progress;
use session::{Ended, Session};

const EXIT_TIMEOUT: u8 = 124;
const EXIT_INTERRUPTED: u8 = 130;

/// Measures, then shows.
pub fn run(verb: RunVerb) -> Result<u8> {
    let (path, ended) = measure(&verb, |_| ())?;
    finish(&verb, &path, &ended)
}

/// Measures a series of one command, to its last run however precise it is. Returns the record and the exit code; what
/// went wrong is said.
pub fn measure_only(verb: &RunVerb) -> Result<(PathBuf, u8)> {
    let (path, ended) = measure(verb, |plan| plan.precision = None)?;
    let code = match ended.reason {
        EndReason::Complete => 0,
        _ => finish(verb, &path, &ended)?,
    };
    Ok((path, code))
}

/// Everything up to the finished record; `adjust` has the last word on the plan.
fn measure(verb: &RunVerb, adjust: impl FnOnce(&mut Plan)) -> Result<(PathBuf, Ended)> {
    let style = verb.spec.output.style.unwrap_or_default();
    set_colours(style);
    let (facts, gaps) = host::look(&Host::new(&verb.host_root));
    let mut plan = decide(&verb.spec, &facts, drawn_seed()?)?;
    adjust(&mut plan);
    exports::check(&verb.spec.output.exports)?;
    let now = Zoned::now();
    let path = match &verb.spec.output.record {
        Some(path) => path.clone(),
        None => record::new_path(&now)?,
    };
    let start = Start { plan: &plan, facts, gaps, now, path: &path };
    let progress =
        Progress::new(&plan, shows_progress(style, &verb.spec.output), colours_allowed(style));
    let ended = match &verb.script {
        Some(script) => start.play(script, progress)?,
        None => start.execute(progress)?,
    };
    Ok((path, ended))
}

/// Shows what there is, even if it ended badly; the failure comes last, where it is seen.
fn finish(verb: &RunVerb, path: &Path, ended: &Ended) -> Result<u8> {
    let judged = Judged::read(path)?;
    if judged.record.rows.len() == 0 {
        // Nothing was measured: the name is free for the next attempt.
        std::fs::remove_file(path).ok();
    }
    let has_runs = judged.analysis.arms.iter().any(|arm| arm.n_runs > 0);
    let output = &verb.spec.output;
    let is_quiet = output.style == Some(Style::None) || output.exports.uses_stdout();
    if output.json || (has_runs && !is_quiet) {
        judged.print(output.json).with_context(|| format!("the runs are in {}", path.display()))?;
    }
    if has_runs {
        let kept = || format!("the runs are in {}", path.display());
        exports::write(&output.exports, &judged).with_context(kept)?;
    }
    let message = match &ended.failure {
        Some(failure) => Some(failure::explain(&judged.record, failure)),
        None if has_runs => None,
        None if ended.reason == EndReason::Interrupted => Some("no timed run had finished".into()),
        None => {
            Some(format!("every run took longer than --timeout; they are in {}", path.display()))
        }
    };
    if let Some(message) = message {
        writeln!(anstream::stderr(), "stillwell: {message}").ok();
    }
    Ok(match ended.reason {
        EndReason::Complete | EndReason::Decided | EndReason::Precise if !has_runs => EXIT_TIMEOUT,
        EndReason::Complete | EndReason::Decided | EndReason::Precise => {
            judged.exit_code(verb.spec.judging.fail_on)
        }
        EndReason::Interrupted => EXIT_INTERRUPTED,
        EndReason::TimedOut => EXIT_TIMEOUT,
        EndReason::Failed | EndReason::RecordFull => crate::EXIT_ERROR,
    })
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
}

impl Start<'_> {
    fn execute(self, progress: Progress) -> Result<Ended> {
        let plan = self.plan;
        let (mut runner, evidence) = ExecRunner::start(plan)?;
        let clock_origin_ns = monotonic_ns();
        let path = absolute(self.path)?;
        let (writer, tail, columns) = self.create(evidence, clock_origin_ns)?;
        runner.keep(&path, columns, clock_origin_ns)?;
        let ended = Session::new(plan, &mut runner, writer, tail, progress).run();
        ended.map_err(|error| broken_down(&path, error))
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

    /// Creates the record with its header.
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
        let columns = Layout::new(&metrics).names();
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
