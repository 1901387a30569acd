//! Texts in which options have their name only when they are shown: it is an option of `run` or of another verb, or a key of a
//! suite. `render` spells it.

use std::fmt::{self, Display, Formatter};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

pub use crate::prose;
use crate::values::option_value;

/// An option whose name depends on whom a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OptionName {
    Affinity,
    Cleanup,
    Conclude,
    Counter,
    DecideOn,
    EnvPadding,
    Input,
    Isolate,
    NoAslr,
    Numa,
    Prepare,
    Priority,
    RunTuned,
    Sched,
    Setup,
    Threads,
    Timeout,
    Tune,
    Value,
    ValueBetter,
    ValueFile,
    ValueJson,
    ValueUnit,
    Warmups,
}

impl OptionName {
    /// The words of the option, joined by hyphens.
    pub fn words(self) -> String {
        option_value(&self)
    }
}

/// The option's name for a user of `run`.
impl Display for OptionName {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunTuned => to.write_str("run --tune"),
            _ => write!(to, "--{}", self.words()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Words(String),
    Option(OptionName),
}

/// A text for people that may name options. It can be an error. In files it is a text for a user of `run`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Prose(Vec<Piece>);

/// A [`Prose`] of texts with variables as in `format!`, names of options, and expressions in parentheses.
#[macro_export]
macro_rules! prose {
    [@$prose:expr;] => { $prose };
    [@$prose:expr; $words:literal $($rest:tt)*] => { prose![@$prose.with(format!($words)); $($rest)*] };
    [@$prose:expr; ($words:expr) $($rest:tt)*] => { prose![@$prose.with($words); $($rest)*] };
    [@$prose:expr; $option:ident $($rest:tt)*] => {
        prose![@$prose.with($crate::prose::OptionName::$option); $($rest)*]
    };
    [$($all:tt)+] => { prose![@$crate::prose::Prose::default(); $($all)+] };
}

impl Prose {
    /// This text with another one behind it.
    #[must_use]
    pub fn with(mut self, next: impl Into<Self>) -> Self {
        self.0.extend(next.into().0);
        self
    }

    /// The text, with these names of options.
    pub fn spelled(&self, name: impl Fn(OptionName) -> String) -> String {
        let spelled = |piece: &Piece| match piece {
            Piece::Words(words) => words.clone(),
            Piece::Option(option) => name(*option),
        };
        self.0.iter().map(spelled).collect()
    }
}

impl Display for Prose {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(&self.spelled(|option| option.to_string()))
    }
}

impl std::error::Error for Prose {}

impl From<String> for Prose {
    fn from(words: String) -> Self {
        Self(vec![Piece::Words(words)])
    }
}

impl From<&str> for Prose {
    fn from(words: &str) -> Self {
        words.to_owned().into()
    }
}

impl From<OptionName> for Prose {
    fn from(option: OptionName) -> Self {
        Self(vec![Piece::Option(option)])
    }
}

impl From<Prose> for String {
    fn from(prose: Prose) -> Self {
        prose.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Old records may have the names of options in brackets.
    #[test]
    fn a_text_of_a_file_stays_as_it_is() {
        let text = "\"use ⟦isolate⟧\"";
        let read: Prose = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
