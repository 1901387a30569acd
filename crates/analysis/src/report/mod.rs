//! All data that a report draws: exact bins, quantiles, extremes and rows. The page computes no statistics. If there
//! are too many rows for a page, bins and slices still cover all of them.

mod group;
mod pairs;
mod scan;
mod shape;
mod timeline;
mod together;

use serde::Serialize;

use crate::distributions::{self, Distributions};
use crate::histogram;
use crate::verdict::Judged;
use crate::walls::Walls;

pub use group::ReportGroup;
use group::{RecordContext, groups_of};
pub use timeline::Timeline;
pub use together::{NameMatch, RecordOverlay};

/// Most rows that a page shows one by one: over all groups, and in one group.
const ROWS_MAX: usize = 16_000;
const ROWS_OF_GROUP_MAX: usize = 4_000;
/// Rows that a group may always show.
const ROWS_OF_GROUP_MIN: usize = 250;
/// Most groups with deciles. Each costs up to a second, too much for a large suite.
const GROUPS_WITH_DECILES_MAX: usize = 60;

/// All data of a report. Times are in ns, memory in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct ReportData {
    /// Above this number of rows, a group has slices of time and quantiles instead of single rows.
    pub n_rows_max: usize,
    /// Groups of arms on one scale: the commands of a record, or the variants of one of its benchmarks.
    pub groups: Vec<ReportGroup>,
    /// The commands of several records, side by side.
    pub together: Option<RecordOverlay>,
    /// Arms in several records, each compared with itself in the first record that has it.
    pub same_names: Vec<NameMatch>,
}

pub fn report(inputs: &[Judged<'_>]) -> ReportData {
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

fn deciles(input: Judged<'_>, n_groups: usize) -> Vec<Option<Distributions>> {
    let comparisons = &input.analysis.comparisons;
    if n_groups > GROUPS_WITH_DECILES_MAX || comparisons.len() > GROUPS_WITH_DECILES_MAX {
        return vec![None; comparisons.len()];
    }
    distributions::within(input.record, comparisons)
}

#[cfg(test)]
mod tests;
