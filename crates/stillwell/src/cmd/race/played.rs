//! Made-up times of the arms, for tests: the script has a line for each, and each round gets a part.
#![expect(clippy::disallowed_methods, reason = "writes the scripts of tests")]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use host::user_files::read_text;
use record::Record;

/// The times of each arm, and the number of used ones.
pub(super) struct PlayedTimes {
    arms: Vec<Vec<String>>,
    n_taken: Vec<usize>,
}

impl PlayedTimes {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
        let is_arm = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let words = |line: &str| line.split_ascii_whitespace().map(str::to_owned).collect();
        let arms: Vec<Vec<String>> = text.lines().filter(is_arm).map(words).collect();
        Ok(Self { n_taken: vec![0; arms.len()], arms })
    }

    /// Writes the script of a round. Errors: there is no line for an arm.
    pub(super) fn write(&self, round: &[usize], path: &Path) -> Result<PathBuf> {
        let mut text = String::new();
        for &arm in round {
            let mut words =
                self.arms.get(arm).context("the script has no line for an arm")?.clone();
            let at = self.n_taken[arm] % words.len();
            words.rotate_left(at);
            text += &format!("{}\n", words.join(" "));
        }
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path.to_owned())
    }

    pub(super) fn skip(&mut self, record: &Record, round: &[usize]) {
        for row in record.rows.iter() {
            self.n_taken[round[row.arm as usize]] += 1;
        }
    }
}
