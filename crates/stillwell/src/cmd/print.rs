//! Finished text on standard output.

use anyhow::{Context as _, Result};

use crate::terminal;

/// Prints finished text. Colours are taken out unless standard output is a terminal that wants them.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    terminal::write_text(text).context("cannot write to standard output")
}
