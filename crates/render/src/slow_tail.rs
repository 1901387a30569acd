//! Quantiles of the slow end in words, for tables and lists.

use analysis::ArmSummary;

/// `p95`.
pub fn name(p: f64) -> String {
    format!("p{:.0}", p * 100.0)
}

/// A quantile with its interval, `12.3 [11.9 … 14.0]`, or the number of runs that it needs. `None` without a run.
pub fn value(arm: &ArmSummary, at: usize, number: impl Fn(f64) -> String) -> Option<String> {
    let quantile = arm.times.as_ref()?.slow_tail[at];
    let pieces = if arm.sliced.is_some() { "values" } else { "runs" };
    Some(match quantile.found {
        Some(it) => format!("{} [{} … {}]", number(it.value), number(it.lo), number(it.hi)),
        None => format!("needs {} {pieces}", quantile.n_needed),
    })
}
