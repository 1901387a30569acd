//! Finished text on standard output.

use anyhow::{Context as _, Result};

use host::terminal;
use render::{fit_into, keep_names};

/// The context of an error of standard output.
pub const NOT_PRINTED: &str = "cannot write to standard output";

/// Prints finished text, without colours unless standard output is a terminal that wants them.
pub fn print(text: &str) -> Result<()> {
    terminal::write_text(text).context(NOT_PRINTED)
}

/// Wraps text to the current width of the terminal. Without a terminal, names are not cut.
pub fn fit_terminal() {
    match terminal::columns() {
        Some(columns) => fit_into(columns),
        None => keep_names(),
    }
}
