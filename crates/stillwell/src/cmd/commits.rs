//! Turns the words of `--revisions` into commits of a repository.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::cmd::git::{git, git_with, unshallow_remedy};
use host::ScratchDirectory;
use host::user_files::no_temporary;
use model::spec::suite::{Build, Variant};
use model::words::in_words;

/// Digits of an abbreviated commit.
pub const SHORT: usize = 10;
/// The revision for HEAD with the uncommitted changes.
const WORK: &str = "WORK";
/// More commits take too long to measure; a search needs only a few builds.
const COMMITS_MAX: usize = 100;
/// Author of the commits of uncommitted changes, which are on no branch.
const AUTHOR: &str = "stillwell";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommit {
    /// For example `HEAD~1 (0123456789)`.
    pub name: String,
    /// Full id.
    pub id: String,
}

/// Why two revisions have no merge base.
pub fn no_common_ancestor(top: &Path, one: &str, other: &str) -> String {
    format!("{one} and {other} have no common ancestor{}", unshallow_remedy(top))
}

/// The current directory in its repository.
pub struct Place {
    /// The root of the work tree.
    pub top: PathBuf,
    /// The current directory below it; empty in the root.
    prefix: String,
    /// A directory below `top` that is no part of `WORK`.
    left_out: Option<String>,
}

impl Place {
    /// The place of the current directory. Errors: there is no repository.
    pub fn here() -> Result<Self> {
        Self::of(Path::new("."))
    }

    /// The place of a directory. Errors: there is no repository.
    pub fn of(directory: &Path) -> Result<Self> {
        let top = git(directory, &["rev-parse", "--show-toplevel"])
            .context("revisions are those of the git repository around the current directory")?;
        let prefix = git(directory, &["rev-parse", "--show-prefix"])?;
        let prefix = prefix.trim_end_matches('/').into();
        Ok(Self { top: top.into(), prefix, left_out: None })
    }

    /// This place with a `WORK` that leaves out a directory: the records of a campaign are no change of its program.
    #[must_use]
    pub fn without(mut self, directory: &Path) -> Self {
        let whole = directory.canonicalize().unwrap_or_default();
        let below = whole.strip_prefix(&self.top).ok().and_then(Path::to_str);
        self.left_out = below.map(|path| format!(":(exclude,literal){path}"));
        self
    }

    /// The commits of these revisions. Errors: a revision is unknown, or two are the same commit.
    pub fn named(&self, words: &[String]) -> Result<Vec<NamedCommit>> {
        let mut commits: Vec<NamedCommit> = Vec::new();
        for word in words {
            let new = match word.trim() {
                "" => bail!("--revisions has an empty one"),
                WORK => vec![self.work()?],
                word => match word.split_once("..") {
                    Some((from, to)) => self.range(from, to)?,
                    None => vec![self.one(word)?],
                },
            };
            commits.extend(new);
        }
        for (index, commit) in commits.iter().enumerate() {
            let twin = commits[..index].iter().find(|other| other.id == commit.id);
            if let Some(twin) = twin {
                bail!(
                    "--revisions: {:?} and {:?} are the same commit; leave one out",
                    twin.name,
                    commit.name
                );
            }
        }
        Ok(commits)
    }

    /// The only commit of an option `--revision`. Errors: it is unknown, or a range.
    pub fn only(&self, revision: &str) -> Result<String> {
        let named = self.named(&[revision.to_owned()])?;
        let [one] = named.as_slice() else {
            bail!("--revision names one commit, and {revision} several")
        };
        Ok(one.id.clone())
    }

    /// The id of a revision. Errors: there is no such commit.
    pub fn commit(&self, revision: &str) -> Result<String> {
        let wanted = format!("{revision}^{{commit}}");
        let id = git(&self.top, &["rev-parse", "--verify", "--end-of-options", &wanted]);
        id.with_context(|| {
            let remedy = unshallow_remedy(&self.top);
            format!("there is no commit {revision:?} in {}{remedy}", self.top.display())
        })
    }

    fn one(&self, revision: &str) -> Result<NamedCommit> {
        let id = self.commit(revision)?;
        let is_id = id.starts_with(revision);
        let short = &id[..id.len().min(SHORT)];
        let name = if is_id { short.to_owned() } else { format!("{revision} ({short})") };
        Ok(NamedCommit { name, id })
    }

    /// The merge base with `to` and each commit after it, oldest first.
    fn range(&self, from: &str, to: &str) -> Result<Vec<NamedCommit>> {
        let or_head = |word: &str| if word.is_empty() { "HEAD".into() } else { word.to_owned() };
        let (from, to) = (or_head(from), or_head(to.trim_start_matches('.')));
        let (from_id, to_id) = (self.commit(&from)?, self.commit(&to)?);
        let base = git(&self.top, &["merge-base", &from_id, &to_id])
            .with_context(|| no_common_ancestor(&self.top, &from, &to))?;
        let range = format!("{from_id}..{to_id}");
        let listed = git(&self.top, &["rev-list", "--reverse", "--topo-order", &range])?;
        let ids: Vec<&str> = std::iter::once(&*base).chain(listed.lines()).collect();
        ensure!(ids.len() > 1, "--revisions {from}..{to} has no commit: {to} is in {from}");
        ensure!(
            ids.len() <= COMMITS_MAX,
            "--revisions {from}..{to} are {} commits, and at most {COMMITS_MAX} are measured in one session; \
             name some of them",
            ids.len()
        );
        ids.into_iter().map(|id| self.one(id)).collect()
    }

    /// A commit of HEAD with the uncommitted changes and the new, not ignored files, on no branch. The same files make
    /// the same commit, so its build can be reused.
    fn work(&self) -> Result<NamedCommit> {
        let head = self.commit("HEAD")?;
        let short = &head[..head.len().min(SHORT)];
        let context = "cannot take the uncommitted changes of WORK";
        let mut add = vec!["add", "--all", "."];
        add.extend(self.left_out.as_deref());
        let id = self.changed(&head, &add, "uncommitted changes").context(context)?;
        let changes = if id == head { "" } else { " + changes" };
        Ok(NamedCommit { name: format!("{WORK} ({short}{changes})"), id })
    }

    /// A commit with a patch that `git apply` reads, on no branch.
    pub fn patched(&self, base: &str, patch: &Path) -> Result<String> {
        let absolute = std::path::absolute(patch).context("cannot find the current directory")?;
        let path = absolute.to_str().context("the path of the patch is not UTF-8")?;
        let short = &base[..base.len().min(SHORT)];
        let apply = ["apply", "--cached", "--whitespace=nowarn", "--", path];
        self.changed(base, &apply, "patch")
            .with_context(|| format!("cannot apply {} to {short}", patch.display()))
    }

    /// A commit with the changes between two others, on no branch. Errors: they do not apply; `what` names them.
    pub fn replayed(&self, base: &str, [from, to]: [&str; 2], what: &str) -> Result<String> {
        let folder = ScratchDirectory::new().with_context(no_temporary)?;
        let file = folder.path().join("diff");
        let path = file.to_str().context("the temporary directory is not UTF-8")?;
        git(&self.top, &["diff", "--binary", &format!("--output={path}"), from, to])?;
        // The temporary file is gone when the message is read.
        self.patched(base, &file)
            .map_err(|error| anyhow!("{}", in_words(&error).replace(path, what)))
    }

    /// A commit of what a git command makes of the index of `base`, on no branch; `base` itself if nothing changes.
    fn changed(&self, base: &str, command: &[&str], message: &str) -> Result<String> {
        let folder = ScratchDirectory::new().with_context(no_temporary)?;
        let index = folder.path().join("index");
        let index = index.to_str().context("the temporary directory is not UTF-8")?;
        let of_index = [("GIT_INDEX_FILE", index)];
        git_with(&self.top, &["read-tree", base], &of_index)?;
        git_with(&self.top, command, &of_index)?;
        let tree = git_with(&self.top, &["write-tree"], &of_index)?;
        if tree == git(&self.top, &["rev-parse", &format!("{base}^{{tree}}")])? {
            return Ok(base.into());
        }
        let date = git(&self.top, &["show", "--no-patch", "--format=%cI", base])?;
        let variables = [
            ("GIT_AUTHOR_NAME", AUTHOR),
            ("GIT_AUTHOR_EMAIL", ""),
            ("GIT_AUTHOR_DATE", &*date),
            ("GIT_COMMITTER_NAME", AUTHOR),
            ("GIT_COMMITTER_EMAIL", ""),
            ("GIT_COMMITTER_DATE", &*date),
        ];
        let words = ["commit-tree", "--no-gpg-sign", "-p", base, "-m", message, &tree];
        git_with(&self.top, &words, &variables)
    }

    /// Makes a reference, so git keeps the commit.
    pub fn refer(&self, name: &str, commit: &str) -> Result<()> {
        git(&self.top, &["update-ref", name, commit]).map(drop)
    }

    pub fn variant(&self, commit: &NamedCommit, build: Option<&str>) -> Variant {
        Variant {
            name: commit.name.clone(),
            revision: Some(commit.id.clone()),
            cwd: Some(self.prefix.clone()).filter(|prefix| !prefix.is_empty()),
            build: build.map(|command| self.build(command)),
            ..Variant::default()
        }
    }

    /// A build in the current directory below the work tree, where the commands run too.
    fn build(&self, command: &str) -> Build {
        let command = match &*self.prefix {
            "" => command.to_owned(),
            prefix => format!("cd {} && {{ {command}\n}}", shell_words::quote(prefix)),
        };
        Build { command, ..Build::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a repository")]
    fn a_change_that_does_not_apply_is_named_without_its_temporary_file() {
        let folder = tempfile::Builder::new().prefix("repository").tempdir().unwrap();
        let at = folder.path();
        if git(at, &["init", "--quiet"]).is_err() {
            return; // there is no git
        }
        let commit = |text: &str| {
            std::fs::write(at.join("file"), text).unwrap();
            git(at, &["add", "file"]).unwrap();
            let author = ["-c", "user.name=a", "-c", "user.email=a@b"];
            git(at, &[&author[..], &["commit", "--quiet", "-m", text]].concat()).unwrap();
            git(at, &["rev-parse", "HEAD"]).unwrap()
        };
        let [one, two, three] = ["one\n", "two\n", "three\n"].map(commit);
        let place = Place::of(at).unwrap();
        let error = place.replayed(&one, [&two, &three], "the patch of \"a\"").unwrap_err();
        let said = error.to_string();
        assert!(said.starts_with("cannot apply the patch of \"a\" to "), "{said}");
        assert!(!said.contains("/.tmp"), "{said}");
    }
}
