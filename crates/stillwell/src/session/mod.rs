//! A session from its plan to its exit code: order, measure, keep; then analyse, judge and show what was kept.

mod isolating;
mod progress;
mod screen;
mod session;
mod start;
mod visits;
mod whole;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use jiff::Zoned;

use crate::host::{Facts, Gap};
use crate::measure::slices::Maker;
use crate::plan::Plan;
use crate::record;
use crate::spec::run::OutputOptions;
use crate::spec::workers::PyperfOptions;
use crate::sys::User;
use crate::values::FailOn;

pub use isolating::Isolating;
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
    /// How much the terminal gets.
    pub fn screen(&self) -> Screen {
        Screen::new(self.output, self.pyperf)
    }

    /// Everything up to the finished record.
    ///
    /// # Errors
    /// Nothing could be measured, or it could not be kept.
    pub fn measure(&mut self) -> Result<(PathBuf, Ended)> {
        let maker = self.maker.take();
        let screen = self.screen();
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
}

/// 32 random bits: enough for a seed, and short enough to type again.
pub fn drawn_seed() -> Result<u64> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .context("cannot draw a seed")?;
    Ok(u32::from_le_bytes(bytes).into())
}
