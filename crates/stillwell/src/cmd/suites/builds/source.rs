//! Where a variant's files come from: a commit that git checks out, or a directory as it is.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::host::{Git, command_of_invoker, find_git};
use crate::spec::suite::Variant;

/// Where a variant's files come from.
pub enum Source {
    /// A commit of a repository.
    Commit {
        /// Its work tree.
        repository: PathBuf,
        /// The commit.
        git: Git,
    },
    /// Files as they are.
    Files(PathBuf),
}

impl Source {
    /// That of a variant. `directory` is that of the suite file.
    ///
    /// # Errors
    /// The revision or the directory is unknown.
    pub fn of(variant: &Variant, directory: &Path) -> Result<Self> {
        match &variant.revision {
            Some(revision) => Self::checked_out(variant, directory, revision),
            None => Self::files(variant, directory),
        }
    }

    /// The commit that was checked out, or that the files are at where the variant runs.
    pub fn commit(self, cwd: &str) -> Option<Git> {
        match self {
            Self::Commit { git, .. } => Some(git),
            Self::Files(path) => find_git(&path.join(cwd).canonicalize().ok()?),
        }
    }

    fn checked_out(variant: &Variant, directory: &Path, revision: &str) -> Result<Self> {
        let repository = directory.join(variant.repository.as_deref().unwrap_or_default());
        let top = git(&repository, &["rev-parse", "--show-toplevel"])?;
        let wanted = format!("{revision}^{{commit}}");
        let found = git(&repository, &["rev-parse", "--verify", "--end-of-options", &wanted]);
        let revision =
            found.with_context(|| format!("there is no commit {revision:?} in {top}"))?;
        // `TIME ID`. As the user, like all that a repository's configuration has a say in.
        let dated = git(&repository, &["rev-list", "--max-count=1", "--timestamp", &revision])?;
        let committed_s = dated.split(' ').next().and_then(|time| time.parse().ok());
        Ok(Self::Commit { repository: top.into(), git: Git { revision, committed_s } })
    }

    fn files(variant: &Variant, directory: &Path) -> Result<Self> {
        let source = variant.build.as_ref().and_then(|build| build.source.as_deref());
        let path = directory.join(source.unwrap_or_default());
        ensure!(path.is_dir(), "there is no directory {}", path.display());
        Ok(Self::Files(path))
    }
}

/// The file that is locked while something is checked out of a repository, whoever shares it: git writes into one place for all of
/// its work trees, those of other machines too.
///
/// # Errors
/// git does not know the repository.
pub fn lock_of(repository: &Path) -> Result<PathBuf> {
    let common = git(repository, &["rev-parse", "--git-common-dir"])?;
    Ok(repository.join(common).join("stillwell.lock"))
}

/// Checks a commit out into a work tree of its own, as it was committed.
///
/// # Errors
/// git refuses.
pub fn check_out(repository: &Path, commit: &str, path: &Path) -> Result<()> {
    // Anywhere else it would ask about a directory above.
    let is_tree = path.join(".git").exists() && git(path, &["rev-parse", "--git-dir"]).is_ok();
    if is_tree {
        // Of a build that failed or was killed.
        git(path, &["checkout", "--quiet", "--force", "--detach", commit])?;
        git(path, &["clean", "--quiet", "-dffx"])?;
    } else {
        remove(path)?;
        let shown = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
        // Twice: git may know one here that somebody has removed, or whose making was cut short. Those that are elsewhere, or on
        // other machines, keep what git knows of them (`prune` would take it away).
        let add = ["worktree", "add", "--force", "--force", "--quiet", "--detach", shown, commit];
        git(repository, &add)?;
    }
    if path.join(".gitmodules").exists() {
        submodules(path).context(
            "its submodules (`git config submodule.NAME.update none` leaves one out that is not needed)",
        )?;
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

/// git leaves them empty in a new work tree, and as they are in an old one.
fn submodules(path: &Path) -> Result<()> {
    git(path, &["submodule", "--quiet", "update", "--init", "--recursive", "--force"])?;
    let clean = "git clean --quiet -dffx";
    git(path, &["submodule", "--quiet", "foreach", "--recursive", clean])?;
    Ok(())
}

/// Copies a directory as it is now, over what was copied before.
///
/// # Errors
/// Something cannot be read or written.
pub fn copy(source: &Path, path: &Path) -> Result<()> {
    remove(path)?;
    // Whoever asked for root runs what is made of it.
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

/// What git answers, without the newline.
fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = command_of_invoker("git");
    let output = command.arg("-C").arg(directory).args(arguments).output();
    let output = output.context("cannot execute git, which `revision` needs")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "git {} in {}: {}",
        arguments.join(" "),
        directory.display(),
        said.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
