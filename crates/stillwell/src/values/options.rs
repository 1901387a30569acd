//! Values of options: each is a type that knows how it is written on the command line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A duration as users write it: `10s`, `500ms`, `2min`, `1.5h`; a bare number is in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeSpan {
    /// Nanoseconds.
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
        // 100 years; also refuses infinity and NaN.
        if !(0.0..=3.2e18).contains(&ns) {
            return Err(format!("{text:?} is out of range; a time is between 0 and 100 years"));
        }
        Ok(Self { ns: ns as u64 })
    }
}

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

/// Names with commas between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl FromStr for Names {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() { Err("no name is given".into()) } else { Ok(Self(names)) }
    }
}

/// Scheduling policy of the runs: `other`, `batch`, `fifo[:PRIO]` or `rr[:PRIO]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sched {
    Other,
    Batch,
    Fifo(u8),
    Rr(u8),
}

impl FromStr for Sched {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, priority) = match text.split_once(':') {
            Some((name, priority)) => (name, Some(priority)),
            None => (text, None),
        };
        let real_time = || match priority.map_or(Ok(50), str::parse) {
            Ok(priority @ 1..=99) => Ok(priority),
            _ => Err(format!("{text:?}: a real-time priority is from 1 to 99")),
        };
        match (name, priority) {
            ("other", None) => Ok(Self::Other),
            ("batch", None) => Ok(Self::Batch),
            ("fifo", _) => Ok(Self::Fifo(real_time()?)),
            ("rr", _) => Ok(Self::Rr(real_time()?)),
            _ => Err(format!("{text:?} is not other, batch, fifo[:PRIO] or rr[:PRIO]")),
        }
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other => write!(f, "other"),
            Self::Batch => write!(f, "batch"),
            Self::Fifo(priority) => write!(f, "fifo:{priority}"),
            Self::Rr(priority) => write!(f, "rr:{priority}"),
        }
    }
}

/// How commands are executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shell {
    /// Directly if no command needs a shell, otherwise all with `sh -c`.
    Auto,
    /// Directly, always.
    None,
    /// With this shell and `-c`, always.
    Words(Vec<String>),
}

impl FromStr for Shell {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::None),
            "default" => Ok(Self::Words(vec!["sh".into()])),
            _ => {
                let words =
                    shell_words::split(text).map_err(|error| format!("{text:?}: {error}"))?;
                if words.is_empty() { Err("an empty shell".into()) } else { Ok(Self::Words(words)) }
            }
        }
    }
}

/// Which failures do not end the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoreFailure {
    /// Every exit.
    All,
    /// These statuses, beside 0.
    Statuses(Vec<i32>),
}

impl FromStr for IgnoreFailure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all-non-zero" {
            return Ok(Self::All);
        }
        Ok(Self::Statuses(parse_statuses(text)?.0))
    }
}

/// A list of exit statuses: `0,3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(pub Vec<i32>);

impl FromStr for Statuses {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_statuses(text)
    }
}

fn parse_statuses(text: &str) -> Result<Statuses, String> {
    let status = |word: &str| match word.trim().parse() {
        Ok(status @ 0..=255) => Ok(status),
        _ => Err(format!("{word:?} is not an exit status from 0 to 255 (128 + N for signal N)")),
    };
    text.split(',').map(status).collect::<Result<_, _>>().map(Statuses)
}

/// Where the output of the runs goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputTarget {
    Null,
    Pipe,
    Inherit,
    File(String),
}

impl FromStr for OutputTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "null" => Ok(Self::Null),
            "pipe" => Ok(Self::Pipe),
            "inherit" => Ok(Self::Inherit),
            // A file needs a slash, so that a later word cannot change the meaning of a file's name.
            _ if text.contains('/') => Ok(Self::File(text.into())),
            _ => Err(format!(
                "{text:?} is not null, pipe, inherit or a path with a slash (./{text})"
            )),
        }
    }
}

/// Size of the padding variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// A new random size below 4096 for each block.
    #[default]
    Random,
    /// Always this many bytes.
    Bytes(u32),
    /// No variable.
    Off,
}

impl FromStr for Padding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("random", _) => Ok(Self::Random),
            ("off", _) => Ok(Self::Off),
            (_, Ok(n_bytes @ 0..=65536)) => Ok(Self::Bytes(n_bytes)),
            _ => Err(format!("{text:?} is not random, off or a number of bytes up to 65536")),
        }
    }
}

/// When the exit code is to report a slowdown: `slower` or `slower:PCT`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailOn {
    /// Slowdowns up to this many percent are tolerated.
    pub slower_pct: f64,
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not slower or slower:PCT, for example slower:2%");
        let rest = text.strip_prefix("slower").ok_or_else(wrong)?;
        if rest.is_empty() {
            return Ok(Self { slower_pct: 0.0 });
        }
        let percent = rest.strip_prefix(':').ok_or_else(wrong)?;
        match percent.strip_suffix('%').unwrap_or(percent).parse() {
            Ok(slower_pct) if (0.0..1e6).contains(&slower_pct) => Ok(Self { slower_pct }),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Rlimit;

    #[track_caller]
    fn check<T: FromStr<Err = String> + fmt::Debug + PartialEq>(cases: &[(&str, Option<T>)]) {
        for (text, expected) in cases {
            assert_eq!(text.parse().ok().as_ref(), expected.as_ref(), "{text:?}");
        }
    }

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

    #[test]
    fn scheduling_policies() {
        check(&[
            ("other", Some(Sched::Other)),
            ("fifo", Some(Sched::Fifo(50))),
            ("rr:99", Some(Sched::Rr(99))),
            ("fifo:0", None),
            ("fifo:100", None),
            ("batch:1", None),
            ("idle", None),
        ]);
    }

    #[test]
    fn shells() {
        check(&[
            ("default", Some(Shell::Words(vec!["sh".into()]))),
            ("none", Some(Shell::None)),
            ("bash --norc", Some(Shell::Words(vec!["bash".into(), "--norc".into()]))),
            ("", None),
            ("'", None),
        ]);
    }

    #[test]
    fn failures_and_statuses() {
        check(&[
            ("all-non-zero", Some(IgnoreFailure::All)),
            ("1,2", Some(IgnoreFailure::Statuses(vec![1, 2]))),
            ("256", None),
            ("", None),
        ]);
        check(&[("0,3", Some(Statuses(vec![0, 3]))), ("-1", None)]);
    }

    #[test]
    fn outputs_and_paddings() {
        check(&[
            ("null", Some(OutputTarget::Null)),
            ("./out", Some(OutputTarget::File("./out".into()))),
            ("out", None),
        ]);
        check(&[
            ("random", Some(Padding::Random)),
            ("0", Some(Padding::Bytes(0))),
            ("70000", None),
        ]);
    }

    #[test]
    fn limits_and_policies() {
        let limit = |resource: &str, number, value| {
            Some(Rlimit { resource: resource.into(), number, value })
        };
        check(&[
            ("stack=8M", limit("stack", libc::RLIMIT_STACK, 8 << 20)),
            ("core=0", limit("core", libc::RLIMIT_CORE, 0)),
            ("nofile=unlimited", limit("nofile", libc::RLIMIT_NOFILE, u64::MAX)),
            ("stack", None),
            ("heap=1", None),
            ("as=99999999999999G", None),
        ]);
        check(&[
            ("slower", Some(FailOn { slower_pct: 0.0 })),
            ("slower:2%", Some(FailOn { slower_pct: 2.0 })),
            ("slower:900", Some(FailOn { slower_pct: 900.0 })),
            ("slower:-1", None),
            ("slower:", None),
            ("faster", None),
        ]);
    }
}
