//! A session from its plan to its exit code: order, measure, keep; then analyse, judge and show what was kept.

mod failure;
mod progress;
mod screen;
mod session;
mod start;
mod visits;
mod whole;
pub mod worker_failure;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Zoned;

use crate::cmd::exports;
use crate::cmd::isolating::Isolating;
use crate::cmd::judged::Judged;
use crate::host::{Facts, Gap};
use crate::measure::slices::Maker;
use crate::plan::Plan;
use crate::record::{self, EndReason};
use crate::spec::run::OutputOptions;
use crate::spec::values::FailOn;
use crate::spec::workers::PyperfOptions;
use crate::sys::User;

pub use failure::{LINE_MAX, explain as explain_failure};
pub use progress::Progress;
pub use screen::Screen;
pub use session::{Ended, Seen, Session};
pub use start::{Place, Start, metrics_of};
pub use visits::Visit;

/// A run, or an answer, took too long.
pub const EXIT_TIMEOUT: u8 = 124;
/// ^C, or SIGTERM.
pub const EXIT_INTERRUPTED: u8 = 130;

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

    fn screen(&self) -> Screen {
        Screen::new(self.output, self.pyperf)
    }

    /// Everything up to the finished record.
    ///
    /// # Errors
    /// Nothing could be measured, or it could not be kept.
    pub fn measure(&mut self) -> Result<(PathBuf, Ended)> {
        let maker = self.maker.take();
        let screen = self.screen();
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
        let progress = screen.progress(&self.plan);
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
        let is_quiet = self.screen().is_quiet() || self.output.exports.uses_stdout();
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
            Some(failure) => Some(explain_failure(&judged.record, failure)),
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

/// 32 random bits: enough for a seed, and short enough to type again.
pub fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}
