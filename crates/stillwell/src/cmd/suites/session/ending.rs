//! The end of a suite: output and exit code.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::conclusion::lost;
use crate::cmd::exports;
use crate::cmd::failure::end_with;
use crate::cmd::open::whole_suite;
use crate::cmd::suites::session::SuiteSession;
use crate::session::Screen;
use host::terminal;
use measure::MeasurementFailure;
use model::values::{FailOn, exit_code};
use record::{EndReason, Record};
use render::depth::Depth;
use render::document::{self, ErrorCode, ErrorObject};
use render::failure::{Quote, code as code_of, explain as explain_failure};
use render::one_line;

impl SuiteSession<'_> {
    /// Shows everything; `unwritten` is the end of benchmarks whose record lacks it. Returns the exit code.
    pub(super) fn finish(
        &mut self,
        directory: &Path,
        is_interrupted: bool,
        unwritten: EndReason,
    ) -> Result<u8> {
        let (spec, output) = (self.spec, &self.spec.session.output);
        let is_shown = !(self.screen.is_quiet() || exports::use_stdout(&output.exports));
        let is_text = is_shown && !output.json;
        let is_seen = is_text && Screen::is_one_terminal();
        let failures = self.failures(if is_seen { Quote::InSummary } else { Quote::Here })?;
        let mut whole = whole_suite(directory).map_err(|error| lost(directory, error))?;
        if let Some(whole) = &mut whole {
            // A command may have removed the record of a benchmark that had begun.
            let begun = self.entries.iter().filter(|entry| entry.is_set_up);
            whole.not_begun.retain(|name| begun.clone().all(|it| it.member.name != *name));
        }
        let is_there = whole.is_some();
        let fail_on = spec.session.judgement.fail_on.or_else(|| self.limit_of_gate());
        let mut judged = whole.map(Assessment::of);
        if let Some(judged) = &mut judged {
            judged.analysis.end.get_or_insert(unwritten);
        }
        let mut code = self.exit_code(is_interrupted, judged.as_ref(), fail_on)?;
        if code == exit_code::TIMEOUT && self.limit_of_gate().is_some() {
            // A gate has one code for all failures.
            code = exit_code::ERROR;
        }
        // An uninterrupted gate reports these itself.
        let unlisted = self.manifest.failing.iter().filter(|_| spec.suite.resume.is_some());
        for failing in unlisted {
            terminal::say(format!("failing: {}", one_line(failing)));
            code = if is_interrupted { code } else { exit_code::ERROR };
        }
        let mut unwritten = None;
        if let Some(judged) = judged {
            let kept = || format!("the runs are in {}", directory.display());
            let depth = Depth::of(spec.session.pyperf.verbose);
            let printed = if is_text { judged.print(depth) } else { Ok(()) };
            // Without a terminal the exports are written nevertheless.
            unwritten = exports::write(&output.exports, &judged).with_context(kept).err();
            let early = self.error(code, &failures);
            let error = ErrorObject::with_unwritten(early, unwritten.as_ref());
            code = if unwritten.is_some() { exit_code::ERROR } else { code };
            let shown = printed.and_then(|()| match is_text && !spec.suite.is_gate {
                true => judged.print_gate(fail_on, code),
                false if output.json => judged.print_document(error.as_ref()),
                false => Ok(()),
            });
            if let Err(error) = shown.with_context(kept) {
                return end_with(unwritten, Err(error));
            }
        } else {
            self.clear(directory);
            self.known.failed = failures.iter().map(|why| one_line(why)).collect();
            if let Some(error) = self.error(code, &failures).filter(|_| output.json) {
                document::write_error(&mut terminal::data(), error)?;
            }
        }
        // A gate counts quietly: it tells itself what could not be counted, and its next call counts anew.
        if spec.suite.is_gate && self.screen.is_quiet() {
            return Ok(code);
        }
        failures.iter().for_each(terminal::say);
        // Further runs give unfit values no ratio.
        let is_unfit = |it: &MeasurementFailure| matches!(it, MeasurementFailure::Unfit { .. });
        let mut failed = self.entries.iter().filter_map(|entry| entry.failure.as_ref());
        if is_there && (is_interrupted || failed.any(|it| !is_unfit(it))) {
            let shown = directory.display();
            terminal::say(format!("go on with `stillwell bench --resume {shown}`"));
        }
        end_with(unwritten, Ok(code))
    }

    /// The limit of a gate, which `bench --resume` does not get again.
    fn limit_of_gate(&self) -> Option<FailOn> {
        let plan = &self.entries.first()?.member.plan;
        let is_gate = plan.suite.as_ref().is_some_and(|suite| suite.is_gate);
        is_gate.then_some(FailOn {
            slower_pct: (!plan.tolerates_slowdowns).then_some(100.0 * plan.slower_limit),
            above: plan.ceiling,
            allows_processes: !plan.refuses_survivors,
        })
    }

    fn exit_code(
        &self,
        is_interrupted: bool,
        judged: Option<&Assessment>,
        fail_on: Option<FailOn>,
    ) -> Result<u8> {
        let failed = || self.entries.iter().filter(|entry| entry.failure.is_some());
        Ok(if is_interrupted {
            exit_code::INTERRUPTED
        } else if failed().next().is_none() {
            judged.map_or(Ok(exit_code::SUCCESS), |judged| judged.exit_code(fail_on))?
        } else if failed().all(|entry| entry.end == Some(EndReason::TimedOut)) {
            exit_code::TIMEOUT
        } else {
            exit_code::ERROR
        })
    }

    /// The first failure that ended the suite early, for `--json`.
    fn error(&self, exit_code: u8, failures: &[String]) -> Option<ErrorObject> {
        let first = self.entries.iter().find_map(|entry| entry.failure.as_ref());
        let code = match (first, exit_code) {
            (_, exit_code::INTERRUPTED) => ErrorCode::Interrupted,
            (Some(failure), _) => code_of(failure),
            (None, _) => return None,
        };
        let message = failures.first().map_or("every finished block is kept", String::as_str);
        Some(ErrorObject { code, message: message.to_owned(), exit_code })
    }

    fn failures(&self, quote: Quote) -> Result<Vec<String>> {
        let failed = self.entries.iter().filter_map(|entry| Some((entry, entry.failure.as_ref()?)));
        let explained = failed.map(|(entry, failure)| {
            let text = explain_failure(&Record::read(&entry.path)?, failure, quote);
            Ok(format!("{}: {text}", one_line(&entry.member.name)))
        });
        explained.collect()
    }

    /// Removes the empty records: their names are free for the next attempt.
    fn clear(&self, directory: &Path) {
        self.entries.iter().for_each(|entry| drop(std::fs::remove_file(&entry.path)));
        self.manifest.remove(directory);
        terminal::say("nothing has been measured");
    }
}
