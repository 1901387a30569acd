//! A directory of work that goes on after an interruption: a manifest of what was asked for, and a log, line by line.
#![expect(clippy::disallowed_methods, reason = "makes, reads and writes the files of a directory")]

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::fs::{FlockOperation, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::host::with_their_files;

/// A kind of directory.
#[derive(Debug)]
pub struct FolderKind {
    /// What the manifest calls itself, and the last version of it that is known.
    pub format: &'static str,
    pub version: u32,
    /// The names of the files.
    pub manifest: &'static str,
    pub log: &'static str,
    /// For messages: `a campaign`.
    pub what: &'static str,
}

/// The file of a manifest.
#[derive(Debug, Serialize, Deserialize)]
struct ManifestFile<M> {
    format: String,
    version: u32,
    #[serde(flatten)]
    manifest: M,
}

/// A directory of work, locked.
#[derive(Debug)]
pub struct WorkFolder<M, L> {
    pub directory: PathBuf,
    pub manifest: M,
    /// The log so far.
    pub lines: Vec<L>,
    file: File,
}

/// Reads the manifest of a directory; `None` if there is none.
///
/// # Errors
/// It is not one of this kind, or of a later program.
pub fn read_manifest<M: DeserializeOwned>(
    kind: &FolderKind,
    directory: &Path,
) -> Result<Option<M>> {
    let path = directory.join(kind.manifest);
    let text = match std::fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let found: ManifestFile<M> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the manifest of {}", path.display(), kind.what))?;
    ensure!(
        found.format == kind.format && found.version <= kind.version,
        "{} is of a later stillwell, or of another program",
        path.display()
    );
    Ok(Some(found.manifest))
}

/// Makes a directory with a manifest. Either the whole manifest is there or none.
///
/// # Errors
/// The directory or the manifest cannot be written.
pub fn write_manifest<M: Serialize>(
    kind: &FolderKind,
    directory: &Path,
    manifest: M,
) -> Result<()> {
    with_their_files(|| std::fs::create_dir_all(directory))
        .with_context(|| format!("cannot make {}", directory.display()))?;
    let (format, version) = (kind.format.to_owned(), kind.version);
    let text = serde_json::to_string(&ManifestFile { format, version, manifest })?;
    let whole = directory.join(kind.manifest);
    let part = directory.join(format!("{}.part", kind.manifest));
    with_their_files(|| {
        std::fs::write(&part, &text)?;
        std::fs::rename(&part, &whole)
    })
    .with_context(|| format!("cannot write {}", whole.display()))
}

impl<M: DeserializeOwned, L: Serialize + DeserializeOwned> WorkFolder<M, L> {
    /// Opens a directory that has a manifest.
    ///
    /// # Errors
    /// It has none or cannot be read, or another process works there.
    pub fn open(kind: &FolderKind, directory: PathBuf) -> Result<Self> {
        let shown = directory.display().to_string();
        let manifest = read_manifest(kind, &directory)?.with_context(|| {
            format!("there is no {} in {shown}", kind.what.trim_start_matches("a "))
        })?;
        let path = directory.join(kind.log);
        let open = || OpenOptions::new().create(true).append(true).open(&path);
        let file =
            with_their_files(open).with_context(|| format!("cannot write {}", path.display()))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another process works in {shown}; wait for its end");
        }
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        // A torn last line is of a process that was killed while it wrote.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        if whole.len() < text.len() {
            file.set_len(whole.len() as u64).context("cannot drop a torn line")?;
        }
        let lines = parsed(&path, whole)?;
        Ok(Self { directory, manifest, lines, file })
    }

    /// The manifest and the log, to look at while another process may work there.
    ///
    /// # Errors
    /// There is no manifest, or a file cannot be read.
    pub fn look(kind: &FolderKind, directory: &Path) -> Result<(M, Vec<L>)> {
        let manifest = read_manifest(kind, directory)?.with_context(|| {
            format!("there is no {} in {}", kind.what.trim_start_matches("a "), directory.display())
        })?;
        let path = directory.join(kind.log);
        let text = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        Ok((manifest, parsed(&path, whole)?))
    }

    /// Adds a line to the log.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, line: L) -> Result<()> {
        let text = format!("{}\n", serde_json::to_string(&line)?);
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("cannot write into {}", self.directory.display()))?;
        self.lines.push(line);
        Ok(())
    }

    /// A name for the next record that no file has. A record that was cut short stays.
    pub fn new_record(&self) -> PathBuf {
        let name = |n: usize| self.directory.join(format!("{n:03}.swell"));
        (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
    }
}

fn parsed<L: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<L>> {
    let line = |(index, line): (usize, &str)| {
        serde_json::from_str(line)
            .with_context(|| format!("{}:{}: not a line of this log", path.display(), index + 1))
    };
    text.lines().enumerate().map(line).collect()
}
