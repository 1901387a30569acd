//! A percentage on the command line.

use std::str::FromStr;

/// A percentage: `1`, `0.5` or `0.5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.strip_suffix('%').unwrap_or(text).trim();
        match number.parse() {
            Ok(value) if value > 0.0 && value <= 100.0 => Ok(Self(value)),
            _ => Err(format!("{text:?} is not a percentage above 0 and up to 100")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn percentages() {
        check(&[
            ("1", Some(Percent(1.0))),
            ("0.5%", Some(Percent(0.5))),
            ("0", None),
            ("101", None),
            ("x", None),
        ]);
    }
}
