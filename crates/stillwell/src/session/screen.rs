//! The terminal output of a session: style, colours, progress line.

#![expect(clippy::disallowed_methods, reason = "reads NO_COLOR")]

use std::io::IsTerminal as _;

use crate::session::progress::{ProgressLine, ProgressTarget};
use model::spec::run::{OutputOptions, Style};
use model::spec::workers::PyperfOptions;
use record::plan::Plan;

#[derive(Clone, Copy, Debug)]
pub struct Screen {
    target: ProgressTarget,
    colours: bool,
}

impl Screen {
    /// The screen that the options ask for. Sets the colours of the whole program.
    pub fn new(output: &OutputOptions, pyperf: Option<&PyperfOptions>) -> Self {
        let is_quiet = pyperf.is_some_and(|pyperf| pyperf.quiet);
        let style = if is_quiet { Style::None } else { output.style.unwrap_or_default() };
        let (target, colours) = match style {
            Style::Full => (ProgressTarget::Bar, Some(true)),
            Style::Nocolor => (ProgressTarget::Bar, Some(false)),
            Style::Auto if Self::is_one_terminal() && !output.json => (ProgressTarget::Bar, None),
            Style::Auto => (ProgressTarget::Lines, None),
            Style::Color => (ProgressTarget::Notices, Some(true)),
            Style::Basic => (ProgressTarget::Notices, Some(false)),
            Style::None => (ProgressTarget::Nowhere, Some(false)),
        };
        match colours {
            Some(true) => anstream::ColorChoice::Always.write_global(),
            Some(false) => anstream::ColorChoice::Never.write_global(),
            None => {}
        }
        let are_allowed = || std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { target, colours: colours.unwrap_or_else(are_allowed) }
    }

    pub fn is_quiet(self) -> bool {
        self.target == ProgressTarget::Nowhere
    }

    /// Whether both streams are terminals, so that a reader sees them as one.
    pub fn is_one_terminal() -> bool {
        std::io::stderr().is_terminal() && std::io::stdout().is_terminal()
    }

    /// The progress line of a session; silent if the style has none.
    pub fn progress(self, plan: &Plan) -> ProgressLine {
        ProgressLine::new(plan, self.target, self.colours)
    }
}
