//! The ledgers of a group's arms: time above t0 by source.

use serde::Serialize;

use crate::single::Analysis;
use record::ledger::{Ledger, LedgerTable};

/// Time above t0 of all runs of an arm.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupLedger {
    /// Index of the arm in the group.
    pub arm: usize,
    /// Time of all runs, ns.
    pub time_ns: i64,
    /// The time above t0 and its parts, clipped at zero for bars.
    #[serde(flatten)]
    pub lost: Ledger,
    /// How much the parts exceed the time above t0, because some are estimates, ns.
    pub excess_ns: i64,
}

/// The ledger of each arm that has one.
pub(super) fn ledgers(analysis: &Analysis, arms: &[usize]) -> Vec<GroupLedger> {
    let known = || analysis.ledger.iter().flat_map(|ledger| &ledger.arms);
    let of = |(place, &arm): (usize, &usize)| {
        let found = known().find(|it| it.arm == arm)?;
        let LedgerTable { entries, whole_ns, excess_ns } = found.ledger.for_table();
        let lost = Ledger { total_ns: whole_ns, entries };
        Some(GroupLedger { arm: place, time_ns: found.measured_ns, lost, excess_ns })
    };
    arms.iter().enumerate().filter_map(of).collect()
}
