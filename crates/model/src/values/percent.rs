//! A percentage on the command line.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::values::ALPHA_PCT_RANGE;

/// A percentage: `1`, `0.5` or `0.05%`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct Percent(pub f64);

impl Percent {
    /// Parses a significance level, whose range the plan checks. Errors: it is no percentage.
    pub fn parse_alpha(text: &str) -> Result<Self, String> {
        let out = || out_of_alpha(format!("{text:?}"));
        // A number so small is out of range as a fraction, too.
        let is_too_small = |value: f64| value < ALPHA_PCT_RANGE.start() / 100.0;
        if text.trim().parse().is_ok_and(is_too_small) {
            return Err(out());
        }
        percent(text)?.and_then(|value| Self::try_from(value).ok()).ok_or_else(out)
    }

    /// A significance level, as a share of one. Errors: it is out of range.
    pub fn as_alpha(self) -> Result<f64, String> {
        if !ALPHA_PCT_RANGE.contains(&self.0) {
            return Err(out_of_alpha(self.0));
        }
        Ok(self.0 / 100.0)
    }
}

fn out_of_alpha(value: impl Display) -> String {
    let (least, most) = (ALPHA_PCT_RANGE.start(), ALPHA_PCT_RANGE.end());
    format!("{value} is out of range: from {least} to {most} percent")
}

/// A bare number below this may be a fraction by mistake.
const BARE_MIN: f64 = 0.1;

impl TryFrom<f64> for Percent {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        let is_in_range = value > 0.0 && value <= 100.0;
        let why = || format!("{value} is not a percentage above 0 and up to 100");
        is_in_range.then_some(Self(value)).ok_or_else(why)
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = percent(text)?.and_then(|value| Self::try_from(value).ok());
        value.ok_or_else(|| format!("{text:?} is not a percentage above 0 and up to 100"))
    }
}

/// Reads a percentage with or without `%`; `None` if the text is no number. Errors: a number without `%` is so small
/// that it may be meant as a fraction.
pub(super) fn percent(text: &str) -> Result<Option<f64>, String> {
    let bare = text.strip_suffix('%');
    let number: Option<f64> = bare.unwrap_or(text).trim().parse().ok();
    match number {
        Some(value) if bare.is_none() && value > 0.0 && value < BARE_MIN => {
            let text = text.trim();
            // Rounds, because 0.07 * 100 is 7.000000000000001.
            let as_fraction = (value * 1e8).round() / 1e6;
            Err(format!(
                "{text} may be a percentage or a fraction; write {text}% or {as_fraction}%"
            ))
        }
        _ => Ok(number),
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
            ("1 %", Some(Percent(1.0))),
            ("0.1", Some(Percent(0.1))),
            ("0.5%", Some(Percent(0.5))),
            ("0.01%", Some(Percent(0.01))),
            ("0.01", None),
            ("0", None),
            ("0%", None),
            ("101", None),
            ("x", None),
        ]);
    }

    #[test]
    fn a_significance_level_is_at_most_a_half() {
        assert_eq!(Percent(50.0).as_alpha(), Ok(0.5));
        let error = "100 is out of range: from 0.01 to 50 percent";
        assert_eq!(Percent(100.0).as_alpha().unwrap_err(), error);
        assert!(Percent(0.005).as_alpha().is_err());
        let error = "\"0\" is out of range: from 0.01 to 50 percent";
        assert_eq!(Percent::parse_alpha("0").unwrap_err(), error);
        let error = "\"1e-300\" is out of range: from 0.01 to 50 percent";
        assert_eq!(Percent::parse_alpha("1e-300").unwrap_err(), error);
        assert_eq!(Percent::parse_alpha("5%"), Ok(Percent(5.0)));
    }

    #[test]
    fn a_number_that_may_be_a_fraction_is_refused_with_both_meanings() {
        let error = "0.07".parse::<Percent>().unwrap_err();
        assert_eq!(error, "0.07 may be a percentage or a fraction; write 0.07% or 7%");
    }
}
