//! Builds and sessions of other verbs that may fail when a measured program fails (the verb itself is fine).

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::cmd::assessment::Assessment;
use crate::cmd::suites::{self, BuildInterrupted};
use crate::session::SessionEnd;
use measure::{Hook, MeasurementFailure};
use model::spec::suite::Variant;
use record::EndReason;
use record::plan::BuiltRevision;
use record::plan::suite::VariantBuild;
use render::document::ErrorCode;
use render::failure::{Quote, code, explain};

#[derive(Debug)]
pub enum Unmeasured {
    /// The program with this index cannot be built or run.
    Program(usize, String),
    /// ^C or SIGTERM came.
    Interrupted,
}

/// Builds a commit in its work tree, or finds its build. Returns also whether it was linked in another order. A failure
/// is attributed to program 0.
pub fn built(variant: &Variant, top: &Path) -> Result<Result<(BuiltRevision, bool), Unmeasured>> {
    let mut built = match suites::built(std::slice::from_ref(variant), top) {
        Ok(built) => built,
        Err(error) if error.is::<BuildInterrupted>() => return Ok(Err(Unmeasured::Interrupted)),
        Err(error) => {
            let why = suites::build_failure(&error).ok_or(error)?;
            return Ok(Err(Unmeasured::Program(0, why)));
        }
    };
    let built = built.pop().context("the variant was not built")?;
    let VariantBuild { variant, directories, git, is_relinked } = built;
    let git = git.context("a checkout has no commit")?;
    Ok(Ok((BuiltRevision { name: variant.name, directories, git }, is_relinked)))
}

/// `Ok(())` if the session is complete, otherwise the reason. Errors: it failed, and none of its programs is to blame.
pub fn is_whole(record: &Path, end: SessionEnd) -> Result<Result<(), Unmeasured>> {
    match end.reason {
        EndReason::Complete | EndReason::Decided | EndReason::Precise => Ok(Ok(())),
        EndReason::Interrupted => Ok(Err(Unmeasured::Interrupted)),
        EndReason::Failed | EndReason::TimedOut | EndReason::RecordFull => {
            let Some(failure) = end.failure else {
                let shown = record.display();
                let text = format!("every run took longer than --timeout; they are in {shown}");
                return Err(ErrorCode::Timeout.error(text));
            };
            let why = explain(&Assessment::read(record)?.record, &failure, Quote::Step);
            match failure {
                MeasurementFailure::Run { arm, .. }
                | MeasurementFailure::Start { arm: Some(arm), .. }
                | MeasurementFailure::Value { arm, .. }
                | MeasurementFailure::NotCounted { arm, .. }
                | MeasurementFailure::Worker { arm, .. }
                | MeasurementFailure::Hook { hook: Hook::Validate, arm, .. } => {
                    Ok(Err(Unmeasured::Program(arm, why)))
                }
                MeasurementFailure::Survivors(left) => {
                    Ok(Err(Unmeasured::Program(left.arm as usize, why)))
                }
                _ => Err(code(&failure).error(why)),
            }
        }
    }
}
