//! Units of values in the sources.

use anyhow::{Context as _, Result, ensure};

use crate::ResultUnit;

/// Nanoseconds in a unit of time, by its names in the sources.
pub fn unit_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ps" => 1e-3,
        "ns" | "nsec" => 1.0,
        // The micro sign, and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" => 1e3,
        "ms" | "msec" => 1e6,
        "s" | "sec" | "second" | "seconds" => 1e9,
        "m" | "min" => 60e9,
        "h" | "hr" => 3600e9,
        "day" => 86400e9,
        _ => return None,
    })
}

/// A time with its unit, for example `1.03 µs`, in nanoseconds.
pub(crate) fn time_ns(text: &str) -> Result<f64> {
    let text = text.trim();
    let at = text.find(|it: char| it.is_alphabetic() || it == '\u{b5}').unwrap_or(text.len());
    let (value, unit) = (text[..at].trim_end(), &text[at..]);
    let scale = unit_ns(unit).with_context(|| format!("{text:?} is not a time"))?;
    let value = value.replace(',', "").parse::<f64>();
    let value = value.with_context(|| format!("{text:?} is not a time"))? * scale;
    ensure!(value > 0.0 && value.is_finite(), "{text}: a time must be above 0");
    Ok(value)
}

/// Unit of values with a source's name for it, and their factor. Times per operation are times.
pub(crate) fn unit_of(name: &str) -> (ResultUnit, f64) {
    let base = match name.split_once('/') {
        Some((base, "op" | "iter" | "call")) => base,
        _ => name,
    };
    match base {
        "B" | "byte" | "bytes" => (ResultUnit::Bytes, 1.0),
        "" | "count" => (ResultUnit::Count, 1.0),
        _ => match unit_ns(base) {
            Some(ns) => (ResultUnit::Time, ns),
            None => (ResultUnit::Other(name.into()), 1.0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_with_their_units() {
        for (text, ns) in
            [("1.03 \u{b5}s", 1030.0), ("2 \u{3bc}s", 2000.0), ("1,042ns", 1042.0), ("1.5 m", 90e9)]
        {
            assert_eq!(time_ns(text).unwrap(), ns, "{text}");
        }
        for wrong in ["", "1", "ns", "0 ns", "-1 ns", "NaN ns", "1e999 s", "1 B", "\u{3bc}"] {
            assert!(time_ns(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_units() {
        assert_eq!(unit_of("ms/op"), (ResultUnit::Time, 1e6));
        assert_eq!(unit_of("iter/sec"), (ResultUnit::Other("iter/sec".into()), 1.0));
        assert_eq!(unit_of("B/op"), (ResultUnit::Bytes, 1.0));
        assert_eq!(unit_of("min"), (ResultUnit::Time, 60e9));
    }
}
