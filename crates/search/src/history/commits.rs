//! Times and order of the measured commits, from git. Without git or a repository, results are ordered by their
//! measurement.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Result, ensure};

use host::command_of_invoker;

/// A git repository, with a cache of its answers.
#[derive(Debug)]
pub struct Commits {
    repository: PathBuf,
    committed_s: HashMap<String, Option<i64>>,
    between: HashMap<(String, String), Option<CommitRange>>,
}

/// The commits after one revision up to another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CommitRange {
    /// Number of commits.
    pub n: usize,
    /// The newest ones, at most `NAMED_MAX`: abbreviated id and subject.
    pub newest: Vec<String>,
    /// Commits that only the first revision has. Above 0, the second one is older or on another branch.
    pub n_undone: usize,
}

/// Overrides the user's configuration where it would change the output.
const PLAIN: [&str; 4] = ["-c", "color.ui=never", "-c", "log.showSignature=false"];
/// Most commits with a subject.
const NAMED_MAX: usize = 10;

impl Commits {
    /// Finds the repository that contains `named`, or else the current directory, which need not be in one. Errors:
    /// `named` is in no repository.
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

    /// Commit time of a revision, seconds since 1970.
    pub fn committed_s(&mut self, revision: &str) -> Option<i64> {
        if let Some(&known) = self.committed_s.get(revision) {
            return known;
        }
        let commit = format!("{revision}^{{commit}}");
        // git prints `TIME ID`.
        let words = ["rev-list", "--max-count=1", "--timestamp", &commit, "--"];
        let committed_s = self.ask(&words, revision).and_then(|text| {
            let (time, _) = text.split_once(' ')?;
            time.parse().ok()
        });
        self.committed_s.insert(revision.into(), committed_s);
        committed_s
    }

    pub fn id(&self, revision: &str) -> Option<String> {
        let commit = format!("{revision}^{{commit}}");
        let answer = self.ask(&["rev-parse", "--verify", "--quiet", &commit], revision);
        answer.map(|text| text.trim().to_owned())
    }

    /// The commits after `old` up to `new`. The cache matters: many benchmarks change at the same commit.
    pub fn between(&mut self, old: &str, new: &str) -> Option<CommitRange> {
        let key = (old.to_owned(), new.to_owned());
        if let Some(known) = self.between.get(&key) {
            return known.clone();
        }
        let between = self.ask_between(old, new);
        self.between.insert(key, between.clone());
        between
    }

    /// Whether `commit` is after `old` and not after `new`.
    pub fn is_between(&self, commit: &str, old: &str, new: &str) -> bool {
        let is_in = |of: &str| {
            !of.starts_with('-')
                && self.ask(&["merge-base", "--is-ancestor", commit, of], commit).is_some()
        };
        is_in(new) && !is_in(old)
    }

    fn ask_between(&self, old: &str, new: &str) -> Option<CommitRange> {
        let undone = format!("{new}..{old}");
        let n_undone: usize =
            self.ask(&["rev-list", "--count", &undone, "--"], new)?.trim().parse().ok()?;
        if n_undone > 0 && self.is_shallow() {
            // A shallow clone may lack the commits between the two.
            return None;
        }
        let range = format!("{old}..{new}");
        let text = self.ask(&["log", "--oneline", "--no-decorate", &range, "--"], old)?;
        let newest = text.lines().take(NAMED_MAX).map(str::to_owned).collect();
        Some(CommitRange { n: text.lines().count(), newest, n_undone })
    }

    fn is_shallow(&self) -> bool {
        let answer = self.ask(&["rev-parse", "--is-shallow-repository"], "");
        answer.is_some_and(|text| text.trim() == "true")
    }

    /// Executes git. A revision may be any text, so a leading dash is refused: git would read an option.
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
