//! The results of a suite: a directory with a record for each benchmark, and `suite.json` with the benchmarks and the
//! plan (docs/format.md).
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::origin::{Origin, command_line};
use crate::plan::suite::Suite;
use crate::{Readers, Record};
use host::open_regular;
use host::user_files::{make_new_directory, read_whole, replace};

pub const SUITE_FORMAT: &str = "stillwell-suite";
const SUITE_VERSION: u32 = 1;
const MANIFEST: &str = "suite.json";
/// Characters of a benchmark's name in its file name.
const NAME_MAX: usize = 60;

/// `suite.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteManifest {
    pub format: String,
    pub version: u32,
    /// Name and version of the writing program.
    pub tool: String,
    /// Start of the session, RFC 3339.
    pub created: String,
    /// The command line of the session, word by word.
    pub command_line: Vec<String>,
    pub file: String,
    pub text: String,
    /// All decisions about the session.
    pub suite: Suite,
    /// Directories built for this session alone. Stillwell removes them once the session cannot be resumed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copies: Vec<PathBuf>,
    /// The programs of a gate that did not list their benchmarks, with reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
}

impl SuiteManifest {
    /// The manifest of a suite that starts now.
    pub fn new(created: String, file: String, text: String, suite: Suite) -> Self {
        Self {
            format: SUITE_FORMAT.into(),
            version: SUITE_VERSION,
            tool: concat!("stillwell ", env!("CARGO_PKG_VERSION")).into(),
            created,
            command_line: command_line(),
            file,
            text,
            suite,
            copies: Vec::new(),
            failing: Vec::new(),
        }
    }

    /// Writes the manifest into its new directory.
    pub fn create(&self, directory: &Path, readers: Readers) -> Result<()> {
        let text = serde_json::to_vec(self).context("cannot serialise the suite")?;
        let path = directory.join(MANIFEST);
        let written = replace(&path, readers.file_mode(), &text);
        // Without it the directory would be in the way of the next attempt.
        written
            .inspect_err(|_| self.remove(directory))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Reads the manifest of a directory. Errors: the file is missing, or is no `suite.json` of Stillwell.
    pub fn read(directory: &Path) -> Result<Self> {
        let path = directory.join(MANIFEST);
        let shown = path.display();
        let text = read_whole(&path).with_context(|| {
            format!("cannot read {shown}; a suite's results are a directory with that file")
        })?;
        let read = || {
            let origin: Origin = serde_json::from_slice(&text)
                .context("not the results of a suite; the records beside it can still be shown")?;
            ensure!(origin.format == SUITE_FORMAT, "not the results of a suite");
            origin.check_version(SUITE_VERSION)?;
            serde_json::from_slice(&text).map_err(|error| origin.blamed(&error.to_string()))
        };
        read().with_context(|| format!("{shown}"))
    }

    /// Removes the directory, if it contains nothing else.
    pub fn remove(&self, directory: &Path) {
        std::fs::remove_file(directory.join(MANIFEST)).ok();
        remove_if_empty(directory);
    }

    /// Locks the directory while the value lives, so no other process measures into it. Errors: another process holds
    /// the lock.
    pub fn lock(directory: &Path) -> Result<std::fs::File> {
        let path = directory.join(MANIFEST);
        let file =
            open_regular(&path).with_context(|| format!("cannot read {}", path.display()))?;
        match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                bail!(
                    "somebody else is measuring into {}; wait for the end of that",
                    directory.display()
                )
            }
            Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
        }
    }

    /// The path of each benchmark's record, which may not exist yet.
    pub fn paths(&self, directory: &Path) -> Vec<PathBuf> {
        let names = self.suite.members.iter().zip(1..);
        names.map(|(member, number)| directory.join(file_name(number, &member.name))).collect()
    }

    /// The existing records of benchmarks. Errors: one cannot be read.
    pub fn records(&self, directory: &Path) -> Result<Vec<Record>> {
        let there = self.paths(directory).into_iter().filter(|path| path.exists());
        there.map(|path| Record::read(&path)).collect()
    }

    /// The names of the benchmarks without a record.
    pub fn not_begun(&self, directory: &Path) -> Vec<String> {
        let members = self.suite.members.iter().zip(self.paths(directory));
        members.filter(|(_, path)| !path.exists()).map(|(member, _)| member.name.clone()).collect()
    }
}

/// Makes the directory of a suite, which must not exist yet. Errors: it exists, or cannot be made.
pub fn make_directory(directory: &Path, readers: Readers) -> Result<()> {
    let shown = directory.display();
    match make_new_directory(directory, readers.directory_mode()) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            let resume = match is_suite(directory) {
                true => format!(", or go on with `stillwell bench --resume {shown}`"),
                false => String::new(),
            };
            bail!("{shown} exists already; choose another name{resume}")
        }
        made => made.with_context(|| format!("cannot make the directory {shown}")),
    }
}

pub fn remove_if_empty(directory: &Path) {
    std::fs::remove_dir(directory).ok();
}

pub fn is_suite(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// A readable file name. Listings sort in the order of the suite.
fn file_name(number: usize, name: &str) -> String {
    let plain = |character: char| {
        let is_plain = character.is_ascii_alphanumeric() || "._-".contains(character);
        if is_plain { character } else { '-' }
    };
    let name: String = name.chars().take(NAME_MAX).map(plain).collect();
    format!("{number:03}-{name}.swell")
}
