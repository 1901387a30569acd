//! Git revisions to compare.

use clap::Args;

/// Revisions, and how they are built.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Revisions of the git repository here (docs/revisions.md)")]
pub struct RevisionOptions {
    /// Run in a checkout of each of these revisions and compare them with the first: HEAD~1,HEAD. A..B is where B branched
    /// off from A, then each commit up to B; WORK is HEAD with the uncommitted changes. {revision} in commands and hooks is
    /// the commit [default: run here]
    #[arg(long, value_name = "REV,...", value_delimiter = ',')]
    pub revisions: Vec<String>,
    /// Build each checkout with this command, executed by a shell in the directory that corresponds to the current one.
    /// Builds are kept, and found again by the next session [default: nothing is built]
    #[arg(long, value_name = "COMMAND", requires = "revisions")]
    pub build: Option<String>,
}
