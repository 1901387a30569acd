//! Metadata of a suite, a benchmark or a run.

use std::fmt;
use std::num::NonZeroU64;

use anyhow::{Context as _, Result, ensure};
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

use crate::{Calibration, MetaValue, Metadata, ResultUnit};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PyUnit {
    #[default]
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

/// The keys that decide the meaning of the values. `ALL` also keeps the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct PyperfMetadata<const ALL: bool> {
    pub(crate) name: Option<String>,
    pub(crate) unit: Option<PyUnit>,
    pub(crate) loops: Option<NonZeroU64>,
    pub(crate) inner_loops: Option<NonZeroU64>,
    pub(crate) calibration: Option<Calibration>,
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

impl<const ALL: bool> PyperfMetadata<ALL> {
    /// The other keys. A calibration stays among them in a run with values.
    pub(crate) fn take_rest(&mut self) -> Metadata {
        let mut rest = std::mem::take(&mut self.rest);
        if let Some((key, n)) = self.calibration.map(calibration_entry).filter(|_| ALL) {
            rest.insert(key.into(), MetaValue::Int(n.cast_signed()));
        }
        rest
    }
}

/// A key's value in the runs that have the key; all must agree.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommonValue<T> {
    value: Option<T>,
    n_runs: usize,
}

impl<T: PartialEq + Clone + fmt::Debug> CommonValue<T> {
    /// Errors: another run has a different value.
    pub(crate) fn say(&mut self, metadata: Option<T>) -> Result<(), String> {
        self.n_runs += usize::from(metadata.is_some());
        match (&self.value, metadata) {
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

    /// The value of all runs; for a run without it, the value of the benchmark or suite. Errors: neither the runs nor
    /// the benchmark nor the suite has the key, or the values differ.
    pub(crate) fn agree(self, outer: Option<&T>, n_runs: usize) -> Result<T> {
        let is_outer_used = self.n_runs < n_runs;
        let chosen = self.value.as_ref().or(outer).context("nothing says it")?;
        ensure!(!is_outer_used || outer == Some(chosen), "not all runs have {chosen:?}");
        Ok(chosen.clone())
    }
}

enum MetadataKey {
    Name,
    Unit,
    Loops,
    InnerLoops,
    CalibrateLoops,
    RecalibrateLoops,
    CalibrateWarmups,
    RecalibrateWarmups,
    /// The key's text, if the caller wants it.
    Other(Option<String>),
}

struct MetadataKeySeed<const ALL: bool>;

impl<'de, const ALL: bool> de::DeserializeSeed<'de> for MetadataKeySeed<ALL> {
    type Value = MetadataKey;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<MetadataKey, D::Error> {
        from.deserialize_identifier(self)
    }
}

impl<const ALL: bool> Visitor<'_> for MetadataKeySeed<ALL> {
    type Value = MetadataKey;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<MetadataKey, E> {
        Ok(match key {
            "name" => MetadataKey::Name,
            "unit" => MetadataKey::Unit,
            "loops" => MetadataKey::Loops,
            "inner_loops" => MetadataKey::InnerLoops,
            "calibrate_loops" => MetadataKey::CalibrateLoops,
            "recalibrate_loops" => MetadataKey::RecalibrateLoops,
            "calibrate_warmups" => MetadataKey::CalibrateWarmups,
            "recalibrate_warmups" => MetadataKey::RecalibrateWarmups,
            _ => MetadataKey::Other(ALL.then(|| key.into())),
        })
    }
}

struct MetadataVisitor<const ALL: bool>;

impl<'de, const ALL: bool> Visitor<'de> for MetadataVisitor<ALL> {
    type Value = PyperfMetadata<ALL>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object with metadata")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PyperfMetadata<ALL>, A::Error> {
        let mut metadata = PyperfMetadata::default();
        while let Some(key) = map.next_key_seed(MetadataKeySeed::<ALL>)? {
            match key {
                MetadataKey::Name => {
                    once("name", &mut metadata.name, name(map.next_value::<String>()?)?)?
                }
                MetadataKey::Unit => once("unit", &mut metadata.unit, map.next_value()?)?,
                MetadataKey::Loops => once("loops", &mut metadata.loops, map.next_value()?)?,
                MetadataKey::InnerLoops => {
                    once("inner_loops", &mut metadata.inner_loops, map.next_value()?)?
                }
                // The last one of several calibrations of a run counts.
                MetadataKey::CalibrateLoops => {
                    metadata.calibration = Some(Calibration::Loops(map.next_value()?))
                }
                MetadataKey::RecalibrateLoops => {
                    metadata.calibration = Some(Calibration::LoopsAgain(map.next_value()?))
                }
                MetadataKey::CalibrateWarmups => {
                    metadata.calibration = Some(Calibration::Warmups(map.next_value()?))
                }
                MetadataKey::RecalibrateWarmups => {
                    metadata.calibration = Some(Calibration::WarmupsAgain(map.next_value()?))
                }
                MetadataKey::Other(None) => drop(map.next_value::<IgnoredAny>()?),
                MetadataKey::Other(Some(key)) => {
                    let value = map.next_value()?;
                    if metadata.rest.insert(key.clone(), value).is_some() {
                        return Err(de::Error::custom(format!("{key:?} is there twice")));
                    }
                }
            }
        }
        Ok(metadata)
    }
}

fn once<T, E: de::Error>(key: &'static str, to: &mut Option<T>, value: T) -> Result<(), E> {
    if to.replace(value).is_some() { Err(E::duplicate_field(key)) } else { Ok(()) }
}

fn name<E: de::Error>(name: String) -> Result<String, E> {
    let trimmed = name.trim();
    if trimmed.is_empty() { Err(E::custom("the name is empty")) } else { Ok(trimmed.into()) }
}

impl<'de, const ALL: bool> Deserialize<'de> for PyperfMetadata<ALL> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MetadataVisitor::<ALL>)
    }
}
