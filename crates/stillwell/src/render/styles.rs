//! Colours, only where they carry meaning.

use anstyle::{AnsiColor, Style};

use crate::verdict::Verdict;

/// How the parts of the text output look. Whoever prints the text takes colours out where they are not wanted
/// (anstream).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Styles {
    /// The number that counts.
    pub headline: Style,
    /// Verdict: it takes more time.
    pub slower: Style,
    /// Verdict: it takes less time.
    pub faster: Style,
    /// Verdict: no difference that counts.
    pub same: Style,
    /// No verdict, or something that went wrong.
    pub attention: Style,
}

impl Styles {
    /// With colours.
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

    /// Without any.
    #[cfg(test)]
    pub fn plain() -> Self {
        Self::default()
    }

    /// The style of a verdict.
    pub fn verdict(&self, verdict: Verdict) -> Style {
        match verdict {
            Verdict::Slower => self.slower,
            Verdict::Faster => self.faster,
            Verdict::Same => self.same,
            Verdict::Undecided => self.attention,
        }
    }
}

/// A text in a style.
pub(super) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
