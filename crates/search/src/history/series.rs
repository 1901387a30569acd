//! Results of one benchmark on one machine, in order, and the changes of their level. Pure.

use schemars::JsonSchema;
use serde::Serialize;

use crate::history::StoredResult;
use analysis::{RatioInterval, ReadingStep, widened_ratio};
use model::values::{Better, Estimate};

pub use analysis::LEVEL_MIN;

fn value(entry: &StoredResult, estimate: Estimate) -> f64 {
    match estimate {
        Estimate::T0 => entry.result.level().0,
        Estimate::Median => entry.result.median,
        Estimate::Mean => entry.result.mean,
    }
}

#[derive(Clone, Debug, Serialize)]
pub struct Series {
    pub benchmark: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arm: String,
    pub unit: String,
    #[serde(skip_serializing_if = "Better::is_lower")]
    pub better: Better,
    pub machine: String,
    /// Whether commit times give the order. Every result must have one; otherwise the times of measurement do.
    pub is_by_commit: bool,
    pub entries: Vec<StoredResult>,
    pub values: Vec<f64>,
    /// Benjamini-Hochberg q-value of "the level never changed", among all series. `None` if a value is not above zero.
    pub q: Option<f64>,
    pub changes: Vec<Change>,
    /// The movement nearest to a change, if there is no change.
    #[serde(skip)]
    pub nearest: Option<Change>,
}

/// The kind of a movement of the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The level changes, and stays.
    Level,
    /// The level changes, and goes back.
    Spell,
    /// The level moves slowly.
    Drift,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    pub kind: ChangeKind,
    /// Position of the first result after the change; for a spell or a drift, of its first result.
    pub at: usize,
    /// Position of the first result after a spell or a drift. It is the number of results if a drift goes on.
    pub until: Option<usize>,
    pub p: f64,
    /// After ÷ before, at 95 %; above 1 is worse, unless higher values are better. The search picks the place with the
    /// largest difference, so the ratio is biased away from 1.
    pub ratio: RatioInterval,
    /// Surroundings that differ between the two results: name, before, after.
    pub also_changed: Vec<(String, String, String)>,
    /// The other series of the machine.
    pub together: ConcurrentChanges,
}

/// The other series of a machine, around a change of one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ConcurrentChanges {
    /// Others that changed there in the same direction.
    pub n: usize,
    /// Others with results before and after.
    pub of: usize,
    /// Whether a shared cause is likely: at least two others changed, and at least half of those that could have.
    pub is_common: bool,
}

/// The results between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Position of the first result.
    pub start: usize,
    /// Position after the last result.
    pub end: usize,
    pub median: f64,
}

impl Series {
    /// Sorts the results of one series and takes their estimates. Its changes are still to be found.
    pub(super) fn of(mut entries: Vec<StoredResult>, estimate: Estimate) -> Self {
        let is_by_commit = entries.iter().all(|entry| entry.result.committed_s.is_some());
        let time = |entry: &StoredResult| entry.result.committed_s.filter(|_| is_by_commit);
        entries.sort_by_key(|entry| (time(entry), entry.origin.measured_s, entry.record));
        let values = entries.iter().map(|entry| value(entry, estimate)).collect();
        let StoredResult { result, origin, .. } = &entries[0];
        Self {
            benchmark: result.benchmark.clone(),
            arm: result.arm.clone(),
            unit: result.unit.clone(),
            better: result.better(),
            machine: origin.machine.clone(),
            is_by_commit,
            values,
            q: None,
            changes: Vec::new(),
            nearest: None,
            entries,
        }
    }

    /// A ratio of values as one of costs: above 1 is worse.
    pub fn cost(&self, ratio: RatioInterval) -> RatioInterval {
        ratio.of_values(self.better)
    }

    /// A change of these times with what its ratio may be off, if they were read in steps. The levels beside the change
    /// tell how often the same time was read.
    pub(super) fn with_steps(&self, mut change: Change, estimate: Estimate) -> Change {
        let (at, levels) = (change.at, self.levels());
        let start = levels.iter().rfind(|level| level.start < at).map_or(0, |level| level.start);
        let end = levels.iter().find(|level| level.end > at).map_or(at, |level| level.end);
        let read = |entry| value(entry, estimate);
        let both = [start..at, at..end].map(|it| self.entries[it].iter().map(read).collect());
        let step = ReadingStep::of(both).filter(|_| self.entries[at].result.is_time());
        if let Some(ReadingStep { misread, .. }) = step {
            change.ratio = widened_ratio(change.ratio, misread);
        }
        change
    }

    pub fn level(&self) -> f64 {
        self.levels().last().map_or(f64::NAN, |level| level.median)
    }

    /// The levels between the changes, in order.
    pub fn levels(&self) -> Vec<Level> {
        let ends = self.changes.iter().flat_map(|change| [Some(change.at), change.until]).flatten();
        let mut places: Vec<usize> = ends.chain([0, self.values.len()]).collect();
        places.sort_unstable();
        places.dedup();
        let level = |place: &[usize]| {
            let (start, end) = (place[0], place[1]);
            let median = stats::median(&self.values[start..end]).unwrap_or(f64::NAN);
            Level { start, end, median }
        };
        places.windows(2).map(level).collect()
    }

    /// Time of a result on the series' axis (commit or measurement), seconds since 1970.
    pub fn time_s(&self, at: usize) -> i64 {
        let StoredResult { origin, result, .. } = &self.entries[at];
        result.committed_s.filter(|_| self.is_by_commit).unwrap_or(origin.measured_s)
    }

    /// Name of the benchmark. If the record has several programs, the program follows in parentheses.
    pub fn label(&self) -> String {
        if self.arm.is_empty() {
            self.benchmark.clone()
        } else {
            format!("{} ({})", self.benchmark, self.arm)
        }
    }
}
