//! A session and its end: measures, shows what there is, and says by the exit code how it went.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::cmd::exports;
use crate::cmd::judged::Judged;
use crate::record::EndReason;
use crate::render::failure::explain as explain_failure;
use crate::session::{EXIT_INTERRUPTED, EXIT_TIMEOUT, Ended, Screen, SessionStart};
use crate::spec::RunSpec;
use crate::spec::run::OutputOptions;
use crate::spec::workers::{PyperfOptions, SessionOptions};
use crate::values::FailOn;

/// The options for the output of a session.
pub struct Presentation<'a> {
    output: &'a OutputOptions,
    pyperf: Option<&'a PyperfOptions>,
    fail_on: Option<FailOn>,
}

impl<'a> Presentation<'a> {
    /// The options of commands.
    pub fn of_run(spec: &'a RunSpec) -> Self {
        Self { output: &spec.output, pyperf: None, fail_on: spec.judgement.fail_on }
    }

    /// The options of workers.
    pub fn of_workers(options: &'a SessionOptions) -> Self {
        let SessionOptions { output, pyperf, judgement, .. } = options;
        Self { output, pyperf: Some(pyperf), fail_on: judgement.fail_on }
    }

    /// The part of it that the terminal gets.
    pub fn screen(&self) -> Screen {
        Screen::new(self.output, self.pyperf)
    }
}

/// Measures, then shows. Returns the record and the exit code.
///
/// # Errors
/// Nothing could be measured, or it could not be kept or shown.
pub fn measure_and_show(
    start: SessionStart<'_>,
    presentation: &Presentation<'_>,
) -> Result<(PathBuf, u8)> {
    exports::check(&presentation.output.exports)?;
    let (path, ended) = start.measure(presentation.screen())?;
    let code = finish(presentation, &path, &ended)?;
    Ok((path, code))
}

/// Shows what there is, even if it ended badly; the failure comes last, where it is seen. Returns the exit code.
///
/// # Errors
/// The record cannot be read, or nothing be written.
pub fn finish(presentation: &Presentation<'_>, path: &Path, ended: &Ended) -> Result<u8> {
    let Presentation { output, pyperf, fail_on } = presentation;
    let judged = Judged::read(path)?;
    if judged.record.rows.len() == 0 && !judged.has_slices() {
        // Nothing was measured: the name is free for the next attempt.
        std::fs::remove_file(path).ok();
    }
    let has_runs = judged.analysis.arms.iter().any(|arm| arm.n_runs > 0);
    let is_quiet = presentation.screen().is_quiet() || output.exports.uses_stdout();
    if output.json || (has_runs && !is_quiet) {
        let kept = || format!("the runs are in {}", path.display());
        judged.print(output.json).with_context(kept)?;
        if !output.json && pyperf.is_some_and(|pyperf| pyperf.verbose) {
            judged.print_processes().with_context(kept)?;
        }
    }
    if has_runs {
        let kept = || format!("the runs are in {}", path.display());
        exports::write(&output.exports, &judged).with_context(kept)?;
        if let Some(path) = pyperf.and_then(|pyperf| pyperf.append.as_deref()) {
            exports::append(path, &judged).with_context(kept)?;
        }
    }
    let message = match &ended.failure {
        Some(failure) => Some(explain_failure(&judged.record, failure)),
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
        EndReason::Complete | EndReason::Decided | EndReason::Precise => judged.exit_code(*fail_on),
        EndReason::Interrupted => EXIT_INTERRUPTED,
        EndReason::TimedOut => EXIT_TIMEOUT,
        EndReason::Failed | EndReason::RecordFull => crate::EXIT_ERROR,
    })
}
