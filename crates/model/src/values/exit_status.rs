//! Exit statuses of the commands that count as success.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Failures that do not end the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IgnoreFailure {
    /// Every exit.
    All,
    /// These statuses, and 0.
    Statuses(Vec<i32>),
}

impl FromStr for IgnoreFailure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all-non-zero" {
            return Ok(Self::All);
        }
        Ok(Self::Statuses(text.parse::<ExitStatuses>()?.0))
    }
}

/// A list of exit statuses: `0,3`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitStatuses(pub Vec<i32>);

impl FromStr for ExitStatuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = |word: &str| match word.trim().parse() {
            Ok(status @ 0..=255) => Ok(status),
            _ => {
                Err(format!("{word:?} is not an exit status from 0 to 255 (128 + N for signal N)"))
            }
        };
        text.split(',').map(status).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn failures_and_statuses() {
        check(&[
            ("all-non-zero", Some(IgnoreFailure::All)),
            ("1,2", Some(IgnoreFailure::Statuses(vec![1, 2]))),
            ("256", None),
            ("", None),
        ]);
        check(&[("0,3", Some(ExitStatuses(vec![0, 3]))), ("-1", None)]);
    }
}
