//! The outcome of a restoration, and what a failed change has left.

use serde::{Deserialize, Serialize};

use crate::absent::Waiting;
use crate::files::Foreign;
use crate::shield::ShieldPlan;
use model::values::name_cpus;

#[derive(Debug, Default)]
pub struct Restoration {
    pub lowered: Option<ShieldPlan>,
    /// Changed files that hold their original value again.
    pub restored: Vec<String>,
    /// Files that another program has changed since. Stillwell leaves them alone.
    pub foreign: Vec<Foreign>,
    /// Files that no longer exist, or that now belong to another device.
    pub gone: Vec<String>,
    /// Files that wait for an offline CPU. They stay in the journal.
    pub waiting: Vec<Waiting>,
    /// Files that could not be restored, and the reasons.
    pub failed: Vec<(String, String)>,
}

impl Restoration {
    /// Whether everything is restored that can be restored now, except files that another program has changed.
    pub fn is_complete(&self) -> bool {
        self.failed.is_empty()
    }

    /// Sentences about the files that wait, one for each list of CPUs.
    pub fn waits(&self) -> Vec<String> {
        let mut lists: Vec<&[usize]> =
            self.waiting.iter().map(|file| file.cpus.as_slice()).collect();
        lists.sort_unstable();
        lists.dedup();
        let sentence = |cpus: &[usize]| {
            let n_files = self.waiting.iter().filter(|file| file.cpus == cpus).count();
            let (are, files) = (
                if cpus.len() == 1 { "is" } else { "are" },
                if n_files == 1 { "file waits" } else { "files wait" },
            );
            format!(
                "{} {are} offline: {n_files} {files} for that; `stillwell system reset` puts them back when it is online again",
                name_cpus(cpus)
            )
        };
        lists.into_iter().map(sentence).collect()
    }

    /// Whether nothing waits either.
    pub fn is_over(&self) -> bool {
        self.is_complete() && self.waiting.is_empty()
    }
}

/// State after a failed change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aftermath {
    /// Nothing was changed.
    Unchanged,
    /// The changes were put back.
    PutBack,
    /// These files are left, each with the reason. The journal has them.
    Left(Vec<(String, String)>),
}

impl Aftermath {
    /// Files that a restoration has left.
    pub(crate) fn of(restored: &Restoration) -> Self {
        if restored.is_complete() { Self::PutBack } else { Self::Left(restored.failed.clone()) }
    }

    /// The sentence that follows the reason of the failure.
    pub fn sentence(&self) -> String {
        match self {
            Self::Unchanged => "nothing was changed".into(),
            Self::PutBack => "what was changed is put back".into(),
            Self::Left(files) => {
                let Some((path, why)) = files.first() else { return String::new() };
                let others = match files.len() {
                    1 => String::new(),
                    2 => " and 1 other file".into(),
                    n => format!(" and {} other files", n - 1),
                };
                format!(
                    "cannot put back /{path}{others}: {why}; `stillwell system reset` does it later"
                )
            }
        }
    }
}
