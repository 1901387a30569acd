//! `--rlimit`: a soft resource limit.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A soft resource limit of the runs: `stack=8M`, `core=0`, `nofile=unlimited`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rlimit {
    /// Name of the resource, as in setrlimit(2) without `RLIMIT_`, lower case.
    pub resource: String,
    /// Number of the resource, `RLIMIT_…`.
    pub number: u32,
    /// The soft limit; `u64::MAX` is no limit.
    pub value: u64,
}

/// Numbers from include/uapi/asm-generic/resource.h. The type of libc's constants depends on the C library.
const RLIMITS: [(&str, u32); 9] = [
    ("as", 9),
    ("core", 4),
    ("cpu", 0),
    ("data", 2),
    ("fsize", 1),
    ("memlock", 8),
    ("nofile", 7),
    ("nproc", 6),
    ("stack", 3),
];

impl FromStr for Rlimit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| format!("{text:?} is not RESOURCE=VALUE, for example cpu=10"))?;
        let (resource, number) =
            RLIMITS.iter().find(|(known, _)| *known == name).ok_or_else(|| {
                let known: Vec<_> = RLIMITS.iter().map(|(known, _)| *known).collect();
                format!("{name:?} is not one of {}", known.join(", "))
            })?;
        let factors = [("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30)];
        let (digits, factor) = factors
            .iter()
            .find_map(|(suffix, factor)| Some((value.strip_suffix(suffix)?, *factor)))
            .unwrap_or((value, 1));
        let value = match digits.parse::<u64>() {
            _ if value == "unlimited" => u64::MAX,
            Ok(number) => {
                number.checked_mul(factor).ok_or_else(|| format!("{value:?} is too large"))?
            }
            Err(_) => {
                return Err(format!("{value:?} is not a number with K, M or G, or unlimited"));
            }
        };
        Ok(Self { resource: (*resource).into(), number: *number, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::test_parsing::check;

    #[test]
    fn limits() {
        let limit = |resource: &str, number, value| {
            Some(Rlimit { resource: resource.into(), number, value })
        };
        check(&[
            ("stack=8M", limit("stack", 3, 8 << 20)),
            ("core=0", limit("core", 4, 0)),
            ("nofile=unlimited", limit("nofile", 7, u64::MAX)),
            ("stack", None),
            ("heap=1", None),
            ("as=99999999999999G", None),
        ]);
    }

    #[test]
    fn the_numbers_are_those_of_the_c_library() {
        let of_libc = [
            i64::from(libc::RLIMIT_AS),
            i64::from(libc::RLIMIT_CORE),
            i64::from(libc::RLIMIT_CPU),
            i64::from(libc::RLIMIT_DATA),
            i64::from(libc::RLIMIT_FSIZE),
            i64::from(libc::RLIMIT_MEMLOCK),
            i64::from(libc::RLIMIT_NOFILE),
            i64::from(libc::RLIMIT_NPROC),
            i64::from(libc::RLIMIT_STACK),
        ];
        assert_eq!(RLIMITS.map(|(_, number)| i64::from(number)), of_libc);
    }
}
