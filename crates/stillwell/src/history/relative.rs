//! Takes out of each series what the others of its machine do at the same time: a machine that wanders, a new compiler. Pure.
//!
//! Sessions of a machine that is slower this week than last are not exchangeable, so the error rate of a search for changes does not hold for
//! them; relative to the other benchmarks of the same sessions they are. What all benchmarks do at once is gone too, which is why it is
//! only done where it is asked for.

use std::collections::HashMap;

use stats::Sorted;

/// Others that a result needs: their median has to be right where one or two of them change by themselves.
const OTHERS_MIN: usize = 4;
/// Results of others that are further away in time say nothing of a result.
const FAR_S: u64 = 12 * 3600;

/// How far the results of one series are from its own level, and when each was measured.
#[derive(Clone, Debug)]
pub struct Timed {
    /// Of which machine.
    pub machine: String,
    /// Natural logarithms of value ÷ level.
    pub moves: Vec<f64>,
    /// When, in seconds; in any order.
    pub measured_s: Vec<i64>,
}

/// What the others of its machine had in common at each result, as a logarithm: the median of their moves, of each in its result
/// that is closest in time. `None` where there are too few of them.
pub fn common(all: &[Timed]) -> Vec<Vec<Option<f64>>> {
    let mut machines: HashMap<&str, Vec<(usize, InOrder)>> = HashMap::new();
    let is_fit = |series: &Timed| series.moves.iter().all(|it| it.is_finite());
    for (index, series) in all.iter().enumerate().filter(|(_, series)| is_fit(series)) {
        machines.entry(&series.machine).or_default().push((index, InOrder::of(series)));
    }
    let at = |index: usize, series: &Timed, time_s: i64| {
        let others = machines.get(&series.machine[..])?.iter().filter(|(other, _)| *other != index);
        let near: Vec<f64> = others.filter_map(|(_, other)| other.nearest(time_s)).collect();
        if near.len() < OTHERS_MIN {
            return None;
        }
        Sorted::new(&near).ok().map(|near| near.median())
    };
    let each = |(index, series): (usize, &Timed)| {
        series.measured_s.iter().map(|&time_s| at(index, series, time_s)).collect()
    };
    all.iter().enumerate().map(each).collect()
}

/// The moves of a series in order of time.
struct InOrder(Vec<(i64, f64)>);

impl InOrder {
    fn of(series: &Timed) -> Self {
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
    fn timed(machine: &str, minutes: i64, moves: Vec<f64>) -> Timed {
        let measured_s = (0..moves.len() as i64).map(|day| day * DAY_S + 60 * minutes).collect();
        Timed { machine: machine.into(), moves, measured_s }
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
