//! Finished text on standard output.

use std::io::Write as _;

use anyhow::{Context as _, Result};

/// Prints finished text. Colours are taken out unless standard output is a terminal that wants them.
///
/// # Errors
/// Standard output cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.context("cannot write to standard output")
}
