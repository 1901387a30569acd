//! The groups of a report: arms of one record that are compared on one scale.

use serde::Serialize;

use crate::comparison::{Comparison, Evidence};
use crate::distributions::Distributions;
use crate::histogram::Histogram;
use crate::report::pairs::{BlockRatios, pairs};
use crate::report::scan::{self, Scan};
use crate::report::shape::{self, ArmShape};
use crate::report::timeline::{Timeline, timeline};
use crate::single::Analysis;
use crate::suite::policy_of;
use crate::verdict::Judged;
use crate::walls::Walls;
use model::values::ValueUnit;
use record::Record;
use record::ledger::{Ledger, LedgerTable};

/// Limits of the number of bins, which is twice the square root of the largest arm's number of values.
const BINS_MIN: usize = 16;
const BINS_MAX: usize = 60;

#[derive(Clone, Debug, Serialize)]
pub struct ReportGroup {
    pub record: usize,
    /// The benchmark of these arms, if the record has benchmarks.
    pub benchmark: Option<String>,
    pub unit: ValueUnit,
    /// Whether the values belong to slices, not to whole processes.
    pub in_slices: bool,
    /// The arms in the order of the plan, without controls.
    pub arms: Vec<ArmShape>,
    /// The candidates against their reference.
    pub comparisons: Vec<GroupComparison>,
    /// Histogram up to the 95 % quantile of the slowest arm, all arms on one scale.
    pub histogram: Option<Histogram>,
    /// Histogram of all values, in bins of equal ratio.
    pub log_histogram: Option<Histogram>,
    /// Every row in the order of time, or slices of time.
    pub timeline: Timeline,
    /// Ledger of each arm that has one.
    pub ledgers: Vec<GroupLedger>,
    /// t0 along a parameter.
    pub scan: Option<Scan>,
}

#[derive(Clone, Debug, Serialize)]
pub struct GroupComparison {
    /// Index of the arm in the group.
    pub arm: usize,
    /// Index of the reference in the group.
    pub reference: usize,
    pub evidence: Evidence,
    /// Differences below this fraction count as the same.
    pub same_within: f64,
    /// New ÷ reference in each block; `None` if the arms were not interleaved.
    pub pairs: Option<BlockRatios>,
    /// New ÷ reference at each decile.
    pub deciles: Option<Distributions>,
}

/// The arms of each benchmark, without controls.
pub fn groups_of(record: &Record) -> Vec<Vec<usize>> {
    let plan = &record.header.plan;
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (arm, planned) in plan.candidates() {
        let goes_with = |group: &&mut Vec<usize>| {
            let first = &plan.arms[group[0]];
            first.benchmark == planned.benchmark && first.unit == planned.unit
        };
        match groups.iter_mut().find(goes_with) {
            Some(group) => group.push(arm),
            None => groups.push(vec![arm]),
        }
    }
    groups
}

pub(super) fn n_bins(values: &[Vec<f64>]) -> usize {
    let n = values.iter().map(Vec::len).max().unwrap_or(0);
    ((2.0 * (n as f64).sqrt()) as usize).clamp(BINS_MIN, BINS_MAX)
}

pub(super) struct RecordContext<'a> {
    pub index: usize,
    pub input: Judged<'a>,
    pub walls: Walls,
    pub deciles: Vec<Option<Distributions>>,
    pub values: Vec<Vec<f64>>,
    pub n_rows_max: usize,
}

impl RecordContext<'_> {
    pub fn group(&self, arms: &[usize]) -> ReportGroup {
        let Judged { record, analysis, .. } = self.input;
        let plan = &record.header.plan;
        let first = &plan.arms[arms[0]];
        let values: Vec<Vec<f64>> = arms.iter().map(|&arm| self.values[arm].clone()).collect();
        let shapes = arms
            .iter()
            .zip(&values)
            .map(|(&arm, values)| shape::shape(plan, &analysis.arms[arm], values, self.n_rows_max));
        let compared = analysis.comparisons.iter().zip(&self.deciles);
        let is_time = first.unit.is_time();
        ReportGroup {
            record: self.index,
            benchmark: first.benchmark.clone(),
            unit: first.unit,
            in_slices: record.slices.is_some(),
            arms: shapes.collect(),
            comparisons: compared
                .filter_map(|(compared, deciles)| self.compared(arms, compared, deciles.clone()))
                .collect(),
            histogram: Histogram::from_series(&values, n_bins(&values)),
            log_histogram: Histogram::from_logs(&values, n_bins(&values)),
            timeline: timeline(record, arms, self.n_rows_max),
            ledgers: if is_time { ledgers(analysis, arms) } else { Vec::new() },
            scan: scan::scan(plan, arms),
        }
    }

    fn compared(
        &self,
        arms: &[usize],
        comparison: &Comparison,
        deciles: Option<Distributions>,
    ) -> Option<GroupComparison> {
        let place = |arm: usize| arms.iter().position(|&other| other == arm);
        let better = policy_of(self.input.record, comparison).better;
        let is_in_blocks = !matches!(comparison.evidence, Evidence::Unpaired { .. });
        let pairs = is_in_blocks.then(|| {
            let mut ratios = self.walls.ratios(comparison.reference, comparison.arm);
            let better = self.input.record.rows.compared().better;
            // A chart has the values, as the text has.
            ratios.iter_mut().for_each(|(_, ratio)| *ratio = better.turned(*ratio));
            pairs(&ratios, self.n_rows_max)
        });
        Some(GroupComparison {
            arm: place(comparison.arm)?,
            reference: place(comparison.reference)?,
            evidence: comparison.evidence.clone().of_values(better),
            same_within: self.input.record.header.plan.policy.same_within,
            pairs,
            deciles,
        })
    }
}

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
