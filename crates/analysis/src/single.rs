//! The analysis of a record that is no suite.

use schemars::JsonSchema;
use serde::Serialize;

use crate::best::{BestChoices, best};
use crate::compare::{FamilyAdjustment, RecordLooks, compare, cpu_comparisons};
use crate::comparison::{Comparison, Evidence};
use crate::finding::{Finding, Note};
use crate::ledger::{RecordLedger, has_evidence, record_ledger};
use crate::neighbours::Neighbours;
use crate::notes::notes;
use crate::ranking::Ranking;
use crate::steadiness::SteadinessFlag;
use crate::summary::ArmSummary;
use record::plan::Plan;
use record::{EndReason, Record};

/// The analysis of one record. Times are in nanoseconds, memory in bytes.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Analysis {
    /// One summary for each arm of the plan, controls included, in its order.
    pub arms: Vec<ArmSummary>,
    /// One comparison for each candidate but the reference.
    pub comparisons: Vec<Comparison>,
    /// Comparisons of the CPU times of slices, if run-queue delay was a large share of their wall times.
    pub cpu_comparisons: Vec<Comparison>,
    /// The reference against its twin, with `--aa`.
    pub self_check: Option<Comparison>,
    /// Time above t0 by source; `None` if the record has no evidence on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger: Option<RecordLedger>,
    /// Programs on the other hardware threads of the cores; `None` without probes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<Neighbours>,
    /// The best value of each parameter for each choice of the others, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<BestChoices>,
    /// Notes for the reader, the most important first.
    pub notes: Vec<Note>,
    /// Reason for the end of the session; `None` if it was killed.
    pub end: Option<EndReason>,
}

impl Ranking {
    /// Ranks the candidates of an analysis.
    pub fn of(analysis: &Analysis, plan: &Plan) -> Self {
        let candidates = analysis.arms.iter().filter(|arm| !arm.is_hidden);
        let candidates: Vec<usize> = candidates.map(|arm| arm.arm).collect();
        Self::among(&analysis.arms, &analysis.comparisons, plan, &candidates)
    }
}

/// Withdraws the forecasts about arms whose times changed during the session, as a note says.
fn withdraw_forecasts(comparisons: &mut [Comparison], notes: &[Note]) {
    let has_changed = |of: usize| {
        notes.iter().any(|note| match &note.finding {
            Finding::Unstable { arm, flags, .. } => {
                *arm == of && flags.iter().any(SteadinessFlag::is_change)
            }
            _ => false,
        })
    };
    for found in comparisons {
        let is_unsteady = has_changed(found.arm) || has_changed(found.reference);
        if let Evidence::Paired(paired) = &mut found.evidence
            && is_unsteady
        {
            paired.withdraw_forecast();
        }
    }
}

/// Analyses a record that is no suite. `looks` has the interim analyses, and the shares of alpha if a larger family is
/// judged together.
pub(super) fn analyse_alone(
    record: &Record,
    arms: Vec<ArmSummary>,
    looks: Option<(&RecordLooks<'_>, &[FamilyAdjustment])>,
) -> Analysis {
    let (mut comparisons, self_check) = match looks {
        Some((looks, judged)) => looks.compare(judged),
        None => compare(record, &arms),
    };
    let has_ledger = !record.rows.compares_other_values() && has_evidence(record);
    let ledger = if has_ledger { record_ledger(record, &arms) } else { None };
    let neighbours = Neighbours::of(record);
    let notes = notes(record, &arms, &comparisons, ledger.as_ref(), neighbours);
    withdraw_forecasts(&mut comparisons, &notes);
    let cpu_comparisons = cpu_comparisons(record, &arms);
    let best = best(&record.header.plan, &arms, &comparisons);
    let end = record.end_reason();
    Analysis {
        arms,
        comparisons,
        cpu_comparisons,
        self_check,
        ledger,
        neighbours,
        best,
        notes,
        end,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::DecisionEstimate;
    use crate::fixture::paired;

    #[test]
    fn times_that_changed_forecast_nothing() {
        let forecast = |of: usize, flag: SteadinessFlag| {
            let mut paired = paired(1.01, 0.98, 1.04);
            paired.to_decide = Some(DecisionEstimate { n_pairs: 2435, time_ns: None });
            let evidence = Evidence::Paired(paired);
            let mut found = [Comparison { arm: 1, reference: 0, evidence }];
            let finding = Finding::Unstable { arm: of, flags: vec![flag], n_warmups: None };
            withdraw_forecasts(&mut found, &[Note { finding, weight: 0.005 }]);
            let paired = found[0].evidence.test().unwrap();
            assert_eq!(paired.is_unsteady, paired.to_decide.is_none());
            paired.to_decide.is_some()
        };
        let step = SteadinessFlag::Stepped { change: -0.6, at_run: 289 };
        assert_eq!([0, 1, 2].map(|of| forecast(of, step)), [false, false, true]);
        // Bursts are in the interval, and a program may have two usual times.
        assert!(forecast(0, SteadinessFlag::Correlated { n_runs: 388, n_eff: 140.0 }));
        assert!(forecast(0, SteadinessFlag::Modes { spread: 0.1 }));
    }
}
