//! Variants in the command line, and builds outside of a suite.
#![expect(clippy::disallowed_methods, reason = "builds are found from the current directory")]

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::cmd::commits::{NamedCommit, Place};
use crate::cmd::suites::builds::{self, BuildFailure, Builder, VariantError};
use model::spec::RevisionOptions;
use model::spec::suite::{Build, SuiteFile, SuiteItem, Variant};
use model::spec::workers::NamedPrefix;
use record::plan::suite::VariantBuild;
use render::document::ErrorCode;

/// Checks out and builds variants in this directory. Errors: a revision is unknown, a build fails, or ^C came.
pub fn built(variants: &[Variant], directory: &Path) -> Result<Vec<VariantBuild>> {
    let builder = Builder::new()?;
    let built = |variant: &Variant| {
        let built = builds::variant(variant, directory, &builder, true);
        if builder.was_interrupted() {
            let text = "interrupted before anything was measured";
            return Err(ErrorCode::Interrupted.error(text.into()));
        }
        built.map_err(|VariantError { error, .. }| error)
    };
    variants.iter().map(built).collect()
}

/// [`built`] for variants in the current directory.
pub fn built_here(variants: &[Variant]) -> Result<Vec<VariantBuild>> {
    built(variants, &std::env::current_dir().context("cannot find the current directory")?)
}

/// The end of the output of a build command, if the error is that it failed.
pub fn build_failure(error: &anyhow::Error) -> Option<String> {
    error.downcast_ref::<BuildFailure>().map(ToString::to_string)
}

/// A variant for each named revision, with the settings of the file's only variant.
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
            let build = known.build.clone().unwrap_or_default();
            variant.build = Some(Build { command: command.clone(), ..build });
        }
        variant.into()
    });
    Ok(variant.collect())
}

/// The variants in the command line.
pub(super) fn arms(file: &SuiteFile, arms: &[NamedPrefix]) -> Result<Vec<SuiteItem<Variant>>> {
    let variant = |(index, arm): (usize, &NamedPrefix)| {
        let is_twice = arms[..index].iter().any(|other| other.name == arm.name);
        ensure!(!is_twice, "--arms names {:?} twice", arm.name);
        let prefix = from_here(&arm.prefix)?;
        let known = file.variants.iter().find(|variant| variant.name == arm.name);
        let known = known.map_or_else(Variant::default, |variant| Variant::clone(variant));
        let (name, python) = (arm.name.clone(), Some(prefix.clone()));
        Ok(Variant { name, python, prefix: Some(prefix), ..known }.into())
    };
    arms.iter().enumerate().map(variant).collect()
}

/// Makes a program's path absolute: it is relative to the working directory, not to the suite file. The rest stays as
/// written, because a shell may read it.
pub fn from_here(prefix: &str) -> Result<String> {
    let context = || format!("--arms {prefix:?}");
    let (program, rest) = prefix.split_at(first_word(prefix));
    let words = shell_words::split(program).with_context(context)?;
    let [program] = words.as_slice() else { return Ok(prefix.into()) };
    if !program.contains('/') {
        return Ok(prefix.into());
    }
    let path = std::path::absolute(program).with_context(context)?;
    Ok(format!("{}{rest}", shell_words::quote(&path.to_string_lossy())))
}

/// The end of the first word in a shell's view.
fn first_word(text: &str) -> usize {
    let (mut quote, mut is_escaped) = (None, false);
    let start = text.len() - text.trim_start().len();
    for (at, char) in text.char_indices().skip_while(|(at, _)| *at < start) {
        match (quote, char) {
            _ if is_escaped => is_escaped = false,
            (Some('"') | None, '\\') => is_escaped = true,
            (Some(open), _) if open == char => quote = None,
            (None, '\'' | '"') => quote = Some(char),
            (None, _) if char.is_whitespace() => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::from_here;

    #[test]
    fn a_program_with_a_path_is_where_we_are() {
        let here = std::env::current_dir().unwrap();
        let here = here.to_str().unwrap();
        assert_eq!(from_here("nice -n 1").unwrap(), "nice -n 1");
        assert_eq!(from_here("").unwrap(), "");
        assert_eq!(from_here("./p").unwrap(), format!("{here}/p"));
        // The rest is not quoted, so a shell reads it as before.
        assert_eq!(from_here("./p $X  'a b'").unwrap(), format!("{here}/p $X  'a b'"));
        for own in ["'./my dir/p' -x", "\"./my dir/p\" -x", "./my\\ dir/p -x", "./'my dir'/p -x"] {
            assert_eq!(from_here(own).unwrap(), format!("'{here}/my dir/p' -x"), "{own}");
        }
        assert!(from_here("'./p").is_err());
    }
}
