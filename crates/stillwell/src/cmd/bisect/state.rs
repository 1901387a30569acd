//! The directory of a search: what was asked for, and what was observed, line by line. A search that was killed goes on
//! from there.
#![expect(clippy::disallowed_methods, reason = "makes, reads and writes the files of a search")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::bisection::{Commit, Observation};
use crate::host::with_their_files;

/// What the manifest calls itself.
const FORMAT: &str = "stillwell-bisect";
const VERSION: u32 = 1;
const MANIFEST: &str = "bisect.json";
const OBSERVATIONS: &str = "observations.jsonl";

/// What a search was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct BisectManifest {
    format: String,
    version: u32,
    /// The words of the command line, without the program.
    pub words: Vec<String>,
    /// The directory in which it was given.
    pub here: String,
    /// Seed of all random choices.
    pub seed: u64,
    /// The ends, as indices of commits.
    pub lo: usize,
    pub hi: usize,
    /// The commits of the range, parents before their children.
    pub commits: Vec<Commit>,
}

/// What the search is about, which a manifest keeps.
pub(super) struct BisectRange {
    pub commits: Vec<Commit>,
    pub lo: usize,
    pub hi: usize,
}

/// An observation with its record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ObservedLine {
    pub observation: Observation,
    /// The file name of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// The directory of a search, locked.
pub(super) struct BisectState {
    pub directory: PathBuf,
    pub manifest: BisectManifest,
    /// What was observed before.
    pub lines: Vec<ObservedLine>,
    file: File,
}

impl BisectManifest {
    pub(super) fn new(words: Vec<String>, here: String, seed: u64, range: BisectRange) -> Self {
        let BisectRange { commits, lo, hi } = range;
        Self { format: FORMAT.into(), version: VERSION, words, here, seed, lo, hi, commits }
    }

    /// The ids of the ends.
    pub(super) fn ends(&self) -> [&String; 2] {
        [self.lo, self.hi].map(|end| &self.commits[end].id)
    }

    /// Reads the manifest of a directory; `None` if there is none.
    ///
    /// # Errors
    /// It is not one of a search, or of a later program.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(MANIFEST);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let found: Self = serde_json::from_str(&text)
            .with_context(|| format!("{} is not the manifest of a search", path.display()))?;
        ensure!(
            found.format == FORMAT && found.version <= VERSION,
            "{} is of a later stillwell, or of another program",
            path.display()
        );
        Ok(Some(found))
    }
}

/// Whether a directory has a search.
pub fn is_search(directory: &Path) -> bool {
    directory.join(MANIFEST).is_file()
}

/// The record of the largest change that a search has confirmed: the commit and the one before it.
///
/// # Errors
/// The search cannot be read, or has confirmed none.
pub fn confirmed(directory: &Path) -> Result<PathBuf> {
    let shown = directory.display();
    let path = directory.join(OBSERVATIONS);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let change = |line: &str| {
        let line: ObservedLine = serde_json::from_str(line).ok()?;
        let Observation::Confirm { new, .. } = line.observation else { return None };
        new.is_different.then_some((new.ratio.ln().abs(), line.record?))
    };
    let changes = text.lines().filter_map(change);
    let largest = changes.max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, record) = largest.with_context(|| {
        format!("{shown}: the search has found no commit yet; go on with `stillwell bisect --resume {shown}`")
    })?;
    Ok(directory.join(record))
}

impl BisectState {
    /// Opens a directory, and makes it if it is not there.
    ///
    /// # Errors
    /// It cannot be made or read, or another process searches there.
    pub(super) fn open(
        directory: PathBuf,
        make: impl FnOnce() -> Result<BisectManifest>,
    ) -> Result<Self> {
        let shown = directory.display().to_string();
        let manifest = match BisectManifest::read(&directory)? {
            Some(found) => found,
            None => {
                let manifest = make()?;
                with_their_files(|| std::fs::create_dir_all(&directory))
                    .with_context(|| format!("cannot make {shown}"))?;
                let text = serde_json::to_string(&manifest)?;
                // Either the whole manifest is there or none.
                let (whole, part) = (directory.join(MANIFEST), directory.join("bisect.json.part"));
                with_their_files(|| {
                    std::fs::write(&part, &text)?;
                    std::fs::rename(&part, &whole)
                })
                .with_context(|| format!("cannot write {}", whole.display()))?;
                manifest
            }
        };
        let path = directory.join(OBSERVATIONS);
        let open = || OpenOptions::new().create(true).append(true).open(&path);
        let file =
            with_their_files(open).with_context(|| format!("cannot write {}", path.display()))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another process searches in {shown}; wait for its end");
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        // A torn last line is of a search that was killed while it wrote.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        if whole.len() < text.len() {
            file.set_len(whole.len() as u64).context("cannot drop a torn line")?;
        }
        let line = |(index, line): (usize, &str)| {
            serde_json::from_str(line)
                .with_context(|| format!("{}:{}: not an observation", path.display(), index + 1))
        };
        let lines = whole.lines().enumerate().map(line).collect::<Result<_>>()?;
        Ok(Self { directory, manifest, lines, file })
    }

    /// Keeps an observation.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn keep(&mut self, line: ObservedLine) -> Result<()> {
        let text = format!("{}\n", serde_json::to_string(&line)?);
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("cannot write into {}", self.directory.display()))?;
        self.lines.push(line);
        Ok(())
    }

    /// A name for the next record that no file has. A record that was cut short stays.
    pub(super) fn new_record(&self) -> PathBuf {
        let name = |n: usize| self.directory.join(format!("{n:03}.swell"));
        (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
    }
}
