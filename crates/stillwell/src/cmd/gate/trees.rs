//! The two builds that are compared.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::cmd::commits::SHORT;
use crate::cmd::git::{git, unshallow_remedy};
use crate::cmd::suites;
use host::terminal;
use model::spec::GateVerb;
use model::spec::suite::{Build, Variant};

use super::SIDES;

/// The merge base of a revision and HEAD. Errors: there is no repository, revision or common commit.
fn merge_base(here: &Path, revision: &str) -> Result<String> {
    git(here, &["rev-parse", "--git-dir"]).context(
        "--base: this directory is in no git repository; --old and --new name two builds",
    )?;
    let commit = format!("{revision}^{{commit}}");
    git(here, &["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).with_context(|| {
        format!("--base: there is no branch or commit {revision:?} here; `git fetch origin` gets those of the remote")
    })?;
    git(here, &["merge-base", "--end-of-options", revision, "HEAD"]).with_context(|| {
        let remedy = unshallow_remedy(here);
        format!("--base: {revision} and HEAD have no common commit here{remedy}")
    })
}

pub(super) struct Trees {
    /// The directories, the old one first.
    pub directories: [PathBuf; 2],
    /// Names of the builds for people.
    pub base: String,
    pub head: String,
}

impl Trees {
    /// The directories in words. Both sides have one if HEAD is its own merge base.
    pub(super) fn shown(&self) -> String {
        let [old, new] = self.directories.each_ref().map(|it| it.display());
        if self.directories[0] == self.directories[1] {
            old.to_string()
        } else {
            format!("{old} or {new}")
        }
    }

    /// The builds in the command line. Revisions are checked out and built. Errors: a directory does not exist, a
    /// revision is unknown, or a build fails.
    pub(super) fn of(verb: &GateVerb) -> Result<Self> {
        if let (Some(old), Some(new)) = (&verb.old, &verb.new) {
            let directory = |path: &Path| {
                let shown = path.display();
                ensure!(path.is_dir(), "{shown} is no directory; --old and --new name two builds");
                path.canonicalize().with_context(|| format!("cannot find {shown}"))
            };
            let directories = [directory(old)?, directory(new)?];
            let [base, head] = [old, new].map(|path| path.display().to_string());
            return Ok(Self { directories, base, head });
        }
        let here = Path::new(".");
        let revision = verb.base.as_deref().unwrap_or_default();
        let base = merge_base(here, revision)?;
        let head = git(here, &["rev-parse", "--verify", "HEAD"])?;
        // A bare repository has no status.
        let status = git(here, &["status", "--porcelain", "--untracked-files=no"]);
        if status.is_ok_and(|changes| !changes.is_empty()) {
            let note = "note: some changes are not committed; the gate measures HEAD without them";
            terminal::say_bare(note);
        }
        let build = |command: &String| Build { command: command.clone(), ..Build::default() };
        let variant = |(name, revision): (&&str, &String)| Variant {
            name: (**name).to_owned(),
            revision: Some(revision.clone()),
            build: verb.build.as_ref().map(build),
            ..Variant::default()
        };
        let variants: Vec<Variant> = SIDES.iter().zip([&base, &head]).map(variant).collect();
        let built = suites::built_here(&variants)?.into_iter();
        let mut directories = built.filter_map(|it| it.directories.first().map(PathBuf::from));
        let (old, new) = (directories.next(), directories.next());
        let directories = old.zip(new).context("the builds have no directory")?.into();
        let [base, head] = [base, head].map(|id| id.chars().take(SHORT).collect());
        Ok(Self { directories, base, head })
    }
}
