//! The terminal output of a session: style, colours, progress line.

#![expect(clippy::disallowed_methods, reason = "reads NO_COLOR")]

use std::io::IsTerminal as _;

use crate::session::progress::{ProgressLine, ProgressTarget};
use model::spec::run::{OutputOptions, Style};
use model::spec::workers::PyperfOptions;
use record::plan::Plan;

#[derive(Clone, Copy, Debug)]
pub struct Screen {
    style: Style,
    target: ProgressTarget,
}

impl Screen {
    /// The screen that the options ask for. Sets the colours of the whole program.
    pub fn new(output: &OutputOptions, pyperf: Option<&PyperfOptions>) -> Self {
        let is_quiet = pyperf.is_some_and(|pyperf| pyperf.quiet);
        let style = if is_quiet { Style::None } else { output.style.unwrap_or_default() };
        set_colours(style);
        Self { style, target: target(style, output) }
    }

    pub fn is_quiet(self) -> bool {
        self.style == Style::None
    }

    pub fn is_one_terminal(self) -> bool {
        std::io::stderr().is_terminal() && std::io::stdout().is_terminal()
    }

    /// The progress line of a session; silent if the style has none.
    pub fn progress(self, plan: &Plan) -> ProgressLine {
        ProgressLine::new(plan, self.target, colours_allowed(self.style))
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

fn target(style: Style, output: &OutputOptions) -> ProgressTarget {
    let is_drawn =
        || std::io::stderr().is_terminal() && std::io::stdout().is_terminal() && !output.json;
    match style {
        Style::Full | Style::Nocolor => ProgressTarget::Bar,
        Style::Auto if is_drawn() => ProgressTarget::Bar,
        Style::Auto => ProgressTarget::Lines,
        Style::Basic | Style::Color => ProgressTarget::Notices,
        Style::None => ProgressTarget::Nowhere,
    }
}
