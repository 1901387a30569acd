//! What the metadata of a suite, of a benchmark or of a run says.

use std::fmt;

use anyhow::{Context as _, Result, ensure};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::convert::pyperf::Count;
use crate::results::{Calibration, MetaValue, Metadata, ResultUnit};

/// The units of pyperf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PyUnit {
    Second,
    Byte,
    Integer,
}

impl From<PyUnit> for ResultUnit {
    fn from(unit: PyUnit) -> Self {
        match unit {
            PyUnit::Second => Self::Time,
            PyUnit::Byte => Self::Bytes,
            PyUnit::Integer => Self::Count,
        }
    }
}

/// What is needed to understand the values; the rest only if `ALL`.
#[derive(Clone, Debug, Default)]
pub(super) struct Said<const ALL: bool> {
    pub(super) name: Option<String>,
    pub(super) unit: Option<PyUnit>,
    pub(super) loops: Option<Count>,
    pub(super) inner_loops: Option<Count>,
    pub(super) calibration: Option<Calibration>,
    rest: Metadata,
}

/// Key and number of a calibration.
pub fn calibration_entry(calibration: Calibration) -> (&'static str, u64) {
    match calibration {
        Calibration::Loops(n) => ("calibrate_loops", n.get()),
        Calibration::LoopsAgain(n) => ("recalibrate_loops", n.get()),
        Calibration::Warmups(n) => ("calibrate_warmups", n),
        Calibration::WarmupsAgain(n) => ("recalibrate_warmups", n),
    }
}

impl<const ALL: bool> Said<ALL> {
    /// What is left when the values are understood. A calibration that was not of a run without values is left too.
    pub(super) fn take_rest(&mut self) -> Metadata {
        let mut rest = std::mem::take(&mut self.rest);
        if let Some((key, n)) = self.calibration.map(calibration_entry).filter(|_| ALL) {
            rest.insert(key.into(), MetaValue::Int(n.cast_signed()));
        }
        rest
    }
}

/// What the runs say that say it: it must be the same everywhere.
#[derive(Clone, Debug)]
pub(super) struct Agreed<T> {
    value: Option<T>,
    n_runs: usize,
}

impl<T> Default for Agreed<T> {
    fn default() -> Self {
        Self { value: None, n_runs: 0 }
    }
}

impl<T: PartialEq + Clone + fmt::Debug> Agreed<T> {
    /// # Errors
    /// Another run said something else.
    pub(super) fn say(&mut self, said: Option<T>) -> Result<(), String> {
        self.n_runs += usize::from(said.is_some());
        match (&self.value, said) {
            (Some(before), Some(now)) if *before != now => {
                Err(format!("this run is of {now:?}, another of the benchmark is of {before:?}"))
            }
            (None, Some(now)) => {
                self.value = Some(now);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What holds for all runs, if those that say nothing have what is said around them.
    ///
    /// # Errors
    /// Nobody says it, or a run says something else.
    pub(super) fn agree(self, outer: Option<&T>, n_runs: usize) -> Result<T> {
        let is_outer_used = self.n_runs < n_runs;
        let chosen = self.value.as_ref().or(outer).context("nothing says it")?;
        ensure!(!is_outer_used || outer == Some(chosen), "not all runs have {chosen:?}");
        Ok(chosen.clone())
    }
}

enum Key {
    Name,
    Unit,
    Loops,
    InnerLoops,
    CalibrateLoops,
    RecalibrateLoops,
    CalibrateWarmups,
    RecalibrateWarmups,
    /// Its text only if it is wanted.
    Other(Option<String>),
}

struct KeyOf<const ALL: bool>;

impl<'de, const ALL: bool> de::DeserializeSeed<'de> for KeyOf<ALL> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Key, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl<const ALL: bool> Visitor<'_> for KeyOf<ALL> {
    type Value = Key;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<Key, E> {
        Ok(match key {
            "name" => Key::Name,
            "unit" => Key::Unit,
            "loops" => Key::Loops,
            "inner_loops" => Key::InnerLoops,
            "calibrate_loops" => Key::CalibrateLoops,
            "recalibrate_loops" => Key::RecalibrateLoops,
            "calibrate_warmups" => Key::CalibrateWarmups,
            "recalibrate_warmups" => Key::RecalibrateWarmups,
            _ => Key::Other(ALL.then(|| key.into())),
        })
    }
}

struct Members<const ALL: bool>;

impl<'de, const ALL: bool> Visitor<'de> for Members<ALL> {
    type Value = Said<ALL>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object with metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Said<ALL>, A::Error> {
        let mut said = Said::default();
        while let Some(key) = map.next_key_seed(KeyOf::<ALL>)? {
            match key {
                Key::Name => once("name", &mut said.name, name(map.next_value::<String>()?)?)?,
                Key::Unit => once("unit", &mut said.unit, map.next_value()?)?,
                Key::Loops => once("loops", &mut said.loops, map.next_value()?)?,
                Key::InnerLoops => once("inner_loops", &mut said.inner_loops, map.next_value()?)?,
                // Calibrations of several kinds in one run mean no more than the last.
                Key::CalibrateLoops => {
                    said.calibration = Some(Calibration::Loops(map.next_value()?))
                }
                Key::RecalibrateLoops => {
                    said.calibration = Some(Calibration::LoopsAgain(map.next_value()?))
                }
                Key::CalibrateWarmups => {
                    said.calibration = Some(Calibration::Warmups(map.next_value()?))
                }
                Key::RecalibrateWarmups => {
                    said.calibration = Some(Calibration::WarmupsAgain(map.next_value()?))
                }
                Key::Other(None) => drop(map.next_value::<IgnoredAny>()?),
                Key::Other(Some(key)) => {
                    let value = map.next_value()?;
                    if said.rest.insert(key.clone(), value).is_some() {
                        return Err(de::Error::custom(format!("{key:?} is there twice")));
                    }
                }
            }
        }
        Ok(said)
    }
}

fn once<T, E: de::Error>(key: &'static str, to: &mut Option<T>, value: T) -> Result<(), E> {
    if to.replace(value).is_some() { Err(E::duplicate_field(key)) } else { Ok(()) }
}

fn name<E: de::Error>(name: String) -> Result<String, E> {
    let trimmed = name.trim();
    if trimmed.is_empty() { Err(E::custom("the name is empty")) } else { Ok(trimmed.into()) }
}

impl<'de, const ALL: bool> Deserialize<'de> for Said<ALL> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Members::<ALL>)
    }
}
