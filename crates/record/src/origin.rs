//! Which program wrote a file, and whether this one can read it (docs/compatibility.md).

use std::ffi::OsString;
use std::sync::OnceLock;

use anyhow::{Result, anyhow, ensure};

use model::spec::defaults::DefaultOption;
use model::words::text_of;

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

/// The command line of this process, with the options that it did not have itself. Set once, before a verb begins.
static WITH_DEFAULTS: OnceLock<(Vec<OsString>, Vec<DefaultOption>)> = OnceLock::new();

/// Sets the words of the command line, and those among them that are defaults. The first call counts.
pub fn set_command_line(words: Vec<OsString>, defaults: Vec<DefaultOption>) {
    WITH_DEFAULTS.set((words, defaults)).ok();
}

/// The words of the command line, defaults included.
pub fn command_line() -> Vec<String> {
    let text = |word: &OsString| text_of(word.as_encoded_bytes());
    match WITH_DEFAULTS.get() {
        Some((words, _)) => words.iter().map(text).collect(),
        None => std::env::args_os().map(|word| text(&word)).collect(),
    }
}

/// The options that the command line did not have itself.
pub fn defaults() -> Vec<DefaultOption> {
    WITH_DEFAULTS.get().map(|(_, defaults)| defaults.clone()).unwrap_or_default()
}
