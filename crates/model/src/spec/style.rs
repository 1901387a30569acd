//! How much is shown, and in which order.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

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
