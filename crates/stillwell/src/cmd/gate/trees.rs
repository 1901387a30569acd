//! The two builds that are compared.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

use crate::cmd::suites;
use crate::host::command_of_invoker;
use crate::spec::GateVerb;
use crate::spec::suite::{Build, LinkOrder, Variant};

use super::SIDES;

/// The two builds.
pub(super) struct Trees {
    /// Their directories, the old one first.
    pub directories: [PathBuf; 2],
    /// What the old one is, for people.
    pub base: String,
    /// What the new one is.
    pub head: String,
}

/// Digits of a commit that people read.
const SHORT: usize = 10;

impl Trees {
    /// The builds that the command line names. Those of revisions are checked out and built.
    ///
    /// # Errors
    /// A directory is not there, a revision is unknown, or a build fails.
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
        let revision = verb.base.as_deref().unwrap_or_default();
        let base = git(&["merge-base", "--end-of-options", revision, "HEAD"])?;
        let head = git(&["rev-parse", "--verify", "HEAD"])?;
        let build = verb.build.as_ref().map(|command| Build {
            command: command.clone(),
            link_order: LinkOrder::AsBuilt,
            builds: None,
            source: None,
        });
        let variant = |(name, revision): (&&str, &String)| Variant {
            name: (**name).to_owned(),
            revision: Some(revision.clone()),
            build: build.clone(),
            ..Variant::default()
        };
        let variants: Vec<Variant> = SIDES.iter().zip([&base, &head]).map(variant).collect();
        let built = suites::built(&variants)?;
        let mut directories = built.into_iter().map(PathBuf::from);
        let (old, new) = (directories.next(), directories.next());
        let directories = old.zip(new).context("the builds have no directory")?.into();
        let [base, head] = [base, head].map(|id| id.chars().take(SHORT).collect());
        Ok(Self { directories, base, head })
    }
}

fn git(arguments: &[&str]) -> Result<String> {
    let output = command_of_invoker("git").args(arguments).output();
    let output = output.context("cannot execute git, which --base needs")?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {}: {}", arguments.join(" "), stderr.trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
