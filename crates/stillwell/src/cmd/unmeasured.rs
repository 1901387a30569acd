//! Builds and sessions of other verbs that may fail when a measured program fails (the verb itself is fine).

use std::path::Path;

use anyhow::{Context as _, Error};

use crate::cmd::assessment::Assessment;
use crate::cmd::suites;
use crate::session::SessionEnd;
use measure::{Hook, MeasurementFailure};
use model::spec::suite::Variant;
use record::EndReason;
use record::plan::BuiltRevision;
use record::plan::suite::VariantBuild;
use render::document::ErrorCode;
use render::failure::{Quote, code, explain};

/// Why a program has no build or no times.
#[derive(Debug)]
pub enum Unmeasured {
    /// The program with this index cannot be built or run.
    Program(usize, String),
    /// ^C or SIGTERM came.
    Interrupted,
    /// The verb itself failed.
    Failed(Error),
}

impl Unmeasured {
    /// The error of a verb that cannot go on.
    pub fn into_error(self) -> Error {
        match self {
            Self::Program(_, why) => Error::msg(why),
            Self::Interrupted => ErrorCode::Interrupted.error("interrupted".into()),
            Self::Failed(error) => error,
        }
    }
}

impl From<Error> for Unmeasured {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// A commit in its work tree.
pub struct CommitBuild {
    pub revision: BuiltRevision,
    /// Whether it was linked in another order.
    pub is_relinked: bool,
    /// Whether it was built, and not only found.
    pub is_new: bool,
}

/// Builds a commit in its work tree, or finds its build. A failure is attributed to program 0.
pub fn built(variant: &Variant, top: &Path) -> Result<CommitBuild, Unmeasured> {
    let built = suites::built(std::slice::from_ref(variant), top);
    let mut built = built.map_err(|error| match suites::build_failure(&error) {
        Some(why) => Unmeasured::Program(0, why),
        None if ErrorCode::of(&error) == ErrorCode::Interrupted => Unmeasured::Interrupted,
        None => Unmeasured::Failed(error),
    })?;
    let built = built.pop().context("the variant was not built")?;
    let VariantBuild { variant, directories, git, is_relinked, is_new } = built;
    let git = git.context("a checkout has no commit")?;
    let revision = BuiltRevision { name: variant.name, directories, git };
    Ok(CommitBuild { revision, is_relinked, is_new })
}

/// Errors: the session is not complete.
pub fn require_whole(record: &Path, end: SessionEnd) -> Result<(), Unmeasured> {
    match end.reason {
        EndReason::Complete | EndReason::Decided | EndReason::Precise => Ok(()),
        EndReason::Interrupted => Err(Unmeasured::Interrupted),
        EndReason::Failed | EndReason::TimedOut | EndReason::RecordFull => {
            let Some(failure) = end.failure else {
                let shown = record.display();
                let text = format!("every run took longer than --timeout; they are in {shown}");
                return Err(ErrorCode::Timeout.error(text).into());
            };
            let why = explain(&Assessment::read(record)?.record, &failure, Quote::Step);
            Err(match failure {
                MeasurementFailure::Run { arm, .. }
                | MeasurementFailure::Start { arm: Some(arm), .. }
                | MeasurementFailure::Value { arm, .. }
                | MeasurementFailure::NotCounted { arm, .. }
                | MeasurementFailure::Worker { arm, .. }
                | MeasurementFailure::Hook { hook: Hook::Validate, arm, .. } => {
                    Unmeasured::Program(arm, why)
                }
                MeasurementFailure::Survivors(left) => Unmeasured::Program(left.arm as usize, why),
                _ => code(&failure).error(why).into(),
            })
        }
    }
}
