//! The value of `--fail-on`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Ceiling;
use crate::values::percent::percent;

/// When the exit code reports a failure: `slower` or `slower:PCT`, `above:VALUE`, or both, and `allow-processes`,
/// separated by commas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FailOn {
    /// Largest tolerated slowdown, in percent; `None` if slowdowns do not fail.
    pub slower_pct: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Ceiling>,
    /// Whether runs may leave processes behind.
    #[serde(default)]
    pub allows_processes: bool,
}

const ALLOW: &str = "allow-processes";

impl FailOn {
    /// Fails on a larger slowdown, or on a process that a run leaves behind.
    pub const fn slower(slower_pct: f64) -> Self {
        Self { slower_pct: Some(slower_pct), above: None, allows_processes: false }
    }

    /// Parses the option of a verb that knows only ratios. Errors: the text is invalid or has a ceiling.
    pub fn parse_ratios(text: &str) -> Result<Self, String> {
        let parsed: Self = text.parse()?;
        match parsed.above {
            None => Ok(parsed),
            Some(above) => Err(format!(
                "--fail-on above:{above} is for what one session has measured: run, bench, gate, and show and compare of one record"
            )),
        }
    }

    /// Largest tolerated ratio; infinite if slowdowns do not fail.
    pub fn limit(self) -> f64 {
        self.slower_pct.map_or(f64::INFINITY, |pct| 1.0 + pct / 100.0)
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not slower, slower:PCT or above:VALUE, for example slower:2% or above:20ms; \
                 ,allow-processes may follow"
            )
        };
        let mut fail_on = Self { slower_pct: None, above: None, allows_processes: false };
        for part in text.split(',') {
            let is_new = match part.split_once(':') {
                None if part == ALLOW => !std::mem::replace(&mut fail_on.allows_processes, true),
                None if part == "slower" => fail_on.slower_pct.replace(0.0).is_none(),
                Some(("slower", pct)) => {
                    let pct = percent(pct)?.filter(|pct| (0.0..1e6).contains(pct));
                    fail_on.slower_pct.replace(pct.ok_or_else(wrong)?).is_none()
                }
                Some(("above", value)) => fail_on.above.replace(value.parse()?).is_none(),
                _ => return Err(wrong()),
            };
            if !is_new {
                return Err(format!("{text:?} says {part:?} after another one of its kind"));
            }
        }
        if fail_on.slower_pct.is_none() && fail_on.above.is_none() {
            Err(wrong())
        } else {
            Ok(fail_on)
        }
    }
}

impl Display for FailOn {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let slower = self.slower_pct.map(|pct| format!("slower:{pct}%"));
        let above = self.above.map(|ceiling| format!("above:{ceiling}"));
        let allow = self.allows_processes.then(|| ALLOW.into());
        let parts: Vec<String> = [slower, above, allow].into_iter().flatten().collect();
        f.write_str(&parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn slowdowns_and_ceilings() {
        let allowing = FailOn { allows_processes: true, ..FailOn::slower(1.0) };
        assert_eq!(allowing.to_string(), "slower:1%,allow-processes");
        let above = FailOn {
            slower_pct: None,
            above: Some("20ms".parse().unwrap()),
            allows_processes: false,
        };
        let both = FailOn { slower_pct: Some(2.0), ..above };
        for one in [above, both, allowing] {
            assert_eq!(one.to_string().parse(), Ok(one));
        }
        assert!(above.limit().is_infinite());
        check(&[
            ("slower", Some(FailOn::slower(0.0))),
            ("slower:2%", Some(FailOn::slower(2.0))),
            ("slower:900", Some(FailOn::slower(900.0))),
            ("slower:0.05%", Some(FailOn::slower(0.05))),
            ("slower:1%,allow-processes", Some(allowing)),
            ("above:20ms", Some(above)),
            ("above:20ms,slower:2%", Some(both)),
            ("slower,allow", None),
            ("slower:0.05", None),
            ("slower:-1", None),
            ("slower:", None),
            ("slower,slower:1%", None),
            ("above:", None),
            ("above:1s,above:2s", None),
            ("allow-processes", None),
            ("faster", None),
            ("", None),
        ]);
    }
}
