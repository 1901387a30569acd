//! Records → everything that a report draws: exact bins, quantiles, extremes and rows. The page that shows it computes
//! no statistic, and nothing is left out in silence: where there are more rows than a page can hold, bins and slices
//! are of all of them.

mod ledger;
mod pairs;
mod scan;
mod shape;
mod timeline;
mod together;

use serde::Serialize;

use crate::analysis::distributions::{self, Distributions};
use crate::analysis::histogram::{self, Histogram};
use crate::analysis::walls::Walls;
use crate::analysis::{Analysis, Comparison, Evidence};
use crate::record::Record;
use crate::values::ValueUnit;

pub use ledger::GroupLedger;
pub use pairs::{BlockRatios, Blocks, pairs};
pub use scan::Scan;
pub use shape::{ArmShape, cumulative};
pub use timeline::{RowTable, Timeline, timeline};
pub use together::{NameMatch, RecordOverlay};

/// Rows that a page shows one by one, all groups together, and in one of them.
const ROWS_MAX: usize = 16_000;
const ROWS_OF_GROUP_MAX: usize = 4_000;
/// However many groups there are.
const ROWS_OF_GROUP_MIN: usize = 250;
/// Bins of a histogram: twice the square root of the values of the largest arm, within these.
const BINS_MIN: usize = 16;
const BINS_MAX: usize = 60;
/// Deciles are not for suites: each group costs up to a second.
const GROUPS_WITH_DECILES_MAX: usize = 60;

/// All that is drawn. Times are in ns, memory in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct ReportData {
    /// Above so many rows a group has slices of time instead of rows, and quantiles instead of all values.
    pub n_rows_max: usize,
    /// What is on one scale and compared: the commands of a record, or the variants of one of its benchmarks.
    pub groups: Vec<ReportGroup>,
    /// The commands of several records, side by side.
    pub together: Option<RecordOverlay>,
    /// What is in several records, against itself in the first of them.
    pub same_names: Vec<NameMatch>,
}

/// Arms of one record that are compared with each other.
#[derive(Clone, Debug, Serialize)]
pub struct ReportGroup {
    /// Index of the record.
    pub record: usize,
    /// The benchmark that its arms are variants of, if there are benchmarks.
    pub benchmark: Option<String>,
    /// Unit of the values.
    pub unit: ValueUnit,
    /// Whether values are of slices of processes, not of processes.
    pub in_slices: bool,
    /// What is compared, in the order of the plan, without controls.
    pub arms: Vec<ArmShape>,
    /// The candidates against their reference.
    pub comparisons: Vec<GroupComparison>,
    /// Up to the 95 % quantile of the slowest arm, all arms on one scale.
    pub histogram: Option<Histogram>,
    /// All values, in bins of equal ratio.
    pub log_histogram: Option<Histogram>,
    /// Every row in the order of time, or what slices of time have.
    pub timeline: Timeline,
    /// Where the time above t0 went; of each arm that has one.
    pub ledgers: Vec<GroupLedger>,
    /// t0 along a parameter.
    pub scan: Option<Scan>,
}

/// A candidate against the reference.
#[derive(Clone, Debug, Serialize)]
pub struct GroupComparison {
    /// Which of the group's arms.
    pub arm: usize,
    /// The one that it is compared with.
    pub reference: usize,
    /// What is known of the ratio.
    pub evidence: Evidence,
    /// Differences below this fraction count as the same.
    pub same_within: f64,
    /// New ÷ reference in each block; none where blocks mean nothing.
    pub pairs: Option<BlockRatios>,
    /// New ÷ reference at each decile.
    pub deciles: Option<Distributions>,
}

/// A record with its analysis.
#[derive(Clone, Copy, Debug)]
pub struct ReportInput<'a> {
    pub record: &'a Record,
    pub analysis: &'a Analysis,
}

/// Which arms of a record are on one scale: of each benchmark those that measure it, without controls.
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

/// Everything that a report of these records draws.
pub fn report(inputs: &[ReportInput<'_>]) -> ReportData {
    let of_records: Vec<Vec<Vec<usize>>> =
        inputs.iter().map(|input| groups_of(input.record)).collect();
    let n_groups: usize = of_records.iter().map(Vec::len).sum();
    let n_rows_max = (ROWS_MAX / n_groups.max(1)).clamp(ROWS_OF_GROUP_MIN, ROWS_OF_GROUP_MAX);
    let mut groups = Vec::with_capacity(n_groups);
    for (index, (input, arms)) in inputs.iter().zip(of_records).enumerate() {
        let values = histogram::series(input.record);
        let session = RecordContext {
            index,
            input: *input,
            walls: Walls::of(input.record),
            deciles: deciles(*input, n_groups),
            values,
            n_rows_max,
        };
        groups.extend(arms.iter().map(|arms| session.group(arms)));
    }
    let together = together::together(inputs, &groups);
    let same_names = together::same_names(inputs, &groups);
    ReportData { n_rows_max, groups, together, same_names }
}

fn n_bins(values: &[Vec<f64>]) -> usize {
    let n = values.iter().map(Vec::len).max().unwrap_or(0);
    ((2.0 * (n as f64).sqrt()) as usize).clamp(BINS_MIN, BINS_MAX)
}

fn deciles(input: ReportInput<'_>, n_groups: usize) -> Vec<Option<Distributions>> {
    let comparisons = &input.analysis.comparisons;
    if n_groups > GROUPS_WITH_DECILES_MAX || comparisons.len() > GROUPS_WITH_DECILES_MAX {
        return vec![None; comparisons.len()];
    }
    distributions::within(input.record, comparisons)
}

/// What all groups of a record share.
struct RecordContext<'a> {
    index: usize,
    input: ReportInput<'a>,
    walls: Walls,
    /// Of each comparison.
    deciles: Vec<Option<Distributions>>,
    /// Of each arm.
    values: Vec<Vec<f64>>,
    n_rows_max: usize,
}

impl RecordContext<'_> {
    fn group(&self, arms: &[usize]) -> ReportGroup {
        let ReportInput { record, analysis } = self.input;
        let plan = &record.header.plan;
        let first = &plan.arms[arms[0]];
        let values: Vec<Vec<f64>> = arms.iter().map(|&arm| self.values[arm].clone()).collect();
        let shapes = arms
            .iter()
            .zip(&values)
            .map(|(&arm, values)| shape::shape(plan, &analysis.arms[arm], values, self.n_rows_max));
        let found = analysis.comparisons.iter().zip(&self.deciles);
        let is_time = first.unit.is_time();
        ReportGroup {
            record: self.index,
            benchmark: first.benchmark.clone(),
            unit: first.unit,
            in_slices: record.slices.is_some(),
            arms: shapes.collect(),
            comparisons: found
                .filter_map(|(found, deciles)| self.compared(arms, found, deciles.clone()))
                .collect(),
            histogram: Histogram::of_series(&values, n_bins(&values)),
            log_histogram: Histogram::of_logs(&values, n_bins(&values)),
            timeline: timeline(record, arms, self.n_rows_max),
            ledgers: if is_time { ledger::ledgers(analysis, arms) } else { Vec::new() },
            scan: scan::scan(plan, arms),
        }
    }

    fn compared(
        &self,
        arms: &[usize],
        found: &Comparison,
        deciles: Option<Distributions>,
    ) -> Option<GroupComparison> {
        let place = |arm: usize| arms.iter().position(|&other| other == arm);
        let is_in_blocks =
            !matches!(found.evidence, Evidence::Unpaired { .. } | Evidence::AcrossSessions(_));
        let pairs = is_in_blocks
            .then(|| pairs(&self.walls.ratios(found.reference, found.arm), self.n_rows_max));
        Some(GroupComparison {
            arm: place(found.arm)?,
            reference: place(found.reference)?,
            evidence: found.evidence.clone(),
            same_within: self.input.record.header.plan.policy.same_within,
            pairs,
            deciles,
        })
    }
}

#[cfg(test)]
mod tests;
