//! What git knows of the commits that were measured. Without git, or outside of the repository, nothing is known, and results are
//! in the order in which they were measured.
#![expect(clippy::disallowed_methods, reason = "asks git")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A repository to ask, and what it has answered.
#[derive(Debug)]
pub struct Commits {
    repository: PathBuf,
    committed_s: HashMap<String, Option<i64>>,
    between: HashMap<(String, String), Option<Between>>,
}

/// The commits after one revision up to another.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Between {
    /// How many there are.
    pub n: usize,
    /// The newest ones: abbreviated id and subject.
    pub newest: Vec<String>,
}

/// Commits that are named.
const NAMED_MAX: usize = 10;

impl Commits {
    /// Of the repository around this directory.
    pub fn of(repository: &Path) -> Self {
        Self { repository: repository.into(), committed_s: HashMap::new(), between: HashMap::new() }
    }

    /// When a revision was committed, seconds since 1970.
    pub fn committed_s(&mut self, revision: &str) -> Option<i64> {
        if let Some(&known) = self.committed_s.get(revision) {
            return known;
        }
        let commit = format!("{revision}^{{commit}}");
        let said = self.ask(&["show", "--no-patch", "--format=%ct", &commit, "--"], revision);
        let committed_s = said.and_then(|text| text.trim().parse().ok());
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
    pub fn between(&mut self, old: &str, new: &str) -> Option<Between> {
        let key = (old.to_owned(), new.to_owned());
        if let Some(known) = self.between.get(&key) {
            return known.clone();
        }
        let between = self.ask_between(old, new);
        self.between.insert(key, between.clone());
        between
    }

    fn ask_between(&self, old: &str, new: &str) -> Option<Between> {
        let range = format!("{old}..{new}");
        let text = self.ask(&["log", "--oneline", "--no-decorate", &range, "--"], old)?;
        let newest = text.lines().take(NAMED_MAX).map(str::to_owned).collect();
        Some(Between { n: text.lines().count(), newest })
    }

    /// A revision may be a word of a file, so it must not become an option.
    fn ask(&self, words: &[&str], revision: &str) -> Option<String> {
        if revision.starts_with('-') {
            return None;
        }
        let mut git = Command::new("git");
        git.arg("-C").arg(&self.repository).args(words);
        let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
