//! What git knows of the commits that were measured. Without git, or outside of the repository, nothing is known, and results are
//! in the order in which they were measured.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Result, ensure};

use crate::host::command_of_invoker;

/// A repository to ask, and what it has answered.
#[derive(Debug)]
pub struct Commits {
    repository: PathBuf,
    committed_s: HashMap<String, Option<i64>>,
    between: HashMap<(String, String), Option<CommitRange>>,
}

/// The commits after one revision up to another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CommitRange {
    /// How many there are.
    pub n: usize,
    /// The newest ones: abbreviated id and subject.
    pub newest: Vec<String>,
    /// Commits of the first one that the other does not have: it is of another branch, or an older one.
    pub n_undone: usize,
}

/// What the user has configured for their own eyes.
const PLAIN: [&str; 4] = ["-c", "color.ui=never", "-c", "log.showSignature=false"];
/// Commits that are named.
const NAMED_MAX: usize = 10;

impl Commits {
    /// Of the repository around this directory; around the one we are in, if there is one.
    ///
    /// # Errors
    /// There is none around the directory that was named.
    pub fn of(named: Option<&Path>) -> Result<Self> {
        let repository = named.unwrap_or(Path::new(".")).to_owned();
        let commits = Self { repository, committed_s: HashMap::new(), between: HashMap::new() };
        let is_there = || commits.ask(&["rev-parse", "--git-dir"], "").is_some();
        ensure!(
            named.is_none() || is_there(),
            "--repository {}: there is no repository that git could ask",
            commits.repository.display()
        );
        Ok(commits)
    }

    /// When a revision was committed, seconds since 1970.
    pub fn committed_s(&mut self, revision: &str) -> Option<i64> {
        if let Some(&known) = self.committed_s.get(revision) {
            return known;
        }
        let commit = format!("{revision}^{{commit}}");
        // `TIME ID`.
        let words = ["rev-list", "--max-count=1", "--timestamp", &commit, "--"];
        let committed_s = self.ask(&words, revision).and_then(|text| {
            let (time, _) = text.split_once(' ')?;
            time.parse().ok()
        });
        self.committed_s.insert(revision.into(), committed_s);
        committed_s
    }

    /// The full id of a revision.
    pub fn id(&self, revision: &str) -> Option<String> {
        let commit = format!("{revision}^{{commit}}");
        let said = self.ask(&["rev-parse", "--verify", "--quiet", &commit], revision);
        said.map(|text| text.trim().to_owned())
    }

    /// The commits after `old` up to `new`. Many benchmarks change at the same one.
    pub fn between(&mut self, old: &str, new: &str) -> Option<CommitRange> {
        let key = (old.to_owned(), new.to_owned());
        if let Some(known) = self.between.get(&key) {
            return known.clone();
        }
        let between = self.ask_between(old, new);
        self.between.insert(key, between.clone());
        between
    }

    fn ask_between(&self, old: &str, new: &str) -> Option<CommitRange> {
        let undone = format!("{new}..{old}");
        let n_undone: usize =
            self.ask(&["rev-list", "--count", &undone, "--"], new)?.trim().parse().ok()?;
        if n_undone > 0 && self.is_shallow() {
            // It may have both commits and none of those between.
            return None;
        }
        let range = format!("{old}..{new}");
        let text = self.ask(&["log", "--oneline", "--no-decorate", &range, "--"], old)?;
        let newest = text.lines().take(NAMED_MAX).map(str::to_owned).collect();
        Some(CommitRange { n: text.lines().count(), newest, n_undone })
    }

    fn is_shallow(&self) -> bool {
        let said = self.ask(&["rev-parse", "--is-shallow-repository"], "");
        said.is_some_and(|text| text.trim() == "true")
    }

    /// A revision may be a word of a file, so it must not become an option.
    fn ask(&self, words: &[&str], revision: &str) -> Option<String> {
        if revision.starts_with('-') {
            return None;
        }
        let mut git = command_of_invoker("git");
        git.arg("-C").arg(&self.repository).args(PLAIN).args(words);
        let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
