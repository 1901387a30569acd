//! Summaries for the tests, built in memory.

use crate::comparison::{PairedDecision, PairedTest, RatioInterval, StatisticName};
use crate::exact::repeated;
use crate::ledger::{ArmLedger, ThreadUse};
use crate::summary::{ArmSummary, SLOW_TAIL, TailQuantile, TimeSummary, UncertainValue};
use record::ledger::Ledger;

/// Times whose statistics all have this value and this error.
pub fn times(value: f64, err: f64) -> TimeSummary {
    let uncertain = UncertainValue { value, err: Some(err) };
    TimeSummary {
        t0: uncertain,
        is_upper_limit: false,
        limited_by: None,
        lone_run: None,
        has_floor: true,
        min: value,
        max: value,
        low20: uncertain,
        median: uncertain,
        mean: uncertain,
        sd: Some(0.0),
        cv: Some(0.0),
        quantiles: [value; 4],
        slow_tail: SLOW_TAIL.map(|p| TailQuantile { p, n_needed: 400, found: None }),
    }
}

pub fn no_runs() -> ArmSummary {
    ArmSummary { label: "x".into(), n_runs: 30, ..ArmSummary::default() }
}

/// The ledger of so many runs with one thread.
pub fn arm_ledger(label: &str, n: usize, t0_ns: f64, ledger: Ledger) -> ArmLedger {
    ArmLedger {
        arm: 0,
        label: label.into(),
        n,
        t0_ns,
        is_upper_limit: false,
        measured_ns: ledger.total_ns + (t0_ns * n as f64) as i64,
        ledger,
        threads: ThreadUse::One,
        n_uncounted: 0,
    }
}

/// The decision that goes with this interval and a margin of 1 %.
fn decision(lo: f64, hi: f64) -> PairedDecision {
    match (lo > 1.0 || hi < 1.0, lo > 0.99 && hi < 1.01) {
        (true, _) => PairedDecision::Different,
        (_, true) => PairedDecision::Same,
        _ => PairedDecision::Undecided,
    }
}

pub fn paired(ratio: f64, lo: f64, hi: f64) -> PairedTest {
    PairedTest {
        n_looks: 3,
        p: 0.0005,
        q: 0.0005,
        statistic: StatisticName::Floor,
        smallest_visible: 0.0073,
        decision: decision(lo, hi),
        hidden_tail: 0.074,
        repeats: false,
        ..repeated(RatioInterval { ratio, lo, hi }, 60, 1, 0.01)
    }
}
