//! The value of `--metrics`: metrics to show, and their units.

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::metric::{METRICS, Metric, MetricSource, Quantity};

/// A metric to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricChoice {
    /// Name of the metric, or `cpu` for user + sys.
    pub name: String,
    /// Unit, if the user chose one.
    pub unit: Option<String>,
}

/// The unit of `--time-unit`, by hyperfine's names or as a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeUnit(pub &'static str);

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let symbol = match text {
            "microsecond" | "µs" => "us",
            "millisecond" => "ms",
            "second" => "s",
            other => other,
        };
        let known = TIME_UNITS.into_iter().find(|unit| *unit == symbol).map(Self);
        let names = "microsecond, millisecond, second, or a symbol: ns, us, ms, s, min, h";
        known.ok_or_else(|| format!("{text:?} is none of {names}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricList(pub Vec<MetricChoice>);

/// Name of user + system time, which is computed from two metrics.
pub const CPU: &str = "cpu";
/// Name of the value that a program prints.
pub const VALUE: &str = "value";
const TIME_UNITS: [&str; 6] = ["ns", "us", "ms", "s", "min", "h"];
const MEMORY_UNITS: [&str; 9] = ["B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"];
const COUNT_UNITS: [&str; 3] = ["k", "M", "B"];

fn preset(word: &str) -> Option<&'static [&'static str]> {
    match word {
        "default" => Some(&["wall", "maxrss"]),
        "time" => Some(&["wall", CPU, "user", "sys"]),
        _ => None,
    }
}

impl FromStr for MetricList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut list = Vec::new();
        for word in text.split(',').map(str::trim) {
            if let Some(names) = preset(word) {
                list.extend(
                    names.iter().map(|&name| MetricChoice { name: name.into(), unit: None }),
                );
            } else if word == "all" {
                let names =
                    METRICS.iter().map(|info| info.name).filter(|name| *name != "running-ppm");
                list.extend(names.map(|name| MetricChoice { name: name.into(), unit: None }));
            } else {
                list.push(parse_one(word)?);
            }
        }
        // A repeated metric appears once, in the last unit.
        let mut distinct: Vec<MetricChoice> = Vec::new();
        for shown in list {
            match distinct.iter_mut().find(|known| known.name == shown.name) {
                Some(known) => known.unit = shown.unit.or(known.unit.take()),
                None => distinct.push(shown),
            }
        }
        Ok(Self(distinct))
    }
}

fn parse_one(word: &str) -> Result<MetricChoice, String> {
    let (name, unit) = word.split_once(':').map_or((word, None), |(name, unit)| (name, Some(unit)));
    let (name, quantity) = match Metric::from_name(name) {
        Some(metric) => (metric.info().name, metric.info().quantity),
        None if name == CPU || name == "time_cpu" => (CPU, Quantity::Time { ns_per_unit: 1000 }),
        None if name == "all" || preset(name).is_some() => {
            return Err(format!("{name} takes no unit"));
        }
        None => {
            let known: Vec<_> = METRICS.iter().map(|info| info.name).collect();
            return Err(format!(
                "{name:?} is not default, time, all, cpu or one of {}",
                known.join(", ")
            ));
        }
    };
    let units: &[&str] = match quantity {
        Quantity::Time { .. } | Quantity::Picoseconds => &TIME_UNITS,
        Quantity::Memory { .. } => &MEMORY_UNITS,
        Quantity::Count => &COUNT_UNITS,
    };
    if let Some(unit) = unit.filter(|unit| !units.contains(unit)) {
        return Err(format!("{unit:?} is not a unit of {name}; use one of {}", units.join(", ")));
    }
    Ok(MetricChoice { name: name.into(), unit: unit.map(String::from) })
}

impl MetricList {
    /// Whether any metric needs more than the clock and `wait4`.
    pub fn needs_evidence(&self) -> bool {
        let sources = self.0.iter().filter_map(|shown| Metric::from_name(&shown.name));
        sources.into_iter().any(|metric| metric.info().source != MetricSource::Always)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[(&str, Option<&str>)], &str>) {
        match (text.parse::<MetricList>(), expected) {
            (Ok(list), Ok(expected)) => {
                let list: Vec<_> = list
                    .0
                    .iter()
                    .map(|shown| (shown.name.as_str(), shown.unit.as_deref()))
                    .collect();
                assert_eq!(list, expected, "{text:?}");
            }
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (found, _) => panic!("{text:?}: {found:?}"),
        }
    }

    #[test]
    fn names_presets_and_units() {
        check("wall", Ok(&[("wall", None)]));
        check("default", Ok(&[("wall", None), ("maxrss", None)]));
        check("time_wall_clock:ms,cpu", Ok(&[("wall", Some("ms")), ("cpu", None)]));
        let twice = [("wall", None), ("cpu", Some("ms")), ("user", None), ("sys", None)];
        check("time,cpu:ms", Ok(&twice));
        check("wall:MiB", Err("not a unit of wall"));
        check("speed", Err("not default, time, all"));
        check("all:ms", Err("all takes no unit"));
        check("time:ms", Err("time takes no unit"));
    }

    #[test]
    fn only_some_metrics_need_evidence() {
        assert!(!"time,maxrss".parse::<MetricList>().unwrap().needs_evidence());
        assert!("wall,instructions".parse::<MetricList>().unwrap().needs_evidence());
    }
}
