//! The document of `gate --json`.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;

use crate::closing::n_timed_out;
use crate::conclusion::{Conclusion, FinalVerdict, of_session};
use crate::document::{self, DocumentBody, ErrorCode, ErrorObject};
use crate::gate_result::{GateResult, GateRow};
use analysis::RatioInterval;
use analysis::verdict::{GateAnswer, Verdict};
use analysis::work::{DecidedBy, WorkCounted};
use model::values::{Ceiling, exit_code};
use model::words::path_text;

/// The result for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GateBody<'a> {
    /// `pass`, `fail`, `not decided` or `error`.
    answer: &'static str,
    /// The exit code of the gate.
    exit_code: u8,
    /// What the old build is.
    base: &'a str,
    /// What the new build is.
    head: &'a str,
    /// Slowdowns above so many percent fail; null if none does.
    slower_pct: Option<f64>,
    /// The most that a value may be; null without a limit.
    above: Option<Ceiling>,
    /// The benchmarks that were measured.
    benchmarks: Vec<GatedBenchmark>,
    /// What counted instructions; null if nothing did.
    counter: Option<&'a str>,
    /// Benchmarks whose instructions were to be counted and were not, with the reason.
    uncounted: &'a [String],
    /// What the budget was too short for.
    short_budget: Option<&'a str>,
    /// Programs that are the same, byte for byte.
    same: &'a [String],
    /// Programs that are the same but for the directory and the number of their build.
    same_but_for_build: &'a [String],
    /// Programs and benchmarks that only the new build has.
    new: &'a [String],
    /// Those that only the old build has.
    gone: &'a [String],
    /// Programs that do not list their benchmarks, with the reason.
    failing: &'a [String],
    /// Benchmarks that --only or --skip leaves out.
    left_out: &'a [String],
    /// The directory of the records; null if nothing was measured.
    record: Option<String>,
}

/// A benchmark of a gate.
#[derive(Debug, Serialize, JsonSchema)]
struct GatedBenchmark {
    /// Its name.
    name: String,
    /// Whether it passes.
    answer: GateAnswer,
    /// Its verdict.
    verdict: Verdict,
    /// New ÷ old; null without an estimate.
    ratio: Option<RatioInterval>,
    /// Smallest difference that was visible, as a fraction.
    smallest_visible: Option<f64>,
    /// What the answer rests on.
    by: DecidedBy,
    /// The instructions, if they were counted.
    instructions: Option<WorkCounted>,
}

impl DocumentBody for GateBody<'_> {
    const NAME: &'static str = "gate";
}

/// Writes the result for programs.
///
/// # Errors
/// `to` cannot be written.
pub fn write(to: &mut impl io::Write, result: &GateResult<'_>) -> io::Result<()> {
    let row = |row: GateRow| GatedBenchmark {
        name: row.name,
        answer: row.answer,
        verdict: row.verdict,
        ratio: row.ratio,
        smallest_visible: row.smallest_visible,
        by: row.by,
        instructions: row.work,
    };
    let body = GateBody {
        answer: result.word(),
        exit_code: result.code,
        base: result.base,
        head: result.head,
        slower_pct: result.fail_on.slower_pct,
        above: result.fail_on.above,
        benchmarks: result.rows().into_iter().map(row).collect(),
        counter: result.counter,
        uncounted: result.uncounted,
        short_budget: result.short_budget,
        same: result.same,
        same_but_for_build: result.same_loaded,
        new: result.new,
        gone: result.gone,
        failing: result.failing,
        left_out: result.left_out,
        record: result.measured.map(|it| path_text(&it.record.path)),
    };
    document::write(to, &body, conclusion(result), error(result).as_ref())
}

/// The answer, with the conclusion of what was measured.
fn conclusion(result: &GateResult<'_>) -> Conclusion {
    let verdict = match result.code {
        exit_code::SUCCESS => FinalVerdict::Pass,
        exit_code::CHECK_FAILED => FinalVerdict::Fail,
        _ => FinalVerdict::Undecided,
    };
    match result.measured {
        None => Conclusion::of(verdict),
        Some(judged) => {
            let found = of_session(judged);
            // A verdict that is open is no matter for a gate that passes or fails.
            let next = found.next.filter(|_| verdict == FinalVerdict::Undecided);
            Conclusion { verdict, next, ..found }
        }
    }
}

/// What kept the gate from its end.
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
    let message = match result.failing {
        [] => "the session did not come to its end; standard error says why".into(),
        failing => failing.join("; "),
    };
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
        let mut document = Vec::new();
        write(&mut document, &result).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(document["answer"], "pass");
        assert_eq!(document["conclusion"]["verdict"], "pass");
    }
}
