//! The commands of several records on one scale, and each command against itself in the first record that has it.

use std::collections::HashMap;

use serde::Serialize;

use crate::comparison::Evidence;
use crate::convert::of_record;
use crate::histogram::{self, Histogram};
use crate::report::group::{ReportGroup, n_bins};
use crate::sessions::across_records;
use crate::verdict::Judged;
use record::plan::DecisionRule;

const ARMS_MAX: usize = 24;

#[derive(Clone, Debug, Serialize)]
pub struct RecordOverlay {
    /// Indices of group and arm, for each series of the histograms.
    pub series: Vec<[usize; 2]>,
    pub histogram: Histogram,
    /// Histogram of all values, in bins of equal ratio.
    pub log_histogram: Option<Histogram>,
}

/// An arm against the arm of the same name and benchmark in the first record that has it.
#[derive(Clone, Debug, Serialize)]
pub struct NameMatch {
    /// Indices of group and arm.
    pub arm: [usize; 2],
    /// Indices of group and arm in the first record.
    pub reference: [usize; 2],
    /// The evidence on the ratio: an estimate, because the sessions are separate.
    pub evidence: Evidence,
}

pub(super) fn same_names(inputs: &[Judged<'_>], groups: &[ReportGroup]) -> Vec<NameMatch> {
    let mut matches = Vec::new();
    let mut first: HashMap<(Option<&str>, &str), [usize; 2]> = HashMap::new();
    for (index, group) in groups.iter().enumerate() {
        for (place, shape) in group.arms.iter().enumerate() {
            let name = (group.benchmark.as_deref(), shape.label.as_str());
            let reference = *first.entry(name).or_insert([index, place]);
            let other = &groups[reference[0]];
            if other.record == group.record || other.unit != group.unit {
                continue;
            }
            let summary = |group: &ReportGroup, place: usize| {
                &inputs[group.record].analysis.arms[group.arms[place].arm]
            };
            let (old, new) = (summary(other, reference[1]), summary(group, place));
            let record = inputs[group.record].record;
            let better = of_record::better(record, new.arm);
            let rule = DecisionRule { better, ..record.header.plan.policy };
            let evidence = across_records(&[old], new, &rule).of_values(better);
            matches.push(NameMatch { arm: [index, place], reference, evidence });
        }
    }
    matches
}

/// The overlay of several records; `None` for one record, suites, different units, or too many arms.
pub(super) fn together(inputs: &[Judged<'_>], groups: &[ReportGroup]) -> Option<RecordOverlay> {
    let is_one_scale = groups.windows(2).all(|pair| pair[0].unit == pair[1].unit);
    let is_suite = groups.len() != inputs.len();
    let n_arms: usize = groups.iter().map(|group| group.arms.len()).sum();
    if inputs.len() < 2 || is_suite || !is_one_scale || n_arms > ARMS_MAX {
        return None;
    }
    let mut series = Vec::with_capacity(n_arms);
    let mut values = Vec::with_capacity(n_arms);
    for (index, group) in groups.iter().enumerate() {
        let mut of_record = histogram::series(inputs[group.record].record);
        for (place, shape) in group.arms.iter().enumerate() {
            series.push([index, place]);
            values.push(std::mem::take(&mut of_record[shape.arm]));
        }
    }
    Some(RecordOverlay {
        histogram: Histogram::from_series(&values, n_bins(&values))?,
        log_histogram: Histogram::from_logs(&values, n_bins(&values)),
        series,
    })
}
