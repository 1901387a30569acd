//! Takes out of each series what the others of its machine do at the same time: a machine that wanders, a new compiler. Pure.
//!
//! Sessions of a machine that is slower this week than last are not exchangeable, so the error rate of a search for changes does not hold for
//! them; relative to the other benchmarks of the same sessions they are. What all benchmarks do at once is gone too, which is why it is
//! only done where it is asked for.

use std::collections::HashMap;

use rayon::prelude::*;
use stats::SortedSample;

use crate::history::series::Ordered;

/// Others that a result needs: their median has to be right where one or two of them change by themselves.
const OTHERS_MIN: usize = 4;
/// Results of others that are further away in time say nothing of a result.
const FAR_S: u64 = 12 * 3600;

/// How often what is common is found again without the changes that single series made.
const ROUNDS: usize = 4;

/// A change of one series: the position of the first result after it, and its size as a logarithm.
pub type Own = (usize, f64);

/// A series with what is known of each of its results.
struct Member {
    ordered: Ordered,
    /// The series' own level.
    levels: Vec<f64>,
    /// What the result has in common with the others of the machine, as a factor.
    common: Vec<f64>,
}

impl Member {
    /// Its own level is its median, until more is known.
    fn of(ordered: Ordered) -> Self {
        let n = ordered.values.len();
        let mut member = Self { ordered, levels: Vec::new(), common: vec![1.0; n] };
        member.levels = member.levels_between(&[]);
        member
    }

    fn machine(&self) -> &str {
        &self.ordered.entries[0].origin.machine
    }

    /// Each value divided by what it has in common with the others.
    fn without_common(&self) -> Ordered {
        let values = self.ordered.values.iter().zip(&self.common);
        let values = values.map(|(value, common)| value / common).collect();
        Ordered { values, ..self.ordered.clone() }
    }

    /// At each result, the median of those between the same changes, without what is common.
    fn levels_between(&self, changes: &[usize]) -> Vec<f64> {
        let values = self.without_common().values;
        let mut levels = Vec::with_capacity(values.len());
        for &end in changes.iter().chain([&values.len()]) {
            let part = &values[levels.len()..end];
            let median = SortedSample::new(part).map_or(f64::NAN, |part| part.median());
            levels.resize(end, median);
        }
        levels
    }

    fn timed(&self) -> Timed<'_> {
        let Ordered { entries, values, .. } = &self.ordered;
        let moves = values.iter().zip(&self.levels).map(|(value, level)| (value / level).ln());
        Timed {
            machine: self.machine(),
            moves: moves.collect(),
            measured_s: entries.iter().map(|entry| entry.origin.measured_s).collect(),
        }
    }

    /// Takes in what its results have in common with others, and leaves out those that have too few of them.
    fn take(&mut self, common: Vec<Option<f64>>) {
        keep(&mut self.ordered.entries, &common);
        keep(&mut self.ordered.values, &common);
        keep(&mut self.levels, &common);
        self.common = common.into_iter().flatten().map(f64::exp).collect();
    }
}

fn keep<T>(all: &mut Vec<T>, common: &[Option<f64>]) {
    let mut common = common.iter();
    all.retain(|_| common.next().is_some_and(Option::is_some));
}

/// Divides each result by what the others of its machine had in common then; results that have too few others are left out.
/// `own_changes` finds the changes of a series.
///
/// What some of the others do by themselves leaves a trace in what they have in common, and that in all. So the largest changes of a
/// machine are taken for a series' own first, and what is common is found again without them before smaller ones are.
pub fn relative(
    groups: Vec<Ordered>,
    own_changes: impl Fn(Ordered) -> Vec<Own> + Sync,
) -> Vec<Ordered> {
    let mut members: Vec<Member> = groups.into_iter().map(Member::of).collect();
    let mut share = 1.0;
    for _ in 0..ROUNDS {
        find_common(&mut members);
        let found: Vec<Vec<Own>> =
            members.par_iter().map(|member| own_changes(member.without_common())).collect();
        let mut largest: HashMap<String, f64> = HashMap::new();
        for (member, found) in members.iter().zip(&found) {
            let of_machine = largest.entry(member.machine().to_owned()).or_default();
            *of_machine = found.iter().fold(*of_machine, |largest, own| largest.max(own.1.abs()));
        }
        share /= 2.0;
        for (member, found) in members.iter_mut().zip(found) {
            let least = share * largest[member.machine()];
            let large = found.into_iter().filter(|own| own.1.abs() >= least);
            member.levels = member.levels_between(&large.map(|own| own.0).collect::<Vec<_>>());
        }
    }
    find_common(&mut members);
    members.iter().map(Member::without_common).collect()
}

fn find_common(members: &mut Vec<Member>) {
    let common = common(&members.iter().map(Member::timed).collect::<Vec<_>>());
    for (member, common) in members.iter_mut().zip(common) {
        member.take(common);
    }
    members.retain(|member| !member.ordered.entries.is_empty());
}

/// How far the results of one series are from its own level, and when each was measured.
#[derive(Clone)]
struct Timed<'a> {
    machine: &'a str,
    /// Natural logarithms of value ÷ level.
    moves: Vec<f64>,
    /// When, in seconds; in any order.
    measured_s: Vec<i64>,
}

/// What the others of its machine had in common at each result, as a logarithm: the median of their moves, of each in its result
/// that is closest in time. `None` where there are too few of them.
fn common(all: &[Timed<'_>]) -> Vec<Vec<Option<f64>>> {
    let mut machines: HashMap<&str, Vec<(usize, InOrder)>> = HashMap::new();
    let is_fit = |series: &Timed<'_>| series.moves.iter().all(|it| it.is_finite());
    for (index, series) in all.iter().enumerate().filter(|(_, series)| is_fit(series)) {
        machines.entry(series.machine).or_default().push((index, InOrder::of(series)));
    }
    let at = |index: usize, series: &Timed<'_>, time_s: i64| {
        let others = machines.get(series.machine)?.iter().filter(|(other, _)| *other != index);
        let near: Vec<f64> = others.filter_map(|(_, other)| other.nearest(time_s)).collect();
        if near.len() < OTHERS_MIN {
            return None;
        }
        SortedSample::new(&near).ok().map(|near| near.median())
    };
    let each = |(index, series): (usize, &Timed<'_>)| {
        series.measured_s.iter().map(|&time_s| at(index, series, time_s)).collect()
    };
    all.iter().enumerate().map(each).collect()
}

/// The moves of a series in order of time.
struct InOrder(Vec<(i64, f64)>);

impl InOrder {
    fn of(series: &Timed<'_>) -> Self {
        let all = series.measured_s.iter().copied().zip(series.moves.iter().copied());
        let mut all: Vec<(i64, f64)> = all.collect();
        all.sort_by_key(|(time_s, _)| *time_s);
        Self(all)
    }

    fn nearest(&self, time_s: i64) -> Option<f64> {
        let after = self.0.partition_point(|(at_s, _)| *at_s < time_s);
        let near = self.0[after.saturating_sub(1)..].iter().take(2);
        let (far_s, value) = near
            .map(|(at_s, value)| (at_s.abs_diff(time_s), *value))
            .min_by_key(|(far_s, _)| *far_s)?;
        (far_s <= FAR_S).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: i64 = 86_400;

    /// A result a day, some minutes after the others.
    fn timed(machine: &str, minutes: i64, moves: Vec<f64>) -> Timed<'_> {
        let measured_s = (0..moves.len() as i64).map(|day| day * DAY_S + 60 * minutes).collect();
        Timed { machine, moves, measured_s }
    }

    fn weather(day: usize) -> f64 {
        [0.0, 0.02, -0.03, 0.01, 0.05][day % 5]
    }

    #[test]
    fn what_all_do_is_found_beside_what_one_does() {
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
    fn too_few_others_say_nothing() {
        let series = |machine: &'static str, i| timed(machine, i, vec![0.5; 5]);
        let four: Vec<_> = (0..4).map(|i| series("a", i)).collect();
        assert_eq!(common(&four)[0], [None; 5]);
        // Four others, one of which is of another machine, or was measured days before.
        let elsewhere: Vec<_> = four.iter().cloned().chain([series("b", 0)]).collect();
        assert_eq!(common(&elsewhere)[0], [None; 5]);
        let mut late = four;
        late.push(timed("a", 0, vec![0.5; 7]));
        assert_eq!(common(&late)[0], [Some(0.5); 5]);
        assert_eq!(common(&late)[4][4..], [Some(0.5), None, None]);
        // A series without a logarithm is none of the others.
        late[1].moves[2] = f64::NAN;
        assert_eq!(common(&late)[0], [None; 5]);
    }
}
