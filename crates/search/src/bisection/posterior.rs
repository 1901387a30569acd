//! The probability that each commit of a segment changed the time, and the most useful commit to measure next.

use std::collections::BTreeSet;

use crate::bisection::graph::CommitGraph;

/// Factor by which a probe must be better to replace another one. Shares are sums, and rounding must not choose.
const CLEARLY_MORE: f64 = 1.0 + 1e-9;
/// Probes that split off less than this share tell too little.
const SHARE_MIN: f64 = 1e-3;
/// A commit that is less likely than the likeliest by this factor is no longer counted as possible.
const POSSIBLE_MIN: f64 = 1e-2;
/// How much less likely a commit is to be built next to one that cannot be.
const NEAR_FAILURE: f64 = 0.8;

/// The cost of measuring a commit, and what is known of builds.
#[derive(Clone, Debug, Default)]
pub struct BuildKnowledge {
    pub built: BTreeSet<usize>,
    /// Commits that cannot be built or run.
    pub failed: BTreeSet<usize>,
    pub build_s: f64,
    pub measure_s: f64,
}

impl BuildKnowledge {
    /// How likely a build is to succeed, by the builds so far and the nearest failure.
    fn is_buildable(&self, commit: usize) -> f64 {
        if self.built.contains(&commit) {
            return 1.0;
        }
        let (n_built, n_failed) = (self.built.len() as f64, self.failed.len() as f64);
        let below = self.failed.range(..commit).next_back().map(|other| commit - other);
        let above = self.failed.range(commit..).next().map(|other| other - commit);
        let near = below.into_iter().chain(above).min();
        let near = near.map_or(1.0, |distance| 1.0 - NEAR_FAILURE / (distance.max(1) as f64));
        (n_built + 1.0) / (n_built + n_failed + 1.0) * near
    }

    fn cost_s(&self, commit: usize) -> f64 {
        let build_s = if self.built.contains(&commit) { 0.0 } else { self.build_s };
        (self.measure_s + build_s).max(1e-3)
    }
}

/// Commits among which nothing can be measured: one that can be built, and those between it and its first ancestor that
/// can be built.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitGroup {
    /// The commit that can be built.
    pub head: usize,
    /// All commits of the group, the head last.
    pub commits: Vec<usize>,
    /// The ancestor that can be built.
    pub base: usize,
    /// Probability that the change is here.
    pub share: f64,
}

#[derive(Clone, Debug)]
pub struct Posterior {
    lo: usize,
    hi: usize,
    /// Each commit with its weight; the weights sum to 1.
    weights: Vec<(usize, f64)>,
}

impl Posterior {
    pub fn new(graph: &CommitGraph, lo: usize, hi: usize) -> Self {
        let commits = graph.between(lo, hi);
        let weight = 1.0 / commits.len().max(1) as f64;
        Self { lo, hi, weights: commits.into_iter().map(|commit| (commit, weight)).collect() }
    }

    /// Adds a probe whose times are `odds` times more likely if it has the change.
    pub fn observe(&mut self, graph: &CommitGraph, probe: usize, odds: f64) {
        self.reweigh(|commit| if graph.is_in(commit, probe) { odds } else { 1.0 });
    }

    /// Makes these commits less likely.
    pub fn doubt(&mut self, commits: &[usize], factor: f64) {
        self.reweigh(|commit| if commits.contains(&commit) { factor } else { 1.0 });
    }

    fn reweigh(&mut self, factor: impl Fn(usize) -> f64) {
        self.weights.iter_mut().for_each(|(commit, weight)| *weight *= factor(*commit));
        let sum: f64 = self.weights.iter().map(|(_, weight)| weight).sum();
        self.weights.iter_mut().for_each(|(_, weight)| *weight /= sum);
    }

    /// How likely the change is in each commit of the graph or before it; 0 outside the segment.
    ///
    /// A commit has its parent's share and its own. At a merge, the commits of the other sides are added: all merges
    /// together take as long as these sides have commits.
    fn shares(&self, graph: &CommitGraph) -> Vec<f64> {
        let n_commits = graph.commits().len();
        let (mut own, mut shares) = (vec![0.0_f64; n_commits], vec![0.0_f64; n_commits]);
        self.weights.iter().for_each(|&(commit, weight)| own[commit] = weight);
        // Parents come before their children.
        for &(commit, weight) in &self.weights {
            let parents = &graph.commits()[commit].parents;
            let main = parents
                .iter()
                .copied()
                .max_by(|&one, &other| shares[one].total_cmp(&shares[other]));
            let others = match main {
                Some(main) if parents.len() > 1 => self.beside(graph, commit, main),
                _ => Vec::new(),
            };
            shares[commit] = weight
                + main.map_or(0.0, |main| shares[main])
                + others.into_iter().map(|other| own[other]).sum::<f64>();
        }
        shares
    }

    /// The ancestors of a merge that are neither in this parent nor in the old end.
    fn beside(&self, graph: &CommitGraph, merge: usize, parent: usize) -> Vec<usize> {
        let is_beside =
            |commit: usize| !graph.is_in(commit, parent) && !graph.is_in(commit, self.lo);
        let (mut seen, mut left) = (BTreeSet::new(), vec![merge]);
        while let Some(commit) = left.pop() {
            let parents = graph.commits()[commit].parents.iter().copied();
            left.extend(parents.filter(|&it| is_beside(it) && seen.insert(it)));
        }
        seen.into_iter().collect()
    }

    /// The commit whose measurement tells most per second; `None` if none tells anything. `spent`: commits that were
    /// measured in vain.
    pub fn next_probe(
        &self,
        graph: &CommitGraph,
        known: &BuildKnowledge,
        spent: &BTreeSet<usize>,
    ) -> Option<usize> {
        let shares = self.shares(graph);
        self.most_telling(known, spent, |commit| shares[commit])
    }

    fn most_telling(
        &self,
        known: &BuildKnowledge,
        spent: &BTreeSet<usize>,
        share_in: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for &(commit, _) in &self.weights {
            if commit == self.hi || known.failed.contains(&commit) || spent.contains(&commit) {
                continue;
            }
            let share = share_in(commit);
            if !(SHARE_MIN..=1.0 - SHARE_MIN).contains(&share) {
                continue;
            }
            let worth = entropy(share) * known.is_buildable(commit) / known.cost_s(commit);
            if best.is_none_or(|(other, _)| worth > other * CLEARLY_MORE) {
                best = Some((worth, commit));
            }
        }
        best.map(|(_, commit)| commit)
    }

    pub fn likeliest(&self, graph: &CommitGraph, known: &BuildKnowledge) -> Option<CommitGroup> {
        let groups = self.groups(graph, known).into_iter();
        groups.max_by(|one, other| one.share.total_cmp(&other.share))
    }

    /// The fewest groups that hold the change with this probability, in the order of commits.
    pub fn set_of(&self, graph: &CommitGraph, known: &BuildKnowledge, level: f64) -> Vec<usize> {
        let mut groups = self.groups(graph, known);
        groups.sort_by(|one, other| other.share.total_cmp(&one.share));
        let (mut sum, mut commits) = (0.0, Vec::new());
        for group in groups {
            if sum >= level {
                break;
            }
            sum += group.share;
            commits.extend(group.commits);
        }
        commits.sort_unstable();
        commits
    }

    fn groups(&self, graph: &CommitGraph, known: &BuildKnowledge) -> Vec<CommitGroup> {
        let failed = |commit: usize| known.failed.contains(&commit);
        let mut claimed = BTreeSet::new();
        let mut groups = Vec::new();
        for &(head, _) in self.weights.iter().filter(|(commit, _)| !failed(*commit)) {
            let mut commits = vec![head];
            let mut left = graph.commits()[head].parents.clone();
            while let Some(commit) = left.pop() {
                if failed(commit) && claimed.insert(commit) {
                    commits.push(commit);
                    left.extend(&graph.commits()[commit].parents);
                }
            }
            commits.sort_unstable();
            let base = self.base_of(graph, head, failed);
            let share = commits.iter().map(|&commit| self.share_of(commit)).sum();
            groups.push(CommitGroup { head, commits, base, share });
        }
        groups
    }

    fn share_of(&self, commit: usize) -> f64 {
        let index = self.weights.binary_search_by_key(&commit, |(other, _)| *other);
        index.map_or(0.0, |at| self.weights[at].1)
    }

    /// The first ancestor that can be built, along first parents.
    fn base_of(&self, graph: &CommitGraph, head: usize, failed: impl Fn(usize) -> bool) -> usize {
        let mut at = head;
        while let Some(&parent) = graph.commits()[at].parents.first() {
            if !failed(parent) {
                return parent;
            }
            at = parent;
        }
        self.lo
    }

    /// Commits that are still possible: not a hundred times less likely than the likeliest.
    pub fn n_possible(&self) -> usize {
        let most = self.weights.iter().fold(0.0_f64, |most, (_, weight)| most.max(*weight));
        self.weights.iter().filter(|(_, weight)| *weight >= most * POSSIBLE_MIN).count()
    }
}

fn entropy(share: f64) -> f64 {
    let of = |share: f64| if share > 0.0 { -share * share.log2() } else { 0.0 };
    of(share) + of(1.0 - share)
}

#[cfg(test)]
mod tests {
    use stats::Stream;

    use super::*;

    fn known(failed: &[usize]) -> BuildKnowledge {
        let failed = failed.iter().copied().collect();
        BuildKnowledge { failed, build_s: 1.0, measure_s: 1.0, ..BuildKnowledge::default() }
    }

    #[test]
    fn the_middle_comes_first_and_a_built_commit_may_be_worth_more() {
        let (graph, mut known) = (CommitGraph::line(65), known(&[]));
        let posterior = Posterior::new(&graph, 0, 64);
        assert_eq!(posterior.next_probe(&graph, &known, &BTreeSet::new()), Some(32));
        known.built.insert(24);
        assert_eq!(posterior.next_probe(&graph, &known, &BTreeSet::new()), Some(24));
        known.failed.insert(32);
        known.built.clear();
        let next = posterior.next_probe(&graph, &known, &BTreeSet::new()).unwrap();
        assert!(next != 32 && (22..=42).contains(&next), "{next}");
    }

    #[test]
    fn what_cannot_be_built_is_named_with_the_next_that_can() {
        let (graph, known) = (CommitGraph::line(9), known(&[3, 4, 7]));
        let mut posterior = Posterior::new(&graph, 0, 8);
        posterior.observe(&graph, 2, 1e-4);
        posterior.observe(&graph, 5, 1e4);
        let found = posterior.likeliest(&graph, &known).unwrap();
        assert_eq!((found.base, found.head, found.commits), (2, 5, vec![3, 4, 5]));
        assert!(found.share > 0.99 && posterior.n_possible() == 3);
        assert_eq!(posterior.set_of(&graph, &known, 0.95), [3, 4, 5]);
        // Nothing between them tells anything.
        assert_eq!(posterior.next_probe(&graph, &known, &BTreeSet::new()), None);
    }

    /// Each answer halves the commits that are left, also in a short range.
    #[test]
    fn what_an_answer_excludes_is_no_longer_possible() {
        let graph = CommitGraph::line(9);
        let mut posterior = Posterior::new(&graph, 0, 8);
        let wrong = 4e-4;
        let mut seen = vec![posterior.n_possible()];
        for (probe, odds) in [(4, wrong), (6, 1.0 / wrong), (5, 1.0 / wrong)] {
            posterior.observe(&graph, probe, odds);
            seen.push(posterior.n_possible());
        }
        assert_eq!(seen, [8, 4, 2, 1]);
    }

    #[test]
    fn a_doubted_commit_gives_its_weight_to_the_others() {
        let (graph, known) = (CommitGraph::line(5), known(&[]));
        let mut posterior = Posterior::new(&graph, 0, 4);
        posterior.observe(&graph, 1, 1e-3);
        posterior.observe(&graph, 2, 1e3);
        assert_eq!(posterior.likeliest(&graph, &known).unwrap().head, 2);
        posterior.doubt(&[2], 1e-4);
        assert_ne!(posterior.likeliest(&graph, &known).unwrap().head, 2);
    }

    /// A history in which about every third commit has a side branch merged, some of them long and some with merges of
    /// their own.
    fn with_merges(n: usize, stream: &mut Stream) -> CommitGraph {
        let mut parents: Vec<Vec<usize>> = vec![vec![]];
        for index in 1..=n {
            // Some commits branch off an older one, and are merged by a later one.
            let back = if stream.unit() < 0.3 { stream.below(8) as usize } else { 0 };
            let mut own = vec![index - 1 - back.min(index - 1)];
            if stream.unit() < 0.4 {
                let other = index - 1 - (stream.below(20) as usize).min(index - 1);
                own.extend((!own.contains(&other)).then_some(other));
            }
            parents.push(own);
        }
        CommitGraph::of_parents(parents)
    }

    /// The definition: the sum over all ancestors.
    fn share_in(posterior: &Posterior, graph: &CommitGraph, probe: usize) -> f64 {
        let inside = posterior.weights.iter().filter(|(commit, _)| graph.is_in(*commit, probe));
        inside.map(|(_, weight)| weight).sum()
    }

    #[test]
    fn shares_are_the_sums_over_all_ancestors() {
        let mut stream = Stream::new(25);
        for n_case in 0..300 {
            let n = 1 + stream.below(60) as usize;
            let graph = with_merges(n, &mut stream);
            // Also ends in the middle: a segment of a search.
            let lo = stream.below(n as u64) as usize;
            let in_lo = |hi: &usize| graph.is_in(lo, *hi) && *hi != lo;
            let Some(hi) = (lo..=n).rev().find(in_lo) else { continue };
            let mut posterior = Posterior::new(&graph, lo, hi);
            let mut known = known(&[]);
            let mut spent = BTreeSet::new();
            for _ in 0..stream.below(6) {
                let commit =
                    posterior.weights[stream.below(posterior.weights.len() as u64) as usize].0;
                match stream.below(4) {
                    0 => drop(known.failed.insert(commit)),
                    1 => drop(spent.insert(commit)),
                    2 => drop(known.built.insert(commit)),
                    _ => {}
                }
                posterior.observe(&graph, commit, 20.0_f64.powf(stream.unit() - 0.5));
            }
            let shares = posterior.shares(&graph);
            for &(commit, _) in &posterior.weights {
                let expected = share_in(&posterior, &graph, commit);
                let found = shares[commit];
                assert!((found - expected).abs() < 1e-12, "{n_case}, {commit}: {found} {expected}");
            }
            let next = posterior.next_probe(&graph, &known, &spent);
            let expected = posterior
                .most_telling(&known, &spent, |commit| share_in(&posterior, &graph, commit));
            assert_eq!(next, expected, "{n_case}");
        }
    }
}
