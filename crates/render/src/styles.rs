//! Colours of the text output. Each carries a meaning.

use anstyle::{AnsiColor, Style};

use analysis::verdict::Verdict;
pub(super) use host::terminal::paint;

/// The verdict as `--json` and the style sheet of a page spell it.
pub(super) fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        Verdict::Undecided => "undecided",
    }
}

/// Styles of the text output. anstream removes colours that the terminal does not want.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Styles {
    /// The main number of a block.
    pub headline: Style,
    /// The verdict SLOWER.
    pub slower: Style,
    /// The verdict FASTER.
    pub faster: Style,
    /// The verdict SAME.
    pub same: Style,
    /// No verdict, or a problem.
    pub attention: Style,
}

impl Styles {
    pub fn colored() -> Self {
        let bold = |color: AnsiColor| color.on_default().bold();
        Self {
            headline: Style::new().bold(),
            slower: bold(AnsiColor::Red),
            faster: bold(AnsiColor::Green),
            same: bold(AnsiColor::Cyan),
            attention: bold(AnsiColor::Yellow),
        }
    }

    pub fn verdict(&self, verdict: Verdict) -> Style {
        match verdict {
            Verdict::Slower => self.slower,
            Verdict::Faster => self.faster,
            Verdict::Same => self.same,
            Verdict::Undecided => self.attention,
        }
    }
}
