//! Variants that the command line makes, and builds outside of a suite.
#![expect(clippy::disallowed_methods, reason = "builds are found from the current directory")]

use std::path::Path;

use anyhow::{Context as _, Result, bail};

use crate::cmd::commits::{NamedCommit, Place};
use crate::cmd::suites::builds::{self, BuildFailure, Builder, VariantError};
use crate::plan::suite::VariantBuild;
use crate::spec::RevisionOptions;
use crate::spec::suite::{Build, LinkOrder, SuiteFile, SuiteItem, Variant};

/// Checks variants out and builds them.
///
/// # Errors
/// A revision is unknown, a build fails, or ^C came.
pub fn built(variants: &[Variant]) -> Result<Vec<VariantBuild>> {
    let builder = Builder::new()?;
    let here = std::env::current_dir().context("cannot find the current directory")?;
    let built = |variant: &Variant| {
        let built = builds::variant(variant, &here, &builder, true);
        if builder.was_interrupted() {
            return Err(BuildInterrupted.into());
        }
        built.map_err(|VariantError { error, .. }| error)
    };
    variants.iter().map(built).collect()
}

/// ^C or SIGTERM came before the builds were there.
#[derive(Debug)]
pub struct BuildInterrupted;

impl std::fmt::Display for BuildInterrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted before anything was measured")
    }
}

impl std::error::Error for BuildInterrupted {}

/// How the build of one variant ended.
pub enum BuildAttempt {
    /// It is built.
    Built(Box<VariantBuild>),
    /// Its build command failed, with the end of what it wrote.
    Failed(String),
    /// ^C or SIGTERM came.
    Interrupted,
}

/// Checks one variant out and builds it.
///
/// # Errors
/// The revision is unknown, or a directory cannot be written.
pub fn attempted(variant: &Variant, directory: &Path) -> Result<BuildAttempt> {
    let builder = Builder::new()?;
    let built = builds::variant(variant, directory, &builder, true);
    if builder.was_interrupted() {
        return Ok(BuildAttempt::Interrupted);
    }
    match built {
        Ok(built) => Ok(BuildAttempt::Built(Box::new(built))),
        Err(VariantError { error, .. }) => match error.downcast_ref::<BuildFailure>() {
            Some(failure) => Ok(BuildAttempt::Failed(failure.to_string())),
            None => Err(error),
        },
    }
}

/// A variant for each revision that the command line names. They keep what the only variant of the file says.
pub(super) fn revisions(
    file: &SuiteFile,
    path: &Path,
    options: &RevisionOptions,
) -> Result<Vec<SuiteItem<Variant>>> {
    let known = match file.variants.as_slice() {
        [] => Variant::default(),
        [only] => Variant::clone(only),
        several => bail!(
            "--revisions: {} has {} variants, and only one can be measured at several revisions; give each a `revision` there",
            path.display(),
            several.len()
        ),
    };
    let directory = path
        .parent()
        .unwrap_or(Path::new(""))
        .join(known.repository.as_deref().unwrap_or_default());
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { &directory };
    let place = Place::of(directory)?;
    let commits = place.named(&options.revisions)?.into_iter();
    let variant = commits.map(|NamedCommit { name, id }| {
        let mut variant = Variant { name, revision: Some(id), ..known.clone() };
        if let Some(command) = &options.build {
            let build = Build {
                command: command.clone(),
                link_order: LinkOrder::AsBuilt,
                builds: None,
                source: None,
            };
            variant.build =
                Some(Build { command: command.clone(), ..known.build.clone().unwrap_or(build) });
        }
        variant.into()
    });
    Ok(variant.collect())
}
