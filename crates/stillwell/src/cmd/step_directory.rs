//! The directory of a verb that drives several sessions: the request, and the result of each finished step, line by
//! line. Killed work can continue from there.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use clap::Args;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cmd::programs::is_executable;
use host::terminal;
use host::user_files::{make_directories, open_to_write, read_text, replace};
use measure::digest::digest_of_file;
use model::spec::request::{asked, differences};
use model::words::json_error;
use record::{Readers, new_path};
use render::document::ErrorCode;

/// Arguments that only affect how the answer is shown and kept, and GOOD and BAD, which can name the same commits
/// differently.
const NOT_ASKED: [&str; 7] = ["json", "style", "report", "history", "benchmark", "good", "bad"];

/// File names and messages of a kind of work.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepFiles {
    /// The manifest's name of the format, and the version that this program writes.
    pub format: &'static str,
    pub version: u32,
    /// File names of the manifest and of the steps.
    pub manifest: &'static str,
    pub steps: &'static str,
    /// The work's name in messages, for example "a search".
    pub work: &'static str,
}

impl StepFiles {
    /// The error about a directory without this work.
    pub(super) fn missing(&self, directory: &Path) -> Error {
        let work = self.work.trim_start_matches("a ");
        ErrorCode::NotFound.error(format!("there is no {work} in {}", directory.display()))
    }

    /// The message about a directory without its steps: the error rate that they spent would be forgotten.
    fn lost_steps(&self, directory: &Path) -> String {
        let (steps, shown) = (self.steps, directory.display());
        format!(
            "{shown} has {} and no {steps}; restore it, or begin in another directory",
            self.manifest
        )
    }
}

/// The request of some work.
pub(super) trait StepManifest: Serialize + DeserializeOwned {
    const FILES: StepFiles;
}

/// A manifest with its format and version.
#[derive(Serialize, Deserialize)]
struct Stamped<M> {
    format: String,
    version: u32,
    #[serde(flatten)]
    manifest: M,
}

pub(super) struct StepDirectory<M, L> {
    pub directory: PathBuf,
    pub manifest: M,
    /// Finished steps.
    pub lines: Vec<L>,
    file: File,
}

/// The file that marks finished work.
const ENDED: &str = "ended";

pub(super) fn has_ended(directory: &Path) -> bool {
    directory.join(ENDED).exists()
}

/// The manifest in a directory, if any. Errors: it is of other work, or of a later program.
pub(super) fn manifest_in<M: StepManifest>(directory: &Path) -> Result<Option<M>> {
    let files = M::FILES;
    let path = directory.join(files.manifest);
    let text = match read_text(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            bail!(
                "{} is no directory; the records of {} are in one",
                directory.display(),
                files.work
            )
        }
        text => text.with_context(|| format!("cannot read {}", path.display()))?,
    };
    let stamped: Stamped<M> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the manifest of {}", path.display(), files.work))?;
    ensure!(
        stamped.format == files.format && stamped.version <= files.version,
        "{} is of a later stillwell, or of another program",
        path.display()
    );
    Ok(Some(stamped.manifest))
}

/// The directory of a request in the state directory. The same request continues its work.
pub(super) fn usual_directory<V: Args + Serialize>(
    name: &str,
    verb: &V,
    more: &[&str],
) -> Result<PathBuf> {
    let mut hash = Sha256::new();
    let asked = serde_json::to_string(&asked(verb, &NOT_ASKED)?)?;
    for part in std::iter::once(&*asked).chain(more.iter().copied()) {
        hash.update(part);
        hash.update([0]);
    }
    let hash: String = hash.finalize()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let record = new_path(&host::local_time::now())?;
    Ok(record.with_file_name(format!("{name}-{hash}")))
}

/// Errors: the request differs from the earlier one; the error names the options.
pub(super) fn require_same_request<V: Args + Serialize>(
    before_and_now: (&V, &V),
    files: StepFiles,
    directory: &Path,
) -> Result<()> {
    let differing = differences(before_and_now, &NOT_ASKED)?;
    ensure!(
        differing.is_empty(),
        "{} in {} was begun with other values of {}; choose another directory, or go on with it by --resume",
        files.work,
        directory.display(),
        differing.join(", ")
    );
    Ok(())
}

/// Tells how to continue interrupted work. Returns the message.
pub(super) fn interrupted(verb: &str, directory: &Path) -> String {
    let shown = directory.to_string_lossy();
    let shown = shell_words::quote(&shown);
    let message = format!("interrupted; go on with `stillwell {verb} --resume {shown}`");
    terminal::say(&message);
    message
}

/// Adds to an error of files, such as a full disk, how to continue the work.
pub(super) fn with_way_on(error: Error, verb: &str, directory: &Path) -> Error {
    let shown = directory.to_string_lossy();
    let shown = shell_words::quote(&shown);
    match ErrorCode::of(&error) {
        ErrorCode::Io | ErrorCode::RecordFull => error.context(format!(
            "what had finished is kept, and `stillwell {verb} --resume {shown}` goes on with it"
        )),
        _ => error,
    }
}

/// Refuses an option that would not change resumed work, which keeps its rules.
pub(super) fn refuse_with_resume(option: Option<String>, work: &str) -> Result<()> {
    let Some(option) = option else { return Ok(()) };
    Err(ErrorCode::Usage.error(format!(
        "--resume goes on by the options that the {work} was begun with; leave {option} out, or begin another {work}"
    )))
}

impl<M: StepManifest, L: Serialize + DeserializeOwned> StepDirectory<M, L> {
    /// Opens or creates a directory. Errors: another process works there.
    pub(super) fn open(directory: PathBuf, make: impl FnOnce() -> Result<M>) -> Result<Self> {
        let files = M::FILES;
        let shown = directory.display().to_string();
        let path = directory.join(files.steps);
        let flags = OFlags::CREATE | OFlags::APPEND;
        let open = || open_to_write(&path, flags, Readers::Owner.file_mode());
        let manifest = match manifest_in(&directory)? {
            // The file of the steps is created before the manifest.
            Some(_) if !path.exists() => bail!(files.lost_steps(&directory)),
            Some(earlier) => earlier,
            None => {
                let (format, version) = (files.format.to_owned(), files.version);
                let stamped = Stamped { format, version, manifest: make()? };
                let text = serde_json::to_string(&stamped)?;
                let is_new = !directory.exists();
                make_directories(&directory, Readers::Owner.directory_mode())
                    .with_context(|| format!("cannot make {shown}"))?;
                // Either the whole manifest is there or none.
                let whole = directory.join(files.manifest);
                let written = open()
                    .with_context(|| format!("cannot write {}", path.display()))
                    .and_then(|_| {
                        replace(&whole, Readers::Owner.file_mode(), text.as_bytes())
                            .with_context(|| format!("cannot write {}", whole.display()))
                    });
                if written.is_err() && is_new {
                    // An empty directory would be in the way of the next attempt.
                    std::fs::remove_file(&path).ok();
                    std::fs::remove_dir(&directory).ok();
                }
                written?;
                stamped.manifest
            }
        };
        let file = open().with_context(|| format!("cannot write {}", path.display()))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            bail!("another process is at work in {shown}; wait for its end");
        }
        let text = read_text(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // A killed process leaves an incomplete last line.
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        if whole.len() < text.len() {
            file.set_len(whole.len() as u64).context("cannot drop a torn line")?;
        }
        let lines = parsed(&path, whole)?;
        Ok(Self { directory, manifest, lines, file })
    }

    /// Reads a directory while another process may work there. Errors: there is no such work.
    pub(super) fn look(directory: &Path) -> Result<(M, Vec<L>)> {
        let manifest = manifest_in(directory)?.ok_or_else(|| M::FILES.missing(directory))?;
        let path = directory.join(M::FILES.steps);
        let text = match read_text(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                bail!(M::FILES.lost_steps(directory))
            }
            text => text.with_context(|| format!("cannot read {}", path.display()))?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        Ok((manifest, parsed(&path, whole)?))
    }

    pub(super) fn keep(&mut self, line: L) -> Result<()> {
        let text = format!("{}\n", serde_json::to_string(&line)?);
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("cannot write into {}", self.directory.display()))?;
        self.lines.push(line);
        Ok(())
    }

    pub(super) fn mark_ended(&self) -> Result<()> {
        let path = self.directory.join(ENDED);
        replace(&path, 0o666, b"").with_context(|| format!("cannot write {}", path.display()))
    }

    /// An unused name for the next record; a record that was cut short stays.
    pub(super) fn new_record(&self) -> PathBuf {
        let name = |n: usize| self.directory.join(format!("{n:03}.swell"));
        (1..).map(name).find(|path| !path.exists()).unwrap_or_else(|| name(0))
    }
}

/// The name by which a step keeps its record.
pub(super) fn file_name(record: &Path) -> String {
    record.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn parsed<L: DeserializeOwned>(path: &Path, text: &str) -> Result<Vec<L>> {
    let line = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| {
            let (file, what) = (path.display(), json_error(&error));
            anyhow!("{file}:{}: not a step: {what}", index + 1)
        })
    };
    text.lines().enumerate().map(line).collect()
}

/// Endings of scripts: an interpreter reads them without the right to execute.
const SCRIPTS: [&str; 9] = ["class", "jar", "js", "lua", "php", "pl", "py", "rb", "sh"];

/// A digest of all programs and scripts in the words of a command; `None` without any. Data, and programs in PATH, are
/// left out.
pub fn digest_of(command: &str, directory: &Path) -> Option<String> {
    let words = shell_words::split(command).ok()?;
    let digests = words.iter().filter_map(|word| {
        let path = directory.join(word);
        is_program(&path).then(|| digest_of_file(&path)).flatten()
    });
    let digests: Vec<String> = digests.collect();
    if digests.is_empty() {
        return None;
    }
    let whole = Sha256::digest(digests.concat());
    Some(whole[..16].iter().map(|byte| format!("{byte:02x}")).collect())
}

fn is_program(path: &Path) -> bool {
    let is_script = path.extension().is_some_and(|it| SCRIPTS.iter().any(|script| it == *script));
    is_script && path.is_file() || is_executable(path)
}

#[cfg(test)]
mod tests {
    use super::digest_of;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes the files")]
    fn programs_and_scripts_count_and_data_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).unwrap();
        };
        let digest = |command: &str| digest_of(command, folder.path());
        write("prog", "1", 0o755);
        write("data", "1", 0o644);
        write("s.py", "1", 0o644);
        let before = ["./prog data", "env X=1 ./prog", "python3 s.py", "cat data"].map(digest);
        write("data", "2", 0o644);
        assert_eq!(digest("./prog data"), before[0]);
        write("prog", "2", 0o755);
        write("s.py", "2", 0o644);
        let after = ["./prog data", "env X=1 ./prog", "python3 s.py", "cat data"].map(digest);
        for (before, after) in before.iter().zip(&after).take(3) {
            assert!(before.is_some() && before != after, "{before:?}");
        }
        assert_eq!((&before[3], &after[3]), (&None, &None));
    }
}
