//! How the verbs that drive several sessions give their answer.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::spec::run::Style;

/// What is shown.
#[derive(Args, Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Output")]
pub struct AnswerOptions {
    /// Print the answer as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Style of the output: auto, basic (no progress), full, nocolor, color (no progress), none (errors only)
    /// [default: auto]
    #[arg(long, value_name = "STYLE")]
    pub style: Option<Style>,
}

impl AnswerOptions {
    /// Whether the steps and the answer are printed as text.
    pub fn is_text(self) -> bool {
        !self.json && self.style != Some(Style::None)
    }

    /// These options, with the style of an earlier answer where none is given.
    #[must_use]
    pub fn or_style_of(self, before: Self) -> Self {
        Self { style: self.style.or(before.style), ..self }
    }
}

/// The same, of a verb whose steps are kept.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Output")]
pub struct KeptAnswerOptions {
    /// Where to keep the steps and their records [default: a directory in $XDG_STATE_HOME/stillwell, by the command line]
    #[arg(short = 'o', long = "record", value_name = "DIR")]
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    #[command(flatten)]
    pub answer: AnswerOptions,
}
