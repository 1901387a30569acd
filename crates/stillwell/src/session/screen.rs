//! What of a session is seen on the terminal.

#![expect(clippy::disallowed_methods, reason = "reads NO_COLOR")]

use std::io::IsTerminal as _;

use crate::plan::Plan;
use crate::session::progress::Progress;
use crate::spec::run::{OutputOptions, Style};
use crate::spec::workers::PyperfOptions;

/// How much the terminal gets.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    style: Style,
    shows_progress: bool,
}

impl Screen {
    /// As the user says; colours are set for the whole program.
    pub fn new(output: &OutputOptions, pyperf: Option<&PyperfOptions>) -> Self {
        let is_quiet = pyperf.is_some_and(|pyperf| pyperf.quiet);
        let style = if is_quiet { Style::None } else { output.style.unwrap_or_default() };
        set_colours(style);
        Self { style, shows_progress: shows_progress(style, output) }
    }

    /// Whether nothing is printed but errors.
    pub fn is_quiet(self) -> bool {
        self.style == Style::None
    }

    /// A progress line, or none.
    pub fn progress(self, plan: &Plan) -> Progress {
        Progress::new(plan, self.shows_progress, colours_allowed(self.style))
    }
}

fn set_colours(style: Style) {
    let choice = match style {
        Style::Auto => return,
        Style::Full | Style::Color => anstream::ColorChoice::Always,
        Style::Basic | Style::Nocolor | Style::None => anstream::ColorChoice::Never,
    };
    choice.write_global();
}

fn colours_allowed(style: Style) -> bool {
    match style {
        Style::Full | Style::Color => true,
        Style::Auto => std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        Style::Basic | Style::Nocolor | Style::None => false,
    }
}

fn shows_progress(style: Style, output: &OutputOptions) -> bool {
    match style {
        Style::Full | Style::Nocolor => true,
        Style::Auto => {
            std::io::stderr().is_terminal() && std::io::stdout().is_terminal() && !output.json
        }
        Style::Basic | Style::Color | Style::None => false,
    }
}
