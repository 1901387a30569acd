//! Compares two sessions: with a source of noise, and without it.

use std::path::Path;

use crate::columns::wrap;
use crate::noise::words;
use crate::remedies::Audience;
use crate::table;
use crate::units::short_time;
use analysis::ledger::RecordLedger;
use record::ledger::NoiseSource;

/// The two sessions.
#[derive(Debug)]
pub struct Explained<'a> {
    /// The largest source in the first session.
    pub source: &'a NoiseSource,
    /// The first session.
    pub before: &'a RecordLedger,
    /// The second session.
    pub after: &'a RecordLedger,
    /// Path of the second record.
    pub record: &'a Path,
}

/// Tabulates the source, the total loss and the time, each for one run.
pub fn explained(sessions: &Explained<'_>) -> String {
    let n_runs = |ledger: &RecordLedger| ledger.arms.iter().map(|arm| arm.n).sum::<usize>().max(1);
    let each = |ledger: &RecordLedger, ns: i64| short_time(ns as f64 / n_runs(ledger) as f64);
    let of_source = |ledger: &RecordLedger| {
        let entry = ledger.total.entries.iter().find(|entry| entry.source == *sessions.source);
        entry.map_or(0, |entry| entry.ns)
    };
    let row = |what: String, of: &dyn Fn(&RecordLedger) -> i64| {
        vec![
            format!("   {what}"),
            each(sessions.before, of(sessions.before)),
            each(sessions.after, of(sessions.after)),
        ]
    };
    let rows = vec![
        vec!["   mean of a run".into(), "before".into(), "after".into()],
        row(words::name(sessions.source), &of_source),
        row("all above t0".into(), &|ledger| ledger.total.total_ns),
        row("time".into(), &|ledger| ledger.measured_ns),
    ];
    let mut out = table::plain(rows, &[1, 2]);
    let text = "two sessions, one after the other: what else has changed in between is part of the difference";
    wrap(&mut out, "   ", 3, text);
    out += &format!("   record: {}\n", sessions.record.display());
    out
}

/// Explains that no setting of `run` removes this source.
pub fn nothing_to_turn(source: &NoiseSource) -> String {
    let advice = words::advice(source, Audience::Run);
    let advice = advice.map_or_else(String::new, |advice| format!("; what may: {advice}"));
    let text = format!(
        "the largest source of noise is \"{}\"; nothing that `run` could turn on removes it{advice}",
        words::name(source)
    );
    let mut out = String::new();
    wrap(&mut out, "explain: ", 9, &text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::fixture::arm_ledger;
    use record::ledger::{Ledger, LedgerEntry};

    fn ledger(preempted_ns: i64, total_ns: i64, n: usize) -> RecordLedger {
        let total = Ledger::new(
            total_ns,
            [LedgerEntry::exact(NoiseSource::Preempted, preempted_ns)],
            NoiseSource::Unexplained,
        );
        let arm = arm_ledger("a", n, 1e7, total.clone());
        RecordLedger { measured_ns: arm.measured_ns, arms: vec![arm], total, evidence: None }
    }

    #[test]
    fn both_sessions_run_by_run() {
        let (before, after) = (ledger(20_000_000, 23_000_000, 10), ledger(100_000, 1_000_000, 20));
        let sessions = Explained {
            source: &NoiseSource::Preempted,
            before: &before,
            after: &after,
            record: Path::new("/tmp/b.swell"),
        };
        insta::assert_snapshot!(explained(&sessions));
        assert!(nothing_to_turn(&NoiseSource::Steal).contains("what may: nothing"));
    }
}
