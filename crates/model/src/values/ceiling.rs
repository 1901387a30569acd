//! The most that a value may be: `20ms`, `64MiB`, `1000000`.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Better, ValueUnit};

/// The most that a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// The limit in ns, bytes or pieces.
    pub value: f64,
    /// Unit of the limit.
    pub unit: ValueUnit,
}

/// Units with their size in ns or bytes.
const UNITS: [(&str, ValueUnit, f64); 16] = [
    ("h", ValueUnit::Time, 3600e9),
    ("min", ValueUnit::Time, 60e9),
    ("s", ValueUnit::Time, 1e9),
    ("ms", ValueUnit::Time, 1e6),
    ("us", ValueUnit::Time, 1e3),
    ("µs", ValueUnit::Time, 1e3),
    ("ns", ValueUnit::Time, 1.0),
    ("TiB", ValueUnit::Bytes, 1_099_511_627_776.0),
    ("GiB", ValueUnit::Bytes, 1_073_741_824.0),
    ("MiB", ValueUnit::Bytes, 1_048_576.0),
    ("KiB", ValueUnit::Bytes, 1024.0),
    ("TB", ValueUnit::Bytes, 1e12),
    ("GB", ValueUnit::Bytes, 1e9),
    ("MB", ValueUnit::Bytes, 1e6),
    ("kB", ValueUnit::Bytes, 1e3),
    ("B", ValueUnit::Bytes, 1.0),
];

/// The kind of a unit of time or memory, and its size in ns or bytes.
pub fn known_unit(name: &str) -> Option<(ValueUnit, f64)> {
    UNITS.iter().find(|(known, ..)| *known == name).map(|&(_, kind, size)| (kind, size))
}

impl Ceiling {
    /// Checks that the ceiling applies to values in this unit. Errors: the units differ, or higher values are better.
    pub fn check(self, unit: ValueUnit, better: Better) -> Result<(), String> {
        if !better.is_lower() {
            return Err(format!(
                "--fail-on above:{self}: more is better of what decides, so no value is too much"
            ));
        }
        if self.unit == unit {
            return Ok(());
        }
        let example = match unit {
            ValueUnit::Time => "a time, as in above:20ms",
            ValueUnit::Bytes => "memory, as in above:64MiB",
            ValueUnit::Count => "a number, as in above:1000000",
        };
        Err(format!("--fail-on above:{self}: what decides is {example}; --decide-on chooses it"))
    }
}

impl FromStr for Ceiling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a time, a size or a number: 20ms, 64MiB, 1000000");
        let number = text.trim_end_matches(char::is_alphabetic);
        let (name, value) = (&text[number.len()..], number.parse::<f64>().map_err(|_| wrong())?);
        let (unit, size) = match known_unit(name) {
            Some(known) => known,
            None if name.is_empty() => (ValueUnit::Count, 1.0),
            None => return Err(wrong()),
        };
        let value = value * size;
        if value > 0.0 && value.is_finite() { Ok(Self { value, unit }) } else { Err(wrong()) }
    }
}

impl Display for Ceiling {
    /// Chooses the unit with the shortest text.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let units = UNITS.iter().filter(|(_, unit, _)| *unit == self.unit);
        let texts = units.map(|(name, _, size)| format!("{}{name}", self.value / size));
        f.write_str(&texts.min_by_key(String::len).unwrap_or_else(|| self.value.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ceilings() {
        let check = |text: &str, value: f64, unit, shown: &str| {
            let found: Ceiling = text.parse().unwrap();
            assert_eq!(found, Ceiling { value, unit });
            assert_eq!(found.to_string(), shown);
            assert_eq!(shown.parse(), Ok(found));
        };
        check("20ms", 2e7, ValueUnit::Time, "20ms");
        check("0.5s", 5e8, ValueUnit::Time, "0.5s");
        check("5µs", 5e3, ValueUnit::Time, "5us");
        check("2.25ns", 2.25, ValueUnit::Time, "2.25ns");
        check("64MiB", 67_108_864.0, ValueUnit::Bytes, "64MiB");
        check("1.5GB", 1.5e9, ValueUnit::Bytes, "1.5GB");
        check("1000000", 1e6, ValueUnit::Count, "1000000");
        for text in ["", "ms", "20", "-1ms", "0s", "NaNs", "infs", "1e400s", "20 ms", "20x"] {
            assert_eq!(text.parse::<Ceiling>().is_ok(), text == "20", "{text}");
        }
    }
}
