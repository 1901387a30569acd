//! Colours of the text output. Each carries a meaning.

use anstyle::{AnsiColor, Style};

use analysis::verdict::Verdict;
pub(super) use host::terminal::paint;

/// Styles of the text output. anstream removes the colours when the terminal does not want them.
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
    /// Styles with colours.
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

    /// Styles without colours.
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
