//! The value of `--fail-on`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::values::percent::percent;

/// Slowdowns that the exit code reports: `slower` or `slower:PCT`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailOn {
    /// Largest tolerated slowdown, in percent.
    pub slower_pct: f64,
}

impl FailOn {
    /// The largest tolerated ratio.
    pub fn limit(self) -> f64 {
        1.0 + self.slower_pct / 100.0
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not slower or slower:PCT, for example slower:2%");
        let rest = text.strip_prefix("slower").ok_or_else(wrong)?;
        if rest.is_empty() {
            return Ok(Self { slower_pct: 0.0 });
        }
        match percent(rest.strip_prefix(':').ok_or_else(wrong)?)? {
            Some(slower_pct) if (0.0..1e6).contains(&slower_pct) => Ok(Self { slower_pct }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn slowdowns() {
        check(&[
            ("slower", Some(FailOn { slower_pct: 0.0 })),
            ("slower:2%", Some(FailOn { slower_pct: 2.0 })),
            ("slower:900", Some(FailOn { slower_pct: 900.0 })),
            ("slower:0.05%", Some(FailOn { slower_pct: 0.05 })),
            ("slower:0.05", None),
            ("slower:-1", None),
            ("slower:", None),
            ("faster", None),
        ]);
    }
}
