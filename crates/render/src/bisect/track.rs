//! Turns the observations of a search into measured commits with times relative to GOOD.

use std::collections::BTreeMap;

use model::values::Better;
use search::bisection::{Answer, BisectSearch, Observation, Relation, SearchStep};

/// A measured commit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TrackPoint {
    pub commit: usize,
    /// Log ratio to the old end of the whole search.
    pub level: f64,
    /// The interval of the last measurement.
    pub ends: Option<(f64, f64)>,
    /// The answer to a probe; `None` for ends and confirmations.
    pub answer: Option<Answer>,
}

impl TrackPoint {
    /// The point at the level of the values in place of the costs.
    pub fn of_values(self, better: Better) -> Self {
        if better.is_lower() {
            return self;
        }
        let ends = self.ends.map(|(lo, hi)| (-hi, -lo));
        Self { level: -self.level, ends, ..self }
    }
}

/// The measured commits in order. `search` is in its first state.
pub(super) fn track(mut search: BisectSearch, observations: &[&Observation]) -> Vec<TrackPoint> {
    let mut points: BTreeMap<usize, TrackPoint> = BTreeMap::new();
    for observation in observations {
        let step = search.next_step();
        match (*observation, step) {
            (
                Observation::Ends { lo: base, hi: head, new, .. }
                | Observation::Confirm { base, head, new, .. },
                _,
            ) => add_pair(&mut points, *base, *head, new),
            (Observation::Probe { commit, of_old, of_new, .. }, SearchStep::Probe { lo, .. }) => {
                let answer = Some(search.answer_now(of_old, of_new));
                if let Some(level) = points.get(&lo).map(|point| point.level) {
                    points.insert(*commit, point(*commit, level, of_old, answer));
                }
            }
            _ => {}
        }
        search.take(observation);
    }
    points.into_values().collect()
}

fn point(commit: usize, of: f64, size: &Relation, answer: Option<Answer>) -> TrackPoint {
    let ends = size.lo.zip(size.hi).map(|(lo, hi)| (of + lo.ln(), of + hi.ln()));
    TrackPoint { commit, level: of + size.theta(), ends, answer }
}

/// Adds two commits that were measured together. A commit keeps its earlier point.
fn add_pair(points: &mut BTreeMap<usize, TrackPoint>, old: usize, new: usize, size: &Relation) {
    let bare = |commit: usize, level: f64| TrackPoint { commit, level, ends: None, answer: None };
    if points.is_empty() {
        points.insert(old, bare(old, 0.0));
    }
    match (points.get(&old).copied(), points.get(&new).copied()) {
        (Some(known), None) => {
            points.insert(new, point(new, known.level, size, None));
        }
        (None, Some(known)) => {
            points.insert(old, point(old, known.level, &size.inverse(), None));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use search::bisection::fixture::relation;
    use search::bisection::{CommitGraph, SearchRules};

    #[test]
    fn levels_are_those_of_the_whole_search() {
        let rules = SearchRules { alpha: 0.01, margin: 0.003, asks_layouts: false };
        let search = BisectSearch::new(CommitGraph::line(9), 0, 8, rules);
        let ends = Observation::Ends { lo: 0, hi: 8, new: relation(6.0, 0.1), seconds: 1.0 };
        let mut at = search.clone();
        at.take(&ends);
        let SearchStep::Probe { commit: first, .. } = at.next_step() else { panic!() };
        // Neither: 4 % slower than the old end, 2 % faster than the new one.
        let (of_old, of_new) = (relation(4.0, 0.1), relation(-2.0, 0.1));
        let neither = Observation::Probe { commit: first, of_old, of_new, seconds: 1.0 };
        at.take(&neither);
        let SearchStep::Probe { commit: second, lo, .. } = at.next_step() else { panic!() };
        let like_old = (relation(0.0, 0.1), relation(-4.0, 0.1));
        let later = Observation::Probe {
            commit: second,
            of_old: like_old.0,
            of_new: like_old.1,
            seconds: 1.0,
        };
        let points = track(search, &[&ends, &neither, &later]);
        let of = |commit: usize| *points.iter().find(|it| it.commit == commit).unwrap();
        assert_eq!(points.len(), 4);
        assert!((of(8).level - 1.06_f64.ln()).abs() < 1e-12 && of(8).answer.is_none());
        assert_eq!(of(first).answer, Some(Answer::Neither));
        let expected = if lo == 0 { 0.0 } else { 1.04_f64.ln() };
        assert!((of(second).level - expected).abs() < 1e-12);
        assert_eq!(of(second).answer, Some(Answer::LikeOld));
    }
}
