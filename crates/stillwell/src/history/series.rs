//! Results of one benchmark on one machine, in order, and where their level changes. Pure.

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::Serialize;
use stats::e_divisive::{self, DivisionOptions};
use stats::multiplicity::benjamini_hochberg;
use stats::two_sample::hodges_lehmann_shift;
use stats::{Interval, SortedSample};

use crate::analysis::RatioInterval;
use crate::history::together::{self, Together};
use crate::history::{Entry, relative};
use crate::values::Estimate;

/// What can be told by as many random orders as one can wait for.
pub const ALPHA_MIN: f64 = 1e-5;
/// Fewest results of a level.
pub const LEVEL_MIN: usize = 3;
/// Random orders that a series is compared with at first, for an alpha of 1 % or more.
const N_ORDERS: usize = 999;
/// Results on either side that the size of a change is taken from: more say little more, and cost their square.
const SIDE_MAX: usize = 300;

impl Estimate {
    fn of(self, entry: &Entry) -> f64 {
        match self {
            Self::T0 => entry.taken.t0,
            Self::Median => entry.taken.median,
            Self::Mean => entry.taken.mean,
        }
    }
}

/// How changes are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    pub estimate: Estimate,
    /// Probability that a series without a change is called changed, [`ALPHA_MIN`] at least.
    pub alpha: f64,
    /// Of the series that are called changed, this share at most are not.
    pub false_discovery: f64,
    /// Smaller ones are not reported, as a fraction.
    pub size_min: f64,
    pub seed: u64,
    /// Whether what all series of a machine do at once is left out.
    pub is_relative: bool,
}

/// A series with its changes.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    pub benchmark: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arm: String,
    pub unit: String,
    pub machine: String,
    /// By the time of the commit where all have one, else by the time of measurement.
    pub is_by_commit: bool,
    pub entries: Vec<Entry>,
    /// The number of each result that the series is of.
    pub values: Vec<f64>,
    /// Of "it never changed", as it stands among all series (Benjamini-Hochberg); `None` where values are not above zero.
    pub q: Option<f64>,
    pub changes: Vec<Change>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Position of the first result after it.
    pub at: usize,
    pub p: f64,
    /// After ÷ before, above 1 is slower, at 95 %. The place was chosen for being the largest, so the ratio leans away from 1.
    pub ratio: RatioInterval,
    /// What else changed between the two results: name, before, after.
    pub also_changed: Vec<(String, String, String)>,
    /// The other series of the machine.
    pub together: Together,
}

/// The results between two changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Position of its first result.
    pub start: usize,
    /// Of the first one after it.
    pub end: usize,
    pub median: f64,
}

/// Puts results in series and finds the changes of each.
pub fn series(entries: Vec<Entry>, policy: Policy) -> Vec<Series> {
    let mut by_key: BTreeMap<_, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        let Entry { taken, origin, .. } = &entry;
        let key = (
            taken.benchmark.clone(),
            taken.arm.clone(),
            taken.unit.clone(),
            origin.machine.clone(),
        );
        by_key.entry(key).or_default().push(entry);
    }
    let mut groups: Vec<Ordered> =
        by_key.into_values().map(|entries| Ordered::of(entries, policy.estimate)).collect();
    if policy.is_relative {
        let own = |change: &Change| (change.at, change.ratio.ratio.ln());
        groups = relative::relative(groups, |group| {
            divided(group, policy).0.changes.iter().map(own).collect()
        });
    }
    let mut all: Vec<(Series, Option<f64>)> =
        groups.into_par_iter().map(|ordered| divided(ordered, policy)).collect();
    let key = |series: &Series| {
        (series.benchmark.clone(), series.arm.clone(), series.unit.clone(), series.machine.clone())
    };
    all.sort_by_cached_key(|(series, _)| key(series));
    resolve(&mut all, policy);
    let ps: Vec<f64> = all.iter().filter_map(|(_, p)| *p).collect();
    let mut qs = benjamini_hochberg(&ps).unwrap_or_default().into_iter();
    let mut all: Vec<Series> = (all.into_iter())
        .map(|(mut series, p)| {
            series.q = p.and_then(|_| qs.next());
            if series.q.is_none_or(|q| q > policy.false_discovery) {
                series.changes.clear();
            }
            series
        })
        .collect();
    together::mark(&mut all);
    all
}

/// Draws more random orders for the series of which none was as far apart, until their p can be small enough among all of them: after
/// 999 orders p is 0.001 at least, which Benjamini and Hochberg's rule does not accept of one series among more than 50. `k` such series
/// of `m` need `m / (k false_discovery)` orders each, so all need the same together; twice as many are drawn. A series goes on only
/// with the smallest p that there is, and so stays within its error rate: what it gets then is no smaller than what these orders
/// alone would give it.
fn resolve(all: &mut [(Series, Option<f64>)], policy: Policy) {
    let n_tested = all.iter().filter(|(_, p)| p.is_some()).count() as f64;
    let mut n_orders = options(policy).n_orders;
    loop {
        let smallest = 1.0 / (n_orders + 1) as f64;
        let is_smallest = |(_, p): &&mut (Series, Option<f64>)| p.is_some_and(|p| p <= smallest);
        let mut unresolved: Vec<_> = all.iter_mut().filter(is_smallest).collect();
        let n_needed = n_tested / (unresolved.len() as f64 * policy.false_discovery);
        if unresolved.is_empty() || (n_orders + 1) as f64 >= n_needed {
            return;
        }
        n_orders = (2.0 * n_needed).ceil() as usize;
        unresolved.par_iter_mut().for_each(|(series, p)| {
            let options = DivisionOptions { n_orders, ..options(policy) };
            let logs = stats::logs(&series.values).ok();
            *p = logs.and_then(|logs| e_divisive::p_of_no_change(&logs, options).ok());
        });
    }
}

fn options(policy: Policy) -> DivisionOptions {
    // Of so many, ten that are as far apart still make a p of alpha.
    let n_orders = N_ORDERS.max((10.0 / policy.alpha).ceil() as usize - 1);
    DivisionOptions { alpha: policy.alpha, side_min: LEVEL_MIN, n_orders, seed: policy.seed }
}

/// The results of one series in order.
#[derive(Clone)]
pub struct Ordered {
    pub entries: Vec<Entry>,
    /// The number of each result that the series is of.
    pub values: Vec<f64>,
    /// By the time of the commit where all have one, else by the time of measurement.
    pub is_by_commit: bool,
}

impl Ordered {
    fn of(mut entries: Vec<Entry>, estimate: Estimate) -> Self {
        let is_by_commit = entries.iter().all(|entry| entry.taken.committed_s.is_some());
        let time = |entry: &Entry| entry.taken.committed_s.filter(|_| is_by_commit);
        entries.sort_by_key(|entry| (time(entry), entry.origin.measured_s, entry.record));
        let values = entries.iter().map(|entry| estimate.of(entry)).collect();
        Self { entries, values, is_by_commit }
    }
}

/// The changes of one series, and the p-value of "there is none".
fn divided(ordered: Ordered, policy: Policy) -> (Series, Option<f64>) {
    let Ordered { entries, values, is_by_commit } = ordered;
    let logs = stats::logs(&values).ok();
    let found = logs.as_ref().and_then(|logs| e_divisive::divide(logs, options(policy)).ok());
    let changes = found.as_ref().zip(logs.as_ref()).map(|(found, logs)| {
        let at: Vec<usize> = found.changes.iter().map(|change| change.at).collect();
        let change = |(i, change): (usize, &e_divisive::LevelChange)| {
            let start = if i == 0 { 0 } else { at[i - 1] };
            let end = at.get(i + 1).copied().unwrap_or(logs.len());
            Some(Change {
                at: change.at,
                p: change.p,
                ratio: ratio(&logs[start..change.at], &logs[change.at..end])?,
                also_changed: also_changed(&entries[change.at - 1], &entries[change.at]),
                together: Together::default(),
            })
        };
        found.changes.iter().enumerate().filter_map(change).collect::<Vec<_>>()
    });
    let is_large = |change: &Change| change.ratio.ratio.ln().abs() >= policy.size_min.ln_1p();
    let changes = changes.unwrap_or_default().into_iter().filter(is_large).collect();
    let first = &entries[0];
    let series = Series {
        benchmark: first.taken.benchmark.clone(),
        arm: first.taken.arm.clone(),
        unit: first.taken.unit.clone(),
        machine: first.origin.machine.clone(),
        is_by_commit,
        values,
        q: None,
        changes,
        entries,
    };
    (series, found.map(|found| found.p))
}

fn ratio(before: &[f64], after: &[f64]) -> Option<RatioInterval> {
    let before = &before[before.len().saturating_sub(SIDE_MAX)..];
    let after = &after[..after.len().min(SIDE_MAX)];
    let (shift, Interval { lo, hi }) = hodges_lehmann_shift(before, after, 0.05).ok()?;
    Some(RatioInterval { ratio: shift.exp(), lo: lo.exp(), hi: hi.exp() })
}

fn also_changed(before: &Entry, after: &Entry) -> Vec<(String, String, String)> {
    let old: BTreeMap<&str, &str> =
        before.origin.surroundings.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let changed = |(name, new): &(String, String)| {
        let old = old.get(&name[..]).filter(|old| **old != new)?;
        Some((name.clone(), (*old).to_owned(), new.clone()))
    };
    after.origin.surroundings.iter().filter_map(changed).collect()
}

impl Series {
    /// The median of the results since the last change.
    pub fn level(&self) -> f64 {
        self.levels().last().map_or(f64::NAN, |level| level.median)
    }

    /// What lies between the changes, in order.
    pub fn levels(&self) -> Vec<Level> {
        let starts = std::iter::once(0).chain(self.changes.iter().map(|change| change.at));
        let ends = self.changes.iter().map(|change| change.at).chain([self.values.len()]);
        let level = |(start, end): (usize, usize)| {
            let median = SortedSample::new(&self.values[start..end]).map(|values| values.median());
            Level { start, end, median: median.unwrap_or(f64::NAN) }
        };
        starts.zip(ends).map(level).collect()
    }

    /// When a result belongs: the time of its commit or of its measurement, whichever the series is in the order of.
    pub fn time_s(&self, at: usize) -> i64 {
        let Entry { origin, taken, .. } = &self.entries[at];
        taken.committed_s.filter(|_| self.is_by_commit).unwrap_or(origin.measured_s)
    }

    /// Name of the benchmark, and of the program where there are several.
    pub fn label(&self) -> String {
        if self.arm.is_empty() {
            self.benchmark.clone()
        } else {
            format!("{} ({})", self.benchmark, self.arm)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Origin, Taken, fixture};
    use stats::Stream;
    use std::sync::Arc;

    const POLICY: Policy = Policy {
        estimate: Estimate::T0,
        alpha: 0.01,
        false_discovery: 0.05,
        size_min: 0.0,
        seed: 1,
        is_relative: false,
    };

    fn entries(benchmark: &str, machine: &str, values: &[f64]) -> Vec<Entry> {
        let entry = |(i, value): (usize, &f64)| Entry {
            record: i as i64,
            origin: Arc::new(Origin {
                machine: machine.into(),
                // Stored in an order of its own.
                measured_s: (values.len() - i) as i64,
                surroundings: vec![("kernel".into(), if i < 20 { "6.1" } else { "6.12" }.into())],
                ..Origin::default()
            }),
            taken: Taken {
                committed_s: Some(1000 + i as i64),
                revision: Some(format!("r{i}")),
                ..fixture::taken(benchmark, *value, None)
            },
        };
        values.iter().enumerate().rev().map(entry).collect()
    }

    fn noisy(n: usize, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut stream = Stream::new(seed);
        (0..n).map(|i| level(i) * (1.0 + 0.01 * stream.unit())).collect()
    }

    #[test]
    fn a_change_says_when_and_how_much_and_what_else_changed() {
        let step = |i: usize| if i < 20 { 100.0 } else { 103.0 };
        let mut all = entries("fib", "a", &noisy(40, 1, step));
        all.extend(entries("fib", "b", &noisy(40, 2, |_| 50.0)));
        let found = series(all, POLICY);
        assert_eq!(found.len(), 2, "machines are apart");
        let [change] = &found[0].changes[..] else { panic!("{:?}", found[0].changes) };
        assert_eq!((change.at, &found[0].entries[20].taken.revision), (20, &Some("r20".into())));
        let RatioInterval { ratio, lo, hi } = change.ratio;
        assert!(lo > 1.02 && lo < 1.03 && ratio > lo && ratio < hi && hi < 1.04, "{change:?}");
        assert_eq!(change.also_changed, [("kernel".into(), "6.1".into(), "6.12".into())]);
        assert_eq!(found[1].changes, []);
        // The median is the same everywhere.
        let medians =
            series(found[0].entries.clone(), Policy { estimate: Estimate::Median, ..POLICY });
        assert_eq!(medians[0].changes, []);
        let large = Policy { size_min: 0.05, ..POLICY };
        assert_eq!(series(found[0].entries.clone(), large)[0].changes, []);
    }

    #[test]
    fn among_many_series_without_a_change_hardly_any_is_called_changed() {
        let all = (0..200)
            .flat_map(|i| entries(&format!("b{i:03}"), "a", &noisy(50, 100 + i, |_| 100.0)));
        let n_called =
            series(all.collect(), POLICY).iter().filter(|it| !it.changes.is_empty()).count();
        assert!(n_called <= 1, "{n_called} of 200");
    }

    /// One is all there is to find after a commit, however many benchmarks there are.
    #[test]
    fn among_many_series_a_single_change_is_found() {
        let level = |i: u64, at: usize| if i == 77 && at >= 12 { 110.0 } else { 100.0 };
        let all = (0..120).flat_map(|i| {
            entries(&format!("b{i:03}"), "a", &noisy(24, 300 + i, |at| level(i, at)))
        });
        let found = series(all.collect(), POLICY);
        let changed: Vec<_> = found.iter().filter(|it| !it.changes.is_empty()).collect();
        let [one] = &changed[..] else { panic!("{} have changed", changed.len()) };
        assert_eq!((&one.benchmark[..], one.changes[0].at), ("b077", 12));
        assert!(one.q.is_some_and(|q| q < 0.05), "{:?}", one.q);
    }

    #[test]
    fn relative_to_the_others_a_machine_may_wander() {
        // All are 4 % slower from the 20th on; one of them becomes 3 % slower at the 30th.
        let level = |i: u64, at: usize| {
            let own = if i == 0 && at >= 30 { 103.0 } else { 100.0 };
            own * if at < 20 { 1.0 } else { 1.04 }
        };
        let all: Vec<Entry> = (0..6)
            .flat_map(|i| entries(&format!("b{i}"), "a", &noisy(40, 9 + i, |at| level(i, at))))
            .collect();
        let places = |policy| -> Vec<Vec<usize>> {
            let found = series(all.clone(), policy);
            found.iter().map(|it| it.changes.iter().map(|change| change.at).collect()).collect()
        };
        let all_moved = places(POLICY);
        assert!(all_moved.iter().all(|changes| changes.contains(&20)), "{all_moved:?}");
        let relative = places(Policy { is_relative: true, ..POLICY });
        assert_eq!(relative, [vec![30], vec![], vec![], vec![], vec![], vec![]]);
    }

    #[test]
    fn values_without_a_logarithm_have_no_changes() {
        let found = series(entries("x", "a", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), POLICY);
        assert_eq!((found[0].q, found[0].changes.len()), (None, 0));
    }
}
