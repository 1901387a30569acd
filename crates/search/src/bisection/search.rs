//! The search: segments between two commits that differ, the next step, and the answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::bisection::answer::{Answer, Relation, answer, odds_of_new};
use crate::bisection::graph::CommitGraph;
use crate::bisection::layout::LayoutFinding;
use crate::bisection::outcome::{Culprit, SearchOutcome, UnresolvedRange};
use crate::bisection::posterior::{BuildKnowledge, CommitGroup, Posterior};
use crate::bisection::rules::{ErrorBudget, SearchRules};

/// Probability from which a group is confirmed.
const CONFIRM_FROM: f64 = 0.9;
/// The level of a set of commits that is named instead of one.
const SET_LEVEL: f64 = 0.99;
/// How often an undecided probe is measured.
const VAIN_MAX: u32 = 2;
/// After so many undecided confirmations, the search of a segment ends.
const UNCONFIRMED_MAX: u32 = 2;
/// How much less likely a group is after an undecided confirmation.
const UNCONFIRMED: f64 = 0.05;
/// Segments beyond this number are not searched.
const SEGMENTS_MAX: u32 = 32;

#[derive(Clone, Debug, PartialEq)]
pub enum SearchStep {
    /// The new end against the old one.
    Ends { lo: usize, hi: usize, alpha: f64 },
    /// A commit together with both ends of its segment.
    Probe { lo: usize, hi: usize, commit: usize, alpha: f64, n_possible: usize },
    /// A commit against its parent.
    Confirm { base: usize, head: usize, alpha: f64 },
    /// A confirmed commit against its parent, both in several link orders.
    Layouts { base: usize, head: usize, alpha: f64 },
    /// The search has its answer.
    Done,
}

impl SearchStep {
    /// The commits to compare as they are built, the reference first, and the error rate. A probe is the reference, so
    /// both ends are compared with it. `None` for the other steps.
    pub fn compared(&self) -> Option<(Vec<usize>, f64)> {
        match *self {
            Self::Ends { lo, hi, alpha } => Some((vec![lo, hi], alpha)),
            Self::Probe { lo, hi, commit, alpha, .. } => Some((vec![commit, lo, hi], alpha)),
            Self::Confirm { base, head, alpha } => Some((vec![base, head], alpha)),
            Self::Layouts { .. } | Self::Done => None,
        }
    }

    /// The observation of each other commit against the reference.
    ///
    /// # Panics
    /// The step compares no commits as they are built.
    pub fn observed(&self, found: &[Relation], seconds: f64) -> Observation {
        match *self {
            Self::Ends { lo, hi, .. } => Observation::Ends { lo, hi, new: found[0], seconds },
            Self::Probe { commit, .. } => {
                let [of_old, of_new] = [found[0], found[1]].map(|it| it.inverse());
                Observation::Probe { commit, of_old, of_new, seconds }
            }
            Self::Confirm { base, head, .. } => {
                Observation::Confirm { base, head, new: found[0], seconds }
            }
            Self::Layouts { .. } | Self::Done => unreachable!("nothing is compared"),
        }
    }
}

/// An event of a search. All of them in order reproduce it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Observation {
    /// A commit was built in so many seconds; 0 if it was built before.
    Built { commit: usize, seconds: f64 },
    /// A commit cannot be built, or cannot be run. `seconds`: of its build, 0 if nothing was built.
    Failed {
        commit: usize,
        why: String,
        // Older searches have none.
        #[serde(default)]
        seconds: f64,
    },
    /// The answer to [`SearchStep::Ends`]: the new end against the old one.
    Ends { lo: usize, hi: usize, new: Relation, seconds: f64 },
    /// The answer to [`SearchStep::Probe`]: the probe against the old and the new end.
    Probe { commit: usize, of_old: Relation, of_new: Relation, seconds: f64 },
    /// The answer to [`SearchStep::Confirm`]: the commit against its parent.
    Confirm { base: usize, head: usize, new: Relation, seconds: f64 },
    /// The answer to [`SearchStep::Layouts`].
    Layouts { head: usize, found: LayoutFinding, seconds: f64 },
}

/// A range of commits whose ends differ, or may differ.
#[derive(Clone, Debug)]
struct Segment {
    lo: usize,
    hi: usize,
    size: Option<Relation>,
    posterior: Posterior,
    /// The posterior from decided probes alone. Undecided ones only help if a single commit did it, which may be wrong.
    decided: Posterior,
    /// How often commits stayed undecided.
    vain: BTreeMap<usize, u32>,
    n_unconfirmed: u32,
    /// The index of the split that made the segment.
    origin: Option<usize>,
}

/// A segment whose likeliest commit does not have its change: another one has it, or several have parts.
#[derive(Clone, Debug)]
struct Split {
    lo: usize,
    hi: usize,
    size: Relation,
    /// How many of the two parts may still have a change.
    n_left: u32,
}

#[derive(Clone, Debug)]
pub struct BisectSearch {
    graph: CommitGraph,
    /// The ends of the whole range.
    pub good: usize,
    pub bad: usize,
    rules: SearchRules,
    budget: ErrorBudget,
    segments: VecDeque<Segment>,
    n_segments: u32,
    splits: Vec<Split>,
    known: BuildKnowledge,
    n_ends: u32,
    n_confirmations: u32,
    outcome: SearchOutcome,
}

impl BisectSearch {
    /// A search among the commits that are in `bad` and not in `good`.
    pub fn new(graph: CommitGraph, good: usize, bad: usize, rules: SearchRules) -> Self {
        let budget = ErrorBudget::new(rules.alpha, graph.between(good, bad).len());
        let mut search = Self {
            graph,
            good,
            bad,
            rules,
            budget,
            segments: VecDeque::new(),
            n_segments: 0,
            splits: Vec::new(),
            known: BuildKnowledge::default(),
            n_ends: 0,
            n_confirmations: 0,
            outcome: SearchOutcome::default(),
        };
        search.open(good, bad, None, None);
        search
    }

    pub fn graph(&self) -> &CommitGraph {
        &self.graph
    }

    /// The commits that are searched.
    pub fn between(&self) -> Vec<usize> {
        self.graph.between(self.good, self.bad)
    }

    pub fn outcome(&self) -> &SearchOutcome {
        &self.outcome
    }

    /// Opens another part to search. Its size is unknown until its ends are measured.
    fn open(&mut self, lo: usize, hi: usize, size: Option<Relation>, origin: Option<usize>) {
        let is_empty = self.graph.between(lo, hi).is_empty();
        if is_empty || self.n_segments >= SEGMENTS_MAX {
            match size.filter(|_| !is_empty) {
                Some(size) => self.leave(lo, hi, size),
                None => self.drop_part(origin),
            }
            return;
        }
        self.n_segments += 1;
        let posterior = Posterior::new(&self.graph, lo, hi);
        let vain = BTreeMap::new();
        let decided = posterior.clone();
        let segment = Segment { lo, hi, size, posterior, decided, vain, n_unconfirmed: 0, origin };
        self.segments.push_back(segment);
    }

    /// A part of a split has no change, or is not searched. If neither part has one, only the whole range is known.
    fn drop_part(&mut self, origin: Option<usize>) {
        let Some(split) = origin.and_then(|index| self.splits.get_mut(index)) else { return };
        split.n_left -= 1;
        if split.n_left == 0 {
            let &mut Split { lo, hi, size, .. } = split;
            self.leave(lo, hi, size);
        }
    }

    /// Gives up on a part of which only the difference of the ends is known.
    fn leave(&mut self, lo: usize, hi: usize, size: Relation) {
        let commits = self.graph.between(lo, hi);
        self.outcome.unresolved.push(UnresolvedRange { lo, hi, commits, size });
    }

    pub fn next_step(&self) -> SearchStep {
        let mut asked = self.outcome.culprits.iter();
        let asked = asked.find(|it| it.layout.is_none()).filter(|_| self.rules.asks_layouts);
        if let Some(&Culprit { base, head, .. }) = asked {
            return SearchStep::Layouts { base, head, alpha: self.rules.alpha };
        }
        let Some(segment) = self.segments.front() else { return SearchStep::Done };
        let (lo, hi) = (segment.lo, segment.hi);
        if segment.size.is_none() {
            return SearchStep::Ends { lo, hi, alpha: self.budget.ends(self.n_ends) };
        }
        if let Some(group) = self.to_confirm(segment) {
            let alpha = self.budget.confirmation(self.n_confirmations);
            return SearchStep::Confirm { base: group.base, head: group.head, alpha };
        }
        match self.next_probe(segment) {
            Some(commit) => SearchStep::Probe {
                lo,
                hi,
                commit,
                alpha: self.budget.probe(self.outcome.n_probes),
                n_possible: segment.posterior.n_possible(),
            },
            None => SearchStep::Done,
        }
    }

    fn next_probe(&self, segment: &Segment) -> Option<usize> {
        let spent = segment.vain.iter().filter(|(_, n)| **n >= VAIN_MAX);
        let spent: BTreeSet<usize> = spent.map(|(commit, _)| *commit).collect();
        segment.posterior.next_probe(&self.graph, &self.known, &spent)
    }

    /// The group to be confirmed next.
    fn to_confirm(&self, segment: &Segment) -> Option<CommitGroup> {
        let likeliest = segment.posterior.likeliest(&self.graph, &self.known)?;
        let is_due = likeliest.share >= CONFIRM_FROM && segment.n_unconfirmed < UNCONFIRMED_MAX;
        is_due.then_some(likeliest)
    }

    /// Whether nothing is left to do in a segment whose ends differ.
    fn is_stuck(&self, segment: &Segment) -> bool {
        let is_unconfirmed = segment.n_unconfirmed >= UNCONFIRMED_MAX;
        let n_probes_max = 6 * self.budget.n_usual * self.n_segments;
        let is_over = self.outcome.n_probes >= n_probes_max;
        segment.size.is_some()
            && (is_unconfirmed
                || self.to_confirm(segment).is_none()
                    && (is_over || self.next_probe(segment).is_none()))
    }

    pub fn take(&mut self, observation: &Observation) {
        match observation {
            Observation::Built { commit, seconds } => {
                if self.known.built.insert(*commit) {
                    self.known.build_s = self.outcome.take_build(*seconds);
                }
            }
            Observation::Failed { commit, why, seconds } => {
                self.known.build_s = self.outcome.take_build(*seconds);
                self.known.built.remove(commit);
                self.known.failed.insert(*commit);
                self.outcome.failed.insert(*commit, why.clone());
            }
            Observation::Ends { new, seconds, .. } => self.take_ends(*new, *seconds),
            Observation::Probe { commit, of_old, of_new, seconds } => {
                self.take_probe(*commit, of_old, of_new, *seconds);
            }
            Observation::Confirm { base, head, new, seconds } => {
                self.outcome.measure_s += seconds;
                self.n_confirmations += 1;
                self.take_confirmation(*base, *head, *new);
            }
            Observation::Layouts { head, found, seconds } => {
                self.outcome.measure_s += seconds;
                let culprits = &mut self.outcome.culprits;
                if let Some(culprit) = culprits.iter_mut().find(|it| it.head == *head) {
                    culprit.layout = Some(found.clone());
                }
            }
        }
        while self.segments.front().is_some_and(|segment| self.is_stuck(segment)) {
            self.give_up();
        }
    }

    fn take_ends(&mut self, new: Relation, seconds: f64) {
        self.outcome.measure_s += seconds;
        if self.n_ends == 0 {
            self.outcome.ends = Some(new);
            self.known.measure_s = 1.5 * seconds;
        }
        self.n_ends += 1;
        // The whole range is searched for any difference. A part is searched for what remains of that difference, which
        // may be no more than rounding.
        let is_rest = self.n_ends > 1
            && self.outcome.ends.is_some_and(|it| self.rules.is_negligible(&new, &it));
        if !new.is_different || is_rest {
            let segment = self.segments.pop_front();
            self.drop_part(segment.and_then(|segment| segment.origin));
        } else if let Some(segment) = self.segments.front_mut() {
            segment.size = Some(new);
        }
    }

    fn take_probe(&mut self, commit: usize, of_old: &Relation, of_new: &Relation, seconds: f64) {
        self.outcome.measure_s += seconds;
        self.outcome.n_probes += 1;
        self.known.measure_s = (self.known.measure_s + seconds) / 2.0;
        let Some(mut segment) = self.segments.pop_front() else { return };
        let Some(size) = segment.size else { return };
        match self.answer(&size, of_old, of_new) {
            Answer::Neither => {
                // Both parts have a change, so both ends of each differ.
                self.open(segment.lo, commit, Some(*of_old), None);
                self.open(commit, segment.hi, Some(of_new.inverse()), None);
                return;
            }
            told => {
                let odds = odds_of_new(told, of_old, size.theta());
                if told == Answer::Undecided {
                    *segment.vain.entry(commit).or_default() += 1;
                } else {
                    segment.decided.observe(&self.graph, commit, odds);
                }
                segment.posterior.observe(&self.graph, commit, odds);
            }
        }
        self.segments.push_front(segment);
    }

    /// The answer of a probe in a segment with such ends.
    pub fn answer(&self, size: &Relation, of_old: &Relation, of_new: &Relation) -> Answer {
        answer(of_old, of_new, self.rules.margin_of(size))
    }

    /// The answer of a probe in the present segment.
    pub fn answer_now(&self, of_old: &Relation, of_new: &Relation) -> Answer {
        let size = self.segments.front().and_then(|segment| segment.size);
        size.map_or(Answer::Undecided, |size| self.answer(&size, of_old, of_new))
    }

    fn take_confirmation(&mut self, base: usize, head: usize, new: Relation) {
        let Some(mut segment) = self.segments.pop_front() else { return };
        let Some(size) = segment.size else { return };
        let group = segment.posterior.likeliest(&self.graph, &self.known);
        let commits = group.map_or_else(|| vec![head], |group| group.commits);
        let is_confirmed = new.is_different && !self.rules.is_negligible(&new, &size);
        let is_whole = self.rules.explains(&new, &size);
        let (lo, hi) = (segment.lo, segment.hi);
        if is_confirmed {
            self.outcome.culprits.push(Culprit { commits, base, head, size: new, layout: None });
            self.outcome.culprits.sort_by_key(|culprit| culprit.head);
            if !is_whole {
                // The rest is searched as well.
                self.open(lo, base, None, None);
                self.open(head, hi, None, None);
            }
        } else if is_whole {
            segment.posterior.doubt(&commits, UNCONFIRMED);
            segment.n_unconfirmed += 1;
            self.segments.push_front(segment);
        } else {
            self.splits.push(Split { lo, hi, size, n_left: 2 });
            let origin = Some(self.splits.len() - 1);
            self.open(lo, base, None, origin);
            self.open(head, hi, None, origin);
        }
    }

    /// Ends the search of a segment with the set of possible commits.
    fn give_up(&mut self) {
        let Some(Segment { lo, hi, size: Some(size), decided, .. }) = self.segments.pop_front()
        else {
            return;
        };
        let commits = decided.set_of(&self.graph, &self.known, SET_LEVEL);
        self.outcome.unresolved.push(UnresolvedRange { lo, hi, commits, size });
    }

    /// Whether the size of a change may be the whole difference of good and bad.
    pub fn is_whole(&self, change: &Relation) -> bool {
        self.outcome.ends.is_some_and(|ends| self.rules.explains(change, &ends))
    }
}

#[cfg(test)]
mod tests;
