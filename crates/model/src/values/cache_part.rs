//! A part of the last-level cache on the command line.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::values::Percent;

/// A part of the cache: `off`, `25%` or `25`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum CachePart {
    Off,
    /// Percent, below 100.
    Percent(f64),
}

impl FromStr for CachePart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "off" => Ok(Self::Off),
            Ok(Percent(percent)) if percent < 100.0 => Ok(Self::Percent(percent)),
            _ => Err(format!("{text:?} is neither off nor a percentage above 0 and below 100")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn parts() {
        check(&[
            ("off", Some(CachePart::Off)),
            ("25%", Some(CachePart::Percent(25.0))),
            ("12.5", Some(CachePart::Percent(12.5))),
            ("0", None),
            ("100%", None),
            ("half", None),
        ]);
    }
}
