//! Finished text on standard output, and progress bars on standard error.

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use host::terminal::{self, NOT_PRINTED};
use render::{fit_into, keep_names};

/// Prints finished text. Colours are taken out unless standard output is a terminal that wants them.
pub fn print(text: &str) -> Result<()> {
    terminal::write_text(text).context(NOT_PRINTED)
}

/// A progress bar; `n` is its length, if that is known. The template is constant.
pub fn bar(n: Option<u64>, template: &str, is_hidden: bool) -> ProgressBar {
    let target =
        if is_hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template(template).expect("the template is constant");
    ProgressBar::with_draw_target(n, target).with_style(style)
}

/// Wraps text to the current width of the terminal. Without a terminal, names are not cut.
pub fn fit_terminal() {
    if let Some(columns) = terminal::columns() { fit_into(columns) } else { keep_names() }
}
