//! What a gate measures next (docs/methodology.md, "Gates").

use stats::suspects::evidence;

use crate::cmd::suites::entry::SuiteEntry;
use crate::plan::Plan;
use crate::session::SessionState;

/// Blocks of each benchmark in the first pass of a gate, before there is a suspect.
pub(super) const SCREENING_BLOCKS: u32 = 5;

pub(super) fn is_of_gate(plan: &Plan) -> bool {
    plan.suite.as_ref().is_some_and(|suite| suite.is_gate)
}

/// The open benchmark that is closest to being called slower than allowed. A slowdown is then found soon among many
/// benchmarks.
pub(super) fn suspect(entries: &[SuiteEntry<'_>]) -> Option<usize> {
    let of = |entry: &SuiteEntry<'_>| {
        let state = entry.state.as_ref().filter(|_| entry.is_open());
        state.map(SessionState::log_ratios).unwrap_or_default()
    };
    let logs: Vec<Vec<f64>> = entries.iter().map(of).collect();
    let limit = entries.first()?.member.plan.slower_limit.ln_1p();
    let found = evidence(&logs, limit).into_iter().enumerate();
    let above = found.filter_map(|(at, z)| Some((at, z.filter(|z| *z > 0.0)?)));
    above.max_by(|one, other| one.1.total_cmp(&other.1)).map(|(at, _)| at)
}
