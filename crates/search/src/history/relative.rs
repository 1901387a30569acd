//! Removes from each series the movement that the other series of its machine share: drift of the machine, a new
//! compiler. Pure.
//!
//! If a machine drifts from week to week, its sessions are not exchangeable, and the error rate of the detection does
//! not hold. Relative to the other benchmarks of the same sessions, they are. The correction also hides a real change
//! of all benchmarks, so it runs only on request.

use std::collections::HashMap;

use rayon::prelude::*;

use crate::history::series::Series;

/// Fewest other series that a result needs. Their median must stay right if one or two of them change.
const OTHERS_MIN: usize = 4;
/// Largest distance in time to a result of another series, in seconds.
const FAR_S: u64 = 12 * 3600;

/// Rounds of estimating the common movement. Each leaves out the changes that the last round found in single series.
const ROUNDS: usize = 4;

/// A change of one series: position of the first result after it, and size as a logarithm.
pub type OwnChange = (usize, f64);

/// A series with its estimated levels and common movement.
struct MachineSeries {
    ordered: Series,
    levels: Vec<f64>,
    /// Common movement of the machine at each result, as a factor.
    common: Vec<f64>,
}

impl MachineSeries {
    /// Starts with the median as the level.
    fn of(ordered: Series) -> Self {
        let n = ordered.values.len();
        let mut member = Self { ordered, levels: Vec::new(), common: vec![1.0; n] };
        member.levels = member.levels_between(&[]);
        member
    }

    /// The sign of a slowdown: it makes times longer, and throughputs smaller.
    fn sign(&self) -> f64 {
        if self.ordered.better.is_lower() { 1.0 } else { -1.0 }
    }

    /// The series with each value divided by the common movement.
    fn without_common(&self) -> Series {
        let values = self.ordered.values.iter().zip(&self.common);
        let values = values.map(|(value, common)| value / common).collect();
        Series { values, ..self.ordered.clone() }
    }

    /// Level at each result: the median between two changes, without the common movement.
    fn levels_between(&self, changes: &[usize]) -> Vec<f64> {
        let values = self.without_common().values;
        let mut levels = Vec::with_capacity(values.len());
        for &end in changes.iter().chain([&values.len()]) {
            let part = &values[levels.len()..end];
            let median = stats::median(part).unwrap_or(f64::NAN);
            levels.resize(end, median);
        }
        levels
    }

    fn timed(&self) -> Deviations<'_> {
        let Series { entries, values, .. } = &self.ordered;
        let moves = values.iter().zip(&self.levels);
        let moves = moves.map(|(value, level)| self.sign() * (value / level).ln());
        Deviations {
            machine: &self.ordered.machine,
            moves: moves.collect(),
            measured_s: entries.iter().map(|entry| entry.origin.measured_s).collect(),
        }
    }

    /// Sets the common movement (logarithms) and drops results without one.
    fn take(&mut self, common: Vec<Option<f64>>) {
        let sign = self.sign();
        keep(&mut self.ordered.entries, &common);
        keep(&mut self.ordered.values, &common);
        keep(&mut self.levels, &common);
        self.common = common.into_iter().flatten().map(|it| (sign * it).exp()).collect();
    }
}

fn keep<T>(all: &mut Vec<T>, common: &[Option<f64>]) {
    let mut common = common.iter();
    all.retain(|_| common.next().is_some_and(Option::is_some));
}

/// Divides each result by the common movement of the machine's other series, and drops results with too few others.
/// `own_changes` finds the changes of a series.
///
/// A change of a single series biases the common movement, and so all other series. Therefore each round attributes
/// only the largest remaining changes of a machine to single series, and then estimates again.
pub fn relative(
    groups: Vec<Series>,
    own_changes: impl Fn(Series) -> Vec<OwnChange> + Sync,
) -> Vec<Series> {
    let mut members: Vec<MachineSeries> = groups.into_iter().map(MachineSeries::of).collect();
    let mut share = 1.0;
    for _ in 0..ROUNDS {
        find_common(&mut members);
        let changes: Vec<Vec<OwnChange>> =
            members.par_iter().map(|member| own_changes(member.without_common())).collect();
        let mut largest: HashMap<String, f64> = HashMap::new();
        for (member, changes) in members.iter().zip(&changes) {
            let of_machine = largest.entry(member.ordered.machine.clone()).or_default();
            *of_machine = changes.iter().fold(*of_machine, |largest, own| largest.max(own.1.abs()));
        }
        share /= 2.0;
        for (member, changes) in members.iter_mut().zip(changes) {
            let least = share * largest[&member.ordered.machine];
            let large = changes.into_iter().filter(|own| own.1.abs() >= least);
            let mut places: Vec<usize> = large.map(|own| own.0).collect();
            // A spell may end after the next change.
            places.sort_unstable();
            places.dedup();
            member.levels = member.levels_between(&places);
        }
    }
    find_common(&mut members);
    members.iter().map(MachineSeries::without_common).collect()
}

fn find_common(members: &mut Vec<MachineSeries>) {
    let common = common(&members.iter().map(MachineSeries::timed).collect::<Vec<_>>());
    for (member, common) in members.iter_mut().zip(common) {
        member.take(common);
    }
    members.retain(|member| !member.ordered.entries.is_empty());
}

/// Deviations of the results of one series from its level.
#[derive(Clone)]
struct Deviations<'a> {
    machine: &'a str,
    /// Natural logarithms of value ÷ level, or of level ÷ value where higher is better.
    moves: Vec<f64>,
    /// Times of measurement, seconds since 1970, in any order.
    measured_s: Vec<i64>,
}

/// Common movement at each result, as a logarithm: the median deviation of the machine's other series, each by its
/// result nearest in time. `None` with fewer than [`OTHERS_MIN`] others.
fn common(all: &[Deviations<'_>]) -> Vec<Vec<Option<f64>>> {
    let mut machines: HashMap<&str, Vec<(usize, Vec<_>)>> = HashMap::new();
    let is_fit = |series: &Deviations<'_>| series.moves.iter().all(|it| it.is_finite());
    for (index, series) in all.iter().enumerate().filter(|(_, series)| is_fit(series)) {
        machines.entry(series.machine).or_default().push((index, in_order(series)));
    }
    let at = |index: usize, series: &Deviations<'_>, time_s: i64| {
        let others = machines.get(series.machine)?.iter().filter(|(other, _)| *other != index);
        let near: Vec<f64> = others.filter_map(|(_, other)| nearest(other, time_s)).collect();
        if near.len() < OTHERS_MIN {
            return None;
        }
        stats::median(&near).ok()
    };
    let each = |(index, series): (usize, &Deviations<'_>)| {
        series.measured_s.iter().map(|&time_s| at(index, series, time_s)).collect()
    };
    all.iter().enumerate().map(each).collect()
}

/// The times and deviations of a series in order of time.
fn in_order(series: &Deviations<'_>) -> Vec<(i64, f64)> {
    let all = series.measured_s.iter().copied().zip(series.moves.iter().copied());
    let mut all: Vec<(i64, f64)> = all.collect();
    all.sort_by_key(|(time_s, _)| *time_s);
    all
}

fn nearest(in_order: &[(i64, f64)], time_s: i64) -> Option<f64> {
    let after = in_order.partition_point(|(at_s, _)| *at_s < time_s);
    let near = in_order[after.saturating_sub(1)..].iter().take(2);
    let (far_s, value) = near
        .map(|(at_s, value)| (at_s.abs_diff(time_s), *value))
        .min_by_key(|(far_s, _)| *far_s)?;
    (far_s <= FAR_S).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: i64 = 86_400;

    /// One result a day, some minutes after the others.
    fn timed(machine: &str, minutes: i64, moves: Vec<f64>) -> Deviations<'_> {
        let measured_s = (0..moves.len() as i64).map(|day| day * DAY_S + 60 * minutes).collect();
        Deviations { machine, moves, measured_s }
    }

    fn weather(day: usize) -> f64 {
        [0.0, 0.02, -0.03, 0.01, 0.05][day % 5]
    }

    #[test]
    fn common_movement_is_separated_from_the_change_of_one_series() {
        let own = |i: usize, day: usize| if i == 0 && day >= 7 { 0.1 } else { 0.0 };
        let series = |i: usize| {
            timed("a", i as i64, (0..15).map(|day| own(i, day) + weather(day)).collect())
        };
        let all: Vec<_> = (0..6).map(series).collect();
        for found in common(&all) {
            let expected: Vec<_> = (0..15).map(|day| Some(weather(day))).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn too_few_others_give_no_common_movement() {
        let series = |machine: &'static str, i| timed(machine, i, vec![0.5; 5]);
        let four: Vec<_> = (0..4).map(|i| series("a", i)).collect();
        assert_eq!(common(&four)[0], [None; 5]);
        // One of the four others is on another machine, or its results are days older.
        let elsewhere: Vec<_> = four.iter().cloned().chain([series("b", 0)]).collect();
        assert_eq!(common(&elsewhere)[0], [None; 5]);
        let mut late = four;
        late.push(timed("a", 0, vec![0.5; 7]));
        assert_eq!(common(&late)[0], [Some(0.5); 5]);
        assert_eq!(common(&late)[4][4..], [Some(0.5), None, None]);
        // A series without a logarithm does not count.
        late[1].moves[2] = f64::NAN;
        assert_eq!(common(&late)[0], [None; 5]);
    }
}
