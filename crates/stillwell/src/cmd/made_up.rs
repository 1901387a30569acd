//! Builds and times from a file: whole searches and campaigns without builds and without a clock, for tests,
//! `experiments/bisect` and `experiments/referee`.
//!
//! Each line has the key of a program, then the times of its runs as in a line of [`measure::script`]. A commit's key
//! is its full id, a command's key its one word. A program without times does not build. A line that starts with `at`
//! has factors of moments; each session begins at another factor.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tempfile::NamedTempFile;

use host::user_files::{no_temporary, read_text};

/// Step through the factors: sessions with consecutive seeds share few of them.
const STRIDE: u64 = 7919;

pub struct MadeUpTimes {
    programs: HashMap<String, String>,
    factors: Vec<String>,
}

impl MadeUpTimes {
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut made_up = Self { programs: HashMap::new(), factors: Vec::new() };
        for line in text.lines() {
            match line.split_once(' ').unwrap_or((line, "")) {
                ("at", factors) => {
                    made_up.factors = factors.split_ascii_whitespace().map(str::to_owned).collect();
                }
                (key, times) => drop(made_up.programs.insert(key.to_owned(), times.to_owned())),
            }
        }
        Ok(made_up)
    }

    /// Whether a program builds. Errors: the file does not have the program.
    pub fn builds(&self, key: &str) -> Result<bool> {
        Ok(!self.times(key)?.is_empty())
    }

    fn times(&self, key: &str) -> Result<&str> {
        match self.programs.get(key) {
            Some(times) => Ok(times),
            None => bail!("--script has no line for {key}"),
        }
    }

    /// The script of a session of these programs, in a temporary file. Errors: the file of the times lacks a program.
    pub fn script(&self, keys: &[&str], seed: u64) -> Result<NamedTempFile> {
        let mut text = String::new();
        if !self.factors.is_empty() {
            let begin = (seed.wrapping_mul(STRIDE) % self.factors.len() as u64) as usize;
            let (before, after) = self.factors.split_at(begin);
            writeln!(text, "at {} {}", after.join(" "), before.join(" "))?;
        }
        for key in keys {
            writeln!(text, "{}", self.times(key)?)?;
        }
        let mut file = NamedTempFile::new().with_context(no_temporary)?;
        file.write_all(text.as_bytes()).context("cannot write a temporary file")?;
        Ok(file)
    }
}
