//! One directory that a variant runs in: checked out or copied, built, and kept for the next session or not.
#![expect(clippy::disallowed_methods, reason = "executes builds")]

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use crate::cmd::suites::builds::Builder;
use crate::cmd::suites::builds::source::{self, Source};
use crate::host::without_place_of_git;
use crate::link::CompilerWrappers;
use crate::measure::supervised;
use crate::plan::suite::environment_of;
use crate::record;
use crate::render::failure::LINE_MAX;
use crate::render::{one_line, shorten};
use crate::spec::suite::{Build, Variant};

/// Is in a directory that has been built, with what was done.
const DONE: &str = ".stillwell-built";
/// Tells a build its number.
const NUMBER: &str = "STILLWELL_BUILD";
/// Lines of a failed build that are shown.
const LINES_MAX: usize = 20;
/// Characters of a commit in a name.
const COMMIT_MAX: usize = 12;

/// One directory that a variant runs in.
pub struct Tree<'a> {
    /// Where its files come from.
    pub source: &'a Source,
    /// Whose it is.
    pub variant: &'a Variant,
    /// Of builds that are linked in a random order.
    pub number: Option<u32>,
    /// Who builds it.
    pub builder: &'a Builder,
    /// Whether it is measured.
    pub is_needed: bool,
}

impl Tree<'_> {
    /// Where it is, checked out and built.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn ready(&self) -> Result<PathBuf> {
        let path = match (self.source, self.number) {
            // In place: what is built is what the user works on.
            (Source::Files(path), None) => path.clone(),
            _ => self.own_directory()?,
        };
        if self.is_needed {
            self.make(&path)?;
        }
        Ok(path)
    }

    fn make(&self, path: &Path) -> Result<()> {
        let build = || self.variant.build.as_ref().map_or(Ok(()), |build| self.build(build, path));
        match (self.source, self.number) {
            (Source::Commit { repository, git }, _) => {
                let (done, recipe) = (path.join(DONE), self.recipe());
                let is_done = || fs::read_to_string(&done).is_ok_and(|found| found == recipe);
                if is_done() {
                    return Ok(());
                }
                let _lock = self.builder.lock(&path.with_added_extension("lock"), self.variant)?;
                // By whom we have waited for.
                if is_done() {
                    return Ok(());
                }
                let checking_out =
                    self.builder.lock(&source::lock_of(repository)?, self.variant)?;
                source::check_out(repository, &git.revision, path)?;
                drop(checking_out);
                build()?;
                fs::write(&done, recipe).with_context(|| format!("cannot write {}", done.display()))
            }
            (Source::Files(source), Some(_)) => {
                // This session's alone.
                self.builder.copies.borrow_mut().push(path.to_owned());
                source::copy(source, path)?;
                build()
            }
            (Source::Files(_), None) if self.variant.build.is_none() => Ok(()),
            (Source::Files(path), None) => {
                let lock = self.lock_in_place(path);
                let _lock = lock.map(|lock| self.builder.lock(&lock, self.variant)).transpose()?;
                build()
            }
        }
    }

    /// All that makes it what it is, as text: where any of this is another, it is another tree.
    fn recipe(&self) -> String {
        let commit = match self.source {
            Source::Commit { git, .. } => Some(&git.revision),
            Source::Files(_) => None,
        };
        // What is not built is the same with any variables.
        let built = self.variant.build.as_ref().map(|build| {
            let variables = environment_of(self.variant);
            serde_json::json!({ "command": build.command, "env": variables, "link_order": self.number })
        });
        serde_json::json!({ "commit": commit, "build": built }).to_string()
    }

    /// A directory for this source, and what is made of it.
    fn own_directory(&self) -> Result<PathBuf> {
        let (origin, name, owner) = match self.source {
            Source::Commit { repository, git } => {
                (repository, &git.revision[..git.revision.len().min(COMMIT_MAX)], "")
            }
            Source::Files(path) => (path, self.variant.name.as_str(), self.variant.name.as_str()),
        };
        let recipe = self.recipe();
        let hash = short_hash(&[path_bytes(origin), owner.as_bytes(), recipe.as_bytes()]);
        let plain: String =
            name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
        // A copy is of the files as they are now, so it is this session's alone.
        let of_session = match self.source {
            Source::Commit { .. } => String::new(),
            Source::Files(_) => format!("-{}", self.builder.session),
        };
        let number = self.number.map_or_else(String::new, |number| format!("-link{number}"));
        Ok(record::builds_path()?.join(format!("{plain}-{hash}{of_session}{number}")))
    }

    /// A lock for a directory that nothing of ours is put into. Without a place for it there is none.
    fn lock_in_place(&self, path: &Path) -> Option<PathBuf> {
        let path = path.canonicalize().ok()?;
        let name = format!("in-place-{}.lock", short_hash(&[path_bytes(&path)]));
        Some(record::builds_path().ok()?.join(name))
    }

    fn build(&self, build: &Build, path: &Path) -> Result<()> {
        let of = self.number.map_or_else(String::new, |number| format!(", link order {number}"));
        writeln!(anstream::stderr(), "building {}{of}", one_line(&self.variant.name)).ok();
        // The kernel ends its shell with this program, whatever ends that.
        let words = ["sh", "-c", &build.command].map(OsString::from);
        let mut command = supervised::prepared(&words, true);
        command.current_dir(path).stdin(Stdio::null());
        if matches!(self.source, Source::Commit { .. }) {
            // They would say that it is in another repository than the one that it is in.
            without_place_of_git(&mut command);
        }
        command.envs(environment_of(self.variant));
        // Whoever builds has to find the compilers in it.
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        let compilers = tempfile::Builder::new().permissions(readable).tempdir();
        let compilers = compilers.context("cannot make a directory for compilers")?;
        if let Some(number) = self.number {
            let wrappers = CompilerWrappers::create(&compilers.path().join("bin"), number.into())?;
            command.env("PATH", wrappers.path_variable()).env(NUMBER, number.to_string());
        }
        let mut log = tempfile::tempfile().context("cannot make a file for what a build says")?;
        let to_log = || log.try_clone().context("cannot make a file for what a build says");
        command.stdout(to_log()?).stderr(to_log()?).process_group(0);
        let status = self.builder.wait(&mut command.spawn().context("cannot execute sh")?)?;
        if status.success() {
            return Ok(());
        }
        let mut said = Vec::new();
        log.rewind().and_then(|()| log.read_to_end(&mut said)).ok();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.trim_end().lines().collect();
        let end = lines[lines.len().saturating_sub(LINES_MAX)..].iter();
        let end: String = end.map(|line| format!("\n  | {}", shorten(line, LINE_MAX))).collect();
        bail!(
            "its build {:?} ended with {} in {}; the end of what it wrote:{end}",
            build.command,
            status,
            path.display()
        )
    }
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Hexadecimal, for a name.
fn short_hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
