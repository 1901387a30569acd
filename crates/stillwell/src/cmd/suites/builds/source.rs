//! The source of a variant: a commit that git checks out, or a directory as it is.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::cmd::git::git;
use crate::cmd::suites::builds::BuildFailure;
use host::{Git, command_of_invoker, find_git};
use model::spec::suite::Variant;
use model::words::in_words;

pub enum BuildSource {
    Commit {
        /// The work tree of the repository.
        repository: PathBuf,
        git: Git,
    },
    /// Files as they are.
    Files(PathBuf),
}

impl BuildSource {
    /// The source of a variant. `directory`: that of the suite file. Errors: the revision or directory is unknown.
    pub fn of(variant: &Variant, directory: &Path) -> Result<Self> {
        let Some(revision) = &variant.revision else {
            let source = variant.build.as_ref().and_then(|build| build.source.as_deref());
            let path = directory.join(source.unwrap_or_default());
            ensure!(path.is_dir(), "there is no directory {}", path.display());
            return Ok(Self::Files(path));
        };
        let repository = directory.join(variant.repository.as_deref().unwrap_or_default());
        let top = git(&repository, &["rev-parse", "--show-toplevel"])?;
        let wanted = format!("{revision}^{{commit}}");
        let found = git(&repository, &["rev-parse", "--verify", "--end-of-options", &wanted]);
        let revision =
            found.with_context(|| format!("there is no commit {revision:?} in {top}"))?;
        // `TIME ID`. Git runs as the user: a repository's configuration can execute programs.
        let dated = git(&repository, &["rev-list", "--max-count=1", "--timestamp", &revision])?;
        let committed_s = dated.split(' ').next().and_then(|time| time.parse().ok());
        Ok(Self::Commit { repository: top.into(), git: Git { revision, committed_s } })
    }

    /// The checked-out commit, or else the commit of the directory in which the variant runs.
    pub fn commit(self, cwd: &str) -> Option<Git> {
        match self {
            Self::Commit { git, .. } => Some(git),
            Self::Files(path) => find_git(&path.join(cwd).canonicalize().ok()?),
        }
    }
}

/// The lock file for checkouts from a repository: git writes into one directory for all work trees, also for other
/// machines. Errors: git does not know the repository.
pub fn lock_of(repository: &Path) -> Result<PathBuf> {
    let common = git(repository, &["rev-parse", "--git-common-dir"])?;
    Ok(repository.join(common).join("stillwell.lock"))
}

/// Checks a commit out into its own work tree, without changes.
pub fn check_out(repository: &Path, commit: &str, path: &Path) -> Result<()> {
    // Without `.git`, git would answer for a directory above.
    let is_tree = path.join(".git").exists() && git(path, &["rev-parse", "--git-dir"]).is_ok();
    if is_tree {
        // The tree remains from a failed or killed build.
        git(path, &["checkout", "--quiet", "--force", "--detach", commit])?;
        git(path, &["clean", "--quiet", "-dffx"])?;
    } else {
        remove(path)?;
        let shown = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        // Twice `--force`: git may list a removed work tree at this path, and an incomplete one stays locked
        // (git-worktree(1)). `prune` would also forget work trees elsewhere, for example on other machines.
        let add = ["worktree", "add", "--force", "--force", "--quiet", "--detach", shown, commit];
        git(repository, &add)?;
    }
    if path.join(".gitmodules").exists() {
        let advice = "its submodules (`git config submodule.NAME.update none` leaves one out that is not needed)";
        let wrong = |error: anyhow::Error| BuildFailure(in_words(&error.context(advice)));
        submodules(path).map_err(wrong)?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Checks the submodules out: git leaves them empty in a new work tree, and unchanged in an old one. Submodules that
/// the user's checkout lacks are not needed: all work trees of a repository list the same ones.
fn submodules(path: &Path) -> Result<()> {
    git(path, &["submodule", "--quiet", "update", "--force"])?;
    let within = "git submodule --quiet update --init --recursive --force";
    git(path, &["submodule", "--quiet", "foreach", within])?;
    let clean = "git clean --quiet -dffx";
    git(path, &["submodule", "--quiet", "foreach", "--recursive", clean])?;
    Ok(())
}

/// Copies a directory in its current state, in place of an earlier copy.
pub fn copy(source: &Path, path: &Path) -> Result<()> {
    remove(path)?;
    // The copy belongs to the user who called sudo, because the build runs as that user.
    let mut command = command_of_invoker("cp");
    command.args(["-a", "--reflink=auto", "--"]).arg(source).arg(path);
    let output = command.output().context("cannot execute cp")?;
    ensure!(
        output.status.success(),
        "cannot copy {}: {}",
        source.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
