//! Which program wrote a file, and whether this one can read it (docs/compatibility.md).

use anyhow::{Result, anyhow, ensure};

/// The beginning of the files of every version.
#[derive(serde::Deserialize)]
pub struct Origin {
    pub format: String,
    version: u32,
    #[serde(default)]
    tool: String,
}

impl Origin {
    /// Errors: the version of the format is later than `known`.
    pub fn check_version(&self, known: u32) -> Result<()> {
        ensure!(
            self.version <= known,
            "written by a later Stillwell (format {}; this one reads up to {known})",
            self.version
        );
        Ok(())
    }

    /// The error for a file that this program does not understand. A later program may have new words even in the same
    /// version of the format.
    pub fn blamed(&self, problem: &str) -> anyhow::Error {
        let this = concat!("stillwell ", env!("CARGO_PKG_VERSION"));
        if self.tool.is_empty() || self.tool == this {
            anyhow!("{problem}")
        } else {
            anyhow!("written by {}, and this is {this}: {problem}", self.tool)
        }
    }
}
