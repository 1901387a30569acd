//! Detects changes: puts results in series and finds the changes of their levels (`stats::level_shift`). Pure.

use std::collections::BTreeMap;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

use crate::history::series::{Change, ChangeKind, ConcurrentChanges, Series};
use crate::history::{StoredResult, concurrent, relative};
use analysis::{RatioInterval, shift_options};
use model::values::Estimate;
use stats::Interval;
use stats::level_shift::{self, Shape, Shift, ShiftOptions};
use stats::multiplicity::benjamini_hochberg;

/// Smallest significance level. A smaller one needs too many random orders.
pub const ALPHA_MIN: f64 = 1e-5;
/// The two ends of a spell are two changes until more results than this follow it. So `--last 10` sees its end as long as
/// any change.
const BACK_MAX: usize = 10;

#[derive(Clone, Copy, Debug)]
pub struct DetectionSettings {
    pub estimate: Estimate,
    /// Probability that a series without a change is called changed, at least [`ALPHA_MIN`].
    pub alpha: f64,
    /// False discovery rate: largest expected share of unchanged series among those called changed.
    pub false_discovery: f64,
    /// Smallest change that is reported, as a fraction.
    pub size_min: f64,
    pub seed: u64,
    /// Whether movements that all series of a machine share are removed first.
    pub is_relative: bool,
}

/// Puts results in series and finds the changes of each.
pub fn detect(entries: Vec<StoredResult>, policy: DetectionSettings) -> Vec<Series> {
    let mut by_key: BTreeMap<_, Vec<StoredResult>> = BTreeMap::new();
    for entry in entries {
        let StoredResult { result, origin, .. } = &entry;
        let key = (
            result.benchmark.clone(),
            result.arm.clone(),
            result.unit.clone(),
            result.better().is_lower(),
            origin.machine.clone(),
        );
        by_key.entry(key).or_default().push(entry);
    }
    let mut groups: Vec<Series> =
        by_key.into_values().map(|entries| Series::of(entries, policy.estimate)).collect();
    if policy.is_relative {
        groups = relative::relative(groups, |group| {
            divided(group, policy).0.changes.iter().flat_map(own_changes).collect()
        });
    }
    let mut all: Vec<(Series, Option<f64>)> =
        groups.into_par_iter().map(|series| divided(series, policy)).collect();
    resolve(&mut all, policy);
    let ps: Vec<f64> = all.iter().filter_map(|(_, p)| *p).collect();
    let mut qs = benjamini_hochberg(&ps).unwrap_or_default().into_iter();
    let mut all: Vec<Series> = (all.into_iter())
        .map(|(mut series, p)| {
            series.q = p.and_then(|_| qs.next());
            if series.q.is_none_or(|q| q > policy.false_discovery) {
                let cleared = std::mem::take(&mut series.changes).into_iter();
                let nearest = cleared.min_by(|one, other| one.p.total_cmp(&other.p));
                series.nearest = nearest.or(series.nearest);
            }
            series
        })
        .collect();
    concurrent::mark(&mut all);
    all
}

/// Draws more random orders for the series whose p is the smallest possible one.
///
/// After 199 orders p is at least 0.005. Among more than 10 series, the rule of Benjamini and Hochberg rejects no
/// single series at that p. `k` such series of `m` need `m / (k false_discovery)` orders each, so the total is the same
/// for any `k`; this function draws twice as many. Only series at the smallest p continue, so a final p is never below
/// the p of the longer draw alone. The error rate of each series holds.
fn resolve(all: &mut [(Series, Option<f64>)], policy: DetectionSettings) {
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
            let options = ShiftOptions { n_orders, ..options(policy) };
            let logs = stats::logs(&series.values).ok();
            *p = logs.and_then(|logs| level_shift::p_of_no_shift(&logs, options).ok());
        });
    }
}

fn options(policy: DetectionSettings) -> ShiftOptions {
    shift_options(policy.alpha, policy.seed)
}

/// The places of a change at which the level jumps. A drift has none.
fn own_changes(change: &Change) -> Vec<relative::OwnChange> {
    let size = change.ratio.ratio.ln();
    match (change.kind, change.until) {
        (ChangeKind::Drift, _) => Vec::new(),
        (_, Some(until)) => vec![(change.at, size), (until, -size)],
        (_, None) => vec![(change.at, size)],
    }
}

/// The series with its changes, and the p-value of "there is none".
fn divided(mut series: Series, policy: DetectionSettings) -> (Series, Option<f64>) {
    let logs = stats::logs(&series.values).ok();
    let found = logs.and_then(|logs| level_shift::find(&logs, options(policy)).ok());
    let Some(found) = found else { return (series, None) };
    let change = |shift: &Shift| change(shift, &series.entries);
    let is_large = |change: &Change| change.ratio.ratio.ln().abs() >= policy.size_min.ln_1p();
    let shifts =
        found.shifts.iter().flat_map(|shift| ends_of_new_spell(shift, series.values.len()));
    series.changes = shifts.map(|shift| change(&shift)).filter(is_large).collect();
    series.changes.sort_by_key(|change| change.at);
    let with_steps = |change| series.with_steps(change, policy.estimate);
    let nearest = found.nearest.as_ref().map(change).map(with_steps);
    let changes = series.changes.iter().cloned().map(with_steps).collect();
    (series.changes, series.nearest) = (changes, nearest);
    (series, Some(found.p))
}

/// Both ends of a spell that has just ended, as changes; any other movement as it is. The second end may be a
/// regression that undoes an improvement, and the search may join the two at one result and not at the next.
fn ends_of_new_spell(shift: &Shift, n: usize) -> Vec<Shift> {
    let Shift { shape, size, interval, .. } = *shift;
    match shape {
        Shape::Spell { from, to } if n - to <= BACK_MAX => {
            let interval = Interval { lo: -interval.hi, hi: -interval.lo };
            let end = Shift { shape: Shape::Step { at: to }, size: -size, interval, ..*shift };
            vec![Shift { shape: Shape::Step { at: from }, ..*shift }, end]
        }
        _ => vec![*shift],
    }
}

fn change(shift: &Shift, entries: &[StoredResult]) -> Change {
    let (kind, at, until) = match shift.shape {
        Shape::Step { at } => (ChangeKind::Level, at, None),
        Shape::Spell { from, to } => (ChangeKind::Spell, from, Some(to)),
        // There must be a result before it.
        Shape::Drift { from, to } => (ChangeKind::Drift, from.max(1), Some(to)),
    };
    Change {
        kind,
        at,
        until,
        p: shift.p,
        ratio: RatioInterval::of_logs(shift.size, shift.interval),
        also_changed: also_changed(&entries[at - 1], &entries[at]),
        together: ConcurrentChanges::default(),
    }
}

fn also_changed(before: &StoredResult, after: &StoredResult) -> Vec<(String, String, String)> {
    let old: BTreeMap<&str, &str> =
        before.origin.surroundings.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let changed = |(name, new): &(String, String)| {
        let old = old.get(&name[..]).filter(|old| **old != new)?;
        Some((name.clone(), (*old).to_owned(), new.clone()))
    };
    after.origin.surroundings.iter().filter_map(changed).collect()
}

/// The movement that is nearest to a change, in a history without one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NearestChange {
    /// The series.
    pub series: String,
    /// The movement; its p is above the level, or too large among so many series.
    pub change: Change,
    /// The smallest change at this place that these results would have shown, as a fraction; `None` if unknown.
    pub smallest_visible: Option<f64>,
    /// Day of the first result after the movement, s since 1970.
    pub since_s: i64,
    /// The level of each series: the probability that a series without a change is called changed.
    pub alpha: f64,
}

/// The nearest movement of these series. `None` if one has changed, or if none has enough results for a change.
pub fn nearest(all: &[Series], settings: DetectionSettings) -> Option<NearestChange> {
    if all.iter().any(|series| !series.changes.is_empty()) {
        return None;
    }
    let found = all.iter().filter_map(|series| Some((series, series.nearest.as_ref()?)));
    let (series, change) = found.min_by(|one, other| one.1.p.total_cmp(&other.1.p))?;
    let smallest = stats::logs(&series.values).ok().and_then(|logs| {
        level_shift::smallest_visible(&logs, &shift(change), options(settings)).ok().flatten()
    });
    Some(NearestChange {
        series: series.label(),
        change: change.clone(),
        smallest_visible: smallest.map(f64::exp_m1),
        since_s: series.time_s(change.at),
        alpha: settings.alpha,
    })
}

fn shift(change: &Change) -> Shift {
    let (at, until) = (change.at, change.until.unwrap_or(change.at));
    let shape = match change.kind {
        ChangeKind::Level => Shape::Step { at },
        ChangeKind::Spell => Shape::Spell { from: at, to: until },
        ChangeKind::Drift => Shape::Drift { from: at, to: until },
    };
    let RatioInterval { ratio, .. } = change.ratio;
    Shift { shape, p: change.p, size: ratio.ln(), interval: change.ratio.logs() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::fixture::{self, SETTINGS};
    use crate::history::{BenchmarkResult, RecordOrigin};
    use model::values::Better;
    use stats::Stream;
    use std::sync::Arc;

    fn entries(benchmark: &str, machine: &str, values: &[f64]) -> Vec<StoredResult> {
        let entry = |(i, value): (usize, &f64)| StoredResult {
            record: i as i64,
            origin: Arc::new(RecordOrigin {
                machine: machine.into(),
                // The order of storage differs from the order of the commits.
                measured_s: (values.len() - i) as i64,
                surroundings: vec![("kernel".into(), if i < 20 { "6.1" } else { "6.12" }.into())],
                ..RecordOrigin::default()
            }),
            result: BenchmarkResult {
                committed_s: Some(1000 + i as i64),
                revision: Some(format!("r{i}")),
                ..fixture::result(benchmark, *value, None)
            },
        };
        values.iter().enumerate().rev().map(entry).collect()
    }

    fn noisy(n: usize, seed: u64, level: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut stream = Stream::new(seed);
        (0..n).map(|i| level(i) * (1.0 + 0.01 * stream.unit())).collect()
    }

    #[test]
    fn a_change_has_its_place_its_size_and_the_other_differences() {
        let step = |i: usize| if i < 20 { 100.0 } else { 103.0 };
        let mut all = entries("fib", "a", &noisy(40, 1, step));
        all.extend(entries("fib", "b", &noisy(40, 2, |_| 50.0)));
        let found = detect(all, SETTINGS);
        assert_eq!(found.len(), 2, "machines are apart");
        let [change] = &found[0].changes[..] else { panic!("{:?}", found[0].changes) };
        assert_eq!((change.at, &found[0].entries[20].result.revision), (20, &Some("r20".into())));
        let RatioInterval { ratio, lo, hi } = change.ratio;
        assert!(lo > 1.015 && lo < 1.03 && ratio > lo && ratio < hi && hi < 1.04, "{change:?}");
        assert_eq!(change.also_changed, [("kernel".into(), "6.1".into(), "6.12".into())]);
        assert_eq!(found[1].changes, []);
        // All results of the fixture have the same median.
        let medians = detect(
            found[0].entries.clone(),
            DetectionSettings { estimate: Estimate::Median, ..SETTINGS },
        );
        assert_eq!(medians[0].changes, []);
        let large = DetectionSettings { size_min: 0.05, ..SETTINGS };
        assert_eq!(detect(found[0].entries.clone(), large)[0].changes, []);
    }

    /// Times of 280 and 290 ms, from a file with hundredths of a second.
    #[test]
    fn a_change_of_times_in_steps_is_no_better_known_than_a_step() {
        let values = |i: usize| if i < 12 { 280e6 } else { 290e6 };
        let mut all = entries("x", "a", &(0..24).map(values).collect::<Vec<f64>>());
        let ratio = |all: &[StoredResult]| detect(all.to_vec(), SETTINGS)[0].changes[0].ratio;
        let RatioInterval { lo, hi, .. } = ratio(&all);
        assert!(lo > 1.0 && lo < 1.001 && hi > 1.07 && hi < 1.08, "{lo} {hi}");
        // Bytes are counted.
        for BenchmarkResult { unit, median, t0, .. } in all.iter_mut().map(|it| &mut it.result) {
            (*unit, *median) = ("B".into(), *t0);
        }
        let RatioInterval { lo, hi, .. } = ratio(&all);
        assert!(hi - lo < 0.01, "{lo} {hi}");
    }

    #[test]
    fn among_many_series_without_a_change_hardly_any_is_called_changed() {
        let all = (0..200)
            .flat_map(|i| entries(&format!("b{i:03}"), "a", &noisy(50, 100 + i, |_| 100.0)));
        let n_called =
            detect(all.collect(), SETTINGS).iter().filter(|it| !it.changes.is_empty()).count();
        assert!(n_called <= 1, "{n_called} of 200");
    }

    /// A commit often changes one benchmark only, however many there are.
    #[test]
    fn among_many_series_a_single_change_is_found() {
        let level = |i: u64, at: usize| if i == 77 && at >= 12 { 110.0 } else { 100.0 };
        let all = (0..120).flat_map(|i| {
            entries(&format!("b{i:03}"), "a", &noisy(24, 300 + i, |at| level(i, at)))
        });
        let found = detect(all.collect(), SETTINGS);
        let changed: Vec<_> = found.iter().filter(|it| !it.changes.is_empty()).collect();
        let [one] = &changed[..] else { panic!("{} have changed", changed.len()) };
        assert_eq!((&one.benchmark[..], one.changes[0].at), ("b077", 12));
        assert!(one.q.is_some_and(|q| q < 0.05), "{:?}", one.q);
    }

    #[test]
    fn relative_to_the_others_a_machine_may_wander() {
        // All become 4 % slower at position 20, and one of them 3 % slower at position 30.
        let level = |i: u64, at: usize| {
            let own = if i == 0 && at >= 30 { 103.0 } else { 100.0 };
            own * if at < 20 { 1.0 } else { 1.04 }
        };
        let all: Vec<StoredResult> = (0..6)
            .flat_map(|i| entries(&format!("b{i}"), "a", &noisy(40, 9 + i, |at| level(i, at))))
            .collect();
        let places = |policy| -> Vec<Vec<usize>> {
            let found = detect(all.clone(), policy);
            found.iter().map(|it| it.changes.iter().map(|change| change.at).collect()).collect()
        };
        let all_moved = places(SETTINGS);
        assert!(all_moved.iter().all(|changes| changes.contains(&20)), "{all_moved:?}");
        let relative = places(DetectionSettings { is_relative: true, ..SETTINGS });
        assert_eq!(relative, [vec![30], vec![], vec![], vec![], vec![], vec![]]);
    }

    #[test]
    fn a_higher_throughput_is_no_slowdown_and_no_part_of_another_series() {
        let step = |i: usize| if i < 20 { 100.0 } else { 110.0 };
        let mut all = entries("x", "a", &noisy(40, 1, step));
        for BenchmarkResult { better, median, t0, .. } in all.iter_mut().map(|it| &mut it.result) {
            (*better, *median) = (Some(Better::Higher), *t0);
        }
        all.extend(entries("x", "a", &noisy(40, 2, |_| 100.0)));
        let found = detect(all, SETTINGS);
        let [throughput, time] = &found[..] else { panic!("{} series", found.len()) };
        assert_eq!((throughput.better, time.better), (Better::Higher, Better::Lower));
        let ratio = throughput.changes[0].ratio;
        assert!(ratio.ratio > 1.05 && throughput.cost(ratio).hi < 0.95, "{ratio:?}");
        assert_eq!(time.cost(ratio), ratio);
    }

    /// A gate must see the end of a fast spell: it may be a regression.
    #[test]
    fn a_spell_that_has_just_ended_is_two_changes() {
        let level = |i: usize| if (20..35).contains(&i) { 90.0 } else { 100.0 };
        let changes = |n: usize| {
            let found = detect(entries("x", "a", &noisy(n, 1, level)), SETTINGS);
            found[0].changes.clone()
        };
        for n in [38, 40, 45] {
            let both = changes(n);
            let [start, end] = &both[..] else { panic!("{n} results: {both:?}") };
            assert_eq!((start.kind, start.at), (ChangeKind::Level, 20), "{n} results");
            assert_eq!((end.kind, end.at, end.until), (ChangeKind::Level, 35, None), "{n} results");
            assert!(start.ratio.hi < 0.91 && end.ratio.lo > 1.1, "{start:?} {end:?}");
        }
        let old = changes(46);
        let [spell] = &old[..] else { panic!("{old:?}") };
        assert_eq!((spell.kind, spell.at, spell.until), (ChangeKind::Spell, 20, Some(35)));
    }

    #[test]
    fn values_without_a_logarithm_have_no_changes() {
        let found = detect(entries("x", "a", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), SETTINGS);
        assert_eq!((found[0].q, found[0].changes.len()), (None, 0));
    }
}
