//! Builds and times from a file: whole searches without a repository's builds and without a clock, for tests and
//! `experiments/bisect`.
//!
//! One line for each commit: its full id, then the times of its runs as in a line of [`crate::measure::script`]. A commit
//! without times does not build. A line that starts with `at` has the factors of the moments; each session begins at
//! another one of them.
#![expect(clippy::disallowed_methods, reason = "reads the file")]

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

/// A stride through the factors, so that sessions with consecutive seeds share few of them.
const STRIDE: u64 = 7919;

/// Made-up times of all commits.
pub(super) struct MadeUpTimes {
    commits: HashMap<String, String>,
    factors: Vec<String>,
}

impl MadeUpTimes {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut found = Self { commits: HashMap::new(), factors: Vec::new() };
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("at", factors) => {
                    found.factors = factors.split_ascii_whitespace().map(str::to_owned).collect();
                }
                (id, times) => drop(found.commits.insert(id.to_owned(), times.to_owned())),
            }
        }
        Ok(found)
    }

    /// Whether a commit builds.
    ///
    /// # Errors
    /// The file does not have it.
    pub(super) fn builds(&self, id: &str) -> Result<bool> {
        Ok(!self.times(id)?.is_empty())
    }

    fn times(&self, id: &str) -> Result<&str> {
        match self.commits.get(id) {
            Some(times) => Ok(times),
            None => bail!("--script has no line for {id}"),
        }
    }

    /// The script of a session of these commits.
    ///
    /// # Errors
    /// The file does not have one of them.
    pub(super) fn script(&self, ids: &[&str], seed: u64) -> Result<String> {
        let mut text = String::new();
        if !self.factors.is_empty() {
            let begin = (seed.wrapping_mul(STRIDE) % self.factors.len() as u64) as usize;
            let (before, after) = self.factors.split_at(begin);
            writeln!(text, "at {} {}", after.join(" "), before.join(" "))?;
        }
        for id in ids {
            writeln!(text, "{}", self.times(id)?)?;
        }
        Ok(text)
    }
}
