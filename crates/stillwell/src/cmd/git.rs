//! Calls git, as the user: a repository's configuration can execute programs.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use host::command_of_invoker;

/// The output of git, without the newline. Errors: git is missing or fails.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<String> {
    git_with(directory, arguments, &[])
}

/// The end of an error about commits that are not there: a shallow clone lacks most of them.
pub fn unshallow_remedy(directory: &Path) -> &'static str {
    match git(directory, &["rev-parse", "--is-shallow-repository"]).as_deref() {
        Ok("true") => "; this clone is shallow, `git fetch --unshallow` gets the older commits",
        _ => "",
    }
}

/// [`git`] with these variables.
pub fn git_with(
    directory: &Path,
    arguments: &[&str],
    variables: &[(&str, &str)],
) -> Result<String> {
    let mut command = command_of_invoker("git");
    command.envs(variables.iter().copied());
    let output = command.arg("-C").arg(directory).args(arguments).output();
    let output = output.context("cannot execute git, which revisions need")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "git {} in {}: {}",
        arguments.join(" "),
        directory.display(),
        if stderr.trim().is_empty() { output.status.to_string() } else { stderr.trim().into() }
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
