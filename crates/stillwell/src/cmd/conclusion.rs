//! The conclusion of a session: shows and exports its results, explains its failure, chooses its exit code.

use std::path::Path;

use anyhow::{Context as _, Error, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::exports;
use crate::cmd::failure::end_with;
use crate::cmd::output_file::{NamedFile, check_path, write_all};
use crate::session::{Guard, Opening, Screen, Session, SessionEnd};
use host::{Survey, invoking_user, terminal};
use model::spec::RunSpec;
use model::spec::run::{ExecutionOptions, OutputOptions};
use model::spec::workers::{PyperfOptions, SessionOptions};
use model::values::{DecideOn, FailOn, OutputTarget, exit_code};
use record::plan::Plan;
use record::{EndReason, Readers, Record};
use render::depth::Depth;
use render::document::{ErrorCode, ErrorObject};
use render::failure::{Quote, code as code_of, explain as explain_failure};

pub struct Presentation<'a> {
    output: &'a OutputOptions,
    execution: Option<&'a ExecutionOptions>,
    pyperf: Option<&'a PyperfOptions>,
    fail_on: Option<FailOn>,
    is_verbose: bool,
}

impl<'a> Presentation<'a> {
    pub fn of_run(spec: &'a RunSpec) -> Self {
        Self {
            output: &spec.output,
            execution: Some(&spec.process.execution),
            pyperf: None,
            fail_on: spec.judgement.fail_on,
            is_verbose: spec.display.verbose,
        }
    }

    pub fn of_workers(options: &'a SessionOptions) -> Self {
        let SessionOptions { output, pyperf, judgement, .. } = options;
        Self {
            output,
            execution: None,
            pyperf: Some(pyperf),
            fail_on: judgement.fail_on,
            is_verbose: pyperf.verbose,
        }
    }

    /// Refuses exports that could not be written after the session, and a file that would replace another.
    pub fn check_exports(&self) -> Result<()> {
        let OutputOptions { record, json, exports, .. } = self.output;
        let append = self.pyperf.and_then(|pyperf| pyperf.append.as_deref());
        if let Some(path) = append {
            check_path("--append", path)?;
            exports::appended_to(path)?;
        }
        let mut others = self.execution.map(files_of_commands).unwrap_or_default();
        others.extend(append.map(|path| ("--append", path)));
        exports::check(exports, *json, record.as_deref(), &others)
    }

    pub fn screen(&self) -> Screen {
        Screen::new(self.output, self.pyperf)
    }

    fn print(&self, assessment: &Assessment) -> Result<()> {
        assessment.print(Depth::of(self.is_verbose))?;
        match self.pyperf {
            _ if !self.is_verbose => Ok(()),
            Some(_) => assessment.print_processes(),
            None => assessment.print_counts(),
        }
    }
}

/// The files that each run reads, writes or removes.
pub fn files_of_commands(options: &ExecutionOptions) -> Vec<NamedFile<'_>> {
    let outputs = options.output.iter().filter_map(|output| match output {
        OutputTarget::File(path) => Some(("--output", Path::new(path))),
        _ => None,
    });
    let input = options.input.as_ref().map(|path| ("--input", Path::new(path)));
    let value = options.value.value_file.as_ref().map(|path| ("--value-file", Path::new(path)));
    outputs.chain(input).chain(value).collect()
}

/// The start of a session of workers.
pub fn opening<'a>(
    session: &'a SessionOptions,
    survey: Survey,
    guard: &'a mut Guard,
) -> Opening<'a> {
    Opening {
        record: session.output.record.as_deref(),
        readers: Readers::of(session.output.shared),
        ..Opening::new(survey, guard, Presentation::of_workers(session).screen())
    }
}

/// Measures, then shows. Returns the exit code.
pub fn measure_and_show(
    plan: &Plan,
    opening: Opening<'_>,
    presentation: &Presentation<'_>,
) -> Result<u8> {
    presentation.check_exports()?;
    let (path, end) = Session::open(plan, opening)?.run()?;
    finish(presentation, &path, &end)
}

/// A hint on rights that a failed command may lack.
fn note_on_rights(record: &Record) -> Option<String> {
    let user = invoking_user().filter(|user| record.header.facts.user_id == Some(user.uid))?;
    let uid = user.uid;
    Some(format!("the commands ran as user {uid}, who called sudo; --as-root runs them as root"))
}

/// An error about the file or directory of a session, which a command may have removed, renamed or changed.
pub fn lost(path: &Path, error: Error) -> Error {
    let what = match path.exists() {
        true => "can no longer be read; perhaps a command changed it",
        false => "was removed or renamed during the session; if it was removed, its runs are lost",
    };
    error.context(format!("{} {what}", path.display()))
}

/// Shows all finished runs, also after a failure. Returns the exit code.
pub fn finish(presentation: &Presentation<'_>, path: &Path, end: &SessionEnd) -> Result<u8> {
    let Presentation { output, pyperf, fail_on, .. } = *presentation;
    let mut assessment = Assessment::read(path).map_err(|error| lost(path, error))?;
    // A full disk has no room for the end.
    assessment.analysis.end.get_or_insert(end.reason);
    if assessment.record.rows.len() == 0 && !assessment.has_slices() {
        // The empty record's name is free for the next attempt.
        std::fs::remove_file(path).ok();
    }
    let has_runs = assessment.analysis.arms.iter().any(|arm| !arm.is_hidden && arm.n_runs > 0);
    let is_quiet = presentation.screen().is_quiet() || exports::use_stdout(&output.exports);
    let is_text = has_runs && !is_quiet && !output.json;
    let kept = || format!("the runs are in {}", path.display());
    let printed = if is_text { presentation.print(&assessment) } else { Ok(()) };
    // Without a terminal the exports are written nevertheless.
    let unwritten = if has_runs {
        let append = pyperf.and_then(|pyperf| pyperf.append.as_deref());
        let appended = append.map(|path| exports::append(path, &assessment));
        let written = [exports::write(&output.exports, &assessment)].into_iter().chain(appended);
        write_all(written).with_context(kept).err()
    } else {
        None
    };
    let conclude = || -> Result<u8> {
        printed?;
        let of_results = exit_code_of(end.reason, has_runs, &assessment, fail_on)?;
        let code = if unwritten.is_some() { exit_code::ERROR } else { of_results };
        if is_text {
            assessment.print_gate(fail_on, code)?;
        }
        // The summary begins with the failure, and has the end of the run's standard error.
        let is_seen = is_text && Screen::is_one_terminal();
        let quote = if is_seen { Quote::InSummary } else { Quote::Here };
        let message = match &end.failure {
            Some(failure) => Some(explain_failure(&assessment.record, failure, quote)),
            None if has_runs => None,
            None if end.reason == EndReason::Interrupted => {
                Some("no timed run had finished".into())
            }
            None => Some(why_nothing_counts(&assessment, path)),
        };
        let about_rights = end.failure.as_ref().and_then(|_| note_on_rights(&assessment.record));
        if output.json {
            let early = error_of(end, of_results, message.as_deref());
            let error = ErrorObject::with_unwritten(early, unwritten.as_ref());
            assessment.print_document(error.as_ref())?;
        }
        message.into_iter().chain(about_rights).for_each(terminal::say);
        Ok(code)
    };
    let concluded = conclude().with_context(kept);
    end_with(unwritten, concluded)
}

/// The early end of a session, for `--json`.
fn error_of(end: &SessionEnd, exit_code: u8, message: Option<&str>) -> Option<ErrorObject> {
    let code = match (&end.failure, exit_code) {
        (Some(failure), _) => code_of(failure),
        (None, exit_code::INTERRUPTED) => ErrorCode::Interrupted,
        (None, exit_code::TIMEOUT) => ErrorCode::Timeout,
        (None, exit_code::ERROR) => ErrorCode::Failed,
        (None, _) => return None,
    };
    let message = message.unwrap_or("it ended early; every finished run is kept").to_owned();
    Some(ErrorObject { code, message, exit_code })
}

fn has_timed_out(assessment: &Assessment) -> bool {
    assessment.analysis.arms.iter().any(|arm| arm.n_timed_out > 0)
}

/// Why a session has no result although no run failed.
fn why_nothing_counts(assessment: &Assessment, record: &Path) -> String {
    let record = record.display();
    if has_timed_out(assessment) {
        return format!("every run took longer than --timeout; they are in {record}");
    }
    let decides = assessment.record.rows.compared().decide_on;
    if decides == Some(DecideOn::Value) {
        return format!("no run has said its value; they are in {record}");
    }
    let what = decides.map_or_else(|| "what decides".into(), DecideOn::name);
    format!("no run has a value of {what}; they are in {record}; choose another --decide-on")
}

fn exit_code_of(
    reason: EndReason,
    has_runs: bool,
    assessment: &Assessment,
    fail_on: Option<FailOn>,
) -> Result<u8> {
    Ok(match reason {
        EndReason::Complete | EndReason::Decided | EndReason::Precise => match has_runs {
            true => assessment.exit_code(fail_on)?,
            false if has_timed_out(assessment) => exit_code::TIMEOUT,
            false => exit_code::ERROR,
        },
        EndReason::Interrupted => exit_code::INTERRUPTED,
        EndReason::TimedOut => exit_code::TIMEOUT,
        EndReason::Failed | EndReason::RecordFull => exit_code::ERROR,
    })
}
