//! A group with its record, title and unit, for all parts of the report.

use crate::columns::one_line;
use crate::quantity::QuantityWords;
use crate::ratios::ratio_text;
use crate::report::records;
use crate::t0;
use crate::uncertain::signs;
use crate::units::{DisplayUnit, unit_of_arms};
use analysis::report::{NameMatch, ReportGroup};
use analysis::verdict::{Judged, Judgement};
use analysis::{ArmSummary, ComparedTime, ComparedTimes, Comparison, Evidence};

pub(super) struct GroupContext<'a> {
    pub group: &'a ReportGroup,
    pub judged: Judged<'a>,
    pub title: String,
    pub file: String,
    pub unit: DisplayUnit,
    /// The name of an arm's main number: `t0` of times.
    pub location: &'static str,
    /// The times beside the ratios, by index of the arm in the record.
    pub times: &'a ComparedTimes,
}

impl<'a> GroupContext<'a> {
    /// `times` has an element for each of `records`.
    pub fn new(
        (records, times): (&[Judged<'a>], &'a [ComparedTimes]),
        group: &'a ReportGroup,
        has_suite: bool,
    ) -> Self {
        let (judged, times) = (records[group.record], &times[group.record]);
        let record = judged.record;
        let file = records::file_names(records)[group.record].clone();
        let title = match &group.benchmark {
            Some(benchmark) if records.len() > 1 => format!("{benchmark} ({file})"),
            Some(benchmark) => benchmark.clone(),
            None if records.len() > 1 || has_suite => file.clone(),
            None => "Commands".into(),
        };
        let first = group.arms.first().map_or(0, |arm| arm.arm);
        let t0s = group.arms.iter().filter_map(|arm| arm.t0);
        let unit = unit_of_arms(record, first, t0s);
        let location = QuantityWords::location(record, first);
        Self { group, judged, title: one_line(&title), file, unit, location, times }
    }

    pub fn comparisons(&self) -> impl Iterator<Item = (&'a Comparison, &'a Judgement)> {
        let arms: Vec<usize> = self.group.arms.iter().map(|arm| arm.arm).collect();
        self.judged.pairs().filter(move |(comparison, _)| arms.contains(&comparison.arm))
    }

    pub fn summary(&self, place: usize) -> &'a ArmSummary {
        &self.judged.analysis.arms[self.group.arms[place].arm]
    }

    pub fn compared(&self, place: usize) -> Option<ComparedTime> {
        self.times.get(self.group.arms[place].arm)
    }

    /// Whether a time of the group is ratio × reference.
    pub fn has_ratios(&self) -> bool {
        (0..self.group.arms.len())
            .filter_map(|place| self.compared(place))
            .any(|it| it.is_from_ratio)
    }

    /// t0 of an arm with its unit.
    pub fn t0(&self, place: usize) -> String {
        let Some(t0) = t0::arm_text(self.unit, self.summary(place)) else { return String::new() };
        signs(&self.unit.label(&t0))
    }
}

/// The ratio against another record, if there is an estimate.
pub(super) fn estimate(same: &NameMatch) -> Option<String> {
    match &same.evidence {
        Evidence::Unpaired { ratio, .. } => Some(signs(&ratio_text(ratio.value, ratio.err))),
        _ => None,
    }
}
