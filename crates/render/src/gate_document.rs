//! The document of `gate --json`.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::closing::n_timed_out;
use crate::conclusion::{Conclusion, FinalVerdict, session_conclusion};
use crate::document::{self, DocumentBody, ErrorCode, ErrorObject};
use crate::gate_result::GateResult;
use crate::gate_row::GateRow;
use model::values::{Ceiling, exit_code};
use model::words::path_text;

/// The result for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GateBody<'a> {
    /// `pass`, `fail`, `not decided` or `error`.
    answer: &'static str,
    #[serde(flatten)]
    result: GateResult<'a>,
    /// Slowdowns above so many percent fail; null if none does.
    slower_pct: Option<f64>,
    /// The most that a value may be; null without a limit.
    above: Option<Ceiling>,
    /// The benchmarks that were measured.
    benchmarks: Vec<GateRow>,
    /// The directory of the records; null if nothing was measured.
    record: Option<String>,
}

impl DocumentBody for GateBody<'_> {
    const NAME: &'static str = "gate";
}

/// Writes the result for programs, with a file of the gate that could not be written.
pub fn write(
    to: &mut impl io::Write,
    result: &GateResult<'_>,
    unwritten: Option<&anyhow::Error>,
) -> io::Result<()> {
    let error = ErrorObject::with_unwritten(error(result), unwritten);
    let code = error.as_ref().map_or(result.code, |it| it.exit_code);
    let body = GateBody {
        answer: result.word(),
        result: GateResult { code, ..*result },
        slower_pct: result.fail_on.slower_pct,
        above: result.fail_on.above,
        benchmarks: result.rows(),
        record: result.measured.map(|it| path_text(&it.record.path)),
    };
    document::write(to, &body, conclusion(result), error.as_ref())
}

/// The answer, with the conclusion about the measured benchmarks.
fn conclusion(result: &GateResult<'_>) -> Conclusion {
    let verdict = match result.code {
        exit_code::SUCCESS => FinalVerdict::Pass,
        exit_code::CHECK_FAILED => FinalVerdict::Fail,
        _ => FinalVerdict::Undecided,
    };
    match result.measured {
        None => Conclusion::of(verdict),
        Some(judged) => {
            let timed = session_conclusion(judged);
            // An open verdict does not matter if the gate passes or fails.
            let next = timed.next.filter(|_| verdict == FinalVerdict::Undecided);
            Conclusion { verdict, next, ..timed }
        }
    }
}

fn error(result: &GateResult<'_>) -> Option<ErrorObject> {
    let n_timed_out = result.measured.map_or(0, |it| n_timed_out(it.record));
    let are_timeouts = !result.failing.is_empty() && result.failing.len() == n_timed_out;
    let code = match result.code {
        exit_code::ERROR if are_timeouts => ErrorCode::Timeout,
        exit_code::ERROR => ErrorCode::CommandFailed,
        exit_code::TIMEOUT => ErrorCode::Timeout,
        exit_code::INTERRUPTED => ErrorCode::Interrupted,
        _ => return None,
    };
    let message = result.early_end().map_or_else(
        || result.failing.join("; "),
        |why| format!("{why}; standard error says more"),
    );
    Some(ErrorObject { code, message, exit_code: result.code })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::values::FailOn;

    #[test]
    fn a_gate_without_a_measurement_passes() {
        let same = ["b".to_owned()];
        let result =
            GateResult { same: &same, ..GateResult::empty(["a", "b"], FailOn::slower(0.0)) };
        let document = |unwritten: Option<&anyhow::Error>| {
            let mut document = Vec::new();
            write(&mut document, &result, unwritten).unwrap();
            serde_json::from_slice::<serde_json::Value>(&document).unwrap()
        };
        let written = document(None);
        assert_eq!(written["answer"], "pass");
        assert_eq!(written["conclusion"]["verdict"], "pass");
        assert!(written["exit_code"] == 0 && written["error"].is_null(), "{written:#}");
        let unwritten = document(Some(&anyhow::anyhow!("no space")));
        assert_eq!(unwritten["answer"], "pass");
        assert!(unwritten["exit_code"] == 2 && unwritten["error"]["exit_code"] == 2);
        assert_eq!(unwritten["error"]["message"], "no space");
    }
}
