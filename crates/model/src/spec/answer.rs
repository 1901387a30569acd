//! How the verbs that drive several sessions give their answer.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

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

/// The answer of a verb that keeps its steps in a directory.
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

/// The order of the rows of a table, as hyperfine names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableOrder {
    /// The fastest first; a scan in its order.
    #[default]
    Auto,
    /// As on the command line.
    Command,
    /// The fastest first.
    MeanTime,
}

impl TableOrder {
    /// The order that a command line asks for.
    pub fn of(words: &[String]) -> Self {
        let value = |(at, word): (usize, &String)| match word.strip_prefix("--sort") {
            Some("") => words.get(at + 1).cloned(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        let asked = words.iter().enumerate().find_map(value);
        asked.and_then(|value| Self::from_str(&value, false).ok()).unwrap_or_default()
    }
}

/// How much the terminal gets, as hyperfine names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
pub enum Style {
    /// Progress and colours if standard output is a terminal.
    #[default]
    Auto,
    /// No progress, no colours.
    Basic,
    /// Progress and colours.
    Full,
    /// Progress without colours.
    Nocolor,
    /// Colours without progress.
    Color,
    /// Nothing but errors.
    None,
}
