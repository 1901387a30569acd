//! The results of a series in order, and what they share with the other series of their machine. Pure.

use std::collections::HashMap;

use rayon::prelude::*;
use stats::Sorted;

use crate::history::Entry;
use crate::history::relative::{self, Timed};
use crate::history::series::Estimate;

/// How often what is common is found again without the changes that single series made.
const ROUNDS: usize = 4;

/// The results of one series in order.
#[derive(Clone)]
pub struct Ordered {
    pub entries: Vec<Entry>,
    /// The number of each result that the series is of.
    pub values: Vec<f64>,
    /// By the time of the commit where all have one, else by the time of measurement.
    pub is_by_commit: bool,
    /// The series' own level at each result.
    levels: Vec<f64>,
    /// What each result has in common with the others of the machine, as a factor.
    common: Vec<f64>,
}

impl Ordered {
    /// One series, whose own level is its median.
    pub fn of(mut entries: Vec<Entry>, estimate: Estimate) -> Self {
        let is_by_commit = entries.iter().all(|entry| entry.taken.committed_s.is_some());
        let time = |entry: &Entry| entry.taken.committed_s.filter(|_| is_by_commit);
        entries.sort_by_key(|entry| (time(entry), entry.origin.measured_s, entry.record));
        let values: Vec<f64> = entries.iter().map(|entry| estimate.of(entry)).collect();
        let median = Sorted::new(&values).map_or(f64::NAN, |values| values.median());
        let n = values.len();
        Self { entries, values, is_by_commit, levels: vec![median; n], common: vec![1.0; n] }
    }

    fn machine(&self) -> &str {
        &self.entries[0].origin.machine
    }

    /// At each result, the median of those between the same changes, without what is common.
    fn levels_between(&self, changes: &[usize]) -> Vec<f64> {
        let values = self.without_common().values;
        let mut levels = Vec::with_capacity(values.len());
        for &end in changes.iter().chain([&values.len()]) {
            let part = &values[levels.len()..end];
            let median = Sorted::new(part).map_or(f64::NAN, |part| part.median());
            levels.resize(end, median);
        }
        levels
    }

    /// Each value divided by what it has in common with the others.
    fn without_common(&self) -> Self {
        let values = self.values.iter().zip(&self.common).map(|(value, common)| value / common);
        Self { values: values.collect(), ..self.clone() }
    }
}

/// A change of one series: the position of the first result after it, and its size as a logarithm.
pub type Own = (usize, f64);

/// Divides each result by what the others of its machine had in common then; results that have too few others are left out.
/// `own_changes` finds the changes of a series.
///
/// What some of the others do by themselves leaves a trace in what they have in common, and that in all. So the largest changes of a
/// machine are taken for a series' own first, and what is common is found again without them before smaller ones are.
pub fn relative(
    mut groups: Vec<Ordered>,
    own_changes: impl Fn(Ordered) -> Vec<Own> + Sync,
) -> Vec<Ordered> {
    let mut share = 1.0;
    for _ in 0..ROUNDS {
        find_common(&mut groups);
        let found: Vec<Vec<Own>> =
            groups.par_iter().map(|group| own_changes(group.without_common())).collect();
        let mut largest: HashMap<String, f64> = HashMap::new();
        for (group, found) in groups.iter().zip(&found) {
            let of_machine = largest.entry(group.machine().to_owned()).or_default();
            *of_machine = found.iter().fold(*of_machine, |largest, own| largest.max(own.1.abs()));
        }
        share /= 2.0;
        for (group, found) in groups.iter_mut().zip(found) {
            let least = share * largest[group.machine()];
            let large = found.into_iter().filter(|own| own.1.abs() >= least);
            group.levels = group.levels_between(&large.map(|own| own.0).collect::<Vec<_>>());
        }
    }
    find_common(&mut groups);
    groups.iter().map(Ordered::without_common).collect()
}

/// Finds what the others of the machine had in common at each result, and leaves out results that have too few others.
fn find_common(groups: &mut Vec<Ordered>) {
    let timed = |group: &Ordered| Timed {
        machine: group.machine().to_owned(),
        moves: group
            .values
            .iter()
            .zip(&group.levels)
            .map(|(value, level)| (value / level).ln())
            .collect(),
        measured_s: group.entries.iter().map(|entry| entry.origin.measured_s).collect(),
    };
    let common = relative::common(&groups.iter().map(timed).collect::<Vec<_>>());
    for (group, common) in groups.iter_mut().zip(common) {
        let is_kept: Vec<bool> = common.iter().map(Option::is_some).collect();
        let mut kept = is_kept.iter();
        group.entries.retain(|_| *kept.next().unwrap_or(&false));
        for part in [&mut group.values, &mut group.levels] {
            let mut kept = is_kept.iter();
            part.retain(|_| *kept.next().unwrap_or(&false));
        }
        group.common = common.into_iter().flatten().map(f64::exp).collect();
    }
    groups.retain(|group| !group.entries.is_empty());
}
