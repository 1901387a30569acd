//! Commits, their parents and their ancestors.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commit {
    pub id: String,
    /// The first line of the message.
    pub subject: String,
    /// The parents, as indices of earlier commits.
    pub parents: Vec<usize>,
    /// Whether the commit is only there as a parent: the old end, or an ancestor.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_old: bool,
}

/// Commits in an order in which parents come before their children.
#[derive(Clone, Debug)]
pub struct CommitGraph {
    commits: Vec<Commit>,
    ancestors: Vec<Bits>,
}

impl CommitGraph {
    /// The graph of these commits.
    ///
    /// # Panics
    /// A parent comes after its child.
    pub fn new(commits: Vec<Commit>) -> Self {
        let mut ancestors: Vec<Bits> = Vec::with_capacity(commits.len());
        for (index, commit) in commits.iter().enumerate() {
            let mut own = Bits::new(commits.len());
            own.set(index);
            for &parent in &commit.parents {
                assert!(parent < index, "a parent comes before its child");
                own.join(&ancestors[parent]);
            }
            ancestors.push(own);
        }
        Self { commits, ancestors }
    }

    /// A commit for each list of parents; the first one is old.
    #[cfg(any(test, feature = "fixtures"))]
    pub fn of_parents(parents: impl IntoIterator<Item = Vec<usize>>) -> Self {
        let commit = |(index, parents)| Commit {
            id: format!("c{index}"),
            subject: String::new(),
            parents,
            is_old: index == 0,
        };
        Self::new(parents.into_iter().enumerate().map(commit).collect())
    }

    /// `n` commits in a row; the first one is old.
    #[cfg(any(test, feature = "fixtures"))]
    pub fn line(n: usize) -> Self {
        Self::of_parents((0..n).map(|index| index.checked_sub(1).into_iter().collect()))
    }

    pub fn commits(&self) -> &[Commit] {
        &self.commits
    }

    /// Whether `commit` is `of` or an ancestor, so that its change is in `of`.
    pub fn is_in(&self, commit: usize, of: usize) -> bool {
        self.ancestors[of].has(commit)
    }

    /// The commits that are in `hi` and not in `lo`.
    pub fn between(&self, lo: usize, hi: usize) -> Vec<usize> {
        let is_between = |&commit: &usize| {
            self.is_in(commit, hi) && !self.is_in(commit, lo) && !self.commits[commit].is_old
        };
        (0..self.commits.len()).filter(is_between).collect()
    }
}

/// A set of small numbers.
#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(n: usize) -> Self {
        Self(vec![0; n.div_ceil(64)])
    }

    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_has_the_changes_of_both_sides() {
        // 0 - 1 - 3 - 4, and 0 - 2 - 4: a merge.
        let parents = [vec![], vec![0], vec![0], vec![1], vec![3, 2]];
        let graph = CommitGraph::of_parents(parents);
        assert_eq!(graph.between(0, 4), [1, 2, 3, 4]);
        assert_eq!(graph.between(0, 3), [1, 3]);
        assert_eq!(graph.between(3, 4), [2, 4]);
        assert!(graph.is_in(2, 4) && !graph.is_in(2, 3));
    }
}
