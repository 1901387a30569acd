//! `--revisions`: checks the named commits out and builds them.

use anyhow::{Context as _, Result};

use crate::cmd::commits::{NamedCommit, Place};
use crate::cmd::suites;
use model::spec::RevisionOptions;
use record::plan::BuiltRevision;
use record::plan::suite::VariantBuild;

/// The revisions, built in work trees of their own. Errors: a revision is unknown, or a build fails.
pub fn built(options: &RevisionOptions) -> Result<Vec<BuiltRevision>> {
    if options.revisions.is_empty() {
        return Ok(Vec::new());
    }
    let place = Place::here()?;
    let commits = place.named(&options.revisions)?;
    let variant = |commit: &NamedCommit| place.variant(commit, options.build.as_deref());
    let built = suites::built_here(&commits.iter().map(variant).collect::<Vec<_>>());
    let built = built.map_err(|error| match suites::build_failure(&error) {
        Some(_) => error.context("--revisions: name the other commits to leave out this one"),
        None => error,
    })?;
    let revision = |VariantBuild { variant, directories, git, .. }| {
        let git = git.context("a revision has no commit")?;
        Ok(BuiltRevision { name: variant.name, directories, git })
    };
    built.into_iter().map(revision).collect()
}
