//! The builds of a suite's variants. Each revision has its own work tree below `$XDG_CACHE_HOME`, which stays, so the
//! next session finds its build.

mod builder;
mod cargo;
mod source;
mod tree;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use model::spec::suite::{LinkOrder, Variant};
use record::plan::suite::VariantBuild;

pub use builder::Builder;
use source::BuildSource;
use tree::BuildTree;

/// Default number of builds with a random link order.
const BUILDS: u32 = 8;

#[derive(Debug)]
pub struct VariantError {
    /// The key in the suite file that causes the error.
    pub keys: &'static [&'static str],
    pub error: anyhow::Error,
}

/// Checks a variant out and builds it. `directory`: the directory of the suite file. An unneeded variant has its
/// directories, but is neither checked out nor built. Errors: the revision is unknown, or the build fails.
pub fn variant(
    variant: &Variant,
    directory: &Path,
    builder: &Builder,
    is_needed: bool,
) -> Result<VariantBuild, VariantError> {
    let unready = |keys| {
        let context = format!("the variant {:?}", variant.name);
        move |error: anyhow::Error| VariantError { keys, error: error.context(context) }
    };
    let is_revision = variant.revision.is_some();
    let keys: &[&str] = if is_revision { &["revision"] } else { &["build", "source"] };
    let source = BuildSource::of(variant, directory).map_err(unready(keys))?;
    let keys: &[&str] = if variant.build.is_some() { &["build", "command"] } else { keys };
    let n_before = builder.n_builds.get();
    let roots = roots(variant, &source, builder, is_needed).map_err(unready(keys))?;
    let is_new = builder.n_builds.get() > n_before;
    let cwd = variant.cwd.as_deref().unwrap_or_default();
    let directories = roots.iter().map(|root| {
        let directory = if cwd.is_empty() { root.clone() } else { root.join(cwd) };
        if is_needed && !directory.is_dir() {
            let text = format!("`cwd`: there is no directory {}", directory.display());
            return Err(BuildFailure(text).into());
        }
        let shown = directory.to_str().map(str::to_owned);
        shown.with_context(|| format!("{} is not UTF-8", directory.display()))
    });
    let directories = directories.collect::<Result<_>>().map_err(unready(&["cwd"]))?;
    let is_relinked = roots.iter().all(|root| tree::is_relinked(root));
    let (variant, git) = (variant.clone(), source.commit(cwd));
    Ok(VariantBuild { variant, directories, git, is_relinked, is_new })
}

/// Removes copies, as far as possible. The list may come from an edited file, so it removes only in the directory of
/// builds.
pub fn remove(copies: &[PathBuf]) {
    let Ok(builds) = record::builds_path() else { return };
    let is_copy = |path: &&PathBuf| path.parent() == Some(&*builds) && path.file_name().is_some();
    copies.iter().filter(is_copy).for_each(|copy| drop(std::fs::remove_dir_all(copy)));
}

/// The directories of a variant, one for each of its builds.
fn roots(
    variant: &Variant,
    source: &BuildSource,
    builder: &Builder,
    is_needed: bool,
) -> Result<Vec<PathBuf>> {
    let numbers = match &variant.build {
        Some(build) if build.link_order == LinkOrder::Random => {
            (0..build.builds.unwrap_or(BUILDS)).map(Some).collect()
        }
        _ => vec![None],
    };
    let tree = |number: Option<u32>| BuildTree { source, variant, number, builder, is_needed };
    numbers.into_iter().map(|number| tree(number).ready()).collect()
}

/// A commit that cannot be built. Other errors are not the commit's fault.
#[derive(Debug)]
pub struct BuildFailure(pub String);

impl std::fmt::Display for BuildFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildFailure {}
