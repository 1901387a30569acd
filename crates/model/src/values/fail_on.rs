//! The value of `--fail-on`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::values::percent::percent;

/// Slowdowns that the exit code reports, `slower` or `slower:PCT`; then perhaps `,allow-processes`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailOn {
    /// Largest tolerated slowdown, in percent.
    pub slower_pct: f64,
    /// Whether a run may leave processes behind.
    #[serde(default)]
    pub allows_processes: bool,
}

/// What allows processes that a run leaves behind.
const ALLOW: &str = ",allow-processes";

impl FailOn {
    /// A slowdown by more than this, or a process that a run leaves behind.
    pub const fn slower(slower_pct: f64) -> Self {
        Self { slower_pct, allows_processes: false }
    }

    /// The largest tolerated ratio.
    pub fn limit(self) -> f64 {
        1.0 + self.slower_pct / 100.0
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not slower or slower:PCT, for example slower:2%");
        let slower = text.strip_suffix(ALLOW);
        let allows_processes = slower.is_some();
        let rest = slower.unwrap_or(text).strip_prefix("slower").ok_or_else(wrong)?;
        if rest.is_empty() {
            return Ok(Self { slower_pct: 0.0, allows_processes });
        }
        match percent(rest.strip_prefix(':').ok_or_else(wrong)?)? {
            Some(slower_pct) if (0.0..1e6).contains(&slower_pct) => {
                Ok(Self { slower_pct, allows_processes })
            }
            _ => Err(wrong()),
        }
    }
}

impl Display for FailOn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let allow = if self.allows_processes { ALLOW } else { "" };
        write!(f, "slower:{}%{allow}", self.slower_pct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn slowdowns() {
        let allowing = FailOn { allows_processes: true, ..FailOn::slower(1.0) };
        assert_eq!(allowing.to_string(), "slower:1%,allow-processes");
        check(&[
            ("slower", Some(FailOn::slower(0.0))),
            ("slower:2%", Some(FailOn::slower(2.0))),
            ("slower:900", Some(FailOn::slower(900.0))),
            ("slower:0.05%", Some(FailOn::slower(0.05))),
            ("slower:1%,allow-processes", Some(allowing)),
            ("slower,allow", None),
            ("slower:0.05", None),
            ("slower:-1", None),
            ("slower:", None),
            ("faster", None),
        ]);
    }
}
