//! A duration on the command line.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A duration as users write it: `10s`, `500ms`, `2min`, `1.5h`; a bare number is in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TimeSpan {
    pub ns: u64,
}

const TIME_UNITS: [(&str, f64); 7] =
    [("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("min", 60e9), ("h", 3600e9), ("s", 1e9)];

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a time; write for example 500ms, 10s, 2min or 1h");
        let unit = TIME_UNITS.iter().find(|(unit, _)| text.ends_with(unit));
        let (number, ns_per_unit) =
            unit.map_or((text, 1e9), |(unit, ns)| (&text[..text.len() - unit.len()], *ns));
        let number: f64 = number.trim().parse().map_err(|_| wrong())?;
        let ns = (number * ns_per_unit).round();
        // The limit is 100 years. It also refuses infinity and NaN.
        if !(0.0..=3.2e18).contains(&ns) {
            return Err(format!("{text:?} is out of range; a time is between 0 and 100 years"));
        }
        Ok(Self { ns: ns as u64 })
    }
}

impl TimeSpan {
    /// Parses a budget: a time above zero. Errors: the text is no time, or zero.
    pub fn above_zero(text: &str) -> Result<Self, String> {
        let span: Self = text.parse()?;
        if span.ns == 0 {
            return Err(format!(
                "{text:?} is no time to measure in; write for example 500ms or 10s"
            ));
        }
        Ok(span)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn times() {
        let span = |ns| Some(TimeSpan { ns });
        check(&[
            ("10", span(10_000_000_000)),
            ("0.5s", span(500_000_000)),
            ("500ms", span(500_000_000)),
            ("2 min", span(120_000_000_000)),
            ("3us", span(3_000)),
            ("7ns", span(7)),
            ("1h", span(3_600_000_000_000)),
            ("0", span(0)),
            ("-1s", None),
            ("inf", None),
            ("nan", None),
            ("1e30s", None),
            ("", None),
            ("s", None),
            ("10 parsecs", None),
        ]);
    }
}
