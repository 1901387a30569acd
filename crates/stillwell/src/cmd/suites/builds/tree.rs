//! A variant's directory: checked out, copied or in place, and built.
#![expect(clippy::disallowed_methods, reason = "executes builds")]

use std::ffi::OsString;
use std::fs;
use std::io::{Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

use crate::cmd::suites::builds::BuildFailure;
use crate::cmd::suites::builds::builder::Builder;
use crate::cmd::suites::builds::cargo::copy_dependencies;
use crate::cmd::suites::builds::source::{self, BuildSource};
use host::user_files::{no_temporary, replace};
use host::{ScratchDirectory, open_regular, terminal, without_place_of_git};
use measure::link::CompilerWrappers;
use measure::supervised;
use model::spec::suite::{Build, Variant};
use record::plan::suite::environment_of;
use render::failure::LINE_MAX;
use render::{one_line, shorten};

/// The file with the recipe of a built directory.
const DONE: &str = ".stillwell-built";
/// The file with a line for each link whose objects could change places.
const LINKS: &str = ".stillwell-links";
/// The environment variable with the build's number.
const NUMBER: &str = "STILLWELL_BUILD";
/// Last lines of a failed build that are shown.
const LINES_MAX: usize = 20;
/// Characters of the commit in a directory's name.
const COMMIT_MAX: usize = 12;

/// The directory of a variant.
pub struct BuildTree<'a> {
    pub source: &'a BuildSource,
    pub variant: &'a Variant,
    /// Number of a build with a random link order.
    pub number: Option<u32>,
    pub builder: &'a Builder,
    /// Whether the tree is measured, and so has to be built.
    pub is_needed: bool,
}

impl BuildTree<'_> {
    /// Checks out and builds the directory. Returns its path.
    pub fn ready(&self) -> Result<PathBuf> {
        let path = match (self.source, self.number) {
            // In place: builds the user's own files.
            (BuildSource::Files(path), None) => path.clone(),
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
            (BuildSource::Commit { repository, git }, _) => {
                let (done, recipe) = (path.join(DONE), self.recipe());
                let found = || std::io::read_to_string(open_regular(&done)?);
                let is_done = || found().is_ok_and(|found| found == recipe);
                if is_done() {
                    return Ok(());
                }
                let _lock = self.builder.lock(&path.with_added_extension("lock"), self.variant)?;
                // The session that held the lock has built the tree.
                if is_done() {
                    return Ok(());
                }
                let checking_out =
                    self.builder.lock(&source::lock_of(repository)?, self.variant)?;
                source::check_out(repository, &git.revision, path)?;
                drop(checking_out);
                if self.variant.build.is_some() {
                    copy_dependencies(repository, path);
                }
                build()?;
                // The commit or the build may have created another file at this path.
                replace(&done, 0o666, recipe.as_bytes())
                    .with_context(|| format!("cannot write {}", done.display()))
            }
            (BuildSource::Files(source), Some(_)) => {
                // Only this session uses the copy.
                self.builder.copies.borrow_mut().push(path.to_owned());
                source::copy(source, path)?;
                build()
            }
            (BuildSource::Files(_), None) if self.variant.build.is_none() => Ok(()),
            (BuildSource::Files(path), None) => {
                let lock = self.lock_in_place(path);
                let _lock = lock.map(|lock| self.builder.lock(&lock, self.variant)).transpose()?;
                build()
            }
        }
    }

    /// The recipe as text. Another recipe gives another tree.
    fn recipe(&self) -> String {
        let commit = match self.source {
            BuildSource::Commit { git, .. } => Some(&git.revision),
            BuildSource::Files(_) => None,
        };
        // The variables affect only the build.
        let built = self.variant.build.as_ref().map(|build| {
            let variables = environment_of(self.variant);
            serde_json::json!({ "command": build.command, "env": variables, "link_order": self.number })
        });
        serde_json::json!({ "commit": commit, "build": built }).to_string()
    }

    /// The directory for this source and recipe.
    fn own_directory(&self) -> Result<PathBuf> {
        let (origin, name, owner, of_session) = match self.source {
            BuildSource::Commit { repository, git } => {
                let commit = &git.revision[..git.revision.len().min(COMMIT_MAX)];
                (repository, commit, "", String::new())
            }
            // A copy has the current files, so only this session uses it.
            BuildSource::Files(path) => {
                let name = self.variant.name.as_str();
                (path, name, name, format!("-{}", self.builder.session))
            }
        };
        let recipe = self.recipe();
        let hash = short_hash(&[path_bytes(origin), owner.as_bytes(), recipe.as_bytes()]);
        let plain: String =
            name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
        let number = self.number.map_or_else(String::new, |number| format!("-link{number}"));
        Ok(record::builds_path()?.join(format!("{plain}-{hash}{of_session}{number}")))
    }

    /// The lock file of a directory that is built in place, outside of it; `None` without a cache directory.
    fn lock_in_place(&self, path: &Path) -> Option<PathBuf> {
        let path = path.canonicalize().ok()?;
        let name = format!("in-place-{}.lock", short_hash(&[path_bytes(&path)]));
        Some(record::builds_path().ok()?.join(name))
    }

    fn build(&self, build: &Build, path: &Path) -> Result<()> {
        let of = if self.number.is_some() { ", in random link orders" } else { "" };
        // The first link order stands for all.
        if self.number.is_none_or(|number| number == 0) {
            terminal::say_bare(format!("building {}{of}", one_line(&self.variant.name)));
        }
        self.builder.n_builds.update(|n| n + 1);
        // The kernel kills the shell if this program ends.
        let words = ["sh", "-c", &build.command].map(OsString::from);
        let mut command = supervised::prepared(&words, true);
        command.current_dir(path).stdin(Stdio::null());
        if matches!(self.source, BuildSource::Commit { .. }) {
            // Variables such as GIT_DIR would name another repository.
            without_place_of_git(&mut command);
        }
        command.envs(environment_of(self.variant));
        let compilers = self.number.map(|number| wrap_compilers(&mut command, number, path));
        let compilers = compilers.transpose()?;
        let mut log = tempfile::tempfile().with_context(no_temporary)?;
        let to_log = || log.try_clone().context("cannot make a file for what a build says");
        command.stdout(to_log()?).stderr(to_log()?).process_group(0);
        let status = self.builder.wait(&mut command.spawn().context("cannot execute sh")?)?;
        drop(compilers);
        if status.success() {
            return Ok(());
        }
        let mut output = Vec::new();
        log.rewind().and_then(|()| log.read_to_end(&mut output)).ok();
        let output = String::from_utf8_lossy(&output);
        let lines: Vec<&str> = output.trim_end().lines().collect();
        let end = lines[lines.len().saturating_sub(LINES_MAX)..].iter();
        let end: String = end.map(|line| format!("\n  | {}", shorten(line, LINE_MAX))).collect();
        let said = match &*end {
            "" => "it wrote nothing".into(),
            end => format!("the end of what it wrote:{end}"),
        };
        let text = format!(
            "its build {:?} ended with {} in {}; {said}",
            build.command,
            status,
            path.display()
        );
        Err(BuildFailure(text).into())
    }
}

/// Puts wrappers of the compilers into a build's `PATH`. They are removed when the result is dropped.
fn wrap_compilers(command: &mut Command, number: u32, path: &Path) -> Result<ScratchDirectory> {
    let compilers = ScratchDirectory::new().with_context(no_temporary)?;
    let wrappers = CompilerWrappers::create(&compilers.path().join("bin"), number.into())?;
    command.env("PATH", wrappers.path_variable()).env(NUMBER, number.to_string());
    let links = path.join(LINKS);
    fs::remove_file(&links).ok();
    command.env(CompilerWrappers::LOG, links);
    Ok(compilers)
}

/// Whether a link of this build could have another order.
pub fn is_relinked(root: &Path) -> bool {
    fs::metadata(root.join(LINKS)).is_ok_and(|links| links.len() > 0)
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// The first 8 bytes of SHA-256 in hexadecimal.
fn short_hash(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
        hash.update([0]);
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}
