//! Finished text on standard output.

use anyhow::{Context as _, Result};

use host::terminal::{self, NOT_PRINTED};
use render::{fit_into, keep_names};

/// Prints finished text. Colours are taken out unless standard output is a terminal that wants them.
pub fn print(text: &str) -> Result<()> {
    terminal::write_text(text).context(NOT_PRINTED)
}

/// Wraps text to the current width of the terminal. Without a terminal, names are not cut.
pub fn fit_terminal() {
    if let Some(columns) = terminal::columns() { fit_into(columns) } else { keep_names() }
}
