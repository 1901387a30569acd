//! Finished text on standard output.

use anyhow::{Context as _, Result};

use host::terminal;
use render::{fit_into, keep_names};

/// What a failure of standard output is called.
pub const NOT_PRINTED: &str = "cannot write to standard output";

/// Prints finished text. Colours are taken out unless standard output is a terminal that wants them.
pub fn print(text: &str) -> Result<()> {
    terminal::write_text(text).context(NOT_PRINTED)
}

/// Lets text be wrapped to the width that the terminal has now. Elsewhere names are not cut.
pub fn fit_terminal() {
    match terminal::columns() {
        Some(columns) => fit_into(columns),
        None => keep_names(),
    }
}
